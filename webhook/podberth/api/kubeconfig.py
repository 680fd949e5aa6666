"""The place of a user's kubeconfig, found as kubectl finds it: a flag, else KUBECONFIG, else ~/.kube/config."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ..errors import UsageError


@dataclass(frozen=True, slots=True)
class Kubeconfig:
    """One file, or several of which the first that sets a field wins."""

    files: tuple[Path, ...]
    context: str = ""
    """Empty: the current one."""
    said_by: str = "--kubeconfig"

    @property
    def where(self) -> str:
        """The files, as messages name them."""
        return f"{self.said_by}: {os.pathsep.join(map(str, self.files))}"


def find_kubeconfig(flag: Path | None, context: str, environ: Mapping[str, str]) -> Kubeconfig | None:
    """Return the kubeconfig that leads to the API server; None: the service account of a pod.

    Raises:
        UsageError: a context is named, and there is no kubeconfig.
    """
    if flag is not None:
        return Kubeconfig((flag,), context)
    named = tuple(Path(part).expanduser() for part in environ.get("KUBECONFIG", "").split(os.pathsep) if part)
    if named:
        # kubectl skips missing files; if all are missing, the message names the first.
        return Kubeconfig(tuple(path for path in named if path.exists()) or named[:1], context, "KUBECONFIG")
    home = environ.get("HOME", "")
    usual = Path(home) / ".kube" / "config"
    if home and usual.exists():  # as client-go; a container's user may have no home at all
        return Kubeconfig((usual,), context, "kubeconfig")
    if context:
        raise UsageError(f"--context: got {context!r} and no kubeconfig, want both; name one with --kubeconfig FILE")
    return None
