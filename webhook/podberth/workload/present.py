"""The Pod of a workload that has one template. All templates of all kinds are ``templates``."""

from collections.abc import Mapping
from typing import Any

from .templates import Template, templates


def present(workload: Mapping[str, Any], *, namespace: str) -> Template:
    """Return the Pod that admission would see of a workload's first template; the workload is left as it is.

    ``namespace`` is used where the workload names none.

    Raises:
        ValueError: there is none.
    """
    found = templates(workload, namespace=namespace)
    if not found:
        raise ValueError(
            f"got {workload.get('apiVersion')} {workload.get('kind')}, want a Pod or a workload that makes Pods"
        )
    return found[0]
