"""The Pod that admission would see of a workload's first template. All templates of all kinds are ``templates``."""

from collections.abc import Mapping
from typing import Any

from podberth.workload.templates import Template, templates


def present(workload: Mapping[str, Any], *, namespace: str) -> Template:
    """Return it; the workload is left as it is. ``namespace`` is used where the workload names none."""
    return templates(workload, namespace=namespace)[0]
