"""What is refused before it is parsed or built, and where."""

from typing import Any

import pytest

from podberth.cel import ast
from podberth.cel.compile_limits import (
    MAX_EXPRESSION_BYTES,
    MAX_EXPRESSION_PARTS,
    MAX_PROGRAM_PARTS,
    Room,
    _Scan,
    excess,
)
from podberth.cel.engine import CelType, CompileError, Environment, Expression, Want


def problem(environment: Environment, source: str, **variables: Expression) -> tuple[int, int, str]:
    with pytest.raises(CompileError) as raised:
        environment.compile(source, want=Want.ANY, variables=variables)
    [found] = raised.value.problems
    return found.line, found.column, found.message


def test_an_expression_is_at_most_five_kibibytes(environment: Environment) -> None:
    longest = "'" + "é" * (MAX_EXPRESSION_BYTES // 2 - 1) + "'"
    assert environment.compile(longest, want=Want.STRING)._lowered.parts == 1
    line, column, message = problem(environment, f"{longest} ")
    assert (line, column) == (1, 1)
    assert message == "got 5,121 bytes, want 5,120 at most; split it with variables"


@pytest.mark.parametrize(("opening", "column"), [("(", 35), ("[", 35), ("{1: ", 3 + 4 * 32), ("[1][?", 3 + 5 * 32)])
def test_brackets_are_counted_before_the_parser_sees_them(opening: str, column: int) -> None:
    assert excess("true &&\n  " + opening * 20) is None
    found = excess("true &&\n  " + opening * 1000)
    assert found is not None
    assert (found.line, found.column) == (2, column)
    assert "nested too deeply" in found.message


@pytest.mark.parametrize("source", ["'((((' + \"[[[\"", "'''\\''((\"''' == r'\\'", "// ((( \n1", "b'((' != rb\"((\""])
def test_brackets_in_texts_and_comments_are_none(source: str) -> None:
    assert _Scan(source + "//" + "(" * 100).excess() is None
    assert excess(source.replace("(", "(" * 50)) is None


@pytest.mark.parametrize(
    ("source", "step"),
    [
        ("optional.of(1)", ".optMap(x, x)"),
        ("optional.of(1)", ".optFlatMap(x, optional.of(x))"),
    ],
)
def test_what_doubles_with_each_step_is_refused_before_it_is_written_out(
    environment: Environment, source: str, step: str
) -> None:
    line, column, message = problem(environment, source + step * 40)
    assert line == 1
    assert 1 < column < len(source + step * 40)
    assert message.startswith(f"grows beyond {MAX_EXPRESSION_PARTS:,} parts")
    assert environment.compile(source + step * 2, want=Want.ANY)._lowered.parts < MAX_EXPRESSION_PARTS


def test_an_argument_that_is_written_twice_counts_twice(environment: Environment) -> None:
    nested = "dyn('a').indexOf(dyn(" * 10 + "'a'" + "))" * 10
    assert "grows beyond" in problem(environment, nested)[2]


# What takes the place of one part at most, where the engine's value is not upstream's (cel.corrections). That is
# counted as it is written, and not before.
MOST_CORRECTED = 110
_PARTS = ("optional.of(1)", "[1, 2]", "'a b'", "{'k': 1}", "object.spec.containers", "dyn('a')", "quantity('1')")
_STEPS = (
    ".optMap(x, x)",
    ".map(a, a)",
    ".filter(a, true)",
    ".all(a, true)",
    ".exists_one(a, true)",
    ".transformList(k, v, v)",
    ".sum()",
    ".min()",
    ".isSorted()",
    ".indexOf('a')",
    ".lastIndexOf('a')",
    ".find('a')",
    ".findAll('a')",
    ".sortBy(a, a)",
    ".isLessThan(quantity('2'))",
    ".?spec[?'a'].orValue('')",
    "[0]",
    " == 1 ? 2 : 3",
)


def test_the_count_is_never_below_what_an_expression_grows_to(environment: Environment) -> None:
    compiled = 0
    for first in _PARTS:
        for steps in (f"{one}{other}" for one in _STEPS for other in ("", *_STEPS)):
            source = f"[dyn({first}){steps}, {first}{steps}]"
            for each in (source, source.replace("dyn(", "(")):
                try:
                    found = environment.compile(each, want=Want.ANY)._lowered.parts
                except CompileError:
                    continue
                compiled += 1
                assert counted(each) * MOST_CORRECTED >= found, each
    assert compiled > 300


def test_what_corrections_add_is_counted_as_it_is_written(environment: Environment) -> None:
    asked = " && ".join(["has(dyn(object).a.b.c)"] * 90)
    line, column, message = problem(environment, asked)
    assert (line, message[:18]) == (1, "grows beyond 5,000")
    assert 1 < column < len(asked)


def counted(source: str) -> int:
    scan = _Scan(source)
    assert scan.excess() is None
    return scan.parts


@pytest.mark.parametrize("unclosed", ["'a", '"a', "'''a", "`a", "r'a"])
def test_a_text_that_does_not_end_is_left_to_the_parser(environment: Environment, unclosed: str) -> None:
    assert excess(unclosed) is None
    with pytest.raises(CompileError, match="yntax error"):
        environment.compile(unclosed, want=Want.ANY)


def test_a_text_full_of_escapes_is_read_in_one_go() -> None:
    """A repetition with two ways to read a backslash takes 2 ** n steps where the text never ends."""
    assert excess("'''" + "\\a" * 2000) is None
    assert excess("'" + "\\'" * 2000) is None
    assert excess('"' + "\\\\" * 2000 + '"') is None


def chain(environment: Environment, number: int, text: str, room: Room) -> dict[str, CelType | Expression]:
    """Return variables each of which names the one before it."""
    known: dict[str, CelType | Expression] = {}
    for at in range(number):
        source = f"[{text}]" if not at else f"variables.v{at - 1} + [{text}]"
        known[f"v{at}"] = environment.compile(source, want=Want.ANY, variables=known, room=room)
    return known


def test_a_variable_costs_its_own_size_however_many_stand_above_it(environment: Environment) -> None:
    room = Room(10**9, "", 0)
    taken: list[int] = []
    for number in (10, 20, 40):
        before = room.left
        chain(environment, number, ", ".join(["1"] * 50), room)
        taken.append(before - room.left)
    assert taken[1] < 2.2 * taken[0]
    assert taken[2] < 2.2 * taken[1]


def test_a_program_is_counted_before_it_is_made(environment: Environment) -> None:
    known = chain(environment, 40, ", ".join(["1"] * 300), Room(10**9, "", 0))
    expression = environment.compile("variables.v39.size()", want=Want.INT, variables=known, room=Room.of_policy())
    with pytest.raises(CompileError, match=rf"got 12,\d+ parts with .*, want {MAX_PROGRAM_PARTS:,} at most"):
        expression.load(None)
    small = environment.compile("variables.v9.size()", want=Want.INT, variables=known, room=Room.of_policy())
    assert small._lowered.parts < 10
    room = Room.of_policy()
    before = room.left
    small.load(room)
    assert 3_000 < before - room.left < 3_500


def test_what_a_policy_takes_is_taken_from_the_set_too() -> None:
    together = Room(10, "all policies together", 10)
    assert Room.of_policy(together).take(8) == ""
    assert "all policies together grows beyond 10 parts" in Room.of_policy(together).take(3)


def test_a_tree_of_a_size_has_that_many_parts(environment: Environment) -> None:
    expression: Any = environment.compile("[1, 2, object.spec]", want=Want.ANY)
    assert expression._lowered.parts == ast.size(expression._lowered.checked.expr) == 5
