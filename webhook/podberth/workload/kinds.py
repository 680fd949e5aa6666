"""The tables of Kubernetes kinds that podberth knows: those whose objects make pods, and those that make none."""

from collections.abc import Mapping
from typing import Any, Final

from ..kinds.dossiers import DOSSIERS
from ..kinds.places import WorkloadKind
from ..kube.paths import ELEMENT

KINDS: Final[tuple[WorkloadKind, ...]] = tuple(each for row in DOSSIERS for each in row.kinds)
TEMPLATES_ONLY: Final = frozenset(row.kind for row in KINDS if row.only_template)
"""The kinds that only contain a template: other objects refer to an object of the kind, or users make pods from it."""
LINKS: Final = frozenset(each for row in DOSSIERS for each in row.links)
"""(API group, kind) of objects that are between a workload and its pods, and have no template of the user."""

_BY_NAME: Final = {(version, row.kind): row for row in KINDS for version in row.api_versions}

# API groups in which no kind has a pod template written by a user, and single kinds of other groups.
_PODLESS_GROUPS: Final = frozenset(each for row in DOSSIERS for each in row.podless_groups)
_PODLESS_KINDS: Final = frozenset(each for row in DOSSIERS for each in row.podless_kinds)


def row_for(workload: Mapping[str, Any]) -> WorkloadKind | None:
    """Return the row of the table ``KINDS`` for an object's apiVersion and kind; None if there is none."""
    version, kind = workload.get("apiVersion"), workload.get("kind")
    if not isinstance(version, str) or not isinstance(kind, str):
        return None
    return _BY_NAME.get((version, kind))


def kinds_of(version: str) -> tuple[str, ...]:
    """Return the kinds of an apiVersion that make pods, as far as podberth knows them."""
    return tuple(kind for each, kind in (*_BY_NAME, ("v1", "Pod")) if each == version)


def nested_in(document: Mapping[str, Any]) -> tuple[tuple[str, ...], ...]:
    """Return the paths to the objects that an object wraps: the objects in an AppWrapper, and the items of any list."""
    row, kind = row_for(document), document.get("kind")
    if row is not None:
        return row.nested
    is_list = isinstance(kind, str) and kind.endswith("List") and isinstance(document.get("items"), list)
    return (("items", ELEMENT),) if is_list else ()


def is_known(document: Mapping[str, Any]) -> bool:
    """Return whether podberth knows which pods an object makes, or knows that the object makes no pods."""
    version, kind = document.get("apiVersion"), document.get("kind")
    if not isinstance(version, str) or not isinstance(kind, str):
        return False
    if (version, kind) == ("v1", "Pod") or row_for(document) is not None or nested_in(document):
        return True
    return version.rpartition("/")[0] in _PODLESS_GROUPS or f"{version}/{kind}" in _PODLESS_KINDS
