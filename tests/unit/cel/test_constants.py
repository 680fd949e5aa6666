"""Constants that fail for every pod are refused when the expression is compiled, as upstream refuses them."""

import pytest

import natives
from constant_vectors import REFUSED, TAKEN
from podberth.cel.engine import CompileError, Environment, Want
from podberth.files.deadline import new_environment


@pytest.fixture(params=["GPUPolicy", "native"])
def environment(request: pytest.FixtureRequest) -> Environment:
    return new_environment() if request.param == "GPUPolicy" else natives.environment()


@pytest.mark.parametrize("source", REFUSED)
def test_a_constant_that_fails_is_refused_at_its_place(source: str, environment: Environment) -> None:
    with pytest.raises(CompileError) as error:
        environment.compile(source, want=Want.BOOL)

    [problem] = error.value.problems
    assert REFUSED[source] in problem.message


@pytest.mark.parametrize("source", TAKEN)
def test_what_upstream_takes_is_taken(source: str, environment: Environment) -> None:
    environment.compile(source, want=Want.BOOL)


def test_each_of_several_has_its_place(environment: Environment) -> None:
    with pytest.raises(CompileError) as error:
        environment.compile("''.matches('(') ||\n ''.matches('a') || int('x') == 1", want=Want.BOOL)

    assert [(each.line, each.column) for each in error.value.problems] == [(1, 12), (2, 25)]


def test_conversions_are_read_as_deep_as_the_engine_reads_them(environment: Environment) -> None:
    environment.compile(f"{'int(string(' * 15}1{'))' * 15} == 1", want=Want.BOOL)
    with pytest.raises(CompileError, match="want a whole number"):
        environment.compile(f"{'int(string(' * 15}'x'{'))' * 15} == 1", want=Want.BOOL)
    with pytest.raises(CompileError, match="nested too deeply"):
        environment.compile(f"{'int(string(' * 16}1{'))' * 16} == 1", want=Want.BOOL)
