"""Write the tables of fields in docs/policy.md and docs/mutations.md, from the models and their docstrings.

    .venv/bin/python tools/policy_reference.py           # writes what has changed
    .venv/bin/python tools/policy_reference.py --check   # writes nothing; exits with 1 and says what is stale

The prose around the tables is written by hand. A model that stands in several places (a label selector, a rule) is
described in the first one.
"""

import sys
import types
from collections.abc import Iterator, Mapping
from inspect import get_annotations
from typing import Any, Literal, Union, get_args, get_origin

from annotated_types import Ge, Le
from generated import main, spliced
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from podberth.lsp.manual.fields import given_type, meanings
from podberth.policy.model import GPUPolicy, LabelSelector, MatchConstraints
from podberth.policy.text_fields import (
    ClaimTemplateName,
    EnvName,
    ExpressionText,
    Identifier,
    Message,
    QualifiedName,
    Subdomain,
)

PAGE, MUTATIONS = "docs/policy.md", "docs/mutations.md"
_TOP = "fields"
_GROUPS: Mapping[str, tuple[str, ...]] = {
    "matchConstraints": ("matchConstraints.",),
    "matchConditions": ("matchConditions[].",),
    "variables": ("variables[].",),
    "validations": ("validations[].",),
    "auditAnnotations": ("auditAnnotations[].",),
    "rollout": ("rollout.",),
    "params": ("paramKind.", "paramRef."),
    "nodeAffinity": ("mutations[].nodeAffinity.",),
    "gang": ("mutations[].gang.",),
    "topology": ("mutations[].topology.",),
    "claimTemplates": ("claimTemplates[].",),
    "mutations": ("mutations[].",),
}
"""By the name of a table, what the paths in it begin with; the first that fits has the field."""
_OF_MUTATIONS = frozenset({"nodeAffinity", "gang", "topology", "claimTemplates", "mutations"})
"""The names of the tables that are on the page about mutations."""
_NAMED: Mapping[object, str] = {
    Subdomain: "DNS subdomain",
    ClaimTemplateName: "DNS subdomain",
    QualifiedName: "qualified name",
    Identifier: "CEL identifier",
    EnvName: "name",
    Message: "string, one line",
}


def _pages() -> dict[str, str]:
    parts: dict[str, dict[str, str]] = {PAGE: {}, MUTATIONS: {}}
    for name, table in _tables().items():
        parts[MUTATIONS if name in _OF_MUTATIONS else PAGE][name] = table
    return {page: spliced(page, tables) for page, tables in parts.items()}


def _tables() -> dict[str, str]:
    rows: dict[str, list[str]] = {_TOP: [], **{name: [] for name in _GROUPS}}
    for owner, name, field, path in _fields(GPUPolicy, "", set()):
        group = next((group for group, starts in _GROUPS.items() if path.startswith(starts)), _TOP)
        meaning = meanings(owner).get(name, "")
        if field.annotation is Any and not meaning:  # what the API server adds: the prose has it
            continue
        cells = (f"`{path}`", _type(owner, name), _default(field), _cell(meaning))
        rows[group].append(f"| {' | '.join(cells)} |")
    head = "| field | type | default | meaning |\n|---|---|---|---|\n"
    return {name: head + "\n".join(found) for name, found in rows.items()}


def _fields(
    owner: type[BaseModel], prefix: str, described: set[type[BaseModel]]
) -> Iterator[tuple[type[BaseModel], str, FieldInfo, str]]:
    """Yield model, field and path of everything below a model, each model once, objects before what is in them."""
    described.add(owner)
    inner: list[tuple[type[BaseModel], str]] = []
    for name, field in owner.model_fields.items():
        path = f"{prefix}{field.alias or name}"
        yield owner, name, field, path
        for model, suffix in _models(field.annotation):
            if model not in described:
                inner.append((model, "" if path == "spec" else f"{path}{suffix}."))
    for model, below in inner:
        if model not in described:
            yield from _fields(model, below, described)


def _models(annotation: Any) -> Iterator[tuple[type[BaseModel], str]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation, ""
    for part in get_args(annotation):
        for model, suffix in _models(part):
            yield model, suffix or ("[]" if get_origin(annotation) is tuple else "")


def _type(owner: type[BaseModel], name: str) -> str:
    result = given_type(owner, name)
    # A field that several models share stands in their common parent.
    declared = next(found[name] for each in owner.__mro__ if name in (found := get_annotations(each)))
    if result:
        return f"map of CEL {result}s" if _holds(declared, dict) else f"CEL {result}"
    bounds = {type(each): each for each in _metadata(declared)}
    if Ge in bounds and Le in bounds:
        return f"{bounds[Ge].ge} to {bounds[Le].le}"  # type: ignore[attr-defined]
    return _named(declared)


def _named(declared: Any) -> str:  # noqa: PLR0911 - one for each kind of type
    if declared in _NAMED:
        return _NAMED[declared]
    origin, arguments = get_origin(declared), get_args(declared)
    if origin in (types.UnionType, Union):
        return _named(next(each for each in arguments if each is not type(None)))
    if origin is Literal:
        *first, last = (f"`{each}`" for each in arguments)
        return f"{', '.join(first)} or {last}" if first else last
    if origin is tuple:
        inner = get_args(arguments[0])
        return f"list of {', '.join(f'`{each}`' for each in inner)}" if get_origin(arguments[0]) is Literal else "list"
    if origin is dict:
        return "map"
    if hasattr(declared, "__metadata__"):
        if declared == ExpressionText:
            return "CEL, any type"
        return _named(arguments[0]) if arguments[0] is not int else "whole number"
    if isinstance(declared, type) and issubclass(declared, LabelSelector):
        return "label selector"
    if isinstance(declared, type) and issubclass(declared, BaseModel):
        return "object"
    return {str: "string", bool: "boolean", Any: "any"}[declared]


def _holds(declared: Any, kind: type) -> bool:
    return get_origin(declared) is kind or any(_holds(each, kind) for each in get_args(declared))


def _metadata(declared: Any) -> Iterator[object]:
    for each in getattr(declared, "__metadata__", ()):
        yield from getattr(each, "metadata", (each,))
    for part in get_args(declared):
        yield from _metadata(part)


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    default = field.get_default(call_default_factory=True)
    if isinstance(default, MatchConstraints) or default == MatchConstraints().resource_rules:
        return "pods on `CREATE`"
    if default is None:
        return "none"
    if isinstance(default, LabelSelector) or default == {}:
        return "`{}`"
    return {(): "`[]`", "": '`""`', False: "`false`"}.get(default, f"`{default}`")


def _cell(text: str) -> str:
    """Return a docstring as a table's cell: no capital, no full stop."""
    text = text.replace("|", "\\|").removesuffix(".")
    return text if text[1:2].isupper() or not text else text[0].lower() + text[1:]


if __name__ == "__main__":
    sys.exit(main(_pages()))
