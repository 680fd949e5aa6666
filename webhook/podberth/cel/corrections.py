"""The calls of engine functions whose value differs from upstream's, and the replacements in CEL (docs/adr/0044).

A correction replaces a call by a CEL expression, which is selected by the static types of the operands. If the checker
does not know the types, the CEL expression tests the types at run time. Upstream is cel-go 0.26 as kube-apiserver 1.36
configures it, and each corrected value was captured from that version (tests/captured/cel_libraries.txt).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from .libraries.conversions import INSTANT, TIME_TEXT
from .libraries.overload import AUTHORIZATION, OPAQUE
from .libraries.regex import LEGAL
from .libraries.text import FORMAT
from .types import BOOL, DYN, INT, OPTIONAL, STRING, CelType
from .typing import NULLABLE


@dataclass(frozen=True, slots=True)
class NativeCall:
    """A call of a function of the CEL engine: the operands' types and literals, which determine the correction."""

    kinds: Sequence[CelType]
    """The types of the operands; the receiver comes first."""
    may_hold_optional: bool
    """Whether an operand may contain an optional although the static type does not show the optional."""
    listed: Sequence[CelType] | None = None
    """The types of the items, if the last operand is a list literal; else None."""
    literal: str | None = None
    """The text, if the last operand is a text literal; else None."""


Body: TypeAlias = str
Correct: TypeAlias = Callable[[NativeCall], Body]
"""A function that returns the CEL body that replaces a call; the body is empty if the CEL engine's value is the same as
upstream's.
"""

_DOUBLE, _DURATION, _TIMESTAMP = "double", "google.protobuf.Duration", "google.protobuf.Timestamp"
_OF_DURATION, _OF_TIMESTAMP = "type({0}) == type(duration('0s'))", "type({0}) == type(timestamp(0))"
_IS_OPTIONAL = "type(a) == type(optional.none())"

# ---- what may be absent (cel-go interpreter/attributes.go, refQualify) -----------------------------------------------
# Nothing is present in what is neither a map nor a list; a place in a list may be any number that is integral.


def _inside(holder: str) -> Body:
    place = (
        f"b >= 0 && b < size({holder}) ? optional.of({holder}[b]) "
        ": b == int(b) ? optional.none() : internal.fail('got an index that is no integer')"
    )
    return f"type({holder}) == type([]) ? ({place}) : type({holder}) == type({{}}) ? {holder}[?b] : optional.none()"


_IN_OPTIONAL = f"a.optFlatMap(x, {_inside('x')})"
_PRESENT = f"{_IS_OPTIONAL} ? {_IN_OPTIONAL} : {_inside('a')}"
_ITEM = f"{_IS_OPTIONAL} ? {_IN_OPTIONAL} : a[b]"


def _is_sure_map(kind: CelType) -> bool:
    return kind.name == "map" or (kind.is_message and kind.name not in NULLABLE)


def present(call: NativeCall) -> Body:
    """Return the CEL expression that replaces ``a.?b`` or ``a[?b]``; empty if the CEL engine's value is right."""
    kind = call.kinds[0]
    if kind.name == OPTIONAL:
        return "" if _is_sure_map(kind.parameters[0]) else _IN_OPTIONAL
    if _is_sure_map(kind) or (kind.name == "list" and call.kinds[1] == INT):
        return ""
    return "a == null ? optional.none() : a[?b]" if kind.name in NULLABLE else _PRESENT


def item(call: NativeCall) -> Body:
    """Return the CEL expression that replaces ``a[b]``, or ``a.b`` of untyped JSON; empty if the engine is right."""
    kind = call.kinds[0]
    if kind.name == OPTIONAL:
        return present(call)
    return _ITEM if kind == DYN and call.may_hold_optional else ""


def has(call: NativeCall) -> Body:
    """Return the CEL expression that replaces ``has(a.b)``; empty if the CEL engine's value is right."""
    kind = call.kinds[0]
    if kind.name == OPTIONAL:
        return f"({_IN_OPTIONAL}).hasValue()" if present(call) else ""
    if kind.name in NULLABLE:
        return "a != null && b in a"
    return "" if _is_sure_map(kind) else f"type(a) == type({{}}) ? b in a : ({_PRESENT}).hasValue()"


