"""Finds values in a pod template that have a wrong type or that the API server refuses, each with its path."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, Final

from ..kinds.forms import find, put
from ..kube.paths import Path
from ..workload.projection import place_of
from ..workload.templates import Template
from .numbers import advice, is_placeholder
from .place import steps_of
from .pod_refusals import refused
from .result import shown

# Operators may add containers that their templates lack; Kubernetes' own controllers add none
_BUILT_IN: Final = frozenset(
    {"v1", "apps/v1", "apps/v1beta1", "apps/v1beta2", "batch/v1", "batch/v1beta1", "extensions/v1beta1"}
)
_LATER: Final = "${value}"
"""The placeholder in place of a value of a wrong type: nothing is known of the right value."""


def readable(
    content: Mapping[str, Any], found: Sequence[Template], read: Callable[[Mapping[str, Any]], list[Template]]
) -> list[Template]:
    """Return the templates ``found`` as if the values of wrong types in ``content`` were filled in later.

    ``read`` returns the templates of a document. A template that cannot be read even so is returned with its problems.
    """
    wrong = [each for template in found for each in _mistyped(template)]
    for path, message, value in wrong:
        if find(content, path) is value:
            content = put(content, path, _in_place(path, message))
    again = read(content) if wrong else found
    return list(again if [each.path for each in again] == [each.path for each in found] else found)


def _in_place(path: Path, message: str) -> Any:
    """Return the value in place of one of a wrong type; the checks take it as filled in later."""
    if message.endswith("want string"):
        return _LATER
    nameless = {"name": _LATER}
    return nameless if isinstance(path[-1], int) else [nameless] if path[-1] == "volumes" else None


def _mistyped(template: Template) -> Iterator[tuple[Path, str, Any]]:
    """Yield (path in the document, message, value) for each problem of a template."""
    for problem in template.problems:
        where, _, message = problem.partition(": ")
        steps = steps_of(where)
        yield place_of(template, steps), message or problem, find(template.own, steps)


def _is_about(path: Path, other: Path) -> bool:
    """Return whether one of two paths leads to a part of the other's value, or both to the same value."""
    return path[: len(other)] == other[: len(path)]


def misshapen(
    template: Template, rest: Template, said: Collection[Path], api_version: str, *, named: bool
) -> Iterator[tuple[str, Path]]:
    """Yield (message, path) for each error in a template, but at the paths ``said``, whose errors are known.

    ``rest`` is the template without values of wrong types (``readable``), of which the other values are checked. The
    number of containers is checked only if there is no other error. ``api_version`` is the document's. ``named`` says
    whether the user named the file: a file of a folder may be a patch, which has no containers.
    """
    found: list[tuple[str, Path]] = []
    unfilled: dict[str, Path] = {}
    mistyped = list(_mistyped(template))
    for path, message, value in mistyped:
        if path in said:
            continue
        if is_placeholder(value):
            unfilled.setdefault(f"{value!s:.60}", path)
        else:
            found.append((message, path))
    if unfilled:  # one message for all placeholders: the user fills them in together
        first = next(iter(unfilled))
        what = "placeholders" if len(unfilled) > 1 else "the placeholder"
        found.insert(0, (f"got {what} {shown([*unfilled])}; {advice(first, api_version)}", unfilled[first]))
    if not rest.problems:
        known = [*said, *(path for path, _, _ in mistyped)]
        others = ((wrong, place_of(rest, path)) for path, wrong in refused(rest.pod, rest.own))
        found += [(wrong, path) for wrong, path in others if not any(_is_about(path, each) for each in known)]
    if not found and named and api_version in _BUILT_IN and not (template.pod.get("spec") or {}).get("containers"):
        found.append(("got no containers, want at least one", place_of(template, ("spec", "containers"))))
    yield from found
