"""Reads refused documents as far as possible, so that the problems of their expressions are reported, too.

An author with a misspelled field and a wrong expression gets both problems at once. Nothing evaluates such a document.
"""

from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from ..kube.paths import Path
from ..kube.unchecked import mapping_at
from .model import GPUPolicy
from .wording import MOST_EXPLAINED

_Document = TypeVar("_Document", bound=BaseModel)

_ROUNDS = 3
"""The number of attempts: a wrong name leaves its item without a name, and that leaves out the list."""


def without_refused(content: Mapping[str, Any], error: ValidationError, model: type[_Document]) -> _Document | None:
    """Return a document without the values because of which ``model`` refused it.

    If a required field is missing, the object around it is left out; if an item of a list is wrong, the list. The
    result is None if ``model`` refuses the rest, or if variables are left out: expressions would seem to read unknown
    variables.
    """
    rest: Any = content
    for _ in range(_ROUNDS):
        rest = _left_out(rest, error)
        if rest is None:
            break
        try:
            return model.model_validate(rest)
        except ValidationError as another:
            error = another
    return None


def with_values(policy: GPUPolicy, values: Mapping[Path, str]) -> GPUPolicy | None:
    """Return a policy with other texts at some paths of its document; None if these are not valid there."""
    content: Any = policy.model_dump(mode="json", by_alias=True, exclude_unset=True)
    for path, value in values.items():
        content = _without(content, path, value)
    try:
        return GPUPolicy.model_validate(content)
    except ValidationError:
        return None


def _left_out(content: Any, error: ValidationError) -> Any:
    """Return a document without the values that an error names; None if too little would be left."""
    found = error.errors(include_url=False)
    if len(found) > MOST_EXPLAINED:
        return None
    for details in found:
        path = _of_field(tuple(step for step in details["loc"] if step != "[key]"))
        is_unknown = details["type"] == "extra_forbidden"
        instead = None if is_unknown else _stand_in(path)
        if details["type"] == "missing" and instead is None:
            path = _of_field(path[:-1])
        if not path or path[-1] == "variables" or (is_unknown and _may_be_variables(details["input"], content)):
            return None
        content = _without(content, path, instead)
    return content


def _of_field(path: Path) -> Path:
    """Return the path of the innermost field that contains a value; items of lists are no fields."""
    return next((path[:length] for length in range(len(path), 0, -1) if isinstance(path[length - 1], str)), ())


def _stand_in(path: Path) -> object:
    """Return a valid value for a required field, which causes no problem of an expression; None if none is known."""
    match path:
        case ("metadata",):
            return {"name": "unnamed"}
        case ("metadata", *_):
            return "unnamed"
        case ("spec", "validationActions"):
            return ["Warn"]
        case ("spec", "variables", _, "expression"):
            return "dyn(true)"
        case (*_, "expression"):
            return "true"
        case _:
            return None


def _may_be_variables(value: object, content: Mapping[str, Any]) -> bool:
    """Return whether the value of an unknown field may be the variables that expressions of a document read.

    Variables are names with expressions, as conditions are, too.
    """
    items = value if isinstance(value, list) else []
    is_alike = any(isinstance(each, dict) and {"name", "expression"} <= each.keys() for each in items)
    return is_alike and "variables" not in mapping_at(content, "spec") and "variables." in str(content)


def _without(part: Any, path: Path, instead: object) -> Any:
    """Return a copy of a part of a document in which the value at ``path`` is absent, or is ``instead``."""
    step, rest = path[0], path[1:]
    if isinstance(part, list):
        return [_without(each, rest, instead) if index == step else each for index, each in enumerate(part)]
    if not isinstance(part, dict) or (rest and step not in part):
        return part
    others = {key: value for key, value in part.items() if key != step}
    if rest:
        return {**others, step: _without(part[step], rest, instead)}
    return others if instead is None else {**others, step: instead}
