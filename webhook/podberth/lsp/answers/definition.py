"""Finds the definition of a name: a policy's variable, the params and their keys, and objects that are named."""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from ...kube.paths import Path
from ...kube.positions import Position, Positions
from ...kube.unchecked import list_at, mapping_at, text_at
from ...native.documents import is_native
from ...wellknown import POLICY_KIND
from .document import Question
from .expression import Mention, mention_at
from .text import Place, Range

_NAME: Final[Path] = ("metadata", "name")


class Found(NamedTuple):
    """An object in the folder of a document: its file, content and positions."""

    file: str
    content: Mapping[str, Any]
    positions: Positions


class Definition(NamedTuple):
    """The file and the range of a definition."""

    file: str
    range: Range


def define(question: Question) -> Definition | None:
    """Return the definition of the name at a place; None if podberth knows none."""
    cursor = question.cursor
    if cursor is None:
        return None
    if question.language is not None:
        mention = mention_at(cursor.value, cursor.offset)
        if mention.receiver == "variables":
            return _variable(question, mention.name)
        return _param(question, mention)
    if cursor.key is not None:
        return None
    return _object(question, cursor.path, cursor.value)


def params_of(question: Question) -> Found | None:
    """Return the params beside the document at the place; None if there are none.

    The params of a native policy are named by its binding.
    """
    if question.cursor is None:
        return None
    document = question.cursor.document
    kind, holder = "ConfigMap", document
    if is_native(document):
        kind, name = text_at(document, "spec", "paramKind", "kind"), text_at(document, *map(str, _NAME))
        bindings = (each for _, each, _ in question.document.objects() if is_native(each))
        holder = next((each for each in bindings if text_at(each, "spec", "policyName") == name), {})
    ref = mapping_at(holder, "spec", "paramRef")
    if not kind or not text_at(ref, "name"):
        return None
    namespace = text_at(ref, "namespace") or text_at(document, "metadata", "namespace")
    found = question.document.named(kind, text_at(ref, "name"), namespace)
    return None if found is None else Found(*found)


def _variable(question: Question, name: str) -> Definition | None:
    cursor = question.cursor
    if cursor is None:
        return None
    for index, each in enumerate(list_at(cursor.document, "spec", "variables")):
        if name and text_at(each, "name") == name:
            position = cursor.positions.at(("spec", "variables", index, "name"))
            return _at(question.document.file, Position(position.line + cursor.first, position.column), name)
    return None


def _param(question: Question, mention: Mention) -> Definition | None:
    receiver = mention.receiver.replace("?", "")
    of_key = receiver == "params.data"
    if not of_key and not (mention.name == "params" and not receiver) and receiver != "params":
        return None
    found = params_of(question)
    if found is None:
        return None
    if of_key and question.cursor is not None:
        key = _text_around(question.cursor.value, mention) if mention.in_text else mention.name
        if key in mapping_at(found.content, "data"):
            return _at(found.file, found.positions.key(("data", key)), key)
    return _named(found)


def _text_around(source: str, mention: Mention) -> str:
    """Return the whole text literal that begins where ``mention`` begins."""
    quote = source[mention.start - 1]
    return source[mention.start :].partition(quote)[0]


def _object(question: Question, path: Path, name: str) -> Definition | None:
    """Return the definition of the object that the value at ``path`` names."""
    found: tuple[str, Mapping[str, Any], Positions] | None = None
    document = question.cursor.document if question.cursor is not None else {}
    if path == ("spec", "paramRef", "name"):
        if not is_native(document):
            found = params_of(question)
    elif path == ("spec", "policyName") and is_native(document):
        found = question.document.named(text_at(document, "kind").removesuffix("Binding"), name)
    elif path[:2] == ("spec", "policies"):
        found = question.document.named(POLICY_KIND, name)
    return None if found is None else _named(Found(*found))


def _named(found: Found) -> Definition:
    return _at(found.file, found.positions.at(_NAME), text_at(found.content, "metadata", "name"))


def _at(file: str, position: Position, text: str) -> Definition:
    start = Place(position.line - 1, position.column - 1)
    return Definition(file, Range(start, Place(start.line, start.column + len(text))))
