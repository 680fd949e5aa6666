"""Prices each part of a checked expression, and computes the maximum size of the part's value, for ``cel.cost``.

A part is priced for each time that the part can run, including nested loops. A list or map of the pod is assumed to
have the maximum length that ``kube.pod_limits`` allows. All strings of a pod together are no longer than the pod. The
engine stops an evaluation after 10,000 iterations, which bounds every loop. But 10,000 can be too many: ``map`` and
``filter`` copy the result list for each added element.

The prices are measurements (``cel.prices``) in microseconds of one idle core, for each function on its worst known
input. The prices serve to compare functions, and are no statement about a machine's speed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import log2

from ..kube.paths import ELEMENT
from ..kube.pod_limits import ENTRIES
from . import ast, patterns
from .ast import Node
from .comparisons import Comparisons
from .dispatch import LONGEST_TEXT
from .functions import FUNCTIONS
from .guards import longest_texts
from .libraries import LIBRARIES
from .prices import price_of
from .program import VARIABLES_PREFIX
from .sizes import (
    COMMANDS,
    LINE_BYTES,
    MAX_ITERATIONS,
    SCALAR_BYTES,
    Bounds,
    entry_of,
    largest,
    literal,
    most,
    most_bytes,
    rounds,
    started,
)
from .types import NODES
from .typing import VARIABLES
from .value_types import MOST_VALUES

# ---- prices ---------------------------------------------------------------------------------------------------------
_PART, _COPY, _PATTERN, _SEARCH, _APPEND, _PAIR, _DEEP, _STATE = (
    price_of(name).entry for name in ("part", "copy", "pattern", "search", "append", "pair", "deep", "state")
)
_TEXT, _HANDED, _STRUCTURE, _CHECKED = (price_of(name).entry for name in ("text", "handed", "structure", "checked"))
_HANDED_OVER = price_of("size").byte
# The most values of the largest cluster by which a set of nodes can be narrowed: sizes of link domains (1, 2, 4, 8, 16,
# 36, 72 GPUs) and MIG profiles.
_NARROWED = 8
_PLACEMENT = frozenset(
    {"terms", "preferredTerms", "requiredTerms", "separable", "requirable", "obstacle", "missingLabel"}
)
_MIG_NODES = frozenset({"smallest", "nearest", "suggestions", "capacity", "fits", "offered", "gpuNodes"})
_NARROWING = frozenset({"withLinkDomain", "gpuNodes"})
_LEVELS = frozenset({"narrowestLevel", "narrowestSafeLevel"})
_OF_RECEIVER = _LEVELS | {"anyOffers"}
"""The functions whose cached result depends only on the receiver, and not on the arguments."""
_ANSWERS: Mapping[str, str] = dict.fromkeys(_MIG_NODES - _NARROWING, "mig") | dict.fromkeys(_LEVELS, "levels")
"""A mapping from each function whose result is cached in a review to the name of the cached result, which several
functions may share.
"""
_TEXT_FUNCTIONS = frozenset({"commands", "flag"})

_INDEX = frozenset({"_[_]", "_[?_]", "_?._"})
_SAME = frozenset({"orValue", "or", "value", "optional.of", "optional.ofNonZeroValue", "dyn", "string", "bytes"})
_FREE = frozenset({"_&&_", "_||_", "_?_:_", "!_", "@not_strictly_false"})
"""The operators that read only booleans, and cost no more than any other node.

