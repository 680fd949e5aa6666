"""Measure what functions of expressions cost: ``python -m bench.cel_prices [--write]``, about five minutes.

Prints a row for each function and operation, in turns: one round of ``lists.range(1000).all(i, i >= 0)``.
``--write`` makes them the table that ``cel.cost`` reads (webhook/podberth/cel/data/turns.json). The worst of a
function's cases (``bench.price_cases``) is its price; the first call of a review is measured on 10,000 nodes in 500
classes.

A busy machine changes little: time is that of the thread and the least of several tries, a turn is measured right
before and behind each function, and a price is the median of several rounds through all functions.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from functools import partial
from itertools import count
from random import Random
from statistics import median
from typing import Any

from node_builders import need_of
from podberth.cel import patterns
from podberth.cel.engine import Activation, CelType, Environment, Expression, Want
from podberth.cel.functions import NODES_FIELDS, ReviewContext
from podberth.cel.types import DYN, INT
from podberth.cel.value_types import misfit, ordered
from podberth.errors import EvaluationError
from podberth.kube.schema import PodSchema
from podberth.topology.index import TopologyIndex

from . import ROOT, clusters, decisions, price_cases
from .figures import table
from .price_cases import Case

TABLE = ROOT / "webhook" / "podberth" / "cel" / "data" / "turns.json"
_TYPES: Mapping[str, CelType] = {"n": CelType("list", (INT,)), "m": CelType("list", (DYN,))}
_INPUTS = {
    "TEXT": "object.metadata.annotations['t']",
    "WORDS": "object.metadata.finalizers",
    "NUMBERS": "variables.n",
    "MAPS": "variables.m",
}
_NAME_SIZES = (8, 100)
_TEXT_SIZES = (1_000, 65_000, 1_000_000)
_LIST_SIZES = (500, 2_000)
_TRIES = 5
_ROUNDS = 3
_ENOUGH_SECONDS = 2e-3
# What takes so long, tries together, is not tried again: an interruption is short beside it.
_LONG_SECONDS = 0.1
# i >= 0 (three), the result so far && that (two), and whether it is still true (three with what asks it).
_PARTS_OF_A_TURN = 8
_MANY_STATES = ("(a|b)*a(a|b){20}c", "(a|b)*a(a|b){100}c", "a(a|b){400}c")
_PLACES = [patterns.read(each).places for each in _MANY_STATES]
Row = tuple[float, float, float, float]
FLOORS: Mapping[str, Row] = {
    "checked": (0.0, 0.0, 5.0, 0.0),
    "flatten": (0.0, 0.0, 0.624, 0.0),
    "format": (0.0, 0.0, 30.0, 0.0),
    "handed": (0.0, 0.0, 0.7, 0.0),
    "lists.range": (0.0, 0.0, 0.111, 0.0),
    "Nodes.linksKnown": (0.0, 0.0, 0.0, 98.0),
    "structure": (0.0, 0.0, 0.11, 0.0),
    "text": (0.0, 0.0, 0.003, 0.0),
}
"""The least prices of what takes longer in an expression than alone: its values come from memory and not from a cache,
and are freed again. Each was found by an expression that evaded its bound (tests/unit/cel/test_prices.py)."""


class Bench:
    """Evaluates sources over inputs of a size, on one index."""

    def __init__(self, index: TopologyIndex) -> None:
        """Compile nothing yet."""
        self.environment = Environment(PodSchema.packaged())
        self.index = index
        self.fresh = (replace(need_of(1), memory_mib=number) for number in count(1))
        """Needs that nobody has asked for: the index remembers its answers by them, through all rounds."""
        self._compiled: dict[str, Expression] = {}

    def turn(self) -> float:
        """Return the seconds of a turn at this moment."""
        return self.seconds("lists.range(1000).all(i, i >= 0)", {}) / 1_000

    def in_turns(self, measure: Callable[[], Mapping[str, Row]]) -> dict[str, Row]:
        """Return what is measured in seconds, in turns; of a turn before and one behind it the shorter counts."""
        before = self.turn()
        found = measure()
        turn = min(before, self.turn())
        return {name: (row[0] / turn, row[1] / turn, row[2] / turn, row[3] / turn) for name, row in found.items()}

    def seconds(self, source: str, inputs: Mapping[str, object]) -> float:
        """Return what one evaluation takes at least."""
        if source not in self._compiled:
            self._compiled[source] = self.environment.compile(source, want=Want.ANY, variables=_TYPES)
        expression = self._compiled[source]
        bound = {f"variables.{name}": each for name, each in inputs.items()}
        metadata = {"annotations": {"t": inputs.get("t", "")}, "finalizers": inputs.get("w", [])}
        facts: dict[str, object] = {"gpu": {"count": 1, "perContainer": 1}, "gang": {"size": 4}}
        facts |= {name: {"metadata": metadata, "maps": deepcopy(inputs.get("m"))} for name in ("object", "oldObject")}
        activation = self.environment.activation({**facts, **bound}, ReviewContext(self.index, need_of(1)))
        found = [_taken(expression, activation)]
        while len(found) < _TRIES and sum(found) < _LONG_SECONDS:
            found.append(_taken(expression, activation))
        return min(found)

    def each(self, source: str, inputs: Mapping[str, object]) -> float:
        """Return what one evaluation of a part takes, within a loop that names ``i``."""
        for name, variable in _INPUTS.items():
            source = source.replace(name, variable)
        # All loops of an evaluation have 10,000 rounds together.
        entries = [len(each) for each in inputs.values() if isinstance(each, list)]
        most = max(1, 1_000 // max(1, *(each // 4 for each in entries), 1))
        rounds = min(2, most)
        while True:
            looped = f"lists.range({rounds}).all(i, [{source}].size() > 0)"
            # All tries of a loop that is too short are short, too, where answers are remembered from one to the next.
            found = self.seconds(looped, inputs)
            if found > _ENOUGH_SECONDS or rounds >= most:
                return found / rounds
            rounds = min(rounds * 8, most)

    def row(self, case: Case) -> tuple[float, float, float]:
        """Return what a call takes, a byte of its text and an entry of its list."""
        reads = "TEXT" in case.source
        walks = any(each in case.source for each in ("WORDS", "NUMBERS", "MAPS"))
        small = [_inputs(case, text=size, entries=4) for size in (_NAME_SIZES if reads else _NAME_SIZES[:1])]
        less = self.each(case.less, small[0])
        call = max(self.each(case.source, each) for each in small) - less
        byte = entry = 0.0
        for size in _TEXT_SIZES if reads else ():
            if size <= case.most:
                found = self.each(case.source, _inputs(case, text=size, entries=4))
                byte = max(byte, (found - less - call) / size)
        for size in _LIST_SIZES if walks else ():
            found = self.each(case.source, _inputs(case, text=8, entries=size))
            entry = max(entry, (found - less - call) / size)
        return max(call, 0.0), max(byte, 0.0), max(entry, 0.0)


def _inputs(case: Case, *, text: int, entries: int) -> dict[str, object]:
    maps = [{"key": f"k{at}", "value": f"v{at}"} for at in range(entries)]
    return {"t": case.text(text), "w": case.words(entries), "n": list(range(entries)), "m": maps}


def _taken(expression: Expression, activation: Activation) -> float:
    """Return the seconds of this thread that an evaluation takes. An error is an answer, too, and shown."""
    began = time.thread_time()
    try:
        expression.evaluate(activation)
    except EvaluationError as error:
        print(f"\n{expression.source}: {error}", file=sys.stderr)
    return time.thread_time() - began


def measured(bench: Bench) -> dict[str, Row]:
    """Return the price of everything, in turns: of each figure the median of several rounds; no less than FLOORS."""
    rounds = [_round(bench) for _ in range(_ROUNDS)]
    rows = {name: _middle([each[name] for each in rounds]) for name in rounds[0]}
    # Where no node has slices, nearest compares a name with the profiles of all models, as suggestions does.
    rows["nearest"] = _worse(rows["nearest"], rows["suggestions"])
    return rows | {name: _worse(rows[name], floor) for name, floor in FLOORS.items()}


def _worse(row: Row, other: Row) -> Row:
    call, byte, entry, first = map(max, row, other)
    return call, byte, entry, first


def _middle(rows: Iterable[Row]) -> Row:
    call, byte, entry, first = map(median, zip(*rows, strict=True))
    return call, byte, entry, first


def _round(bench: Bench) -> dict[str, Row]:
    """Return the price of everything, in turns, measured once."""
    rows = bench.in_turns(partial(_operations, bench))
    for name, found in sorted(price_cases.ALL.items()):
        print(".", end="", file=sys.stderr, flush=True)
        rows |= bench.in_turns(partial(_worst, bench, name, found))
    for name, (_, _, _, first) in bench.in_turns(partial(_firsts, bench)).items():
        rows[name] = (*rows[name][:3], first)
    return rows


def _worst(bench: Bench, name: str, cases: Sequence[Case]) -> dict[str, Row]:
    """Return the most that a call, a byte and an entry take in any of the cases."""
    call, byte, entry = map(max, zip(*map(bench.row, cases), strict=True))
    return {name: (call, byte, entry, 0.0)}


def _operations(bench: Bench) -> dict[str, Row]:
    """Return what is charged beside functions: ``cel.prices.OPERATIONS``."""
    many, text = list(range(3_000)), "a" * 20_000
    maps = [{"key": f"k{at}"} for at in range(2_000)]
    strange = "".join(Random(1).choices("ab", k=20_000))  # noqa: S311 - the same in each run
    stated = [bench.seconds(f"{_INPUTS['TEXT']}.matches('{each}')", {"t": strange}) for each in _MANY_STATES]
    size = sum(len(json.dumps(each)) for each in maps)
    copied = bench.seconds("variables.n.map(x, x).size()", {"n": many})
    compiled = [bench.each("'a'.matches(TEXT)", {"t": each}) for each in ("(a|b)*c" * 300, "[a-z]+" * 300, "a" * 2_000)]
    searched = bench.seconds(f"{_INPUTS['TEXT']}.contains({_INPUTS['TEXT']}.substring(10000) + 'b')", {"t": text})
    begun = bench.seconds(f"{_INPUTS['TEXT']}.contains('ab')", {"t": "a" * 1_000_000})
    appended = bench.each("NUMBERS + NUMBERS", {"n": many[:2_000]})
    pairs = bench.seconds("variables.m.distinct().size()", {"m": maps})
    deep = bench.seconds("dyn(object).maps == dyn(oldObject).maps", {"m": maps})
    handed = bench.seconds("variables.m", {"m": maps})
    empty = [""] * 20_000
    bare = bench.seconds(_INPUTS["WORDS"], {"w": empty})
    began = time.thread_time()
    misfit(maps, Want.LIST_OF_MAPS)
    ordered(maps)
    checked = time.thread_time() - began
    long = "a" * 1_000_000
    found = {
        "part": bench.turn() / _PARTS_OF_A_TURN,
        "copy": copied / len(many) ** 2,
        "pattern": max(compiled) / 2_000,
        "begin": begun / 1_000_000,
        "search": searched / (len(text) * 10_000),
        "append": appended / 4_000,
        "pair": pairs / 2_000**2,
        "deep": deep / size,
        "state": max(took / places for took, places in zip(stated, _PLACES, strict=True)) / len(strange),
        "text": bench.seconds(f"[{', '.join([_INPUTS['TEXT']] * 8)}]", {"t": long}) / (8 * len(long)),
        "handed": handed / (2 * len(maps)),
        "structure": bare / (3 * len(empty)),
        "checked": checked / (2 * len(maps)),
    }
    return {name: (0.0, 0.0, each, 0.0) for name, each in found.items()}


def _firsts(bench: Bench) -> dict[str, Row]:
    """Return what the first call of a review takes, each with a need that nobody has asked for."""
    index, fresh = bench.index, bench.fresh

    def least(prepare: Callable[[], Any], ask: Callable[[Any], object]) -> float:
        found = []
        for _ in range(_TRIES):
            given = prepare()
            began = time.thread_time()
            ask(given)
            found.append(time.thread_time() - began)
        return min(found)

    def nodes() -> Any:
        return index.nodes(next(fresh))

    selected = least(lambda: next(fresh), index.nodes)
    offers = selected + least(nodes, lambda each: each.mig_offers)
    models = selected + least(nodes, lambda each: each.mig_models)
    level = least(nodes, lambda each: each.narrowest_level(2))
    found = {
        "nodes": selected,
        "withLinkDomain": least(nodes, lambda each: each.with_link_domain(2)),
        "anyOffers": least(nodes, index.resources_of),
        "narrowestLevel": level,
        "narrowestSafeLevel": level,
        **dict.fromkeys(("smallest", "nearest", "suggestions"), offers),
        **dict.fromkeys(("capacity", "fits"), models),
        "gpuNodes": selected + least(nodes, lambda each: each.with_instances("1g.10gb")),
        **{
            f"Nodes.{name}": least(lambda: nodes().with_link_domain(2), answer) for name, answer in NODES_FIELDS.items()
        },
    }
    return {name: (0.0, 0.0, 0.0, each) for name, each in found.items()}


def written(rows: Mapping[str, Row]) -> str:
    """Return the table as JSON, a row for each line."""
    lines = (f"  {json.dumps(name)}: [{', '.join(f'{each:.3g}' for each in row)}]" for name, row in rows.items())
    return "{\n" + ",\n".join(lines) + "\n}\n"


def main(arguments: Iterable[str] | None = None) -> int:
    """Measure, print, and write if that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help=f"write {TABLE.relative_to(ROOT)}")
    options = parser.parse_args(None if arguments is None else list(arguments))
    bench = Bench(decisions.snapshot(clusters.documents(10_000, 500)).topology)
    rows = measured(bench)
    names = ("function", "call", "byte", "entry", "first")
    print(table(names, [(name, *(f"{each:.3g}" for each in row)) for name, row in rows.items()]))
    print(f"\na turn: {bench.turn() * 1e6:.3g} us")
    if options.write:
        TABLE.write_text(written(rows), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
