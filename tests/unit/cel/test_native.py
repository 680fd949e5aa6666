"""What is said about the engine's own functions and of the libraries' is what its checker says: no more and no less."""

from collections.abc import Iterable
from contextlib import suppress
from itertools import groupby

import pytest
from google.protobuf.message import DecodeError

from conformance.cel_spec import read_cases
from conftest import SHARED
from library_vectors import VECTORS
from podberth.cel import ast
from podberth.cel.engine import CelType, CompileError, Environment, Expression, Want
from podberth.cel.libraries import LIBRARIES, Overload
from podberth.cel.libraries.native import MACROS, NATIVE, Macro
from podberth.cel.runtime import Checker
from podberth.cel.types import parse
from podberth.cel.typing import descriptor_pool, messages
from podberth.errors import EvaluationError
from podberth.kube.schema import PodSchema

from .conftest import Evaluate

ROWS = sorted((*NATIVE, *LIBRARIES), key=lambda row: (row.name, row.is_member))
_CONCRETE = {"A": "string", "B": "int", "C": "bool"}
_MOST_OPERANDS = 5
# Accepted by the checker, and without a value at run time: so it is in no table.
_UNANSWERED = frozenset({"int64_to_duration"})


@pytest.fixture(scope="module")
def checker() -> Checker:
    return Checker(descriptor_pool(messages(PodSchema.packaged())))


def concrete(spelled: str) -> CelType:
    """Return a type with a real one in the place of each parameter."""

    def filled(kind: CelType) -> CelType:
        return CelType(_CONCRETE.get(kind.name, kind.name), tuple(map(filled, kind.parameters)))

    return filled(parse(spelled))


def asked(checker: Checker, source: str, declared: dict[str, CelType]) -> tuple[str, set[str]]:
    """Return the type of a call and the overloads that the checker left open."""
    checked = ast.decode(checker.check(source, declared))
    return str(ast.type_of(checked, checked.expr)), set(checked.reference_map[checked.expr.id].overload_id)


def operand(place: int, row: Overload) -> tuple[str, dict[str, CelType]]:
    """Return what stands for a parameter, and what it declares."""
    name, spelled = f"p{place}", row.parameters[place]
    if row.name == "_?._" and place:  # a field, which is no expression
        return "a", {}
    if spelled.startswith("list(optional_type"):  # the engine has no variables of such a type
        return f"[{name}]", {name: concrete(spelled.removeprefix("list(").removesuffix(")"))}
    return name, {name: concrete(spelled)}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_each_overload_takes_and_gives_what_is_said(checker: Checker, row: Overload) -> None:
    operands = [operand(place, row) for place in range(len(row.parameters))]
    declared = {name: kind for _, names in operands for name, kind in names.items()}
    found, overloads = asked(checker, row.written([source for source, _ in operands]), declared)
    # What no operand settles is dyn.
    assert found == (str(concrete(row.result)) if row.parameters else row.result.replace("A", "dyn"))
    assert row.id in overloads


_SAMPLES = {
    "bool": "true",
    "bytes": "b'1'",
    "double": "1.0",
    "int": "1",
    "string": "'1'",
    "uint": "1u",
    "dyn": "[1]",
    "google.protobuf.Duration": "duration('1s')",
    "google.protobuf.Timestamp": "timestamp('2026-01-01T00:00:00Z')",
    "kubernetes.NamedFormat": "format.uuid()",
    "kubernetes.Quantity": "quantity('1')",
    "kubernetes.Semver": "semver('1.0.0')",
    "kubernetes.URL": "url('https://a/')",
    "net.CIDR": "cidr('10.0.0.0/8')",
    "net.IP": "ip('10.0.0.1')",
}


def sample(kind: CelType) -> str:
    inside = [sample(each) for each in kind.parameters]
    match kind.name:
        case "list":
            return f"[{inside[0]}]"
        case "map":
            return f"{{{inside[0]}: {inside[1]}}}"
        case "optional_type":
            return f"optional.of({inside[0]})"
        case name:
            return _SAMPLES[name]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_each_overload_answers_when_it_runs(evaluate: Evaluate, row: Overload) -> None:
    operands = [sample(concrete(each)) for each in row.parameters]
    source = row.written([operands[0], "a"] if row.name == "_?._" else operands)
    said = ""
    try:
        evaluate(source)
    except (CompileError, EvaluationError) as error:  # a value may be none for it, a type may not
        said = str(error)
    assert "overload" not in said


def test_what_is_in_no_table_has_no_value(evaluate: Evaluate) -> None:
    with pytest.raises(EvaluationError, match="overload"):
        evaluate("duration([dyn(1)][0])")


@pytest.mark.parametrize(
    ("name", "is_member", "rows"),
    [(*key, list(rows)) for key, rows in groupby(ROWS, key=lambda row: (row.name, row.is_member))],
    ids=str,
)
def test_no_other_overload_is_there(checker: Checker, name: str, is_member: bool, rows: list[Overload]) -> None:
    is_function = name.replace(".", "").isalnum()
    for arity in range(int(is_member), _MOST_OPERANDS) if is_function else {len(row.parameters) for row in rows}:
        known = {row.id for row in rows if len(row.parameters) == arity}
        source = rows[0].written(["dyn(1)", "a"] if name == "_?._" else ["dyn(1)"] * arity)
        if known:
            assert asked(checker, source, {})[1] - _UNANSWERED == known
        else:
            with pytest.raises(RuntimeError):
                checker.check(source, {})


@pytest.mark.parametrize("macro", MACROS, ids=lambda macro: f"{macro.receiver} {macro.name} {macro.arguments}")
def test_each_macro_takes_and_gives_what_is_said(environment: Environment, macro: Macro) -> None:
    declared: dict[str, CelType | Expression] = {"p": concrete(macro.receiver)} if macro.receiver else {}
    arguments = []
    for place, each in enumerate(macro.arguments):
        if each == "e.f":
            arguments.append("object.spec")
        elif len(each) == 1 and each.islower():
            arguments.append(each)
        else:
            declared[f"a{place}"] = concrete(each)
            arguments.append(f"variables.a{place}")
    source = f"{'variables.p.' if macro.receiver else ''}{macro.name}({', '.join(arguments)})"
    assert environment.compile(source, want=Want.ANY, variables=declared).type == concrete(macro.result)


def functions_in(checker: Checker, sources: Iterable[str]) -> set[str]:
    """Return what is called in those of the expressions that check."""
    found: set[str] = set()
    for source in sources:
        with suppress(RuntimeError, DecodeError):
            found |= ast.functions(ast.decode(checker.check(source, {})))
    return found


# What macros expand to, and policies cannot write; the last is refused where it stands (cel.program).
_EXPANDED = {"@not_strictly_false", "@sortByAssociatedKeys", "cel.@mapInsert"}


@pytest.mark.shared("conformance/cel-spec.jsonl")
def test_no_function_that_is_known_to_the_checker_is_left_out(checker: Checker) -> None:
    cases = [case.document["expr"] for case in read_cases(SHARED / "conformance/cel-spec.jsonl")]
    called = functions_in(checker, [*cases, *(vector.expression for vector in VECTORS)])
    assert called - {row.name for row in ROWS} == _EXPANDED
    assert len(called) > 130


@pytest.mark.parametrize("name", ["distinct", "sets", "optional", "exists", "getDate"])
def test_a_misspelt_one_is_reported(environment: Environment, name: str) -> None:
    with pytest.raises(CompileError, match=f"undeclared reference to '{name}x'; did you mean {name}\\?"):
        environment.compile(f"{name}x(1)", want=Want.ANY)
