"""Reads fields of an untrusted topology document, and checks the type and the limits of each value."""

from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

from ..errors import TopologyError
from ..kube.shape import shown

T = TypeVar("T", bound=str)

# The length of a foreign value that fits a log line.
_SHOWN = 60


def bad(where: str, got: object, want: str) -> TopologyError:
    """Return the error about the value ``got`` of the field ``where``, for which ``want`` was expected."""
    text = shown(got, _SHOWN + 1)
    text = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
    return TopologyError(f"{where}: got {text}, want {want}")


class Fields:
    """The fields of an object in a topology document.

    Each method returns one field, by key; null counts as an absent field. A method raises TopologyError for any other
    value than its docstring names; the message has the field's path, the value and what was expected.
    """

    __slots__ = ("values", "where")

    def __init__(self, values: Mapping[str, Any], where: str) -> None:
        self.values = values
        self.where = where

    def bad(self, key: str, want: str, got: object = None) -> TopologyError:
        """Return the error about the field ``key``, for which ``want`` was expected.

        The error shows ``got`` as the value; if ``got`` is None, it shows the value of the field itself.
        """
        return bad(f"{self.where}.{key}", self.values.get(key) if got is None else got, want)

    def text(self, key: str, longest: int) -> str:
        """Return a field that is a string of at most ``longest`` printable characters; empty if the field is absent."""
        value = self.values.get(key)
        if value is None:
            return ""
        if not isinstance(value, str) or len(value) > longest or not value.isprintable():
            raise self.bad(key, f"a string of at most {longest} printable characters")
        return value

    def choice(self, key: str, choices: tuple[T, ...]) -> T:
        """Return a field that is one of ``choices``; the first of ``choices`` if the field is absent."""
        value = self.values.get(key)
        if value is None:
            return choices[0]
        if value not in choices:
            raise self.bad(key, "one of " + ", ".join(choices))
        return choices[choices.index(value)]

    def number(self, key: str, most: int) -> int | None:
        """Return a field that is a whole number from 0 to ``most``; None if the field is absent."""
        value = self.values.get(key)
        if value is not None and (type(value) is not int or not 0 <= value <= most):
            raise self.bad(key, f"a whole number from 0 to {most}")
        return value

    def count(self, key: str, most: int) -> int:
        """Return a field that is a whole number from 0 to ``most``; 0 if the field is absent."""
        return self.number(key, most) or 0

    def flag(self, key: str) -> bool:
        """Return a field that is a boolean; False if the field is absent."""
        value = self.values.get(key)
        if value is not None and not isinstance(value, bool):
            raise self.bad(key, "true or false")
        return bool(value)

    def below(self, key: str) -> "Fields":
        """Return the fields of the object that is the value of ``key``; no fields if the key is absent."""
        value = self.values.get(key)
        if value is not None and not isinstance(value, dict):
            raise self.bad(key, "an object")
        return Fields(value or {}, f"{self.where}.{key}")

    def items(self, key: str, most: int) -> Iterator[tuple[str, Any]]:
        """Yield (path in the document, item) for each item of a field that is a list of at most ``most`` items.

        Nothing is yielded if the field is absent.
        """
        value = self.values.get(key)
        if value is None:
            return
        if not isinstance(value, list):
            raise self.bad(key, "a list")
        if len(value) > most:
            raise bad(f"{self.where}.{key}", f"{len(value)} elements", f"at most {most}")
        for number, element in enumerate(value):
            yield f"{self.where}.{key}[{number}]", element

    def objects(self, key: str, most: int) -> Iterator["Fields"]:
        """Yield the fields of each item of a field that is a list of at most ``most`` objects; nothing if absent."""
        for place, element in self.items(key, most):
            if not isinstance(element, dict):
                raise bad(place, element, "an object")
            yield Fields(element, place)

    def strings(self, key: str) -> Mapping[str, str]:
        """Return a field that is an object whose values are strings, such as labels; empty if the field is absent."""
        strings = self.below(key).values
        for name, value in strings.items():
            if not isinstance(value, str):
                raise bad(f"{self.where}.{key}[{name!r}]", value, "a string")
        return strings
