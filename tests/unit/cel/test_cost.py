"""What expressions cost at most; `python -m bench.cel_cost` compares the bounds with measured times."""

import pytest

from podberth.cel.cost import MAX_MICROSECONDS, Cost
from podberth.cel.engine import CelType, Environment, Expression, Want


def cost(environment: Environment, source: str, **variables: str) -> Cost:
    known: dict[str, CelType | Expression] = {}
    for name, each in variables.items():
        known[name] = environment.compile(each, want=Want.ANY, variables=known)
    return environment.compile(source, want=Want.ANY, variables=known).costs[""]


@pytest.mark.parametrize(
    "source",
    [
        "gpu.count > 1 && gpu.kind == 'whole'",
        "object.spec.containers.all(c, !has(c.env) || c.env.all(e, e.name != 'FORBIDDEN'))",
        "object.spec.containers.exists(c, has(c.env) && c.env.exists(e, e.name.matches('^SECRET_.*')))",
        "object.spec.containers.exists(c, has(c.args) && c.args.exists(a, a.contains('70b')))",
        "object.spec.containers.map(c, c.name + ' of ' + object.metadata.name).join(', ')",
        "object.spec.volumes.filter(v, has(v.hostPath)).map(v, v.name)",
        "object.spec.tolerations.exists(t, t.key == 'nvidia.com/gpu')",
        "object.metadata.?annotations[?'a'].orValue('').split(',').all(p, p.size() > 2)",
        "gpu.requests.filter(r, r.kind == 'mig' && !mig.known(r.profile)).size()",
        "topology.nodes(gpu).withLinkDomain(gpu.perContainer).terms",
        "object == oldObject",
        "quantity(object.spec.containers[0].resources.limits['cpu']).isLessThan(quantity('2'))",
        "object.spec.containers.map(c, has(c.env) ? c.env.size() : 0).sum() > 100",
        "object.spec.containers.all(c, isURL(c.image))",
        "lists.range(100).reverse().indexOf(3) == 4",
        "shell.commands(object.spec.containers[0].args).filter(w, w.exists(x, x == 'serve')).size() == 1",
        "models.named(shell.flag(object.spec.containers[0].args, ['--model', 'serve'])).millions > 7000",
    ],
)
def test_what_policies_ask_is_within_the_bound(environment: Environment, source: str) -> None:
    assert 0 < cost(environment, source).microseconds < MAX_MICROSECONDS


@pytest.mark.parametrize(
    ("source", "column", "advice"),
    [
        # `map` and `filter` copy their list for each element, of 7,000 variables.
        ("object.spec.tolerations.distinct().size() > 0", 33, "ask about fewer"),
        ("sets.contains(object.spec.tolerations, object.spec.tolerations)", 14, "ask about fewer"),
        ("object.spec.containers.all(c, c.env.all(e, isSemver(e.value)))", 52, "a text of any length"),
        ("lists.range(9000).all(i, sets.intersects([i], lists.range(9000)))", 41, "every round of the outer loop"),
        ("object.spec.containers.all(c, c.env.map(e, e.name).size() == 0)", 40, "ask exists() or all()"),
        ("object.spec.containers.all(c, c.env.filter(e, e.name == 'A').size() == 0)", 43, "ask exists() or all()"),
        ("object.metadata.annotations['a'].split(',').map(p, p + '!')", 48, "ask exists() or all()"),
        # A loop in a loop, over texts of any length.
        (
            "object.spec.tolerations.all(t, object.spec.tolerations.exists_one(u, u.key == t.key))",
            76,
            "compare first, or take it out of the loop",
        ),
        # Taking a command line apart takes milliseconds.
        ("object.spec.containers.all(c, shell.commands(c.args).size() == 1)", 45, "every round of the outer loop"),
        # A text as long as the pod, read or made again in each round.
        (
            "object.spec.containers.all(c, object.metadata.annotations['a'].split(',').size() > 1)",
            69,
            "out of the loop",
        ),
        ("object.spec.containers.map(c, c.name + object.spec.nodeName)", 38, "out of the loop"),
        (
            "object.spec.containers.all(c, object.metadata.annotations['a'].replace('a', 'b') != '')",
            71,
            "out of the loop",
        ),
        ("object.metadata.annotations['a'].replace('a', object.metadata.annotations['b'])", 41, "ask about less of it"),
        ("object.metadata.annotations['a'].contains(object.metadata.annotations['b'])", 42, "ask about less of it"),
        # A pattern that the pod brings along has to be compiled.
        ("object.metadata.name.matches(object.metadata.annotations['a'])", 29, "startsWith()"),
        ("object.spec.tolerations.all(t, object.spec.nodeName.matches('a*b'))", 60, "out of the loop"),
    ],
)
def test_what_holds_a_worker_is_above_it_and_says_what_to_write(
    environment: Environment, source: str, column: int, advice: str
) -> None:
    found = cost(environment, source)
    assert found.microseconds > MAX_MICROSECONDS
    assert found.worst > MAX_MICROSECONDS / 2
    assert (found.line, found.column) == (1, column)
    assert advice in found.advice


