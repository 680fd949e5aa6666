"""Finds the fields that the API of a workload lacks: fields that kubectl refuses, or that never reach the pod.

Values that a field of Kubernetes' own types does not take are found, too.

An object of one of Kubernetes' own kinds is checked completely. In an object of another kind the pod templates are
checked, as far as the form of the templates is known. Outside the templates, only misspelt and misplaced fields are
found.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

from ..kinds import forms
from ..kinds.places import TEMPLATE, Form
from ..kinds.replica_specs import EXIT_CODE, REPLICA_SPECS
from ..kube.paths import Path
from ..kube.schema import POD, Definitions, PodSchema, Schema, workload_definitions, workload_type
from ..kube.unknown_fields import Typed, nearest, unknown_fields
from ..workload.projection import place_of
from ..workload.templates import Template, objects_in
from .misspelt_fields import misspelt_fields
from .numbers import holds_placeholder, is_placeholder

MOST_UNKNOWN: Final = 200
"""The maximum number of an object's unknown fields and broken rules that are reported.

Finding the lines of 200,000 fields took 25 s.
"""
_POD_SPEC: Final = "io.k8s.api.core.v1.PodSpec"
_CONTAINER: Final = "io.k8s.api.core.v1.Container"
_POD_TEMPLATE: Final = Schema(kind="message", message="io.k8s.api.core.v1.PodTemplateSpec")
_SPEC: Final = ("spec",)


class UnknownField(NamedTuple):
    """A field that an object's API does not have, or a value that the API does not take there."""

    path: Path
    message: str
    refused: bool
    """Whether kubectl refuses the object, or the API server refuses the objects that are made from it.

    If not, the object's CRD decides: the field is dropped, or the object is refused.
    """


def first_of(found: Iterable[UnknownField]) -> list[UnknownField]:
    """Return the results of ``found``, each once, since two roles may have the same template.

    If there are more than MOST_UNKNOWN, the last result says that further ones are left out.
    """
    seen: dict[UnknownField, None] = {}
    for each in found:
        seen[each] = None
        if len(seen) > MOST_UNKNOWN:
            break
    first = list(seen)
    if len(first) > MOST_UNKNOWN:
        message = f"got more than {MOST_UNKNOWN} unknown fields and values; the first are shown, fix these first"
        first[-1] = first[-1]._replace(message=message)
    return first


def unknown_fields_in(
    content: Mapping[str, Any], found: Sequence[Template], schema: PodSchema
) -> Iterator[UnknownField]:
    """Yield the unknown fields of an object with pod templates; fields outside the templates come first."""
    definitions = {**schema.definitions, **workload_definitions()}
    whole: list[Path] = []
    for path, each in objects_in(content):
        if name := workload_type(each):
            whole.append(path)
            # Only the cluster writes the status; it may be newer than the types that are known here
            value = {key: part for key, part in each.items() if key != "status"} if name == POD else each
            typed = Typed(Schema(kind="message", message=name), value, path)
            yield from _of(definitions, [typed], refused=not path)
    for path, message in misspelt_fields(content):
        if not any(path[: len(each)] == each for each in whole):
            yield UnknownField(path, message, refused=False)
    for template in found:
        if not any(template.path[: len(path)] == path for path in whole):
            yield from _in_template(template, definitions)
            yield from _dropped(template)


def _of(definitions: Definitions, roots: Iterable[Typed], *, refused: bool) -> Iterator[UnknownField]:
    """Yield what is unknown in some values; ``refused`` says whether kubectl refuses an unknown field there."""
    for root in roots:
        for each in unknown_fields(definitions, root):
            key = str(each.path[-1])
            # "$patch" and the like direct a strategic merge patch
            unfilled = holds_placeholder(each.value or key) or (each.mistyped and is_placeholder(each.value))
            if not key.startswith("$") and not unfilled:
                yield UnknownField(each.path, each.message, (refused or each.value is not None) and not each.former)


# ---- the templates of other kinds ------------------------------------------------------------------------------------


