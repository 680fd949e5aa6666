import pytest

from podberth.cel import ast, program
from podberth.cel.engine import Activation, Environment, Expression, Want


def tree(expression: Expression) -> ast.Node:
    """Return the expression as it runs."""
    return ast.decode(program.assemble([expression._lowered], as_list=False))


def called(node: ast.Node) -> list[str]:
    return [each.call_expr.function for each in ast.walk(node.expr) if ast.kind(each) == "call_expr"]


def ids(checked: ast.Node) -> list[int]:
    return [node.id for node in ast.walk(checked.expr)]


def test_a_question_carries_only_what_the_answer_needs(environment: Environment) -> None:
    source = "topology.nodes(gpu).withLinkDomain(gpu.perContainer).exist"
    found = tree(environment.compile(source, want=Want.BOOL))
    assert called(found) == ["nodes_field_exist", "Nodes.withLinkDomain", "Topology.nodes"]
    assert [ast.kind(each) for each in ast.walk(found.expr)] == ["call_expr"] * 3 + ["select_expr", "ident_expr"]


def test_a_variable_that_is_named_twice_is_in_the_program_once(environment: Environment) -> None:
    nodes = environment.compile("topology.nodes(gpu)", want=Want.ANY)
    count = environment.compile("variables.nodes.count", want=Want.ANY, variables={"nodes": nodes})
    both = environment.compile(
        "variables.nodes.exist && variables.count > 1", want=Want.BOOL, variables={"nodes": nodes, "count": count}
    )
    assert called(tree(both)).count("Topology.nodes") == 1


def test_a_variable_that_is_not_named_is_not_in_the_program(environment: Environment) -> None:
    nodes = environment.compile("topology.nodes(gpu)", want=Want.ANY)
    plain = environment.compile("gpu.count > 1", want=Want.BOOL, variables={"nodes": nodes})
    assert called(tree(plain)) == ["_>_"]


def test_conditions_of_one_policy_share_their_variables(environment: Environment, activation: Activation) -> None:
    nodes = environment.compile("topology.nodes(gpu)", want=Want.ANY)
    conditions = [
        environment.compile(source, want=Want.BOOL, variables={"nodes": nodes})
        for source in ("variables.nodes.exist", "variables.nodes.count > 1")
    ]
    serialized = program.assemble([each._lowered for each in conditions], as_list=True)
    assert called(ast.decode(serialized)).count("Topology.nodes") == 1
    assert environment.batch(conditions).evaluate(activation) == [True, True]


@pytest.mark.parametrize(
    "source",
    ["1", "object.spec.containers.map(c, {'n': c.name})", "optional.of(gpu.count)", "topology.nodes(gpu).terms"],
)
def test_every_node_of_a_program_has_a_number_of_its_own(environment: Environment, source: str) -> None:
    expression = environment.compile(source, want=Want.ANY)
    lowered = [expression._lowered] * 2
    for serialized in (
        program.assemble(lowered[:1], as_list=False),
        program.assemble(lowered, as_list=True),
    ):
        found = ids(ast.decode(serialized))
        assert len(found) == len(set(found))


def test_assembling_leaves_the_expression_as_it_was(environment: Environment) -> None:
    expression = environment.compile("gpu.count > 1", want=Want.BOOL)
    before = tree(expression)
    environment.batch([expression, expression])
    assert tree(expression) == before
