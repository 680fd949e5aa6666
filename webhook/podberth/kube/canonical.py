"""The apiserver's form of quantities. A webhook receives each quantity of a Pod in this form."""

import re
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any, Final

from .quantity import parse_quantity
from .shape import CONTAINER_LISTS

_AMOUNTS: Final = (("resources", "limits", "*"), ("resources", "requests", "*"))
# Every quantity of a Pod except the divisors of the downward API, which only format an amount.
_QUANTITIES: Final[tuple[tuple[str, ...], ...]] = (
    *(("spec", containers, "*", *amounts) for containers in CONTAINER_LISTS for amounts in _AMOUNTS),
    *(("spec", *amounts) for amounts in _AMOUNTS),
    ("spec", "overhead", "*"),
    ("spec", "volumes", "*", "emptyDir", "sizeLimit"),
    *(("spec", "volumes", "*", "ephemeral", "volumeClaimTemplate", "spec", *amounts) for amounts in _AMOUNTS),
)

# Powers of a thousand and of 1,024: apimachinery pkg/api/resource/suffix.go.
_DECIMAL: Final = {-9: "n", -6: "u", -3: "m", 0: "", 3: "k", 6: "M", 9: "G", 12: "T", 15: "P", 18: "E"}
_BINARY: Final = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_FINEST: Final = -9
_EXPONENT: Final = re.compile(r"[eE][+-]?[0-9]+")


def write_quantities(pod: dict[str, Any]) -> None:
    """Write a Pod's quantities as the apiserver does, in place; values of a wrong shape stay."""
    for path in _QUANTITIES:
        _rewrite(pod, path)


def canonical_quantity(value: str | float) -> str:
    """Return the shortest text of the amount without a fraction, in its author's units: 8192Mi is 8Gi, 0.5 is 500m.

    Quantity.CanonicalizeBytes, apimachinery pkg/api/resource/quantity.go. Two rare forms have another result there: a
    text that is short enough already keeps its sign, zeros and E (+8, 008, 1E3, 1e0), and a container's request is
    rounded up to thousandths.

    Raises:
        ValueError: the value is no quantity; the message has it.
    """
    amount = parse_quantity(value)
    text = str(value)
    if amount == 0:
        return "0"
    if text.endswith("i") and amount.denominator == 1 and abs(amount) >= 1024:  # noqa: PLR2004 - below, there is no Ki
        return _binary(amount.numerator)
    number, exponent = _decimal(amount)
    return f"{number}e{exponent}" if exponent and _EXPONENT.search(text) else f"{number}{_DECIMAL[exponent]}"


def _binary(number: int) -> str:
    power = 0
    while number % 1024 == 0 and power < len(_BINARY) - 1:
        number, power = number // 1024, power + 1
    return f"{number}{_BINARY[power]}"


def _decimal(amount: Fraction) -> tuple[int, int]:
    """Return number and exponent, the largest multiple of three; nothing is finer than a nano."""
    number, exponent = int(amount * 10**-_FINEST), _FINEST
    while number % 1000 == 0:
        number, exponent = number // 1000, exponent + 3
    return number, exponent


def _rewrite(node: object, path: Sequence[str]) -> None:
    """Write the quantities at a path below a node; `*` is every item of a list, or every value of an object."""
    head, *rest = path
    keys: Iterable[Any] = ()
    if isinstance(node, dict):
        keys = list(node) if head == "*" else [head] * (head in node)
    elif isinstance(node, list) and head == "*":
        keys = range(len(node))
    for key in keys:
        if rest:
            _rewrite(node[key], rest)  # type: ignore[index]
        else:
            node[key] = _written(node[key])  # type: ignore[index]


def _written(value: object) -> object:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return value
    try:
        return canonical_quantity(value)
    except ValueError:
        return value
