"""Kubernetes quantities (texts or numbers of resource amounts): parsed to exact numbers, and written canonically.

Source of the grammar and the limits: apimachinery pkg/api/resource/quantity.go. The caller knows what an amount means.
"""

import re
from collections.abc import Iterable, Sequence
from fractions import Fraction
from math import ceil
from typing import Any, Final

from .shape import CONTAINER_LISTS, shown

# <signedNumber><suffix>; a suffix is binary, decimal or an exponent, and "1." and ".5" are numbers (the grammar in the
# comment on type Quantity, apimachinery pkg/api/resource/quantity.go). Not \d, which matches the digits of any script.
_QUANTITY: Final = re.compile(
    r"(?P<sign>[+-]?)(?P<number>[0-9]+\.?[0-9]*|\.[0-9]+)"
    r"(?:(?P<suffix>[KMGTPE]i|[numkMGTPE])|[eE](?P<exponent>[+-]?[0-9]+))?"
)

# apimachinery pkg/api/resource/suffix.go
DECIMAL: Final = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
"""The exponents of ten by decimal suffix of a quantity."""
BINARY: Final = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
"""The exponents of two by binary suffix of a quantity."""
_SUFFIXES: Final = {suffix: Fraction(10) ** power for suffix, power in DECIMAL.items()} | {
    suffix: Fraction(2**power) for suffix, power in BINARY.items()
}

# "no quantity may represent a number greater than 2^63-1 in magnitude"; larger ones are capped, finer ones than a nano
# are rounded away from zero (ParseQuantity, same file).
_LARGEST: Final = Fraction(2**63 - 1)
_NANO: Final = 10**9
_MEBIBYTE: Final = 2**20

# Real amounts are shorter, and the cost of exact arithmetic grows with the text. With at most this many digits, an
# exponent beyond twice as many has no effect: the value is capped or one nano.
_LONGEST_TEXT: Final = 128
_LARGEST_EXPONENT: Final = 2 * _LONGEST_TEXT