The macros ``all()`` and ``exists()`` expand to the last operator.
"""
_CHOICES: Mapping[str, tuple[bool, ...]] = {"_&&_": (True,), "_||_": (False,), "_?_:_": (True, False)}
"""The operators that evaluate further operands depending on the first: for each further operand, the value that the
first must have."""
_OURS = frozenset(row.name for row in FUNCTIONS)
_FOLDS = frozenset(row.name for row in LIBRARIES if row.body and row.parameters[0].startswith("list("))
_CALLED = frozenset(row.name for row in LIBRARIES if not row.is_native) - _FOLDS
_PAIRED = frozenset({"distinct", "sets.contains", "sets.equivalent", "sets.intersects"})
_ORDERED = frozenset({"sort", "isSorted", "min", "max"})
_LIKE_THE_LIST = frozenset({"distinct", "reverse", "slice", "sort"})
_TEXTS = frozenset({"string", "bytes"})
_SCALARS = frozenset({"int", "uint", "double", "bool", "null_type", "google.protobuf.Timestamp"})
_PLAIN = _TEXTS | _SCALARS

_MAP_ADVICE = "map() and filter() copy their list for each element; ask exists() or all(), or go through a shorter list"
_LOOP_ADVICE = (
    "every round of the outer loop goes through the inner list; ask in one loop, or go through a shorter list"
)
_REGEX_ADVICE = (
    "a pattern is compiled each time; ask ==, startsWith(), endsWith() or contains(), or first what is cheap"
)
_LEAST_BYTES = 10
"""The minimum number of bytes of a value in a pod's JSON, with the value's key: `{"name":"A"}`."""
_TEXT_ADVICE = "a text of any length is read or made each time; compare first, or take it out of the loop"
_OUTSIDE_LOOPS: Mapping[str, str] = {
    _LOOP_ADVICE: "it goes through as many entries as a pod or a cluster may have; ask about fewer",
    _TEXT_ADVICE: "a text of any length is read or made; ask about less of it, such as its first entry",
}
"""The advice in place of the usual one for a part that is evaluated once."""


class Meter:
    """Computes the price of one expression from the checked tree.

    In all methods, ``times`` is the maximum number of evaluations of the node, loops around it included.
    """

    def __init__(self, checked: Node, variables: Mapping[str, Bounds]) -> None:
        """Create the object; ``variables`` has the bounds of the value of each ``variables.<name>``."""
        self._checked = checked
        self._variables = variables
        self.sum = 0.0
        """The sum of the prices of the parts visited so far, in microseconds."""
        self.worst: tuple[float, int, str] = (0.0, 0, "")
        """The most expensive part: (microseconds, the id of the part's node, advice on a cheaper way to write the
        part).
        """
        self.comparisons = Comparisons()
        """The places at which searches begin to compare, which ``sum`` leaves out."""
        self.remembered: dict[str, float] = {}
        """The microseconds for results that are cached within a review, by the query that computes the result."""

    def result_price(self, value: Bounds) -> float:
        """Return the price of converting the expression's value to Python and of checking the value."""
        node = self._checked.expr
        handed = self._handed(node, value)
        if ast.type_of(self._checked, node).name in _PLAIN:
            return handed
        within = value.values + (value.total / _LEAST_BYTES if value.has_parts else 0)
        return handed + _CHECKED * min(within, MOST_VALUES)

    def _handed(self, node: Node, value: Bounds) -> float:
        """Return the price of converting a value to Python, which copies the whole value."""
        kind = ast.type_of(self._checked, node).name
        if kind in _SCALARS:
            return 0.0
        byte = _STRUCTURE if value.has_parts and kind not in _TEXTS else _TEXT
        return byte * value.bytes_at(1) + _HANDED * value.values

    def visit(self, node: Node, times: float, scope: Mapping[str, Bounds]) -> Bounds:
        """Add the price of an expression that is evaluated ``times`` times; return the bounds of the value.

        ``scope`` has the bounds of the loop variables by name.
        """
        found = self._visit(node, times, scope)
        kind = ast.type_of(self._checked, node)
        if kind.name in _PLAIN:
            return replace(found, values=1, has_parts=False)
        if found.has_parts and kind.parameters and all(each.name in _PLAIN for each in kind.parameters):
            return replace(found, values=1 + found.length * len(kind.parameters), has_parts=False)
        return found

    def _visit(self, node: Node, times: float, scope: Mapping[str, Bounds]) -> Bounds:
        """Add the price of an expression; return the bounds of the value, which ``visit`` narrows by the value's type.

        ``times`` is the number of evaluations; ``scope`` has the bounds of the loop variables by name.
        """
        self.sum += _PART * times
        match ast.kind(node):
            case "const_expr":
                return literal(node.const_expr.string_value.encode() or node.const_expr.bytes_value, times)
            case "ident_expr":
                return self._named(node, times, scope)
            case "select_expr":
                operand = self.visit(node.select_expr.operand, times, scope)
                if ast.type_of(self._checked, node.select_expr.operand) == NODES:
                    self._charge_answer(node, times)
                return self._field(node, operand, node.select_expr.field, times)
            case "call_expr":
                return self._call(node, times, scope)
            case "comprehension_expr":
                return self._loop(node, times, scope)
            case _:
                return self._made([self.visit(child, times, scope) for child in ast.children(node)], times)

    def _charge(self, node: Node, price: float, advice: str, times: float) -> None:
        self.sum += price
        if price > self.worst[0]:
            self.worst = (price, node.id, advice if times > 1 else _OUTSIDE_LOOPS.get(advice, advice))

    def _named(self, node: Node, times: float, scope: Mapping[str, Bounds]) -> Bounds:
        name = node.ident_expr.name.removeprefix(".")
        if name in scope:
            return scope[name]
        first, _, rest = name.partition(".")
        if first == "variables" and rest in self._variables:
            return self._variable(rest, times)
        return self._read(node, tuple(name.split(".")) if first in VARIABLES else ("params",), times)

    def _variable(self, name: str, times: float) -> Bounds:
        known, given = self._variables[name], frozenset({VARIABLES_PREFIX + name})
        return replace(known, total=known.size * times, times=times, whole=times, given=given)

    def _where(
        self, condition: Node, times: float, scope: Mapping[str, Bounds], *, holds: bool
    ) -> Mapping[str, Bounds]:
        """Return ``scope``, narrowed to the bounds that are valid if ``condition`` is ``holds`` or has an error."""
        inside = dict(scope)
        for name, longest in longest_texts(self._checked, condition, holds=holds).items():
            of_policy = name.partition(".")[2]
            known = scope.get(name) or (self._variable(of_policy, times) if of_policy in self._variables else None)
            if known is not None:
                total = min(known.total, known.times * longest)
                inside[name] = replace(known, size=min(known.size, longest), total=total)
        return inside

    def _read(self, node: Node, path: tuple[str, ...], times: float) -> Bounds:
        """Return the bounds of the value at a path: in the pod, or in another object that is no larger than a pod."""
        scalar, given = ast.type_of(self._checked, node).name in _SCALARS, frozenset(path[:1])
        size = SCALAR_BYTES if scalar else most_bytes(path)
        return Bounds(most(path), size, times * size, times, path, whole=times, has_parts=True, given=given)

    def _field(self, node: Node, operand: Bounds, field: str, times: float) -> Bounds:
        if operand.path is None and operand.element is not None:
            # Any element, possibly the same each time.
            element = operand.element
            given = element.given if operand.given is None else operand.given
            return replace(element, total=element.size * times, times=times, whole=times, starts=None, given=given)
        if operand.path is None:
            return replace(operand, length=max(operand.length, ENTRIES), starts=None)
        found = self._read(node, (*operand.path, field), times)
        # All values below one place are together no larger than the value there.
        total = min(found.total, operand.bytes_at(times))
        return replace(found, total=total, times=max(times, operand.times), whole=operand.whole_at(times))

    def _made(self, entries: Sequence[Bounds], times: float) -> Bounds:
        size = sum(entry.size for entry in entries) + 2
        total = sum(entry.bytes_at(times) for entry in entries) + 2 * times
        return Bounds(
            length=len(entries),
            size=size,
            total=total,
            times=times,
            element=replace(largest(entries) or Bounds(), starts=started(entries)) if entries else None,
            values=1 + sum(entry.values for entry in entries),
            has_parts=any(entry.has_parts for entry in entries),
            given=None if entries else frozenset(),
        )

    def _call(self, node: Node, times: float, scope: Mapping[str, Bounds]) -> Bounds:
        call = node.call_expr
        nodes = ast.children(node)
        scopes = [scope] * len(nodes)
        if call.function in _CHOICES:
            scopes[1:] = [self._where(nodes[0], times, scope, holds=holds) for holds in _CHOICES[call.function]]
        values = [self.visit(each, times, within) for each, within in zip(nodes, scopes, strict=True)]
        if call.function in _INDEX:
            key = ast.constant(nodes[1])
            return self._field(node, values[0], key if isinstance(key, str) else ELEMENT, times)
        if call.function == "_?_:_":
            return largest(values[1:]) or Bounds(times=times)
        if call.function in _OURS:
            self._charge_plain(node, nodes, values, times)
            self._charge_first(node, call.function, times, price_of(call.function).first)
            if call.function == "commands":
                return Bounds(most(COMMANDS), LINE_BYTES, LINE_BYTES * times, times, COMMANDS, whole=times)
            size = LINE_BYTES if call.function in _TEXT_FUNCTIONS else ENTRIES
            return Bounds(ENTRIES, size, size * times, times, values=ENTRIES)
        if call.function not in _FREE:
            self._charge_bytes(node, nodes, values, times)
        if call.function in _SAME or not values:
            return largest(values) or Bounds(times=times)
        return self._result(node, values, times)

    def _charge_answer(self, node: Node, times: float) -> None:
        """Add the price of reading a field of the type Nodes, and of computing the field once for each node set."""
        name = node.select_expr.field
        price = price_of(f"Nodes.{name}")
        self._charge(node, price.call * times, _LOOP_ADVICE, times)
        self._charge_first(node, "placement" if name in _PLACEMENT else name, times, price.first)

    def _charge_first(self, node: Node, what: str, times: float, price: float) -> None:
        """Add the price of a result that is computed at most once for each node set of a review, and then cached.

        ``what`` is the name of the function or field that gives the result, and ``price`` the price of one computation.
        """
        if not price:
            return
        asked = node.select_expr.operand if ast.kind(node) == "select_expr" else node
        sets = _sets(asked) if times > 1 else 1
        key = f"{_ANSWERS.get(what, what)}: {_spelled(asked.call_expr.target if what in _OF_RECEIVER else asked)}"
        charged = price * min(times, sets)
        if charged > self.remembered.get(key, 0.0):
            self._charge(node, charged - self.remembered.get(key, 0.0), _LOOP_ADVICE, times)
            self.remembered[key] = charged

    def _charge_plain(self, node: Node, nodes: Sequence[Node], values: Sequence[Bounds], times: float) -> None:
        """Add the price of a call that reads its operands to their ends: by the bytes of texts, and the items of lists.

        ``nodes`` are the operands, and ``values`` the bounds of their values.
        """
        function = node.call_expr.function
        price = price_of(function)
        charged = price.call * times
        for each, value in zip(nodes, values, strict=True):
            kind = ast.type_of(self._checked, each).name
            read = value.bytes_at(times)
            if function in _OURS and kind == "list":
                charged += _TEXT * read  # the entries are in the function's own price
            if function in _CALLED:
                # The function reads a longer text no further, but the whole text is handed over.
                charged += _HANDED_OVER * max(read - times * LONGEST_TEXT, 0)
                read = min(read, times * LONGEST_TEXT)
            # The values to format are in a list, and are read to their ends.
            if kind in _TEXTS or kind == "dyn" or function == "format":
                charged += price.byte * read
            if function == "format":
                parts = read / _LEAST_BYTES if value.has_parts else 0
                charged += price.entry * (times * value.values + parts)
            if kind not in _PLAIN:
                charged += price.entry * times * value.length
        self._charge(node, charged, _TEXT_ADVICE if price.byte else _LOOP_ADVICE, times)

    def _charge_bytes(self, node: Node, nodes: Sequence[Node], values: Sequence[Bounds], times: float) -> None:
        """Add the price of a call of a function of the CEL engine or of a library, by the rule for that function.

        ``nodes`` are the operands, and ``values`` the bounds of their values.
        """
        function = node.call_expr.function
        price = price_of(function)
        read = [value.bytes_at(times) for value in values]
        # An operand of any type may be a list.
        lists = bool(nodes) and ast.type_of(self._checked, nodes[0]).name not in _PLAIN
        self.comparisons.add(node, values, times)
        advice, more = _TEXT_ADVICE, 0.0
        match function:
            case "_==_" | "_!=_":
                kinds = {ast.type_of(self._checked, each).name for each in nodes}
                # It stops at the first difference.
                more = min(read) * (0.0 if kinds & _SCALARS else price.byte if "string" in kinds else _DEEP)
            case "matches" | "find" | "findAll":
                known = ast.kind(nodes[1]) == "const_expr"
                literal = nodes[1].const_expr.string_value
                pattern = patterns.read(literal) if known else patterns.unread(values[1].size)
                compiled = _PATTERN * pattern.steps * times
                searched = (price.byte + _STATE * pattern.places) * min(read[0], pattern.reach * times)
                advice = _TEXT_ADVICE if known and searched > compiled else _REGEX_ADVICE
                more = compiled + searched
            case "replace":
                more = price.byte * (read[0] + (read[0] + times) * max(values[2].size, 1))
            case "contains" | "indexOf" | "lastIndexOf" if not lists:
                more = read[0] * (price.byte + _SEARCH * values[1].size)
            case "startsWith" | "endsWith":
                more = price.byte * min(read)
            case "string" if ast.type_of(self._checked, nodes[0]).name in ("string", "dyn"):
                price = price_of("dyn")
            case "lists.range" | "flatten":
                advice, more = _LOOP_ADVICE, price.entry * times * self._result(node, values, times).length
            case "@in":
                self._charge_plain(node, nodes, values, times)
                self._charge_compared(node, nodes[1], (read[0], 1), (read[1], values[1].length), times)
                return
            case _ if lists:
                self._charge_listed(node, nodes, values, times)
                return
            case _:
                self._charge_plain(node, nodes, values, times)
                return
        self._charge(node, price.call * times + more, advice, times)

    def _charge_listed(self, node: Node, nodes: Sequence[Node], values: Sequence[Bounds], times: float) -> None:
        """Add the price of a call whose operands may be lists, evaluated ``times`` times, by the number of items.

        ``nodes`` are the operands, and ``values`` the bounds of their values.
        """
        function = node.call_expr.function
        price = price_of(function)
        if function == "_+_":
            more = _APPEND * times * sum(value.length for value in values)
        elif function == "join":
            more = price.entry * times * values[0].length + price.byte * sum(each.bytes_at(times) for each in values)
        elif function == "size":
            more = 0.0
        elif function in _PAIRED:
            more = _PAIR * times * values[0].length * values[-1].length * (2 if function == "sets.equivalent" else 1)
            left, right = ((values[at].bytes_at(times), values[at].length) for at in (0, -1))
            self._charge_compared(node, nodes[0], left, right, times)
        elif function in _ORDERED:
            turns = max(log2(max(values[0].length, 1)), 1) if function == "sort" else 1
            texts = price_of("_<_").byte * values[0].bytes_at(times) * turns
            more = price.entry * times * values[0].length + texts
        else:
            self._charge_plain(node, nodes, values, times)
            return
        self._charge(node, price.call * times + more, _LOOP_ADVICE, times)

    def _charge_compared(
        self, node: Node, listed: Node, left: tuple[float, float], right: tuple[float, float], times: float
    ) -> None:
        """Add the price of comparing, in the call ``node``, each element of one list with each element of another list.

        ``listed`` is the expression of one list, from whose type the elements' type is read. ``left`` and ``right`` are
        (bytes, length) of the two lists. Pairs of texts or numbers cost nothing here, because the price of the call
        includes them. A pair of other elements is priced by the bytes of the shorter element.
        """
        kind = ast.type_of(self._checked, listed)
        elements = kind.parameters[0].name if kind.name == "list" else kind.name
        if kind.name != "map" and elements not in _PLAIN:
            pairs = price_of("_==_").call * times * left[1] * right[1]
            self._charge(node, pairs + _DEEP * min(left[0] * right[1], right[0] * left[1]), _LOOP_ADVICE, times)

    def _result(self, node: Node, values: Sequence[Bounds], times: float) -> Bounds:
        size, length, element = SCALAR_BYTES * 1.0, 0.0, None
        total = size * times
        made, has_parts = sum(value.values for value in values), any(value.has_parts for value in values)
        match node.call_expr.function:
            case "_+_" | "format" | "join" if ast.type_of(self._checked, node).name not in _SCALARS:
                # A separator stands between any two elements.
                between = values[-1].size * values[0].length if node.call_expr.function == "join" else 0
                size = sum(value.size for value in values) + between
                total = sum(value.bytes_at(times) for value in values) + between * times
                length = sum(value.length for value in values)
                element = largest([value.element for value in values if value.element])
            case "replace":
                # In the worst case every byte is replaced, and one more is added in front.
                size = (values[0].size + 1) * max(values[2].size, 1)
                total = (values[0].bytes_at(times) + times) * max(values[2].size, 1)
            case "lists.range":
                number = ast.constant(node.call_expr.args[0])
                length = min(max(number, 0), MAX_ITERATIONS) if isinstance(number, int) else MAX_ITERATIONS
                made = length
            case function if function in _LIKE_THE_LIST:
                return replace(values[0], times=times, whole=values[0].whole_at(times))
            case "flatten":
                inner = values[0].element or Bounds(length=ENTRIES)
                return replace(values[0], length=values[0].length * max(inner.length, 1), times=times)
            case "split" | "findAll":
                size, total, length = values[0].size, values[0].bytes_at(times), values[0].size + 1
                element = Bounds(size=size, total=total, times=times)
                made = length
            case "substring" | "trim" | "lowerAscii" | "upperAscii" | "find":
                size, total = values[0].size, values[0].bytes_at(times)
        return Bounds(length, size, total, times, element=element, values=made, has_parts=has_parts)

    def _loop(self, node: Node, times: float, scope: Mapping[str, Bounds]) -> Bounds:
        loop = node.comprehension_expr
        through = self.visit(loop.iter_range, times, scope)
        start = self.visit(loop.accu_init, times, scope)
        turns = rounds(through, times)
        inside = {**scope, loop.accu_var: replace(start, times=turns or times)}
        each = entry_of(through, turns, times)
        inside[loop.iter_var] = each
        if loop.iter_var2:
            inside[loop.iter_var2] = each
        if turns:
            self.visit(loop.loop_condition, turns, inside)
        result = start
        added = ast.added(loop)
        if turns and added is None:
            self.visit(loop.loop_step, turns, inside)
        elif turns:
            made = self._growing(loop.loop_step, added, turns, inside)
            longest = min(through.length, turns)
            self._charge(node, _COPY * turns * longest, _MAP_ADVICE, turns)
            size, total = made.size * longest, made.bytes_at(turns)
            values = 1 + longest * made.values
            result = Bounds(longest, size, total, times, element=made, values=values, has_parts=made.has_parts)
        elif ast.kind(loop.loop_step) == "ident_expr":  # the form of optMap: a name for the one value
            result = self.visit(loop.result, times, {**scope, loop.accu_var: start})
        return result

    def _growing(self, step: Node, added: Node, rounds: float, scope: Mapping[str, Bounds]) -> Bounds:
        """Add the price of all rounds of a macro ``map`` or ``filter``; return the bounds of the added element.

        ``step`` is the expression of one round, ``added`` the part of it that gives the element, and ``rounds`` the
        number of rounds.
        """
        if ast.kind(step) == "call_expr" and step.call_expr.function == "_?_:_":
            condition = step.call_expr.args[0]
            self.visit(condition, rounds, scope)
            scope = self._where(condition, rounds, scope, holds=True)
        return self.visit(added, rounds, scope)


def _sets(asked: Node) -> float:
    """Return the maximum number of different node sets that a query in a loop can have as results."""
    narrowed = 1.0
    for node in ast.walk(asked):
        call = node.call_expr
        if call.function in _NARROWING and call.args and ast.kind(call.args[0]) != "const_expr":
            narrowed *= _NARROWED
    return narrowed


def _spelled(node: Node) -> str:
    """Return a text that identifies a query of the nodes; queries with equal texts have equal results in one review."""
    match ast.kind(node):
        case "ident_expr":
            return str(node.ident_expr.name)
        case "const_expr":
            return str(node.const_expr)
        case "select_expr":
            return f"{_spelled(node.select_expr.operand)}.{node.select_expr.field}"
    if ast.kind(node) == "call_expr" and node.call_expr.function in _MIG_NODES - _NARROWING:
        return "the nodes that the pod chooses"
    return f"{node.call_expr.function}({', '.join(map(_spelled, ast.children(node)))})"
