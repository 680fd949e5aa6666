"""The signs of a finished workload, by its kind. Such a workload makes no more pods, whatever its template asks for."""

from collections.abc import Mapping
from typing import Any, Final

from ..kinds.dossier import Finished
from ..kinds.dossiers import DOSSIERS
from ..kube.unchecked import at

FINISHED: Final[Mapping[tuple[str, str], Finished]] = {
    (each.group, each.kind): each for row in DOSSIERS for each in row.finished
}
"""The sign that an object is finished, by group and kind."""


def is_finished(group: str, kind: str, document: Mapping[str, Any]) -> bool:
    """Tell whether the status says that an object is finished.

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
