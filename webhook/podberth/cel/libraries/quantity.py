"""Kubernetes' quantity library (apiserver pkg/cel/library/quantity.go, apimachinery pkg/api/resource).

A quantity is represented by the text "<digits>e<exponent>", followed by a "d" if upstream represents the quantity as a
decimal of any length. Upstream's isInteger and asInteger depend on upstream's representation of a quantity, not on the
value ('1000m' is not an integer, nor is '100Ti'), so the text shows the representation. For the engine, two quantities
of equal value are equal in any representation (``apart``).
"""

import math
import re
import struct
from collections.abc import Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from ...kube.quantity import BINARY, DECIMAL
from .overload import QUANTITY, LibraryError, Overload, accepted, overload

_LARGEST_INT: Final = 2**63 - 1
_SMALLEST_INT: Final = -(2**63)
# math.go, maxInt64Factors: digits that certainly fit.
_SURE_DIGITS: Final = 18
_NANO: Final = -9

# Real amounts are shorter, and exact arithmetic costs with the size; upstream accepts longer ones.
_LONGEST_TEXT: Final = 128
_LARGEST_EXPONENT: Final = 1000

# parseQuantityString: number, then letters of suffixes, a sign, digits. It reads texts without a digit ("Ki", "+") as
# zero.
_SHAPE: Final = re.compile(
    r"(?P<value>[+-]?0*(?P<num>[0-9]*)(?:\.(?P<denom>[0-9]*))?)(?P<suffix>[eEinumkKMGTP]*[+-]?[0-9]*)"
)
_EXPONENT: Final = re.compile(r"[eE]([+-]?[0-9]+)")

_WRONG_SHAPE: Final = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
_WRONG_SUFFIX: Final = "unable to parse quantity's suffix"
_WRONG_NUMBER: Final = "unable to parse numeric part of quantity"


class Amount(NamedTuple):
    """A quantity: ``digits`` times ten to the power of ``exponent``."""

    digits: int
    exponent: int
    is_decimal: bool
    """Whether upstream represents the amount as an inf.Dec; otherwise as an int64 with a scale."""

    @property
    def text(self) -> str:
        """The text that represents the quantity while an expression is evaluated."""
        return f"{self.digits}e{self.exponent}{'d' if self.is_decimal else ''}"


def read(text: str) -> Amount:
    """Return the amount of an ``Amount.text``, such as "5e-1" or, if ``is_decimal``, "5e-1d": digits, "e", exponent."""
    digits, _, exponent = text.partition("e")
    return Amount(int(digits), int(exponent.removesuffix("d")), is_decimal=exponent.endswith("d"))


# ``parse`` and the arithmetic leave an exponent from -9 to 1,018: 1,000 and that of "E". One more bit marks a decimal.
_HELD_BITS: Final = 12
_ZEROS: Final = struct.Struct(f"<{_HELD_BITS}d")


def apart(text: str) -> tuple[str, Sequence[float]]:
    """Return (value, signs), the fields of a quantity's protobuf message; the signs encode upstream's representation.

    The engine compares messages field by field, and two quantities of equal value have to be equal in any
    representation. So the representation is encoded in the signs of zeros, because 0.0 equals -0.0.
    """
    digits, _, held = text.partition("e")
    exponent = int(held.removesuffix("d"))
    signs = _signs((exponent - _NANO) << 1 | held.endswith("d"))
    short = digits.rstrip("0")
    return (f"{short}e{exponent + len(digits) - len(short)}" if short else "0e0"), signs


def together(text: str, signs: Sequence[float]) -> str:
    """Return the text of a quantity (``Amount.text``); the reverse of ``apart``.

    ``text`` and ``signs`` are the fields of the quantity's protobuf message: the value as "<digits>e<exponent>" without
    zeros at the end of the digits, and the signs of zeros, which encode upstream's representation.
    """
    # The last byte of each number begins with its sign.
    held = _held(_ZEROS.pack(*signs)[7::8])
    digits, _, exponent = text.partition("e")
    scale = (held >> 1) + _NANO
    zeros = "0" * (int(exponent) - scale) if digits != "0" else ""
    return f"{digits}{zeros}e{scale}{'d' if held & 1 else ''}"


@lru_cache(maxsize=1 << _HELD_BITS)
def _signs(held: int) -> Sequence[float]:
    return tuple(-0.0 if held >> bit & 1 else 0.0 for bit in range(_HELD_BITS))


@lru_cache(maxsize=1 << _HELD_BITS)
def _held(signs: bytes) -> int:
    return sum(bool(sign) << bit for bit, sign in enumerate(signs))


def parse(text: str) -> Amount:
    """Return the quantity that upstream's resource.ParseQuantity reads from a text.

    Raises:
        LibraryError: the text is not a quantity (with upstream's message), or is too long or has too large an exponent.
    """
    if len(text) > _LONGEST_TEXT:
        raise LibraryError(f"got a quantity of {len(text)} characters, want at most {_LONGEST_TEXT}")
    match = _SHAPE.fullmatch(text)
    if not match or not text:
        raise LibraryError(_WRONG_SHAPE)
    num, denom, suffix = match["num"] or "0", match["denom"] or "", match["suffix"]
    if suffix in BINARY:
        return _binary(match, num, denom, BINARY[suffix])
    if suffix in DECIMAL:
        exponent = DECIMAL[suffix]
    elif written := _EXPONENT.fullmatch(suffix):
        exponent = int(written[1])
        if abs(exponent) > _LARGEST_EXPONENT:
            raise LibraryError(f"got a quantity with the exponent {exponent}, want at most {_LARGEST_EXPONENT}")
    else:
        raise LibraryError(_WRONG_SUFFIX)
    scale = exponent - len(denom)
    digits = int(num + denom) * (-1 if text[0] == "-" else 1)
    if len(num) + len(denom) <= _SURE_DIGITS and scale >= _NANO:
        return Amount(digits, scale, is_decimal=False)
    _want_number(match["value"])
    return _rounded(digits, scale)


