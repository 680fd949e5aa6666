"""What an expression costs at most, worked out from its checked tree for the largest pod (docs/adr/0007-cost.md).

Nothing is evaluated. Every part is charged for as often as it can run, loops within loops included; a list or map of
the pod has the length that ``kube.budget`` allows, a string any length, and all strings of one pod together are no
longer than the pod. The engine stops an evaluation after 10,000 iterations, which bounds every loop and is too much for
some: a list that ``map`` or ``filter`` makes is copied for each element that is added.

The prices are microseconds on one core of a virtual Xeon, measured by ``python -m bench.cel_cost``: they say what is
dear and what is cheap, and not how fast a machine is.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from ..kube.budget import ENTRIES, GPU_REQUESTS, LARGEST, MAX_BYTES, MAX_NAME_BYTES, NAMES
from ..kube.paths import ELEMENT
from ..workload.command_line import LONGEST, MOST_WORDS
from . import ast
from .ast import Node
from .dispatch import LONGEST_TEXT
from .functions import FUNCTIONS
from .libraries import LIBRARIES
from .typing import VARIABLES

MAX_ITERATIONS = 10_000
"""cel-cpp's fixed budget of one evaluation, all loops together."""

MAX_MICROSECONDS = 100_000
"""What a policy may take of a worker, all its expressions together: the apiserver aims at 1 s for the whole request
(sig-scalability, API call latency), and a worker answers 25 connections in turn."""

# ---- prices ---------------------------------------------------------------------------------------------------------
_NODE = 0.05  # anything that is evaluated: 0.01 for a literal, 0.09 for a conversion
_COPY = 0.0125  # each element so far, when `map` or `filter` adds one: 9,000 elements take 0.98 s
_PYTHON = 5.0  # a function of ours: 1 for the call, the rest is what mig.* do; index answers are remembered
_ELEMENT = 0.03  # an element of a list that is searched, joined or added to another
_REGEX = 2.0  # a call of matches(), beside its bytes
_PATTERN = 0.5  # a byte of its pattern, which is compiled for each call, a literal too
# Those of ours that read text; what they read is bounded in workload.command_line and workload.models.
_READING: Mapping[str, float] = {"commands": 6000.0, "flag": 500.0, "named": 1500.0}
_LIBRARY = 20.0  # a function of Kubernetes' libraries that is ours: 10 to 20 for the call and what it makes
_LIBRARY_BYTE = 0.02  # a byte of the text it reads: isURL takes 0.6 ms for 65,536
_DEAR_BYTES: Mapping[str, float] = {"findAll": 0.1, "semver": 0.4, "isSemver": 0.4}
_PAIR = 0.03  # an element that is compared with each of a list: distinct() of 5,000 tolerations takes 0.7 s
_FOLDED = 0.2  # an element that sum(), min(), indexOf() and the like go through
_SEARCH = 0.000012  # a byte of a text for each byte of what is searched there: "aaab" in "aaaaaaaa"
# A byte of what a function reads, in microseconds: the dearest of texts from 1 kB to 1 MB.
_BYTES: Mapping[str, float] = {
    "_+_": 0.0014,
    "_==_": 0.0004,
    "_!=_": 0.0004,
    "charAt": 0.001,
    "contains": 0.0001,
    "format": 0.03,
    "indexOf": 0.0025,
    "join": 0.003,
    "lastIndexOf": 0.0025,
    "lowerAscii": 0.0005,
    "matches": 0.0015,
    "replace": 0.03,
    "size": 0.0004,
    "split": 0.045,
    "substring": 0.001,
    "trim": 0.001,
    "upperAscii": 0.0005,
}
_DEEP = 0.004  # a byte of two lists or maps that are compared