def test_a_loop_over_what_a_variable_made_is_as_long_as_that(environment: Environment) -> None:
    parts = "object.metadata.annotations['a'].split(',')"
    named = cost(environment, "variables.parts.map(p, p.size())", parts=parts)
    assert named.microseconds > MAX_MICROSECONDS
    inline = cost(environment, f"{parts}.map(p, p.size())")
    # The variable's own cost is its own.
    assert named.worst == pytest.approx(inline.worst)
    assert named.microseconds < inline.microseconds


def test_an_expression_knows_the_cost_of_the_variables_it_needs_each_once(environment: Environment) -> None:
    one = environment.compile("object.spec.containers.size()", want=Want.ANY)
    two = environment.compile("variables.one + variables.one", want=Want.ANY, variables={"one": one})
    unused = environment.compile("object.spec.containers.map(c, c.name)", want=Want.ANY)
    known: dict[str, CelType | Expression] = {"one": one, "two": two, "unused": unused}
    found = environment.compile("variables.two > 1", want=Want.BOOL, variables=known)
    assert found.costs.keys() == {"", "one", "two"}
    assert found.costs["one"] == one.costs[""]


def test_a_loop_in_a_loop_over_what_belongs_to_the_outer_goes_through_each_entry_once(environment: Environment) -> None:
    own = cost(environment, "object.spec.containers.all(c, c.env.all(e, e.name != 'A'))")
    crossed = cost(environment, "object.spec.containers.all(c, object.spec.tolerations.all(t, t.key != c.name))")
    assert own.microseconds < crossed.microseconds
    alone = cost(environment, "object.spec.containers[0].env.all(e, e.name != 'A')")
    assert own.microseconds < 2 * alone.microseconds


MOUNTS = "object.spec.containers[0].volumeMounts.all(m, m.mountPath != 'a')"
MADE = "object.spec.containers.filter(c, has(c.volumeMounts))"


@pytest.mark.parametrize(
    ("once", "again"),
    [
        # One element by its index, in a loop around it.
        (MOUNTS, f"lists.range(9).all(i, {MOUNTS})"),
        (
            "variables.made[0].volumeMounts.all(m, m.mountPath != 'a')",
            "lists.range(9).all(i, variables.made[0].volumeMounts.all(m, m.mountPath != 'a'))",
        ),
        # The element of a loop, in a loop between; of a container with all args and all mounts, the product.
        (
            "object.spec.containers.all(c, c.volumeMounts.all(m, m.mountPath != 'a'))",
            "object.spec.containers.all(c, lists.range(9).all(i, c.volumeMounts.all(m, m.mountPath != 'a')))",
        ),
        (
            "object.spec.containers.all(c, c.volumeMounts.all(m, m.mountPath != 'a'))",
            "object.spec.containers.all(c, c.args.all(a, c.volumeMounts.all(m, m.mountPath != 'a')))",
        ),
        # A list that names one element several times, and one that is gone through several times.
        (
            "[variables.first].all(c, c.volumeMounts.all(m, m.mountPath != 'a'))",
            f"[{', '.join(['variables.first'] * 9)}].all(c, c.volumeMounts.all(m, m.mountPath != 'a'))",
        ),
        (
            "variables.made.all(c, c.volumeMounts.all(m, m.mountPath != 'a'))",
            "lists.range(9).all(i, variables.made.all(c, c.volumeMounts.all(m, m.mountPath != 'a')))",
        ),
    ],
)
def test_a_list_is_charged_for_as_often_as_it_can_be_gone_through(
    environment: Environment, once: str, again: str
) -> None:
    known = {"made": MADE, "first": "object.spec.containers[0]"}
    assert cost(environment, again, **known).microseconds > 8 * cost(environment, once, **known).microseconds


def test_all_commands_of_a_line_together_have_the_words_of_a_line(environment: Environment) -> None:
    made = "shell.commands(object.spec.containers[0].args)"
    one = cost(environment, "variables.made[0].exists(word, word == 'serve')", made=made)
    each = cost(environment, "variables.made.all(words, words.exists(word, word == 'serve'))", made=made)
    assert each.microseconds < 3 * one.microseconds
    again = cost(environment, "lists.range(9).all(i, variables.made[0].exists(word, word == 'serve'))", made=made)
    assert again.microseconds > 8 * one.microseconds


def test_the_bound_grows_with_the_expression(environment: Environment) -> None:
    part = "object.spec.tolerations.exists(t, t.key == 'a')"
    costs = [cost(environment, " && ".join([part] * number)).microseconds for number in (1, 2, 4)]
    assert costs[1] > 2 * costs[0] - 1
    assert costs[2] > 4 * costs[0] - 1