def _binary(match: re.Match[str], num: str, denom: str, shift: int) -> Amount:
    # quantity.go: how many more digits certainly fit an int64, if each power of two is 0.3 digits.
    digits = (int(num + denom) << shift) * (-1 if match[0][0] == "-" else 1)
    precision = 15 - len(num) - shift * 3 // 10 - 1
    if not denom and precision >= 0 and _SMALLEST_INT < digits <= _LARGEST_INT:
        return Amount(digits, 0, is_decimal=False)
    _want_number(match["value"])
    found = _rounded(digits, -len(denom))
    return (
        found
        if abs(found.digits) <= _LARGEST_INT * 10**9
        else Amount(_LARGEST_INT if digits > 0 else -_LARGEST_INT, 0, is_decimal=True)
    )


def _want_number(value: str) -> None:
    if not any(each.isdigit() for each in value):
        raise LibraryError(_WRONG_NUMBER)


def _rounded(digits: int, exponent: int) -> Amount:
    """Return a quantity in multiples of 10^-9; a more precise value is rounded away from zero."""
    if not digits:
        return Amount(0, 0, is_decimal=True)
    size = abs(digits)
    nanos = size * 10 ** (exponent - _NANO) if exponent >= _NANO else -(-size // 10 ** (_NANO - exponent))
    return Amount(nanos if digits > 0 else -nanos, _NANO, is_decimal=True)


def _aligned(first: Amount, second: Amount) -> tuple[int, int, int]:
    """Return (first digits, second digits, exponent): both quantities with the smaller of the two exponents."""
    exponent = min(first.exponent, second.exponent)
    return (
        first.digits * 10 ** (first.exponent - exponent),
        second.digits * 10 ** (second.exponent - exponent),
        exponent,
    )


def plus(first: Amount, second: Amount) -> Amount:
    """Return the sum of two quantities, in the representation of upstream's Quantity.Add."""
    as_int = not first.is_decimal and not second.is_decimal
    if as_int and not second.digits:
        return first
    if as_int and not first.digits:
        return second
    one, other, exponent = _aligned(first, second)
    fits = all(_SMALLEST_INT <= each <= _LARGEST_INT for each in (one, other, one + other))
    return Amount(one + other, exponent, is_decimal=not (as_int and fits))


def minus(first: Amount, second: Amount) -> Amount:
    """Return the difference of two quantities, in the representation of upstream's Quantity.Sub."""
    return plus(first, second._replace(digits=-second.digits))


def compare(first: Amount, second: Amount) -> int:
    """Return -1, 0 or 1 if the first quantity is less than, equal to or greater than the second."""
    one, other, _ = _aligned(first, second)
    return (one > other) - (one < other)


def _integer(amount: Amount) -> int | None:
    if amount.is_decimal or amount.exponent < 0:
        return None
    if not amount.digits:
        return 0
    found = amount.digits * 10**amount.exponent
    return found if _SMALLEST_INT <= found <= _LARGEST_INT else None


def _as_integer(text: str) -> int:
    found = _integer(read(text))
    if found is None:
        raise LibraryError("cannot convert value to integer")
    return found


def _as_float(text: str) -> float:
    digits, exponent, _ = read(text)
    try:
        # Two roundings, as upstream: the digits become a double before they are scaled (AsApproximateFloat64).
        return float(digits) * (float(f"1e{exponent}") if exponent else 1.0)
    except OverflowError:
        return math.copysign(math.inf, digits)


def _sign(text: str) -> int:
    digits = read(text).digits
    return (digits > 0) - (digits < 0)


def _compared(first: str, second: str) -> int:
    return compare(read(first), read(second))


_TWO = f"({QUANTITY}, {QUANTITY})"
_WITH_INT = f"({QUANTITY}, int)"

OVERLOADS: tuple[Overload, ...] = (
    overload("string_to_quantity", "quantity(string): kubernetes.Quantity", lambda text: parse(text).text),
    overload("is_quantity_string", "isQuantity(string): bool", accepted(parse)),
    # Upstream declares it as a function, though its documentation shows a member: sign(quantity('1')).
    overload("quantity_sign", "sign(kubernetes.Quantity): int", _sign),
    overload("quantity_is_greater_than", f".isGreaterThan{_TWO}: bool", lambda a, b: _compared(a, b) > 0),
    overload("quantity_is_less_than", f".isLessThan{_TWO}: bool", lambda a, b: _compared(a, b) < 0),
    overload("quantity_compare_to", f".compareTo{_TWO}: int", _compared),
    overload("quantity_get_float", ".asApproximateFloat(kubernetes.Quantity): double", _as_float),
    overload("quantity_get_int", ".asInteger(kubernetes.Quantity): int", _as_integer),
    overload(
        "quantity_is_integer", ".isInteger(kubernetes.Quantity): bool", lambda text: _integer(read(text)) is not None
    ),
    overload("quantity_add", f".add{_TWO}: {QUANTITY}", lambda a, b: plus(read(a), read(b)).text),
    overload(
        "quantity_add_int",
        f".add{_WITH_INT}: {QUANTITY}",
        lambda a, b: plus(read(a), Amount(b, 0, is_decimal=False)).text,
    ),
    overload("quantity_sub", f".sub{_TWO}: {QUANTITY}", lambda a, b: minus(read(a), read(b)).text),
    overload(
        "quantity_sub_int",
        f".sub{_WITH_INT}: {QUANTITY}",
        lambda a, b: minus(read(a), Amount(b, 0, is_decimal=False)).text,
    ),
)
