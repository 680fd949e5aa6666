"""Checks the values of a policy's expressions before mutations use them.

The compiler has checked the static types; values of dynamic type are checked here, at review time. Each check raises
EvaluationError with the name of the field, the value that it has, and the value that it should have. The argument
``leaf`` or ``where`` is the name of the field for that message, such as ``nodeAffinity.required``.
"""

from collections.abc import Collection, Mapping
from typing import Any, Final

from ..errors import EvaluationError
from ..kube.object_names import MAX_LABEL, is_label_value, is_subdomain
from ..words import did_you_mean

_LONGEST_KEY: Final = 80
"""The length at which an unknown key is compared with the known ones; no field of Kubernetes has half as many."""


def maps(value: object, leaf: str) -> list[dict[str, Any]]:
    """Return ``value`` as a list of maps.

    Raise EvaluationError, with the field's name ``leaf``, if the value is no list of maps.
    """
    if not isinstance(value, list):
        raise EvaluationError(f"{leaf}: got {kind(value)}, want a list of maps")
    for position, item in enumerate(value):
        if not isinstance(item, dict):
            raise EvaluationError(f"{leaf}[{position}]: got {kind(item)}, want a map")
    return value


def fields(item: Mapping[str, Any], leaf: str, allowed: Collection[str]) -> None:
    """Raise EvaluationError, with the field's name ``leaf``, if ``item`` has a key that is not in ``allowed``."""
    for key in item:
        if key not in allowed:
            near = did_you_mean(str(key)[:_LONGEST_KEY], allowed) or f"; want one of {', '.join(sorted(allowed))}"
            raise EvaluationError(f"{leaf}: unknown key {key!r}{near}")


def text(value: object, leaf: str) -> str:
    """Return ``value`` as a non-empty string.

    Raise EvaluationError, with the field's name ``leaf``, if the value is empty or no string.
    """
    if not isinstance(value, str) or not value:
        raise EvaluationError(f"{leaf}: got {kind(value)}, want a string that is not empty")
    return value


def number(value: object, leaf: str) -> int:
    """Return ``value`` as a whole number.

    Raise EvaluationError, with the field's name ``leaf``, if the value is no whole number. A bool is no number.
    """
    if not isinstance(value, int) or isinstance(value, bool):
        raise EvaluationError(f"{leaf}: got {kind(value)}, want a whole number")
    return value


def items(value: object, leaf: str) -> list[Any]:
    """Return ``value`` as a list; null gives an empty list.

    Raises:
        EvaluationError: ``value`` is neither a list nor null; the message starts with ``leaf``, the name of the
            policy's field.
    """
    if value is not None and not isinstance(value, list):
        raise EvaluationError(f"{leaf}: got {kind(value)}, want a list")
    return value or []


def object_name(value: object, where: str) -> str:
    """Return ``value`` as an object's name, a DNS-1123 subdomain.

    Raises:
        EvaluationError: ``value`` is no valid name; the message begins with ``where``, the name of the policy's field.
    """
    if not isinstance(value, str) or not is_subdomain(value):
        wanted = "lower-case letters, digits, '-' and '.'"
        raise EvaluationError(f"{where}: got {kind(value)}, want an object's name: {wanted}")
    return value


def label_value(value: object, where: str) -> str:
    """Return ``value`` as a label value.

    Raises:
        EvaluationError: ``value`` is no label value; the message begins with ``where``, the name of the policy's field.
    """
    if not isinstance(value, str) or not is_label_value(value):
        raise EvaluationError(f"{where}: got {kind(value)}, want a label value of at most {MAX_LABEL} characters")
    return value


def kind(value: object) -> str:
    """Return a value as text to follow "got" in a message: "a map", "a list", "null" or the value, cut if long."""
    names = {dict: "a map", list: "a list", bool: str(value).lower(), type(None): "null"}
    return names.get(type(value)) or repr(value)[:40]


def pairs(wrote: Mapping[str, str]) -> str:
    """Return the written values by key as text for a message: ``a=1, b=2``."""
    return ", ".join(f"{key}={value}" for key, value in wrote.items())
