"""Rewrites pydantic's errors as ``got X, want Y``, with the most similar known name for a misspelled name.

This module knows pydantic's error types but nothing about policies; the models of test suites use it, too.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Final, TypeAlias, get_args

from pydantic import BaseModel, ValidationError

from ..kube.paths import Path
from ..kube.shape import shown
from ..words import counted, did_you_mean, listed

FieldProblem: TypeAlias = tuple[Path, bool, str]
"""The path of the problem, whether the key at the path is wrong (False: the value is wrong), and the message."""


_MEANT: Final = re.compile(r"did you mean (\S+)\?$")
MOST_EXPLAINED: Final = 40
"""The most problems that are explained: more than a screen. Searching similar names of 200,000 fields took 11 s."""


_LONGEST_NAME: Final = 80
"""The length at which an unknown name is truncated in a message; no field of Kubernetes has half as many characters."""


def explain(error: ValidationError, model: type[BaseModel]) -> Iterator[FieldProblem]:
    """Yield the problems because of which pydantic refused a document as ``model``.

    The missing fields of an object are one problem, without those that a misspelled name means.
    If there are more than MOST_EXPLAINED problems, the first problem states the number of all, and the last problems
    are left out.
    """
    found = error.errors(include_url=False)
    if len(found) > MOST_EXPLAINED:
        yield (), False, f"got {len(found):,} problems, of which {MOST_EXPLAINED} are shown; fix these first"
    missing: dict[Path, list[str]] = {}
    meant = set[Path]()
    for details in found[:MOST_EXPLAINED]:
        if details["type"] == "too_short" and any(each["loc"][:-1] == details["loc"] for each in found):
            continue  # pydantic counts only valid items
        path = tuple(step for step in details["loc"] if step != "[key]")
        of_key = path != details["loc"]
        if details["type"] == "extra_forbidden":
            said = _unknown(str(path[-1]), fields_at(model, path[:-1]), model)
            if match := _MEANT.search(said):
                meant.add((*path[:-1], match[1]))
            yield path, True, said
        elif details["type"] == "missing":
            missing.setdefault(path[:-1], []).append(str(path[-1]))
        elif details["type"] in ("model_type", "model_attributes_type"):
            yield path, of_key, _want_object(details["input"], fields_at(model, path))
        else:
            wording = _WORDINGS.get(details["type"])
            said = wording(details["input"], details.get("ctx") or {}) if wording else details["msg"]
            yield path, of_key, said
    for path, names in missing.items():
        yield from _required(path, [name for name in names if (*path, name) not in meant])


def _required(path: Path, names: Sequence[str]) -> Iterator[FieldProblem]:
    """Yield the problem of an object that lacks the required fields ``names``; nothing without names."""
    if len(names) == 1:
        yield (*path, *names), False, f"the field {names[0]!r} is required"
    elif names:
        yield path, False, f"the fields {listed([repr(name) for name in names])} are required"


def of_boolean(message: str, written: str) -> str:
    """Return the message about a boolean that YAML read from the text ``written``, such as ``y``; empty: from another.

    kubectl reads YAML 1.1, where ``y``, ``yes`` and ``on`` are true, and ``n``, ``no`` and ``off`` false.
    """
    match = re.match("got (true|false)", message) if written else None
    if match is None:
        return message
    rest = (
        message[match.end() :]
        .replace(f"\"'{match[1]}'\"", f"\"'{written}'\"")
        .replace(f"text {match[1]} ", f"text {written} ")
    )
    return f"{match[0]}, as YAML reads {written} without quotes{rest}"


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


def _unknown(name: str, known: tuple[str, ...], model: type[BaseModel]) -> str:
    hint = did_you_mean(name, known)
    got = f"unknown field {repr(name)[:_LONGEST_NAME]}"
    if hint or not known:
        return got + hint
    place = _places(model).get(name, "")
    return f"{got}; want one of {', '.join(sorted(known))}{place and f'; {name} is a field of {place}'}"


@cache
def _places(model: type[BaseModel]) -> Mapping[str, str]:
    """Return the parts of ``model`` by the names of their fields, without names that several parts have.

    A part is named by its path, such as ``spec.mutations``.
    """
    found: dict[str, set[str]] = {}
    waiting, seen = [("", model)], {model}
    for path, part in waiting:
        for name, field in part.model_fields.items():
            found.setdefault(field.alias or name, set()).add(path)
            inner = _model_in(field.annotation)
            if inner and inner not in seen:
                seen.add(inner)
                waiting.append((f"{path}.{field.alias or name}".lstrip("."), inner))
    return {name: next(iter(places)) for name, places in found.items() if len(places) == 1}


def _want(wanted: str) -> Callable[[object, Mapping[str, Any]], str]:
    return lambda value, _: f"got {shown(value)}, want {wanted}"


def _want_object(value: object, fields: tuple[str, ...]) -> str:
    said = f"got {shown(value)}, want an object"
    if len(fields) != 1:
        return said
    number = _number(value)
    return f"{said} with the field {fields[0]}{number and f'; write {{{fields[0]}: {number}}}'}"


def _want_number(value: object, _: Mapping[str, Any]) -> str:
    number = _number(value)
    return f"got {shown(value)}, want a whole number{number and f'; write {number}'}"


def _number(value: object) -> str:
    """Return the digits of a whole number, or of a text with a number or a percentage; empty for another value."""
    text = str(value) if isinstance(value, str | int) else ""
    match = re.fullmatch(r"\s*(-?\d{1,9})\s*%?\s*", text[:_LONGEST_NAME])
    return match[1] if match else ""


def _want_string(value: object, _: Mapping[str, Any]) -> str:
    hint = "; put it in quotes" if isinstance(value, bool | int | float) else ""
    return f"got {shown(value)}, want a string{hint}"


def _want_list(value: object, _: Mapping[str, Any]) -> str:
    hint = f"; write [{shown(value)}]" if isinstance(value, str) and value.isalnum() else ""
    if value and isinstance(value, dict):
        hint = "; begin each item with a dash"
    return f"got {shown(value)}, want a list{hint}"


def _literal(value: object, context: Mapping[str, Any]) -> str:
    expected = str(context.get("expected", ""))
    names = tuple(part.strip("'") for part in expected.replace(" or ", ", ").split(", "))
    hint = did_you_mean(value, names) if isinstance(value, str) and len(names) > 1 else ""
    return f"got {shown(value)}, want {expected}{hint}"


# pydantic-core's error types: https://docs.pydantic.dev/latest/errors/validation_errors/
_WORDINGS: Mapping[str, Callable[[object, Mapping[str, Any]], str]] = {
    "string_type": _want_string,
    "int_type": _want_number,
    "bool_type": _want("true or false"),
    "tuple_type": _want_list,
    "list_type": _want_list,
    "dict_type": _want("an object"),
    "literal_error": _literal,
    "greater_than_equal": lambda value, context: f"got {value}, want at least {context['ge']}",
    "less_than_equal": lambda value, context: f"got {value}, want at most {context['le']}",
    "too_short": lambda _, context: (
        f"got {counted(context['actual_length'], 'entry')}, want at least {context['min_length']}"
    ),
    "too_long": lambda value, context: (
        f"got {context['actual_length']} {'characters' if isinstance(value, str) else 'entries'}, "
        f"want at most {context['max_length']}"
    ),
}
