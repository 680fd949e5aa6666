"""Write the tables of docs/cel.md and their index in docs/expressions.md, from where the functions are declared.

    .venv/bin/python tools/library_reference.py           # writes what has changed
    .venv/bin/python tools/library_reference.py --check   # writes nothing; exits with 1 and says what is stale

Examples are evaluated, and what is refused is compiled: the values and the messages are what the engine says.
"""

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from generated import main, spliced

from podberth.cel.engine import CompileError, Environment, Want
from podberth.cel.functions import ReviewContext
from podberth.cel.libraries import LIBRARIES, Overload, native
from podberth.cel.libraries.native import Macro
from podberth.cel.types import OPTIONAL, CelType, parse
from podberth.kube.schema import PodSchema
from podberth.lsp.manual.library import MANUALS
from podberth.lsp.manual.lookup import TABLES
from podberth.topology.index import Need, TopologyIndex

PAGE, EXPRESSIONS = "docs/cel.md", "docs/expressions.md"

REFUSED: tuple[str, ...] = (
    "{'a': 1}.transformMap(k, v, v + 1)",
    "{'a': 1}.transformMapEntry(k, v, {k: v + 1})",
    "[1, 2].exists_one(i, v, v > 1)",
    "Object{spec: Object.spec{}}",
    "JSONPatch{op: 'remove', path: '/a'}",
    "authorizer.group('').resource('pods').check('get').allowed()",
    "quantity('1') + quantity('2')",
    "quantity('2') - quantity('1')",
    "quantity('1') < quantity('2')",
    "quantity('1') > quantity('2')",
    "semver('1.0.0') <= semver('2.0.0')",
    "semver('1.0.0') >= semver('2.0.0')",
    "'GPUs: ' + gpu.count",
    "object.spec.nodeName == null",
    "gpu.count > 1 ? 'many' : null",
)
"""What upstream has, or authors try, and the engine refuses; each message says what to write instead."""

_SHORT = {"google.protobuf.Duration": "duration", "google.protobuf.Timestamp": "timestamp", OPTIONAL: "optional"}
# Operators as they are written.
_NAMED = {"_?_:_": "? :", "_[_]": "[ ]", "_?._": ".?", "_[?_]": "[? ]", "@in": "in"} | {
    row.name: row.name.strip("_") for row in native.TABLES["operators"] if row.name not in {"_?_:_", "_[_]", "@in"}
}
_BAR = "\\|"
# From so many overloads on that differ in one type, they are written once, with T in its place.
_ALIKE = 3

_T = CelType("T")


class Form(NamedTuple):
    """One way to call a function: as it is written, its value's type, and what T is in it."""

    written: str
    result: str
    kinds: tuple[str, ...] = ()


def _pages() -> dict[str, str]:
    missing = {*native.NATIVE, *LIBRARIES} - {row for rows, _ in TABLES.values() for row in rows}
    if missing:
        raise ValueError(f"TABLES: got no table for {sorted(row.id for row in missing)}, want one")
    environment = Environment(PodSchema.packaged())
    tables = {name: _table(name, *each, environment) for name, each in TABLES.items()}
    page = spliced(PAGE, tables | {"refused": _refused(environment)})
    return {PAGE: page, EXPRESSIONS: spliced(EXPRESSIONS, {"cel-libraries": _index(page)})}


def _index(page: str) -> str:
    """Return the names of all functions by the section of the page that has them."""
    lines = []
    for table in TABLES:
        title = page.partition(f"<!-- begin {table}:")[0].rpartition("\n## ")[2].partition("\n")[0]
        anchor = title.lower().replace(",", "").replace(" ", "-")
        names = ", ".join(f"`{_NAMED.get(name, name)}`" for name in MANUALS[table])
        lines.append(_row((f"[{title}](cel.md#{anchor})", names)))
    return "| section | what is in it |\n|---|---|\n" + "\n".join(lines)


def _table(table: str, rows: Sequence[Overload], macros: Sequence[Macro], environment: Environment) -> str:
    manuals = MANUALS[table]
    forms: dict[str, list[Form]] = {}
    for name in dict.fromkeys(row.name for row in rows):
        forms[name] = list(_forms([row for row in rows if row.name == name]))
    for macro in macros:
        forms.setdefault(macro.name, []).append(_expanded(macro))
    if differing := forms.keys() ^ manuals.keys():
        wanting, unknown = sorted(differing & forms.keys()), sorted(differing & manuals.keys())
        raise ValueError(
            f"lsp/manual/library.py: {table}: got none for {wanting}, and {unknown}, which are no functions"
        )
    lines = (_line(forms[name], *manuals[name], environment) for name in manuals)
    return "| function | result | meaning | example | value |\n|---|---|---|---|---|\n" + "\n".join(lines)


