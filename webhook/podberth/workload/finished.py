"""The status by which a workload of each kind is known to be finished, so that the workload makes no more pods."""

from collections.abc import Mapping
from typing import Any, Final

from ..kinds.dossier import Finished
from ..kinds.dossiers import DOSSIERS
from ..kube.unchecked import at

FINISHED: Final[Mapping[tuple[str, str], Finished]] = {
    (each.group, each.kind): each for row in DOSSIERS for each in row.finished
}
"""The status that shows that an object is finished, by API group and kind."""


def is_finished(group: str, kind: str, document: Mapping[str, Any]) -> bool:
    """Return whether the status of an object says that it is finished.

    ``group`` and ``kind`` are arguments, because the items of a list have no apiVersion and kind.
    """
    row = FINISHED.get((group, kind))
    if row is None:
        return False
    said = at(document, "status", *row.field)
    if not isinstance(said, list):
        return isinstance(said, str) and said in row.words
    found = (at(each, "type") for each in said if at(each, "status") == "True")
    return any(isinstance(each, str) and each in row.words for each in found)
