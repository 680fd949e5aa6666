"""Reads the files that describe a cluster besides its objects: the file of conventions, and the schema of a Pod."""

from dataclasses import dataclass
from pathlib import Path

from ..cel.engine import Environment
from ..conventions import Conventions
from .deadline import new_environment
from .loading import read_pod_schema


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterFiles:
    """The files of the flags ``--conventions`` and ``--pod-schema``; None where podberth's own file is used."""

    conventions: Path | None = None
    pod_schema: Path | None = None
    conventions_text: tuple[str, str] | None = None
    """The (text, name) of the file of conventions, if somebody else has read it; else None."""

    def names(self) -> Conventions:
        """Return the conventions of the cluster: the cluster's names for levels, taints and labels.

        The module that reads the file is imported only if there is a file.

        Raises:
            UsageError: the file cannot be read or is invalid.
        """
        if self.conventions is None and self.conventions_text is None:
            return Conventions()
        from .naming import conventions_of, read_conventions  # noqa: PLC0415 - importing it takes 4 ms

        return conventions_of(*self.conventions_text) if self.conventions_text else read_conventions(self.conventions)

    def environment(self) -> Environment:
        """Return a CEL environment for compiling policies, with the fields that a Pod has in the cluster.

        Raises:
            UsageError: the file cannot be read, or is no schema.
        """
        return new_environment(read_pod_schema(self.pod_schema))
