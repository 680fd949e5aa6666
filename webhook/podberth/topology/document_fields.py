"""Functions that read one bounded, typed field of an untrusted document, for the decoders of this package.

Each function raises TopologyError for a wrong value; the message says where it is, what it is, and what was expected.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

from ..errors import TopologyError

T = TypeVar("T")

# The length of a foreign value that fits a log line.
_SHOWN = 60


def bad(where: str, got: object, want: str) -> TopologyError:
    """Return the error that reports a wrong value: ``where`` names it, ``got`` is it, and ``want`` was expected."""
    shown = repr(got)
    shown = shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}…"
    return TopologyError(f"{where}: got {shown}, want {want}")


def take_text(document: Mapping[str, Any], key: str, where: str, *, longest: int) -> str:
    """Return the string at ``key``, at most ``longest`` printable characters; empty if it is absent or null.

    Raises:
        TopologyError: the value is anything else; ``where`` names the document in the message.
    """
    value = document.get(key)
    if value is None:
        return ""
    if not isinstance(value, str) or len(value) > longest or not value.isprintable():
        raise bad(f"{where}.{key}", value, f"a string of at most {longest} printable characters")
    return value


def take_choice(document: Mapping[str, Any], key: str, where: str, choices: tuple[str, ...]) -> str:
    """Return the string at ``key``, which has to be one of ``choices``; the first choice if it is absent or null.

    Raises:
        TopologyError: the value is anything else; ``where`` names the document in the message.
    """
    value = document.get(key)
    if value is None:
        return choices[0]
    if value not in choices:
        raise bad(f"{where}.{key}", value, "one of " + ", ".join(choices))
    return str(value)


def take_number(document: Mapping[str, Any], key: str, where: str, *, most: int) -> int | None:
    """Return the whole number at ``key``, from 0 to ``most``; None if it is absent or null.

    Raises:
        TopologyError: the value is anything else; ``where`` names the document in the message.
    """
    value = document.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= most:
        raise bad(f"{where}.{key}", value, f"a whole number from 0 to {most}")
    return value


def take_flag(document: Mapping[str, Any], key: str, where: str) -> bool:
    """Return the boolean at ``key``; False if it is absent or null.

    Raises:
        TopologyError: the value is anything else; ``where`` names the document in the message.
    """
    value = document.get(key)
    if value is not None and not isinstance(value, bool):
        raise bad(f"{where}.{key}", value, "true or false")
    return bool(value)


def take_object(document: Mapping[str, Any], key: str, where: str) -> dict[str, Any]:
    """Return the object at ``key``; an empty object if it is absent or null.

    Raises:
        TopologyError: the value is anything else; ``where`` names the document in the message.
    """
    value = document.get(key)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise bad(f"{where}.{key}", value, "an object")
    return value


def take_list(document: Mapping[str, Any], key: str, where: str, *, most: int) -> Iterator[tuple[str, Any]]:
    """Yield each element of the list at ``key``, after the element's place as text; nothing if it is absent or null.

    Raises:
        TopologyError: the value is no list, or has more than ``most`` elements; ``where`` names the document in the
            message.
    """
    value = document.get(key)
    if value is None:
        return
    if not isinstance(value, list):
        raise bad(f"{where}.{key}", value, "a list")
    if len(value) > most:
        raise bad(f"{where}.{key}", f"{len(value)} elements", f"at most {most}")
    for number, element in enumerate(value):
        yield f"{where}.{key}[{number}]", element


def take_objects(
    document: Mapping[str, Any], key: str, where: str, read: Callable[[dict[str, Any], str], T], *, most: int
) -> tuple[T, ...]:
    """Return the results of ``read(object, place)`` for the objects of the list at ``key``; absent or null is empty.

    ``where`` names the document in messages, and ``place`` the object.

    Raises:
        TopologyError: the value is no list of objects, or has more than ``most`` elements.
    """
    read_all = []
    for place, element in take_list(document, key, where, most=most):
        if not isinstance(element, dict):
            raise bad(place, element, "an object")
        read_all.append(read(element, place))
    return tuple(read_all)


def take_strings(document: Mapping[str, Any], key: str, where: str) -> dict[str, str]:
    """Return the object at ``key``, whose values have to be strings (such as labels); empty if it is absent or null.

    Raises:
        TopologyError: the value is anything else; ``where`` names the document in the message.
    """
    strings = take_object(document, key, where)
    for name, value in strings.items():
        if not isinstance(value, str):
            raise bad(f"{where}.{key}[{name!r}]", value, "a string")
    return strings