_OF_TIME = "a == timestamp('0001-01-01T00:00:00Z') ? optional.none() : optional.of(a)"  # Go's time.Time.IsZero
_OF_NON_ZERO = f"{_OF_TIMESTAMP.format('a')} ? ({_OF_TIME}) : optional.ofNonZeroValue(a)"

# ---- conversions -----------------------------------------------------------------------------------------------------


def _by_kind(known: Mapping[str, Body], otherwise: Body) -> Correct:
    """Return the correction of a function with one operand, by the type of the operand.

    ``known`` has the CEL expression that replaces the call for each type; ``otherwise`` is the expression for any other
    type.
    """

    def correct(call: NativeCall) -> Body:
        kind = call.kinds[0].name
        return known.get(kind, otherwise if kind == DYN.name else "")

    return correct


_TYPES: Mapping[str, str] = {
    STRING.name: "type(a) == type('')",
    BOOL.name: "type(a) == type(true)",
    _DOUBLE: "type(a) == type(0.0)",
    _DURATION: _OF_DURATION.format("a"),
    _TIMESTAMP: _OF_TIMESTAMP.format("a"),
}


def _converts(native: Body, known: Mapping[str, Body], dyn: str = "") -> Correct:
    """Return the correction of a type conversion.

    ``known`` is a mapping from the operand's type to the CEL expression that replaces the call. If the checker does not
    know the operand's type, one CEL expression tests at run time for each type of ``known``, and ends with ``native``,
    the engine's own conversion, for all other types. ``dyn`` is a test that comes first, such as "TEST ? VALUE : ".
    """
    asked = " : ".join(f"{_TYPES[kind]} ? ({body})" for kind, body in known.items())
    return _by_kind(known, f"{dyn}{asked} : {native}")


_TEXT_OF_DURATION, _TEXT_OF_TIME = "internal.durationText(string({0}))", f"{TIME_TEXT}(string({{0}}))"
_TO_STRING = {
    _DOUBLE: "internal.doubleText(a)",
    _DURATION: _TEXT_OF_DURATION.format("a"),
    _TIMESTAMP: _TEXT_OF_TIME.format("a"),
}
_TO_INT = {
    STRING.name: "int(internal.signed(a))",
    BOOL.name: "internal.fail('no such overload: int(bool)')",
    _DURATION: "internal.nanoseconds(string(a))",
}

# ---- format ----------------------------------------------------------------------------------------------------------
_TEXT_OF_TIMES = (
    f"b.map(v, {_OF_DURATION.format('v')} ? {_TEXT_OF_DURATION.format('v')} "
    f": {_OF_TIMESTAMP.format('v')} ? {_TEXT_OF_TIME.format('v')} : '')"
)
_FORMAT = f"{FORMAT}(a, b, {{times}}).join('\\u0000')"
# The engine's own format has an error for an optional anywhere in a list; passing it on would end the process.
_LOOKED_INTO = "size(['%s'.format([b])]) == 1 ? ({body}) : ''"
_PLAIN = frozenset({"string", "int", "uint", "double", "bool", "bytes", "null_type"})
_TIMES = frozenset({_DURATION, _TIMESTAMP})


def _formats(call: NativeCall) -> Body:
    inside = call.kinds[1].parameters or (DYN,)
    names = {each.name for each in (inside if call.listed is None else call.listed)}
    body = _FORMAT.format(times=_TEXT_OF_TIMES if names & {DYN.name, *_TIMES} else "[]")
    return _LOOKED_INTO.format(body=body) if call.may_hold_optional and names - _PLAIN - _TIMES else body


# ---- equality of types that CEL does not have (apiserver pkg/cel/quantity.go and the like) ---------------------------


# Two values are unequal if their comparison fails (evalNe, cel-go interpreter/interpretable.go).
_NO_EQUALITY = {"==": "internal.fail('no such overload')", "!=": "true"}