def _line(forms: Iterable[Form], meaning: str, example: str, environment: Environment) -> str:
    known = list(forms)
    results = list(dict.fromkeys(each.result for each in known))
    kinds = list(dict.fromkeys(kind for each in known for kind in each.kinds))
    if kinds:
        meaning += f". T is {', '.join(kinds[:-1])} or {kinds[-1]}"
    cells = (
        ", ".join(f"`{each.written}`" for each in known),
        ", ".join(f"`{each}`" for each in results),
        meaning,
        f"`{example}`",
        f"`{_value(example, environment)}`",
    )
    return _row(cells)


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(each.replace('|', _BAR) for each in cells)} |"


def _value(example: str, environment: Environment) -> str:
    activation = environment.activation({}, ReviewContext(TopologyIndex.build(()), Need((), 0, 0)))
    return json.dumps(environment.compile(example, want=Want.ANY).evaluate(activation), ensure_ascii=False)


def _forms(rows: Sequence[Overload]) -> Iterator[Form]:
    """Yield the ways to call one function."""
    alike: dict[tuple[bool, tuple[CelType, ...]], list[Overload]] = {}
    for row in rows:
        alike.setdefault((row.is_member, _shape(row)), []).append(row)
    for (_, parameters), members in alike.items():
        # The value is of one type for all, or of the type that varies, or it is a form of its own.
        is_one = len({each.result for each in members}) == 1
        joined = [each for each in members if is_one or parse(each.result) in _made_of(each)]
        joined = joined if len(joined) >= _ALIKE else []
        if joined:
            first = joined[0]
            result = parse(first.result) if is_one else _with_t(parse(first.result), _varied(first))
            kinds = tuple(str(_short(_varied(each))) for each in joined)
            yield Form(first.written(_operands(first, parameters)), str(_short(result)), kinds)
        for each in members:
            if each not in joined:
                yield Form(each.written(_operands(each, _parsed(each.parameters))), _shown(each.result))


def _parsed(spelled: Iterable[str]) -> tuple[CelType, ...]:
    """Return the types that texts spell."""
    return tuple(map(parse, spelled))


def _made_of(row: Overload) -> tuple[CelType, ...]:
    """Return the types that a value follows: what varies, and the first operand's own."""
    return (_varied(row), parse(row.parameters[0])) if row.parameters else ()


def _shape(row: Overload) -> tuple[CelType, ...]:
    """Return the types of the operands with T in the place of what may vary."""
    return tuple(_with_t(each, _varied(row)) for each in _parsed(row.parameters))


def _varied(row: Overload) -> CelType:
    """Return what may vary: the first operand's type, or the elements' where it is a list of some one type."""
    kind = parse(row.parameters[0]) if row.parameters else _T
    return kind.parameters[0] if kind.name == "list" and not kind.parameters[0].is_parameter else kind


def _with_t(kind: CelType, varied: CelType) -> CelType:
    return _T if kind == varied else CelType(kind.name, tuple(_with_t(each, varied) for each in kind.parameters))


def _operands(row: Overload, parameters: Iterable[CelType]) -> list[str]:
    shown = [str(_short(each)) for each in parameters]
    return [shown[0], "field"] if row.name == "_?._" else shown


def _expanded(macro: Macro) -> Form:
    call = f"{macro.name}({', '.join(map(_shown, macro.arguments))})"
    return Form(f"{_shown(macro.receiver)}.{call}" if macro.receiver else call, _shown(macro.result))


def _shown(spelled: str) -> str:
    return str(_short(parse(spelled)))


def _short(kind: CelType) -> CelType:
    """Return a type as the page has it."""
    name = _SHORT.get(kind.name, kind.name.removeprefix("kubernetes.").removeprefix("net."))
    return CelType(name, tuple(map(_short, kind.parameters)))


def _refused(environment: Environment) -> str:
    lines = [_refusal(source, environment) for source in REFUSED]
    return "| expression | what podberth says |\n|---|---|\n" + "\n".join(lines)


def _refusal(source: str, environment: Environment) -> str:
    try:
        environment.compile(source, want=Want.ANY)
    except CompileError as error:
        return _row((f"`{source}`", f"`{error.problems[0].message}`"))
    raise ValueError(f"{source}: got an expression that compiles, want one that is refused; leave it out")


if __name__ == "__main__":
    sys.exit(main(_pages()))
