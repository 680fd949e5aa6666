"""Kubernetes quantities: the text or number of a resource amount as an exact number.

The grammar and its limits are apimachinery's pkg/api/resource/quantity.go; the caller interprets the amount. Nothing
here formats quantities.
"""

import re
from collections.abc import Iterable
from fractions import Fraction
from typing import Final

# <signedNumber><suffix>; a suffix is binary, decimal or an exponent, and "1." and ".5" are numbers (the grammar in the
# comment on type Quantity, apimachinery pkg/api/resource/quantity.go). Not \d, which matches the digits of any script.
_QUANTITY: Final = re.compile(
    r"(?P<sign>[+-]?)(?P<number>[0-9]+\.?[0-9]*|\.[0-9]+)"
    r"(?:(?P<suffix>[KMGTPE]i|[numkMGTPE])|[eE](?P<exponent>[+-]?[0-9]+))?"
)

# apimachinery pkg/api/resource/suffix.go
_SUFFIXES: Final[dict[str, Fraction]] = {
    "n": Fraction(1, 10**9),
    "u": Fraction(1, 10**6),
    "m": Fraction(1, 10**3),
    "k": Fraction(10**3),
    "M": Fraction(10**6),
    "G": Fraction(10**9),
    "T": Fraction(10**12),
    "P": Fraction(10**15),
    "E": Fraction(10**18),
    "Ki": Fraction(2**10),
    "Mi": Fraction(2**20),
    "Gi": Fraction(2**30),
    "Ti": Fraction(2**40),
    "Pi": Fraction(2**50),
    "Ei": Fraction(2**60),
}

# "no quantity may represent a number greater than 2^63-1 in magnitude"; larger ones are capped, finer ones than a nano
# are rounded away from zero (ParseQuantity, same file).
_LARGEST: Final = Fraction(2**63 - 1)
_NANO: Final = 10**9

# Real amounts are shorter, and the cost of exact arithmetic grows with the text. With at most this many digits, an
# exponent beyond twice as many has no effect: the value is capped or one nano.
_LONGEST_TEXT: Final = 128
_LARGEST_EXPONENT: Final = 2 * _LONGEST_TEXT


def parse_quantity(value: object) -> Fraction:
    """Return the amount that the apiserver would read; null is zero, as in Quantity.UnmarshalJSON.

    Raises:
        ValueError: the value is no quantity; the message has it.
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


def parse_count(value: object) -> int:
    """Return the whole amount of a device resource, which cannot be divided or overcommitted.

    The apiserver's rule for extended resources: integral and not negative (ValidateResourceQuantityValue, kubernetes
    pkg/apis/core/validation/validation.go).

    Raises:
        ValueError: no quantity, a fraction or a negative amount; the message has the value.
    """
    # Nearly every real amount is a small integer or its text; both are parsed without a Fraction.
    if type(value) is str and value.isascii() and value.isdecimal() and len(value) < len("9223372036854775807"):
        return int(value)
    if type(value) is int and 0 <= value <= _LARGEST.numerator:
        return value
    amount = parse_quantity(value)
    if amount.denominator != 1 or amount < 0:
        raise ValueError(f"got {_shown(value)}, want a whole number of devices")
    return int(amount)


def _shown(value: object) -> str:
    """Return a value for a message: short, on one line, and distinct from its text."""
    text = {None: "null", True: "true", False: "false"}.get(value) if isinstance(value, bool | None) else None
    text = text or (f'"{value}"' if isinstance(value, str) else repr(value))
    return text if len(text) <= 40 else f"{text[:37]}..."  # noqa: PLR2004 - a third of a warning line


LARGEST_AMOUNT: Final = 2**63 - 1
"""CEL's int has 64 bits (cel-spec, langdef, "Values"); a sum of quantities, each of at most that, may have more."""


def reserved(found: Iterable[tuple[str, str, int]]) -> dict[str, int]:
    """Return the reservation of each resource: max(init + sidecars before it, main + sidecars).

    ``found`` are the kind of a container, a resource and its amount there, in the pod's order. Source:
    AggregateContainerRequests, component-helpers resource/helpers.go (KEP-753).
    """
    running: dict[str, int] = {}
    sidecars: dict[str, int] = {}
    peaks: dict[str, int] = {}
    for kind, resource, quantity in found:
        if kind == "init":
            peaks[resource] = max(peaks.get(resource, 0), quantity + sidecars.get(resource, 0))
            continue
        if kind == "ephemeral":
            continue  # those hold no resources
        running[resource] = running.get(resource, 0) + quantity
        if kind == "sidecar":
            sidecars[resource] = sidecars.get(resource, 0) + quantity
    for resource, peak in peaks.items():
        running[resource] = max(running.get(resource, 0), peak)
    return {resource: min(quantity, LARGEST_AMOUNT) for resource, quantity in running.items()}