_SCALAR_BYTES = 40  # the longest text of a number, a boolean or a time
_LINE = 4 * LONGEST  # UTF-8
_INDEX = frozenset({"_[_]", "_[?_]", "_?._"})
_SAME = frozenset({"orValue", "or", "value", "optional.of", "optional.ofNonZeroValue", "dyn", "string", "bytes"})
_OURS = frozenset(row.name for row in FUNCTIONS)
_FOLDS = frozenset(row.name for row in LIBRARIES if row.body and row.parameters[0].startswith("list("))
_CALLED = frozenset(row.name for row in LIBRARIES if not row.is_native) - _FOLDS
_PAIRED = frozenset({"distinct", "sets.contains", "sets.equivalent", "sets.intersects"})
_LIKE_THE_LIST = frozenset({"distinct", "reverse", "slice", "sort"})
_LISTED = _FOLDS | _LIKE_THE_LIST | {"flatten"}
_TEXTS = frozenset({"string", "bytes"})
_SCALARS = frozenset({"int", "uint", "double", "bool", "null_type", "google.protobuf.Timestamp"})

_MAP_ADVICE = "map() and filter() copy their list for each element; ask exists() or all(), or go through a shorter list"
_LOOP_ADVICE = (
    "every round of the outer loop goes through the inner list; ask in one loop, or go through a shorter list"
)
_REGEX_ADVICE = (
    "a pattern is compiled each time; ask ==, startsWith(), endsWith() or contains(), or first what is cheap"
)
_TEXT_ADVICE = "a text of any length is read or made each time; compare first, or take it out of the loop"


@dataclass(frozen=True, slots=True)
class Bounds:
    """How large a value is at most."""

    length: float = 0
    """Entries, of a list or map."""
    size: float = _SCALAR_BYTES
    """Bytes of one such value."""
    total: float = _SCALAR_BYTES
    """Bytes of all such values, one for each of the ``times`` that it is evaluated."""
    times: float = 1
    path: tuple[str, ...] | None = None
    """Where it is read, as in ``cel.reads``; None: it is made."""
    loop: float = 1
    """For what a loop goes through: how often that loop is begun."""
    element: "Bounds | None" = None
    """The largest entry of a list that is made."""

    def bytes_at(self, times: float) -> float:
        """Return the bytes of all of them, where it is used ``times`` times."""
        return self.total if times <= self.times else times * self.size


@dataclass(frozen=True, slots=True)
class Cost:
    """The most that one evaluation takes, and the part of it that takes the most."""

    microseconds: float
    line: int = 1
    column: int = 1
    """Where the dearest part stands in the source, from 1."""
    dearest: float = 0.0
    advice: str = ""
    """What to write instead of the dearest part."""
    value: Bounds = field(default_factory=Bounds)
    """How large its value is at most."""


def cost_of(checked: Node, variables: Mapping[str, Bounds]) -> Cost:
    """Return what evaluating a checked expression costs.

    ``variables`` are bounds of what ``variables.<name>`` is. To name one costs nothing here: it is evaluated once,
    whoever names it, and has a cost of its own.
    """
    meter = _Meter(checked, variables)
    return meter.cost(meter.visit(checked.expr, 1, {}))


def too_dear(total: float, cost: Cost) -> str:
    """Return the message for a policy that costs ``total`` microseconds, most of it in ``cost``'s dearest part."""
    return (
        f"got up to {total / 1000:,.0f} ms for the largest pod, {cost.dearest / 1000:,.0f} of them here, "
        f"want {MAX_MICROSECONDS // 1000} ms for the whole policy; {cost.advice}"
    )


