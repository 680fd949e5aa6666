"""Turns the mutations of a predicted Pod into changes of the document that the Pod comes from.

A step is the patch of one mutation. Either the whole step becomes operations on the document, or the step is left out
with a reason. Defaults, fields that operators write, and values that depend on a placeholder are not written into the
document.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

from ..kinds import forms
from ..kinds.places import PLACEHOLDERS
from ..kube.carry import NotCarriedError, carry
from ..kube.json_patch import ABSENT, same
from ..kube.patch import Patch, apply, differences, operations
from ..kube.paths import Path
from ..kube.positions import render_path
from ..kube.shape import RESOURCED_LISTS
from ..wellknown import APPLIED_ANNOTATION
from .templates import Template


@dataclass(frozen=True, slots=True)
class Projected:
    """The result of projecting one step (a mutation's patch): operations on the document, or why the step is left out.

    ``operations`` (RFC 6902) apply to the document after all earlier steps. ``left`` is the reason; empty if the step
    is not left out. If both ``operations`` and ``left`` are empty, the document has the values already.
    """

    operations: Patch
    left: str = ""


class _LeftError(Exception):
    """The error for a step that cannot be written into the document; the error's text is the reason."""


_PARTS: Final = ((), ("metadata",), ("metadata", "labels"), ("metadata", "annotations"), ("spec",))
"""The paths of objects that a template may lack; if such an object is added, the object's fields are compared one by
one.
"""


def project(template: Template, steps: Sequence[Patch], whole: Patch) -> tuple[Projected, ...]:
    """Return the result of each of ``steps`` for the document, and at the end the result of writing the record.

    If any step is left out, the record is left out, too, because the record would name a field that the document lacks.

    Args:
        template: the predicted pod, with its document.
        steps: the patches of the mutations, each for the pod as the earlier steps leave it.
        whole: the patch from the predicted pod to the final pod, including the record.
    """
    final = apply(template.pod, whole)
    pods = [template.pod]
    for each in steps:
        pods.append(apply(pods[-1], each))
    pods.append(final)
    document: Any = template.document
    own = template.own
    found: list[Projected] = []
    for shown, after in pairwise(pods):
        last = len(found) == len(steps)
        try:
            if last and any(each.left for each in found) and _record(after) != _record(shown):
                raise _LeftError("the record would name what is left out")  # noqa: TRY301 - one way out for all reasons
            next_own, next_document = _write(template, document, own, shown, after)
        except _LeftError as left:
            found.append(Projected([], str(left)))
            continue
        found.append(Projected(operations(document, next_document)))
        own, document = next_own, next_document
    return tuple(found)


def _record(pod: dict[str, Any]) -> Any:
    return forms.find(pod, ("metadata", "annotations", APPLIED_ANNOTATION))


def _write(
    template: Template, document: Any, own: dict[str, Any], shown: dict[str, Any], after: dict[str, Any]
) -> tuple[dict[str, Any], Any]:
    for steps, elsewhere in template.fixed:
        if not same(forms.find(shown, steps), forms.find(after, steps)):
            raise _LeftError(f"{render_path(steps)}: {elsewhere}")
    try:
        changed = carry(own, shown, after)
    except NotCarriedError as error:
        raise _LeftError(f"{render_path(error.steps)}: the operator adds it to the pod") from error
    changed = _without_copies(own, changed)
    for steps, before, value in _changes(own, changed):
        reason = _unwritable(template, steps, before, value)
        if reason:
            raise _LeftError(reason)
    return changed, forms.write(document, template.path, template.form, own, changed)


def _without_copies(own: dict[str, Any], changed: dict[str, Any]) -> dict[str, Any]:
    """Return the changed pod without new requests that only repeat limits; the API server adds such requests by itself.

    ``own`` is the pod before the change. A container that has requests in ``own`` keeps all requests.
    """
    if changed is own or not isinstance(own["spec"], dict) or not isinstance(changed["spec"], dict):
        return changed
    spec = dict(changed["spec"])
    for field in RESOURCED_LISTS:
        before, after = own["spec"].get(field) or [], spec.get(field) or []
        if before and before is not after and len(before) == len(after):
            spec[field] = [_without_copy(old, new) for old, new in zip(before, after, strict=True)]
    return {**changed, "spec": spec}


def _without_copy(own: dict[str, Any], changed: dict[str, Any]) -> dict[str, Any]:
    resources = changed.get("resources")
    if not resources or (own.get("resources") or {}).get("requests") or "limits" not in resources:
        return changed
    requests = resources.get("requests") or {}
    if not requests or any(resources["limits"].get(name) != amount for name, amount in requests.items()):
        return changed
    return {**changed, "resources": {key: value for key, value in resources.items() if key != "requests"}}


def _unwritable(template: Template, steps: Path, before: Any, value: Any) -> str:
    """Return the reason why a value at a path of the pod cannot be written into the document; empty if none.

    ``steps`` is the path, and ``before`` the value that the document's pod has there.
    """
    where = render_path(steps)
    old, new = repr(before), f"{where}{value!r}"
    if any(new.count(word) > old.count(word) for word in (*PLACEHOLDERS, template.owner_uid) if word):
        return f"{where}: has a name or uid that only the cluster gives"
    if _has_place(template, steps):
        return ""
    other = template.elsewhere
    if other and steps[0] == "spec" and steps[1:2] and steps[1] in other.fields:
        return f"{where}: write it in {other.path}.{where}"
    return f"{where}: {template.kind} has no place for it"


def _has_place(template: Template, steps: Path) -> bool:
    form = template.form
    if not any(steps[: len(target)] == target for target, _ in form.seats):
        return False
    if template.lacks.intersection(steps[:2]):
        return False
    if steps[0] != "spec" or len(steps) == 1:
        return True
    front = forms.front_of(form, forms.find(template.document, template.path)) is not None
    if front and steps[1:3] == ("containers", 0):
        return steps[3:4] == () or steps[3] in form.front_fields
    apart = any(steps[: len(target)] == target for target, _ in form.seats if len(target) > 1)
    return form.fields is None or steps[1] in form.fields or apart


def _changes(before: Any, after: Any, at: Path = ()) -> Iterator[tuple[Path, Any, Any]]:
    """Yield (path, value before, value after) for each path at which two pods differ.

    Lists of different lengths differ as a whole.
    """
    for steps, old, new in differences(before, after, at):
        if steps in _PARTS and old in (None, ABSENT) and isinstance(new, dict):
            yield from _changes({}, new, steps)
        else:
            yield steps, old, new


def place_of(template: Template, steps: Path) -> Path:
    """Return the path in the document for a path in the pod.

    If the document has no such path, the result is the nearest path above it.
    """
    target, source = max(
        ((target, source) for target, source in template.form.seats if steps[: len(target)] == target),
        key=lambda seat: len(seat[0]),
        default=((), ()),
    )
    rest = steps[len(target) :] if target else ()
    found = (*template.path, *source) if target else template.path
    found, rest = _past_front(template, found, rest)
    while found and forms.find(template.document, found) is ABSENT:
        found = found[:-1]
    for step in rest:
        if forms.find(template.document, (*found, step)) is ABSENT:
            break
        found = (*found, step)
    return found


def _past_front(template: Template, found: Path, rest: Path) -> tuple[Path, Path]:
    front = forms.front_of(template.form, forms.find(template.document, template.path))
    index = rest[1] if rest[:1] == ("containers",) and len(rest) > 1 else None
    if front is None or not isinstance(index, int):
        return found, rest
    below = rest[2:]
    return (found, ("containers", index - 1, *below)) if index else ((*template.path, *front), below)
