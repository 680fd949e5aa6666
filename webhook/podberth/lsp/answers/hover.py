"""Explains the key, value or name at a place: its type, and the manual's sentence."""

from typing import NamedTuple

from ...cel.types import CelType
from .completion import fenced, pod_keys, pod_path, sentence, type_shown
from .document import Question
from .expression import Mention, mention_at
from .fields import spot_at
from .language import Language, Signature, meaning_of, meaning_of_field, shown
from .text import Range


class Hover(NamedTuple):
    """An explanation in Markdown, and the range of the text that it explains."""

    text: str
    range: Range


def explain(question: Question) -> Hover | None:
    """Return the explanation of what stands at a place; None if there is nothing to explain."""
    cursor = question.cursor
    if cursor is None or question.root is None:
        return None
    if question.language is not None:
        text = _of_name(question.language, mention_at(cursor.value, cursor.offset))
    elif question.document.is_suite and (path := pod_path(question.path)):
        found = (each for each in pod_keys(question, path[:-1], frozenset()) if each.label == path[-1])
        text = next((f"`{each.label}`: `{each.detail}`\n\n{each.meaning}".strip() for each in found), "")
    else:
        spot = spot_at(question.root, question.path)
        text = "" if spot is None or not spot.meaning else "\n\n".join(filter(None, (spot.meaning, type_shown(spot))))
    return Hover(text, question.word) if text else None


def _of_name(language: Language, mention: Mention) -> str:  # noqa: PLR0911 - one for each kind of name
    name, receiver = mention.name, mention.receiver
    if not name or mention.in_text:
        return ""
    if receiver == "variables":
        source = language.variables.get(name)
        return "" if source is None else _typed(f"variables.{name}", language.variable_types[name], fenced(source))
    owner = mention.type_in(language, receiver) if receiver else None
    if owner is not None and name in (fields := language.fields(owner)):
        return _typed(f"{shown(owner)}.{name}", fields[name], meaning_of_field(owner, name))
    full = f"{receiver}.{name}" if receiver else name
    if mention.is_called or owner is not None:
        called = [*language.members(owner)] if owner is not None else []
        return _called([*(each for each in called if each.name == name), *_globals(language, full)])
    if name in mention.loop_variables and not receiver:
        return _typed(name, mention.type_in(language, name), "")
    if full in language.names and full != "variables":
        return _typed(full, language.global_type(full), meaning_of(full))
    return meaning_of(name) if full == "variables" else ""


def _globals(language: Language, name: str) -> list[Signature]:
    return [each for each in language.globals() if each.name == name]


def _typed(name: str, kind: CelType | None, meaning: str) -> str:
    return "\n\n".join(filter(None, (f"`{name}`: `{shown(kind)}`" if kind is not None else f"`{name}`", meaning)))


def _called(found: list[Signature]) -> str:
    """Return the explanation of a function: each way to call it, and the manual's sentence about each meaning."""
    forms = "\n".join(dict.fromkeys(each.written for each in found))
    sentences = dict.fromkeys(filter(None, (sentence(each.manual) for each in found)))
    return "\n\n".join((fenced(forms), *sentences)) if found else ""
