import pytest

from node_builders import index_of, need_of
from podberth.cel.engine import CompileError, Environment, Want
from podberth.cel.functions import ReviewContext
from podberth.cel.types import INT
from podberth.errors import EvaluationError
from podberth.topology.index import Need, NodeSet, TopologyIndex


class BrokenIndex(TopologyIndex):
    """An index with a bug."""

    def nodes(self, need: Need) -> NodeSet:
        """Fail."""
        raise ZeroDivisionError(str(need))


@pytest.fixture
def broken() -> ReviewContext:
    index = index_of()
    return ReviewContext(BrokenIndex(index.conventions, {}, {}), need_of(1))


@pytest.mark.parametrize(
    "source", ["topology.nodes(gpu).exist", "topology.nodes(gpu).exist || true", "[topology.nodes(gpu)] == []"]
)
def test_a_bug_in_a_function_is_an_error_that_nothing_absorbs(
    environment: Environment, broken: ReviewContext, source: str
) -> None:
    expression = environment.compile(source, want=Want.BOOL)
    activation = environment.activation({"gpu": {}}, broken)
    with pytest.raises(EvaluationError, match="a function of podberth's failed: ZeroDivisionError") as caught:
        expression.evaluate(activation)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    assert [str(each) for each in environment.batch([expression]).evaluate(activation)] == [str(caught.value)]


def test_a_bug_is_an_error_once(environment: Environment, broken: ReviewContext) -> None:
    activation = environment.activation({"gpu": {"count": 1}}, broken)
    with pytest.raises(EvaluationError):
        environment.compile("topology.nodes(gpu).exist || true", want=Want.BOOL).evaluate(activation)
    assert environment.compile("gpu.count == 1", want=Want.BOOL).evaluate(activation) is True


def test_checking_remembers_a_bounded_number_of_engines(environment: Environment) -> None:
    constant = environment.compile("1", want=Want.ANY)
    for number in range(200):
        source = f"gpu.count + variables.v{number}"
        environment.compile(source, want=Want.INT, variables={f"v{number}": constant})
        assert len(environment._checker._engines) <= 64


def test_expressions_share_an_engine_and_no_variables(environment: Environment) -> None:
    """What another policy declared is unknown, and a variable has the type that its own policy gave it."""
    number, text = environment.compile("1", want=Want.ANY), environment.compile("'a'", want=Want.ANY)
    first = environment.compile("variables.a + 1", want=Want.INT, variables={"a": number, "b": number})
    engines = len(environment._checker._engines)
    second = environment.compile("variables.b + 1", want=Want.INT, variables={"a": number, "b": number})
    assert len(environment._checker._engines) == engines
    assert (first.type, second.type) == (INT, INT)
    with pytest.raises(CompileError, match=r"undeclared reference to 'variables\.b'"):
        environment.compile("variables.b + 1", want=Want.INT, variables={"a": number})
    with pytest.raises(CompileError, match=r"undeclared reference to 'variables\.b'"):
        environment.compile("size(variables.a + variables.b)", want=Want.INT, variables={"a": text})
    assert environment.compile("size(variables.b)", want=Want.INT, variables={"b": text}).type == INT