def parse_quantity(value: object) -> Fraction:
    """Return the number that a quantity stands for; null is zero, as in the API server (Quantity.UnmarshalJSON).

    Raises:
        ValueError: the value is no quantity; the message contains the value.
    """
    if value is None:
        return Fraction(0)
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ValueError(f"got {_shown(value)}, want a quantity")  # noqa: TRY004 - the document is wrong, not the call
    # A JSON number is parsed by its digits, so the shortest text of a float is the author's text.
    text = value if isinstance(value, str) else repr(value)
    match = _QUANTITY.fullmatch(text) if len(text) <= _LONGEST_TEXT else None
    if match is None:
        raise ValueError(f"got {_shown(value)}, want a quantity such as 2, 500m or 10Gi")
    number = Fraction(match["number"] if match["number"][0] != "." else "0" + match["number"])
    if match["suffix"]:
        number *= _SUFFIXES[match["suffix"]]
    elif match["exponent"]:
        exponent = int(match["exponent"])
        number *= Fraction(10) ** max(-_LARGEST_EXPONENT, min(_LARGEST_EXPONENT, exponent))
    bounded = min(_LARGEST, Fraction(-(-number * _NANO // 1), _NANO))
    return -bounded if match["sign"] == "-" else bounded


def is_some(value: object) -> bool:
    """Return whether a quantity is above zero; False for what is no quantity."""
    try:
        return parse_quantity(value) > 0
    except ValueError:
        return False


def mebibytes(value: object) -> int:
    """Return the MiB that a quantity of bytes stands for, rounded up; 0 if it is less than 1 MiB.

    Raises:
        ValueError: the value is no quantity; the message contains the value.
    """
    size = parse_quantity(value) / _MEBIBYTE
    return ceil(size) if size >= 1 else 0


def parse_count(value: object) -> int:
    """Return the whole number of a device resource, which cannot be divided or overcommitted.

    The apiserver's rule for extended resources: integral and not negative (ValidateResourceQuantityValue, kubernetes
    pkg/apis/core/validation/validation.go).

    Raises:
        ValueError: the value is no quantity, a fraction or negative; the message contains the value.
    """
    # Nearly every real amount is a small integer or its text; both are parsed without a Fraction.
    if type(value) is str and value.isascii() and value.isdecimal() and len(value) < len("9223372036854775807"):
        return int(value)
    if type(value) is int and 0 <= value <= _LARGEST.numerator:
        return value
    want = f"got {_shown(value)}, want a whole number of devices"
    try:
        amount = parse_quantity(value)
    except ValueError as error:
        raise ValueError(want) from error
    if amount.denominator != 1 or amount < 0:
        raise ValueError(want)
    return int(amount)


def _shown(value: object) -> str:
    """Return a value as text for a message: short and on one line, with a string in quotation marks."""
    text = f'"{value}"' if isinstance(value, str) else shown(value)
    return text if len(text) <= 40 else f"{text[:37]}..."  # noqa: PLR2004 - a third of a warning line


LARGEST_AMOUNT: Final = 2**63 - 1
"""The largest amount of a resource: CEL's int has 64 bits (cel-spec, langdef, "Values"). A sum of amounts may be
larger.
"""


def reserved(found: Iterable[tuple[str, str, int]]) -> dict[str, int]:
    """Return a mapping from resource to the amount that the scheduler reserves for a pod.

    The amount is the larger of two sums: the requests of one init container and the sidecars before the init container,
    or the requests of all main containers and sidecars.

    ``found`` has one item (main, init or sidecar container; resource; amount) for each request, in the pod's order;
    ephemeral containers do not count. Source: AggregateContainerRequests, component-helpers resource/helpers.go
    (KEP-753).
    """
    running: dict[str, int] = {}
    sidecars: dict[str, int] = {}
    peaks: dict[str, int] = {}
    for kind, resource, quantity in found:
        if kind == "init":
            peaks[resource] = max(peaks.get(resource, 0), quantity + sidecars.get(resource, 0))
            continue
        if kind == "ephemeral":
            continue  # ephemeral containers have no resources
        running[resource] = running.get(resource, 0) + quantity
        if kind == "sidecar":
            sidecars[resource] = sidecars.get(resource, 0) + quantity
    for resource, peak in peaks.items():
        running[resource] = max(running.get(resource, 0), peak)
    return {resource: min(quantity, LARGEST_AMOUNT) for resource, quantity in running.items()}


# ---- the apiserver's form, in which a webhook receives each quantity of a Pod ---------------------------------------

_AMOUNTS: Final = (("resources", "limits", "*"), ("resources", "requests", "*"))
# Every quantity of a Pod except the divisors of the downward API, which only format an amount.
_QUANTITIES: Final[tuple[tuple[str, ...], ...]] = (
    *(("spec", containers, "*", *amounts) for containers in CONTAINER_LISTS for amounts in _AMOUNTS),
    *(("spec", *amounts) for amounts in _AMOUNTS),
    ("spec", "overhead", "*"),
    ("spec", "volumes", "*", "emptyDir", "sizeLimit"),
    *(("spec", "volumes", "*", "ephemeral", "volumeClaimTemplate", "spec", *amounts) for amounts in _AMOUNTS),
)

_DECIMAL: Final = {power: suffix for suffix, power in DECIMAL.items()}
_BINARY: Final = ("", *BINARY)
_FINEST: Final = -9
_EXPONENT: Final = re.compile(r"[eE][+-]?[0-9]+")


def write_quantities(pod: dict[str, Any]) -> None:
    """Rewrite a Pod's quantities in place, in the API server's canonical form. Values of a wrong type are unchanged."""
    for path in _QUANTITIES:
        _rewrite(pod, path)


def canonical_quantity(value: str | float) -> str:
    """Return a quantity in canonical form, the shortest form without a fraction: 8192Mi is 8Gi, 0.5 is 500m.

    A quantity with binary units stays binary, and a quantity with decimal units stays decimal. Source:
    Quantity.CanonicalizeBytes, apimachinery pkg/api/resource/quantity.go. In two rare cases the API server's result
    differs: the API server lets a text that is short enough keep its sign, zeros and E (+8, 008, 1E3, 1e0), and a
    container's request is rounded up to thousandths.

    Raises:
        ValueError: the value is no quantity; the message contains the value.
    """
    amount = parse_quantity(value)
    text = str(value)
    if amount == 0:
        return "0"
    if text.endswith("i") and amount.denominator == 1 and abs(amount) >= 1024:  # noqa: PLR2004 - less is no whole Ki
        return _binary(amount.numerator)
    number, exponent = _decimal(amount)
    return f"{number}e{exponent}" if exponent and _EXPONENT.search(text) else f"{number}{_DECIMAL[exponent]}"


def _binary(number: int) -> str:
    power = 0
    while number % 1024 == 0 and power < len(_BINARY) - 1:
        number, power = number // 1024, power + 1
    return f"{number}{_BINARY[power]}"


def _decimal(amount: Fraction) -> tuple[int, int]:
    """Return (number, exponent) for the amount number * 10**exponent, with the largest possible exponent.

    The exponent is a multiple of three, and at least -9 (nano).
    """
    number, exponent = int(amount * 10**-_FINEST), _FINEST
    while number % 1000 == 0:
        number, exponent = number // 1000, exponent + 3
    return number, exponent


def _rewrite(node: object, path: Sequence[str]) -> None:
    """Rewrite the quantities at a path below ``node``; the step `*` is every item of a list or value of an object."""
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
