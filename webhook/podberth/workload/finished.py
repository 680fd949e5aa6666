"""The signs of a finished workload, by its kind. Such a workload makes no more pods, whatever its template asks for."""

from collections.abc import Mapping
from typing import Any, Final

from ..kinds.dossier import Finished
from ..kinds.dossiers import DOSSIERS
from ..kube.unchecked import at, list_at

FINISHED: Final[Mapping[tuple[str, str], Finished]] = {
    (each.group, each.kind): each for row in DOSSIERS for each in row.finished
}
"""The sign that an object is finished, by group and kind."""

# Job: batch/v1 JobConditionType; JobSet: Completed; Kubeflow's: Succeeded; TrainJob: Complete
_CONDITIONS: Final = frozenset({"Complete", "Completed", "Failed", "Succeeded"})
# In other kinds, such as a Deployment or a Pod, a condition with such a name has another meaning.
_BY_CONDITION: Final = ("Job", "JobSet")


def is_finished(group: str, kind: str, document: Mapping[str, Any]) -> bool:
    """Tell whether the status says that an object is finished.

    ``group`` and ``kind`` are arguments, because the items of a list have no apiVersion and kind.
    """
    row = FINISHED.get((group, kind))
    if row is not None:
        return _is_one_of(at(document, "status", *row.field), row.words)
    conditions = list_at(document, "status", "conditions")
    return kind.endswith(_BY_CONDITION) and any(
        at(each, "status") == "True" and _is_one_of(at(each, "type"), _CONDITIONS) for each in conditions
    )


def _is_one_of(said: object, words: frozenset[str]) -> bool:
    return isinstance(said, str) and said in words
