import pytest

from node_builders import index_of, need_of
from podberth.cel.engine import Environment, Want
from podberth.cel.functions import ReviewContext
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
        environment.compile("gpu.count", want=Want.INT, variables={f"v{number}": constant})
    assert len(environment._checker._engines) <= 64
