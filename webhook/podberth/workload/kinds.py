"""The table of the kinds that podberth knows: those that make pods, and those that are known to make none."""

from collections.abc import Mapping
from typing import Any, Final

from ..kinds.dossiers import DOSSIERS
from ..kinds.places import WorkloadKind
from ..kube.paths import ELEMENT

KINDS: Final[tuple[WorkloadKind, ...]] = tuple(each for row in DOSSIERS for each in row.kinds)
TEMPLATES_ONLY: Final = frozenset(row.kind for row in KINDS if row.only_template)
"""What others use by name, or make pods of by hand: no workload by itself."""
LINKS: Final = frozenset(each for row in DOSSIERS for each in row.links)
"""Groups and kinds that stand between a workload and what it has made, and have no template of a user's."""

_BY_NAME: Final = {(version, row.kind): row for row in KINDS for version in row.api_versions}

# Groups of which no kind has a pod template of its user's, and single kinds of groups of which others have one.
_PODLESS_GROUPS: Final = frozenset(each for row in DOSSIERS for each in row.podless_groups)
_PODLESS_KINDS: Final = frozenset(each for row in DOSSIERS for each in row.podless_kinds)


def row_for(workload: Mapping[str, Any]) -> WorkloadKind | None:
    """Return the row of an object by its apiVersion and kind, or None where its pods cannot be foretold."""
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
    """Say whether podberth knows what pods the object makes, none included."""
    version, kind = document.get("apiVersion"), document.get("kind")
    if not isinstance(version, str) or not isinstance(kind, str):
        return False
    if (version, kind) == ("v1", "Pod") or row_for(document) is not None or nested_in(document):
        return True
    return version.rpartition("/")[0] in _PODLESS_GROUPS or f"{version}/{kind}" in _PODLESS_KINDS