class _Meter:
    """Adds up the price of one tree."""

    def __init__(self, checked: Node, variables: Mapping[str, Bounds]) -> None:
        self._checked = checked
        self._variables = variables
        self._sum = 0.0
        self._dearest: tuple[float, int, str] = (0.0, 0, "")

    def cost(self, value: Bounds) -> Cost:
        """Return the sum of an expression of that value."""
        price, node, advice = self._dearest
        return Cost(self._sum, *ast.position(self._checked, node), dearest=price, advice=advice, value=value)

    def visit(self, node: Node, times: float, scope: Mapping[str, Bounds]) -> Bounds:
        """Charge for an expression that is evaluated ``times`` times; return what its value is at most."""
        self._sum += _NODE * times
        match ast.kind(node):
            case "const_expr":
                size = len(node.const_expr.string_value.encode()) or len(node.const_expr.bytes_value) or 1
                return Bounds(size=size, total=times * size, times=times)
            case "ident_expr":
                return self._named(node, times, scope)
            case "select_expr":
                return self._field(
                    node, self.visit(node.select_expr.operand, times, scope), node.select_expr.field, times
                )
            case "call_expr":
                return self._call(node, times, scope)
            case "comprehension_expr":
                return self._loop(node, times, scope)
            case _:
                return self._made([self.visit(child, times, scope) for child in ast.children(node)], times)

    def _charge(self, node: Node, price: float, advice: str) -> None:
        self._sum += price
        if price > self._dearest[0]:
            self._dearest = (price, node.id, advice)

    def _named(self, node: Node, times: float, scope: Mapping[str, Bounds]) -> Bounds:
        name = node.ident_expr.name.removeprefix(".")
        if name in scope:
            return scope[name]
        first, _, rest = name.partition(".")
        if first == "variables" and rest in self._variables:
            known = self._variables[rest]
            return replace(known, total=known.size * times, times=times)
        return self._read(node, tuple(name.split(".")) if first in VARIABLES else ("params",), times)

    def _read(self, node: Node, path: tuple[str, ...], times: float) -> Bounds:
        """Return the bounds of what stands at a path: of the pod, or of what is no longer than one."""
        scalar = ast.type_of(self._checked, node).name in _SCALARS
        size = _SCALAR_BYTES if scalar else MAX_NAME_BYTES if path[1:] in NAMES else MAX_BYTES
        return Bounds(length=_most(path), size=size, total=times * size, times=times, path=path)

    def _field(self, node: Node, operand: Bounds, field: str, times: float) -> Bounds:
        if operand.path is None:
            return operand.element or replace(operand, length=max(operand.length, ENTRIES))
        found = self._read(node, (*operand.path, field), times)
        # All that stands below one place is no more than what stands there.
        total = min(found.total, operand.bytes_at(times))
        return replace(found, total=total, loop=operand.loop, times=max(times, operand.times))

    def _made(self, entries: Sequence[Bounds], times: float) -> Bounds:
        size = sum(entry.size for entry in entries) + 2
        total = sum(entry.bytes_at(times) for entry in entries) + 2 * times
        return Bounds(length=len(entries), size=size, total=total, times=times, element=_largest(entries))

    def _call(self, node: Node, times: float, scope: Mapping[str, Bounds]) -> Bounds:
        call = node.call_expr
        nodes = [*([call.target] if call.HasField("target") else []), *call.args]
        values = [self.visit(each, times, scope) for each in nodes]
        if call.function in _INDEX:
            key = nodes[1].const_expr
            by_name = ast.kind(nodes[1]) == "const_expr" and key.WhichOneof("which") == "string_value"
            return self._field(node, values[0], key.string_value if by_name else ELEMENT, times)
        if call.function in _SAME or not values:
            return _largest(values) or Bounds(times=times)
        if call.function == "_?_:_":
            return _largest(values[1:]) or Bounds(times=times)
        if call.function in _OURS:
            self._charge(node, _READING.get(call.function, _PYTHON) * times, _LOOP_ADVICE)
            size = _LINE if call.function in _READING else ENTRIES
            if call.function == "commands":
                words = Bounds(MOST_WORDS, size, size * times, times)
                return replace(words, element=words)
            return Bounds(ENTRIES, size, size * times, times)
        self._charge_bytes(node, nodes, values, times)
        return self._result(node, values, times)

    def _charge_bytes(self, node: Node, nodes: Sequence[Node], values: Sequence[Bounds], times: float) -> None:
        """Charge for what a function reads, which is all of its operands unless it stops at the first difference."""
        function = node.call_expr.function
        read = [value.bytes_at(times) for value in values]
        lists = ast.type_of(self._checked, nodes[0]).name not in _TEXTS | _SCALARS
        match function:
            case "_==_" | "_!=_":
                kinds = {ast.type_of(self._checked, each).name for each in nodes}
                price = 0.0 if kinds & _SCALARS else min(read) * (_BYTES[function] if "string" in kinds else _DEEP)
                self._charge(node, price, _TEXT_ADVICE)
            case "matches":
                self._charge(node, _REGEX * times + _PATTERN * read[-1] + _BYTES[function] * read[0], _REGEX_ADVICE)
            case "replace":
                made = (read[0] + times) * max(values[2].size, 1)
                self._charge(node, _BYTES[function] * read[0] + _BYTES["_+_"] * made, _TEXT_ADVICE)
            case "contains" | "indexOf" | "lastIndexOf" if not lists:
                self._charge(node, read[0] * (_BYTES[function] + _SEARCH * values[1].size), _TEXT_ADVICE)
            case "@in":
                self._charge(node, _ELEMENT * times * values[-1].length, _LOOP_ADVICE)
            case "_+_" | "size" | "join" if lists:
                charged = _ELEMENT * times * sum(value.length for value in values) if function != "size" else 0.0
                self._charge(node, charged + _BYTES["join"] * (sum(read) if function == "join" else 0), _LOOP_ADVICE)
            case _ if function in _BYTES and not (lists and function in _LISTED):
                scalar = ast.type_of(self._checked, nodes[0]).name in _SCALARS
                self._charge(node, 0.0 if scalar else _BYTES[function] * sum(read), _TEXT_ADVICE)
            case _:
                self._charge_library(node, values, times)

    def _charge_library(self, node: Node, values: Sequence[Bounds], times: float) -> None:
        """Charge for a function of Kubernetes' libraries; nothing for one that is none of them."""
        function = node.call_expr.function
        if function in _PAIRED:
            pairs = times * values[0].length * values[-1].length
            self._charge(node, _PAIR * pairs * (2 if function == "sets.equivalent" else 1), _LOOP_ADVICE)
        elif function in _LISTED:
            self._charge(node, _FOLDED * times * values[0].length, _LOOP_ADVICE)
        elif function in _CALLED:
            texts = sum(min(value.bytes_at(times), times * LONGEST_TEXT) for value in values)
            price = _DEAR_BYTES.get(function, _LIBRARY_BYTE)
            self._charge(node, _LIBRARY * times + price * texts, _TEXT_ADVICE)

    def _result(self, node: Node, values: Sequence[Bounds], times: float) -> Bounds:
        size, length, element = _SCALAR_BYTES * 1.0, 0.0, None
        total = size * times
        match node.call_expr.function:
            case "_+_" | "format" | "join" if ast.type_of(self._checked, node).name not in _SCALARS:
                # Between any two elements stands a separator.
                between = values[-1].size * values[0].length if node.call_expr.function == "join" else 0
                size = sum(value.size for value in values) + between
                total = sum(value.bytes_at(times) for value in values) + between * times
                length = sum(value.length for value in values)
                element = _largest([value.element for value in values if value.element])
            case "replace":
                # In the worst case every byte is replaced, and one more is put in front.
                size = (values[0].size + 1) * max(values[2].size, 1)
                total = (values[0].bytes_at(times) + times) * max(values[2].size, 1)
            case "lists.range":
                length = MAX_ITERATIONS
            case function if function in _LIKE_THE_LIST:
                return replace(values[0], times=times)
            case "flatten":
                inner = values[0].element or Bounds(length=ENTRIES)
                return replace(values[0], length=values[0].length * max(inner.length, 1), times=times)
            case "split" | "findAll":
                size, total, length = values[0].size, values[0].bytes_at(times), values[0].size + 1
                element = Bounds(size=size, total=total, times=times)
            case "substring" | "trim" | "lowerAscii" | "upperAscii" | "find":
                size, total = values[0].size, values[0].bytes_at(times)
        return Bounds(length=length, size=size, total=total, times=times, element=element)

    def _loop(self, node: Node, times: float, scope: Mapping[str, Bounds]) -> Bounds:
        loop = node.comprehension_expr
        through = self.visit(loop.iter_range, times, scope)
        start = self.visit(loop.accu_init, times, scope)
        rounds = _rounds(through, times)
        inside = {**scope, loop.accu_var: replace(start, times=rounds or times)}
        each = _entry_of(through, rounds, times)
        inside[loop.iter_var] = each
        if loop.iter_var2:
            inside[loop.iter_var2] = each
        if rounds:
            self.visit(loop.loop_condition, rounds, inside)
        result = start
        added = _added(loop)
        if rounds and added is None:
            self.visit(loop.loop_step, rounds, inside)
        elif rounds:
            made = self._growing(loop.loop_step, added, rounds, inside)
            longest = min(through.length, rounds)
            self._charge(node, _COPY * rounds * longest, _MAP_ADVICE)
            result = Bounds(longest, made.size * longest, made.bytes_at(rounds), times, element=made)
        elif ast.kind(loop.loop_step) == "ident_expr":  # the form of optMap: a name for the one value
            result = self.visit(loop.result, times, {**scope, loop.accu_var: start})
        return result

    def _growing(self, step: Node, added: Node, rounds: float, scope: Mapping[str, Bounds]) -> Bounds:
        """Charge for the step of ``map`` or ``filter``; return the bounds of what is added."""
        if ast.kind(step) == "call_expr" and step.call_expr.function == "_?_:_":
            self.visit(step.call_expr.args[0], rounds, scope)
        return self.visit(added, rounds, scope)


