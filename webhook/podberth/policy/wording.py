"""Rewrites pydantic's errors as ``got X, want Y``, with the most similar known name for a misspelled name.

This module knows pydantic's error types but nothing about policies; the models of test suites use it, too.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, TypeAlias, get_args

from pydantic import BaseModel, ValidationError

from ..errors import did_you_mean
from ..kube.paths import Path
from ..kube.scalars import kind_of

FieldProblem: TypeAlias = tuple[Path, bool, str]
"""The path of the problem, whether the key at the path is wrong (False: the value is wrong), and the message."""


MOST_EXPLAINED: Final = 40
"""The most problems that are explained: more than a screen. Searching similar names of 200,000 fields took 11 s."""


_LONGEST_NAME: Final = 80
"""The length at which an unknown name is truncated in a message; no field of Kubernetes has half as many characters."""


def explain(error: ValidationError, model: type[BaseModel]) -> Iterator[FieldProblem]:
    """Yield the problems because of which pydantic refused a document as ``model``.

    If there are more than MOST_EXPLAINED problems, the first problem states the number of all, and the last problems
    are left out.
    """
    found = error.errors(include_url=False)
    if len(found) > MOST_EXPLAINED:
        yield (), False, f"got {len(found):,} problems, of which {MOST_EXPLAINED} are shown; fix these first"
    for details in found[:MOST_EXPLAINED]:
        if details["type"] == "too_short" and any(each["loc"][:-1] == details["loc"] for each in found):
            continue  # pydantic counts only valid items
        path = tuple(step for step in details["loc"] if step != "[key]")
        of_key = path != details["loc"]
        if details["type"] == "extra_forbidden":
            yield path, True, _unknown(str(path[-1]), model, path[:-1])
        elif details["type"] == "missing":
            yield path, False, f"the field {path[-1]!r} is required"
        else:
            wording = _WORDINGS.get(details["type"])
            said = wording(details["input"], details.get("ctx") or {}) if wording else details["msg"]
            yield path, of_key, said


def fields_at(model: type[BaseModel], path: Path) -> tuple[str, ...]:
    """Return the names of the fields, as documents spell them, of the part of ``model`` at ``path``; empty if none."""
    annotation: Any = model
    for step in path:
        found = _model_in(annotation)
        if found is None:
            return ()
        if isinstance(step, str):
            by_name = {field.alias or name: field.annotation for name, field in found.model_fields.items()}
            annotation = by_name.get(step)
    found = _model_in(annotation)
    return tuple(field.alias or name for name, field in found.model_fields.items()) if found else ()


def _model_in(annotation: Any) -> type[BaseModel] | None:
    """Return the only model class in a type annotation; the class may be inside Optional and tuples."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for part in get_args(annotation) if (found := _model_in(part)) is not None), None)


def _unknown(name: str, model: type[BaseModel], place: Path) -> str:
    known = fields_at(model, place)
    owners = [field for field in known if name in fields_at(model, (*place, field))]
    hint = f"; it is a field of {owners[0]}" if len(owners) == 1 else did_you_mean(name, known)
    got = f"unknown field {repr(name)[:_LONGEST_NAME]}"
    return f"{got}{hint or ('; want one of ' + ', '.join(sorted(known)) if known else '')}"


def shown(value: object) -> str:
    """Return a value as text for a message.

    A number or bool is written as in JSON, and a string in quotes with 80 characters at most. Any other value is
    represented by the name of its type.
    """
    if isinstance(value, bool | int | float):
        return repr(value).lower()
    return repr(value)[:80] if isinstance(value, str) else kind_of(value)


def _want(wanted: str) -> Callable[[object, Mapping[str, Any]], str]:
    return lambda value, _: f"got {shown(value)}, want {wanted}"


def _want_string(value: object, _: Mapping[str, Any]) -> str:
    hint = "; put it in quotes" if isinstance(value, bool | int | float) else ""
    return f"got {shown(value)}, want a string{hint}"


def _want_list(value: object, _: Mapping[str, Any]) -> str:
    hint = f"; write [{shown(value)}]" if isinstance(value, str) and value.isalnum() else ""
    return f"got {shown(value)}, want a list{hint}"


def _literal(value: object, context: Mapping[str, Any]) -> str:
    expected = str(context.get("expected", ""))
    names = tuple(part.strip("'") for part in expected.replace(" or ", ", ").split(", "))
    hint = did_you_mean(value, names) if isinstance(value, str) and len(names) > 1 else ""
    return f"got {shown(value)}, want {expected}{hint}"


# pydantic-core's error types: https://docs.pydantic.dev/latest/errors/validation_errors/
_WORDINGS: Mapping[str, Callable[[object, Mapping[str, Any]], str]] = {
    "string_type": _want_string,
    "int_type": _want("a whole number"),
    "bool_type": _want("true or false"),
    "tuple_type": _want_list,
    "list_type": _want_list,
    "dict_type": _want("an object"),
    "model_type": _want("an object"),
    "model_attributes_type": _want("an object"),
    "literal_error": _literal,
    "greater_than_equal": lambda value, context: f"got {value}, want at least {context['ge']}",
    "less_than_equal": lambda value, context: f"got {value}, want at most {context['le']}",
    "too_short": lambda _, context: f"got {context['actual_length']} entries, want at least {context['min_length']}",
    "too_long": lambda value, context: (
        f"got {context['actual_length']} {'characters' if isinstance(value, str) else 'entries'}, "
        f"want at most {context['max_length']}"
    ),
}
