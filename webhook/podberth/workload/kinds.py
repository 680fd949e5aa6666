"""The table of the kinds that podberth knows: those that make pods, and those that are known to make none."""

from collections.abc import Mapping
from typing import Any, Final

from ..kinds.dossiers import DOSSIERS
from ..kinds.places import WorkloadKind
from ..kube.paths import ELEMENT

KINDS: Final[tuple[WorkloadKind, ...]] = tuple(each for row in DOSSIERS for each in row.kinds)
TEMPLATES_ONLY: Final = frozenset(row.kind for row in KINDS if row.only_template)
"""The kinds that only hold a template. Other objects name them, or people make pods from them."""
LINKS: Final = frozenset(each for row in DOSSIERS for each in row.links)
"""The groups and kinds of objects between a workload and its pods that have no template written by a user."""

_BY_NAME: Final = {(version, row.kind): row for row in KINDS for version in row.api_versions}

# API groups in which no kind has a pod template written by a user, and single kinds of other groups.
_PODLESS_GROUPS: Final = frozenset(each for row in DOSSIERS for each in row.podless_groups)
_PODLESS_KINDS: Final = frozenset(each for row in DOSSIERS for each in row.podless_kinds)


def row_for(workload: Mapping[str, Any]) -> WorkloadKind | None:
    """Return the row of an object by its apiVersion and kind, or None if its pods cannot be predicted."""
    version, kind = workload.get("apiVersion"), workload.get("kind")
    if not isinstance(version, str) or not isinstance(kind, str):
        return None
    return _BY_NAME.get((version, kind))


def nested_in(document: Mapping[str, Any]) -> tuple[tuple[str, ...], ...]:
    """Return the paths of an object to other whole objects in it: an AppWrapper's, and those of a list of any kind."""
    row, kind = row_for(document), document.get("kind")
    if row is not None:
        return row.nested
    is_list = isinstance(kind, str) and kind.endswith("List") and isinstance(document.get("items"), list)
    return (("items", ELEMENT),) if is_list else ()


def is_known(document: Mapping[str, Any]) -> bool:
    """Tell whether podberth knows the pods that the object makes, or that it makes none."""
    version, kind = document.get("apiVersion"), document.get("kind")
    if not isinstance(version, str) or not isinstance(kind, str):
        return False
    if (version, kind) == ("v1", "Pod") or row_for(document) is not None or nested_in(document):
        return True
    return version.rpartition("/")[0] in _PODLESS_GROUPS or f"{version}/{kind}" in _PODLESS_KINDS