def _in_template(template: Template, definitions: Definitions) -> Iterator[UnknownField]:
    """Yield what is unknown in a template of an operator's kind.

    The CRD takes any text, but a text that the operator copies into a pod is refused there.
    """
    if template.kind in REPLICA_SPECS:
        yield from _of(definitions, [_role_policy(template, definitions)], refused=True)
    found = [*_of(definitions, _typed(template, definitions), refused=False)]
    if found:
        pod = Typed(Schema(kind="message", message=POD), template.pod)
        copied = {place_of(template, each.path) for each in unknown_fields(definitions, pod) if each.value}
        yield from (each._replace(refused=each.path in copied) for each in found)


def _role_policy(template: Template, definitions: Definitions) -> Typed:
    """Return the restart policy of the role around a template, which the operator writes on the role's pods.

    Source: kubeflow/training-operator pkg/core/pod.go SetRestartPolicy.
    """
    schema = definitions[_POD_SPEC]["restartPolicy"]
    place = (*template.path[:-1], "restartPolicy")
    value = forms.find(template.document, place)
    return Typed(replace(schema, values=(*schema.values, EXIT_CODE)), value, place)


def _typed(template: Template, definitions: Definitions) -> Iterator[Typed]:
    """Yield the parts of a pod template whose types are known, each with the part's type."""
    form, path = template.form, template.path
    place = forms.find(template.document, path)
    if form is TEMPLATE:
        yield Typed(_POD_TEMPLATE, place, path)
        return
    spec = definitions[_POD_SPEC]
    for target, source in form.seats:
        value = forms.find(place, source)
        if target == _SPEC and isinstance(value, Mapping):
            yield from _of_spec(form, Typed(Schema(kind="message", message=_POD_SPEC), value, (*path, *source)), spec)
        elif target != _SPEC and target[0] == "spec":
            yield from _with_others(Typed(spec[str(target[1])], value, (*path, *source), form.adds))
    front = forms.front_of(form, place)
    inside = forms.find(place, front) if front is not None else None
    if front is None or not isinstance(inside, Mapping):
        return
    if form.front_whole:
        yield Typed(Schema(kind="message", message=_CONTAINER), inside, (*path, *front), form.adds)
        return
    for field, name in form.front_fields.items():
        yield Typed(definitions[_CONTAINER][field], inside.get(name), (*path, *front, name))


def _of_spec(form: Form, whole: Typed, fields: Mapping[str, Schema]) -> Iterator[Typed]:
    """Yield a PodSpec as one value; if only some fields have known types, yield these fields one by one."""
    if (form.fields is None or form.others is not None) and not form.adds:
        yield Typed(whole.kind, whole.value, whole.path, form.others or frozenset())
        return
    for key, value in whole.value.items():
        if key in fields and (form.fields is None or key in form.fields):
            yield from _with_others(Typed(fields[key], value, (*whole.path, key), form.adds))


def _with_others(typed: Typed) -> Iterator[Typed]:
    """Yield a value of a known type. A list of containers in which the operator adds fields is yielded item by item.

    So each container is compared with its type and with the operator's own fields (``Typed.others``).
    """
    element = typed.kind.element
    if typed.others and element is not None and element.message == _CONTAINER and isinstance(typed.value, list):
        for at, each in enumerate(typed.value):
            yield Typed(element, each, (*typed.path, at), typed.others)
    else:
        yield Typed(typed.kind, typed.value, typed.path)


def _dropped(template: Template) -> Iterator[UnknownField]:
    """Yield the fields of a pod template that Pods have but the schema of the template's kind lacks."""
    form, place = template.form, forms.find(template.document, template.path)
    if (_SPEC, _SPEC) in form.seats and form is not TEMPLATE and (form.fields is None or form.others is not None):
        parts = {str(source[0]) for _, source in form.seats} | form.beside
        for key in place if isinstance(place, Mapping) else ():
            if key not in parts and not holds_placeholder(key):
                near = nearest(key, parts)
                meant = f"; did you mean {near}?" if near else ""
                message = f"got {key[:60]}, which a pod template of a {template.kind} does not have{meant}"
                yield UnknownField((*template.path, key), message, refused=False)
    for source in (source for target, source in form.seats if target == _SPEC):
        spec = forms.find(place, source)
        for key in sorted(template.lacks.intersection(spec if isinstance(spec, Mapping) else ())):
            message = f"got {key}, which the CRD of {template.kind} does not have, so that it is lost"
            yield UnknownField((*template.path, *source, key), message, refused=False)
