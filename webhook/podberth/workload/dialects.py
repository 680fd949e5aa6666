"""Sharing dialects: the keys by which a pod asks a system such as HAMi for a part of a GPU.

The shipped policies do not change a pod with keys of a dialect, because an added or changed GPU resource would
contradict the keys. Dossiers list the keys of each dialect. Requests for whole GPUs and MIG instances belong to no
dialect.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from ..kinds.dossiers import DOSSIERS
from ..kinds.systems import Dialect
from ..kube.pod import annotations, spec
from ..kube.quantity import parse_quantity
from ..kube.shape import RESOURCED_LISTS

DIALECTS: Final[tuple[Dialect, ...]] = tuple(each for row in DOSSIERS for each in row.dialects)

_BY_RESOURCE: Final = {resource: row.name for row in DIALECTS for resource in row.resources}
_BY_ANNOTATION: Final = {key: row for row in DIALECTS for key in row.annotations}
_BY_SCHEDULER: Final = {scheduler: row.name for row in DIALECTS for scheduler in row.schedulers}


def foreign_dialect(pod: Mapping[str, Any]) -> str:
    """Return the name of the sharing dialect in which a pod asks for GPUs; empty if the pod uses no dialect.

    A resource of amount zero is not a request.
    """
    pod_spec = spec(pod)
    scheduler = pod_spec.get("schedulerName") or ""
    if scheduler in _BY_SCHEDULER:
        return _BY_SCHEDULER[scheduler]
    for key in annotations(pod):
        row = _BY_ANNOTATION.get(key)
        if row is not None and row.only_under in {"", scheduler}:
            return row.name
    return next(_of_resources(pod_spec), "")


def _of_resources(pod_spec: dict[str, Any]) -> Iterator[str]:
    for field in RESOURCED_LISTS:
        for container in pod_spec.get(field) or ():
            resources = container.get("resources") or {}
            for amounts in (resources.get("limits") or {}, resources.get("requests") or {}):
                known = (name for name in amounts if name in _BY_RESOURCE)
                yield from (_BY_RESOURCE[name] for name in known if not _is_zero(amounts[name]))


def _is_zero(amount: object) -> bool:
    try:
        return parse_quantity(amount) == 0
    except ValueError:
        return False