def _equal(operator: str) -> Correct:
    body = f"type(a) == type(b) ? a {operator} b : {_NO_EQUALITY[operator]}"

    def correct(call: NativeCall) -> Body:
        if call.kinds[0].name in AUTHORIZATION:  # receiverOnlyObjectVal.Equal, apiserver pkg/cel/library/authz.go
            return _NO_EQUALITY[operator]
        return body if call.kinds[0].name in OPAQUE and call.kinds[1] == DYN else ""

    return correct


# ---- order: no double is a number less than NaN, or more (cel-go common/types/double.go) -----------------------------
_NUMBERS = frozenset({_DOUBLE, DYN.name})
_NO_ORDER = "internal.fail('NaN values cannot be ordered')"


def _ordered(operator: str) -> Correct:
    body = f"a == a && b == b ? a {operator} b : {_NO_ORDER}"
    return lambda call: body if {each.name for each in call.kinds} & _NUMBERS else ""


def _sorts(call: NativeCall) -> Body:
    inside = call.kinds[0].parameters[0] if call.kinds[0].parameters else DYN
    return f"a.exists(v, v != v) ? {_NO_ORDER} : a.sort()" if inside.name in _NUMBERS else ""


# RE2 reads the first as one byte, the others as names of groups; Go accepts none of them.
_SUSPECT = ("\\C", "(?P<", "(?<")
_MATCHES = f"a.matches(b.contains('\\\\C') || b.contains('(?') ? {LEGAL}(b) : b)"


def _matches(call: NativeCall) -> Body:
    return "" if call.literal is not None and not any(each in call.literal for each in _SUSPECT) else _MATCHES


def _always(body: Body) -> Correct:
    return lambda _: body


CORRECTIONS: Final[Mapping[tuple[str, int], Correct]] = {
    ("_[?_]", 2): present,
    ("_[_]", 2): item,
    ("optional.ofNonZeroValue", 1): _by_kind({_TIMESTAMP: _OF_TIME}, _OF_NON_ZERO),
    ("string", 1): _converts("string(a)", _TO_STRING, dyn=f"{_TYPES[STRING.name]} ? a : "),
    ("int", 1): _converts("int(a)", _TO_INT),
    ("uint", 1): _converts("uint(a)", {STRING.name: "uint(internal.unsigned(a))"}),
    ("double", 1): _converts("double(a)", {STRING.name: "internal.double(a)"}),
    ("bool", 1): _converts("bool(a)", {STRING.name: "a == 'T' ? true : a == 'F' ? false : bool(a)"}),
    ("duration", 1): _converts("duration(a)", {STRING.name: "duration(internal.duration(a))"}),
    ("timestamp", 1): _converts("timestamp(a)", {STRING.name: f"timestamp({INSTANT}(a))"}),
    ("getMilliseconds", 1): _converts("a.getMilliseconds()", {_DURATION: "internal.milliseconds(string(a))"}),
    ("format", 2): _formats,
    ("indexOf", 3): _always("b == '' ? c : c >= size(a) ? -1 : a.indexOf(b, c)"),
    ("lastIndexOf", 3): _always("b == '' ? c : c >= size(a) ? -1 : a.lastIndexOf(b, c)"),
    ("substring", 3): _always("b >= 0 && b <= c && c == size(a) ? a.substring(b) : a.substring(b, c)"),
    ("split", 2): _always("a == '' && b == '' ? [] : a.split(b)"),
    ("split", 3): _always("a == '' && b == '' ? [] : a.split(b, c)"),
    **{(f"_{each}_", 2): _equal(each) for each in ("==", "!=")},
    **{(f"_{each}_", 2): _ordered(each) for each in ("<", "<=", ">", ">=")},
    ("matches", 2): _matches,
    ("sort", 1): _sorts,
}
"""The corrections of calls, by the name of the CEL engine's function or operator and the number of its operands. The
corrections of field accesses are the functions ``present``, ``item`` and ``has``."""
