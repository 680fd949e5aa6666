"""Finds misspelt and misplaced fields of operators' objects, such as a PyTorchJob, outside pod templates.

If ``kinds.crd_fields`` has the kind's CRD, ``crd_slips`` finds the fields. Otherwise a field is reported if the name
differs only by a typing error (``slips``) from a field that podberth reads and that the object lacks. Other unknown
fields are never reported, because the types of operators grow. Fields that an operator is known never to read are
reported as well.
"""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Final

from ..kinds import forms
from ..kinds.crd_fields import crd_fields
from ..kinds.dossier import POD_SPEC_ASKS, TEMPLATE_ASKS, Fields
from ..kinds.places import TEMPLATE, TemplatePlace
from ..kube.json_patch import ABSENT
from ..kube.paths import ELEMENT, Path
from ..kube.schema import workload_definitions, workload_type
from ..workload.kinds import is_known, row_for
from ..workload.owners import LOOKED_UP
from ..workload.templates import objects_in
from .crd_slips import checked_as_pods, wrong_by_crd
from .slips import SLIP, is_slip

_SPEC: Final = ("spec",)
_JOB_SPEC: Final = "io.k8s.api.batch.v1.JobSpec"

_Names = dict[str, Any]
"""A mapping from the names of an object's fields to the names inside each field; ELEMENT is any list element."""


def misspelt_fields(content: Mapping[str, Any]) -> Iterator[tuple[Path, str]]:
    """Yield the path of each misspelt or misplaced field, and a message about the field.

    The fields of the document, and of the objects that the document wraps, are searched.
    """
    for path, each in objects_in(content):
        if not is_known(each) or workload_type(each):
            continue
        key = str(each.get("apiVersion")), str(each.get("kind"))
        if (fields := crd_fields().get(key)) is not None:
            yield from wrong_by_crd(each, fields, checked_as_pods(*key), path)
        else:
            yield from _slips(each, _known(*key), path)
        yield from _lost(each, path)


def _lost(content: Mapping[str, Any], path: Path) -> Iterator[tuple[Path, str]]:
    row = row_for(content)
    for steps, message in row.lost if row else ():
        if forms.find(content, steps) not in (ABSENT, None):
            yield (*path, *steps), message


def _slips(value: object, names: _Names, path: Path) -> Iterator[tuple[Path, str]]:
    if ELEMENT in names:
        items = value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list) else ()
        for key, item in items:
            yield from _slips(item, names[ELEMENT], (*path, key))
        return
    if not names or not isinstance(value, Mapping):
        return
    absent = [name for name in names if name not in value]
    for key, item in value.items():
        if key in names:
            yield from _slips(item, names[key], (*path, key))
        elif meant := next((name for name in absent if isinstance(key, str) and is_slip(key, name)), ""):
            yield (*path, key), SLIP.format(key, meant)


# ---- the known names -------------------------------------------------------------------------------------------------


@cache
def _known(version: str, kind: str) -> _Names:
    row = row_for({"apiVersion": version, "kind": kind})
    names: _Names = {"metadata": {}, "spec": {}, "status": {}}
    for place in row.places if row else ():
        _add_place(names, place)
    for path in (*row.nested, *row.names) if row else ():
        _at(names, path)
    if owner := LOOKED_UP.get((version, kind)):
        _add(names["spec"], owner.spec)
    return names


def _at(names: _Names, path: tuple[str, ...]) -> _Names:
    for step in path:
        names = names.setdefault(step, {})
    return names


def _add_place(names: _Names, place: TemplatePlace) -> None:
    here, form = _at(names, place.path), place.form
    if "replicatedJobs" in place.path:  # above the pod template is a Job's spec
        _at(names, place.path[:-1]).update({name: {} for name in _job_spec() if name != "template"})
    has_spec = (_SPEC, _SPEC) in form.seats and (form.fields is None or form.others is not None)
    if form is TEMPLATE or has_spec:  # all fields of the template are known: unknown_fields reports unknown ones
        return
    for target, source in form.seats:
        seat = _at(here, tuple(map(str, source)))
        if target == _SPEC:
            for name in form.fields or ():
                seat.setdefault(name, {})
    for front in form.front:
        container = _at(here, tuple(map(str, front)))
        for name in forms.CONTAINER_FIELDS if form.front_whole else form.front_fields.values():
            container.setdefault(name, {})


def _job_spec() -> Mapping[str, Any]:
    return workload_definitions()[_JOB_SPEC]


def _add(names: _Names, fields: Fields) -> None:
    if fields is None or fields is TEMPLATE_ASKS or fields is POD_SPEC_ASKS:
        return
    for name, below in fields.items():
        _add(names.setdefault(name, {}), below)