def _added(loop: Node) -> Node | None:
    """Return what a loop adds to a list of its own in each round; None where it makes no list."""
    step = loop.loop_step
    if ast.kind(step) == "call_expr" and step.call_expr.function == "_?_:_":
        step = step.call_expr.args[1]
    if ast.kind(step) != "call_expr" or step.call_expr.function != "_+_":
        return None
    own, entry = step.call_expr.args
    if own.ident_expr.name != loop.accu_var or ast.kind(entry) != "list_expr":
        return None
    return entry.list_expr.elements[0]


def _rounds(through: Bounds, times: float) -> float:
    """Return the rounds of a loop that is begun ``times`` times, all together."""
    rounds = times * through.length
    if through.path and ELEMENT in through.path and through.times == times:
        # Begun once for each element of the loop around it: all of them together go through the pod's total.
        rounds = through.loop * through.length
    return min(rounds, MAX_ITERATIONS)


def _entry_of(through: Bounds, rounds: float, times: float) -> Bounds:
    """Return the bounds of what a loop goes through, one by one."""
    if through.path is None:
        entry = through.element or Bounds(length=ENTRIES, size=through.size)
        return replace(entry, total=min(rounds * entry.size, through.bytes_at(times)), times=max(rounds, 1))
    path = (*through.path, ELEMENT)
    total = min(rounds * through.size, through.bytes_at(times))
    return Bounds(_most(path), through.size, total, max(rounds, 1), path, times)


def _most(path: tuple[str, ...]) -> float:
    """Return how many entries what stands at a path has at most."""
    if path[0] in ("object", "oldObject"):
        below = LARGEST.get(path[1:])
        if below is not None:
            return below
        return MAX_ITERATIONS if len(path) > 1 else ENTRIES
    return GPU_REQUESTS if path == ("gpu", "requests") else ENTRIES


def _largest(values: Sequence[Bounds]) -> Bounds | None:
    """Return bounds that hold for each of several values."""
    if not values:
        return None
    paths = {value.path for value in values}
    return Bounds(
        length=max(value.length for value in values),
        size=max(value.size for value in values),
        total=max(value.total for value in values),
        times=max(value.times for value in values),
        path=paths.pop() if len(paths) == 1 else None,
        loop=max(value.loop for value in values),
        element=_largest([value.element for value in values if value.element]),
    )
