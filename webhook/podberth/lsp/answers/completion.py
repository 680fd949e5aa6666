"""Completes keys and values of documents, and names in CEL expressions."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias

from ...cel.types import DYN, CelType
from ...kube.paths import FieldPath, Path
from ...kube.typed import MisfitError, type_at
from ...kube.unchecked import mapping_at, text_at
from ...policy.exception_model import ExceptionSpec
from ...wellknown import POLICY_KIND
from ..manual.variables import Manual
from .definition import params_of
from .document import Question
from .expression import Mention, mention_at
from .fields import OWN, Spot
from .language import Language, Signature, meaning_of, meaning_of_field, shown
from .skeletons import skeletons_of
from .text import Place, Range

Kind: TypeAlias = Literal["key", "value", "variable", "field", "function", "skeleton"]
# A character of a name in an expression, and of a key or value of a document
_NAME: Final = re.compile(r"\w")
_KEY: Final = re.compile(r"[\w./-]")
# The beginning of a line of block style with a key and the beginning of its value; ``before`` stands before the key.
_OWN_KEY: Final = re.compile(r"(?P<before> *(?:- +)*)[\w./-]+: +[\w./-]*$")
_ALONE: Final = re.compile(r" *[\w./-]*")
_IN_FLOW: Final = re.compile(r": +[\w./-]*$")
_MOST: Final = 500
"""The most items of an answer: more than all functions together."""


@dataclass(frozen=True, slots=True)
class Item:
    """One completion: the text in the list, the text that is inserted, and the explanation."""

    label: str
    kind: Kind
    detail: str = ""
    """A type or a signature."""
    meaning: str = ""
    """Markdown; empty if there is no description."""
    insert: str = ""
    """The text that replaces the typed beginning; empty if it is the label."""
    snippet: str = ""
    """``insert`` with the placeholders of a snippet; empty if it has none."""


@dataclass(frozen=True, slots=True)
class Completion:
    """The completions at a place, and the range of the typed text that they replace."""

    items: tuple[Item, ...]
    replaced: Range


def complete(question: Question) -> Completion:
    """Return the completions at a place of a document; the editor leaves out those that do not match the typed text."""
    if skeletons := skeletons_of(question.document):
        whole = (Item(each.label, "skeleton", "", each.meaning, each.text, each.snippet) for each in skeletons)
        return Completion(tuple(whole), question.word)
    if question.cursor is None:
        return Completion((), Range(question.place, question.place))
    found = dict[str, Item]()
    for item in _items(question):
        found.setdefault(item.label, item)
    line, column = question.place
    pattern = _NAME if question.language is not None else _KEY
    text, start = question.document.text.line(line), column
    while start and pattern.match(text[start - 1]):
        start -= 1
    return Completion(tuple(found.values())[:_MOST], Range(Place(line, start), question.place))


def _items(question: Question) -> Iterator[Item]:
    cursor, spot = question.cursor, question.spot
    if cursor is None:
        return
    if question.language is not None:
        mention = mention_at(cursor.value, cursor.offset)
        yield from _of_text(question, mention) if mention.in_text else names_at(question.language, mention)
    elif question.document.is_suite and cursor.key is not None and (pod := pod_path(cursor.path)) is not None:
        yield from pod_keys(question, pod, cursor.beside)
    elif spot is None:
        return
    elif cursor.key is not None and spot.at(0) is None and (spot.model is not None or not spot.values):
        after = question.document.text.line(question.place.line)[question.place.column :]
        yield from _keys(spot, cursor.beside, "" if ":" in after else ": ")
    else:
        yield from _of_value(question, spot)


# ---- documents ------------------------------------------------------------------------------------------------------


def _of_value(question: Question, spot: Spot) -> Iterator[Item]:
    """Yield the items for a value, whose object or list they begin.

    The first key of an object is inserted on a line below; in flow style, which has no lines, in braces. A list of
    values is in brackets, and on a line of its own an item begins with a dash.
    """
    line, column = question.place
    before = question.document.text.line(line)[:column]
    own, element = _OWN_KEY.match(before), spot.at(0)
    dash = "" if element is None else "- "
    inner = spot if element is None else element
    for each in _values(question, inner) if inner.model is None else _keys(inner, frozenset(), ": "):
        text = each.insert or each.label
        if inner.model is not None and own is not None:
            yield replace(each, insert=f"\n{' ' * (own.end('before') + 2 - len(dash))}{dash}{text}")
        elif _IN_FLOW.search(before):
            text = text if inner.model is None else f"{{{text}}}"
            yield replace(each, insert=text if element is None else f"[{text}]")
        elif element is None or _ALONE.fullmatch(before):
            yield replace(each, insert=f"{dash}{text}")


def _keys(spot: Spot, present: frozenset[str], colon: str) -> Iterator[Item]:
    for name, each in spot.fields():
        if name not in present:
            yield Item(name, "key", type_shown(each), each.meaning, f"{name}{colon}")


def _values(question: Question, spot: Spot) -> Iterator[Item]:
    if question.path == ("kind",) and question.root is not None and question.root.model in OWN.values():
        yield from (Item(each, "value", meaning=(OWN[each].__doc__ or "").partition("\n")[0]) for each in OWN)
        return
    for each in spot.values:
        yield Item(each, "value", meaning=spot.meaning)
    if spot.owner is ExceptionSpec and spot.name == "policies":
        for _, content, _ in question.document.objects():
            if text_at(content, "kind") == POLICY_KIND:
                yield Item(
                    text_at(content, "metadata", "name"), "value", meaning=text_at(content, "spec", "description")
                )
        for name, description in question.document.shipped().items():
            yield Item(name, "value", "a shipped policy", description)


def pod_path(path: Path) -> FieldPath | None:
    """Return the path in the Pod of a path in a test suite; None if it leads into no Pod."""
    for pod in (("pod",), ("expect", "patched")):
        start = 2 + len(pod)
        if path[:1] == ("cases",) and path[2:start] == pod:
            return tuple(map(str, path[start:]))
    return None


def pod_keys(question: Question, path: FieldPath, present: frozenset[str]) -> Iterator[Item]:
    """Yield the fields of the object at a path of a Pod, but those that are ``present``."""
    schema = question.checkers.of_gpu.schema
    try:
        kind = type_at(schema, path)
    except MisfitError:
        return
    owner = f"k8s.{kind.message.rpartition('.')[2]}"
    fields = schema.definitions[kind.message] if kind.kind == "message" else {}
    for name, each in fields.items():
        if name not in present:
            detail = each.message.rpartition(".")[2] if each.kind == "message" else each.kind
            yield Item(name, "key", detail, meaning_of_field(CelType(owner), name), f"{name}: ")


def type_shown(spot: Spot) -> str:
    """Return the type of a field for readers; empty if the type is no simple one."""
    if spot.want is not None:
        return f"CEL: {spot.want.value}"
    if spot.values:
        return " | ".join(spot.values[:6])
    return "object" if spot.model is not None else ""


# ---- CEL ------------------------------------------------------------------------------------------------------------


def names_at(language: Language, mention: Mention) -> Iterator[Item]:
    """Yield the names that can stand at a place of an expression, each with its type and its meaning."""
    if mention.receiver:
        yield from _members(language, mention)
        return
    for name in mention.loop_variables:
        yield Item(name, "variable", shown(mention.type_in(language, name) or DYN))
    for name in sorted(language.names):
        found = "" if name == "variables" else shown(language.global_type(name))
        yield Item(name, "variable", found, meaning_of(name))
    for each in language.globals():
        yield _function(each)


def _members(language: Language, mention: Mention) -> Iterator[Item]:
    receiver = mention.receiver
    if receiver == "variables" and "variables" in language.names:
        for name, source in language.variables.items():
            yield Item(name, "variable", shown(language.variable_types[name]), fenced(source))
        return
    prefix = f"{receiver}."
    for name in sorted(language.names):
        if name.startswith(prefix):
            yield Item(name.removeprefix(prefix), "variable", shown(language.global_type(name)))
    for each in language.globals():
        if each.name.startswith(prefix):
            yield _function(each, each.name.removeprefix(prefix))
    owner = mention.type_in(language, receiver)
    if owner is None:
        return
    for name, kind in language.fields(owner).items():
        yield Item(name, "field", shown(kind), meaning_of_field(owner, name))
    for each in language.members(owner):
        yield _function(each)


def _function(each: Signature, name: str = "") -> Item:
    return Item(name or each.name, "function", each.written, sentence(each.manual))


def sentence(manual: Manual | None) -> str:
    """Return the manual's sentence about a function, with the example, as Markdown; empty without a manual."""
    return "" if manual is None else f"{manual.meaning}.\n\n{fenced(manual.example)}"


def fenced(source: str) -> str:
    """Return an expression as a block of code in Markdown."""
    return f"```cel\n{source.strip()}\n```"


def _of_text(question: Question, mention: Mention) -> Iterator[Item]:
    """Yield the keys of the params' ``data``, if the text at the place is one of these keys."""
    if mention.receiver.replace("?", "") != "params.data":
        return
    found = params_of(question)
    for key, value in mapping_at(found[1], "data").items() if found is not None else ():
        yield Item(key, "value", "params", fenced(str(value)))
