import copy
import gc
import sys
import weakref
from collections.abc import Callable
from typing import Any

import pytest

from podberth.cel.engine import Activation, CelType, CompileError, Environment, Expression, Want
from podberth.cel.functions import ReviewContext
from podberth.errors import EvaluationError
from podberth.kube.schema import PodSchema

Evaluate = Callable[..., Any]
POD: dict[str, Any] = {
    "metadata": {"name": "train", "namespace": "ml", "labels": {"team": "vision", "a.b/c": "d"}},
    "spec": {"containers": [{"name": "main", "image": "train:1"}, {"name": "side"}], "futureField": "kept"},
}


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("object.metadata.name", "train"),
        ("object.metadata.labels['a.b/c']", "d"),
        ("object.metadata.__namespace__ == object.metadata.namespace", True),
        ("oldObject == null && object != null", True),
        ("params == null", True),  # not bound: null
        ("object.spec.containers.map(c, c.name)", ["main", "side"]),
        ("dyn(object).spec.futureField", "kept"),  # what the schema does not know, on purpose
        ("object.spec.?nodeName.orValue('none')", "none"),
        ("object.?spec.?hostname", None),
        ("gpu.count > 2 ? optional.of('many') : optional.none()", "many"),
        ("[?object.spec.?nodeName, ?object.metadata.?name]", ["train"]),
        ("{'a': 1, ?'b': object.spec.?nodeName}", {"a": 1}),
        ("null", None),
        ("1.5", 1.5),
        ("9223372036854775807", 2**63 - 1),
        ("type(object.metadata.name) == string", True),
        ("'%s has %d'.format([object.metadata.name, gpu.count])", "train has 4"),
        ("gpu.requests.filter(r, r.kind == 'whole').map(r, r.container)", ["main"]),
    ],
)
def test_values_are_plain_python(evaluate: Evaluate, source: str, value: Any) -> None:
    found = evaluate(source)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("object.spec.nodeName == ''", "no such key: nodeName"),
        ("object.spec.containers[7].name == ''", "index out of bounds: 7, size 2"),
        ("oldObject.metadata.name == ''", "no such field: a field of null or of a scalar was asked for"),
        ("1 / (gpu.count - 4) == 0", "division by zero"),
        ("9223372036854775807 + gpu.count > 0", "integer overflow"),
        ("int(object.metadata.name) == 0", "type conversion error from 'string' to 'int'"),
        ("dyn(object).metadata.name > 1", "no such overload: _>_(string, int)"),
        ("optional.none().value() == 1", "optional.none() dereference"),
    ],
)
def test_an_error_is_raised_in_upstreams_words(evaluate: Evaluate, source: str, message: str) -> None:
    with pytest.raises(EvaluationError) as caught:
        evaluate(source, Want.BOOL)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("has(object.spec.nodeName) && object.spec.nodeName == 'x'", False),
        ("!has(object.spec.nodeName) || object.spec.nodeName == 'x'", True),
        ("object.spec.nodeName == 'x' && false", False),  # an error beside what settles it counts for nothing
        ("true || object.spec.nodeName == 'x'", True),
        ("object.spec.containers.exists(c, c.image == 'train:1')", True),
        ("object.spec.containers.all(c, c.image == 'other')", False),
    ],
)
def test_guards_and_absorption_are_cels(evaluate: Evaluate, source: str, value: Any) -> None:
    assert evaluate(source, Want.BOOL) is value


def test_a_negated_guard_on_a_missing_parent_fails_closed(evaluate: Evaluate) -> None:
    with pytest.raises(EvaluationError, match="no such key: securityContext"):
        evaluate("!has(object.spec.securityContext.runAsUser)", Want.BOOL)


@pytest.mark.parametrize(
    ("source", "want", "message"),
    [
        ("dyn(1)", Want.STRING, "got int, want string"),
        ("dyn('1')", Want.INT, "got string, want int"),
        ("dyn({})", Want.LIST_OF_MAPS, "got map, want list of maps"),
        ("[dyn(1)]", Want.LIST_OF_MAPS, "got a list with int in it, want list of maps"),
        ("{'a': 0.0 / 0.0}", Want.MAP, "got the number nan, want a finite one"),
        ("[{'a': optional.of(1)}]", Want.LIST_OF_MAPS, "got an optional inside a value, want it taken out"),
    ],
)
def test_what_was_dyn_is_checked_when_it_is_there(evaluate: Evaluate, source: str, want: Want, message: str) -> None:
    with pytest.raises(EvaluationError, match=message):
        evaluate(source, want)


@pytest.mark.parametrize(
    "source",
    [
        "{'a': optional.of(1)}",  # converting this one crashes the engine: it must never come to that
        "{'a': {'b': optional.none()}}",
        "dyn({'a': [dyn(optional.of(1))]})",
        "variables.hidden",
        "{'a': variables.hidden}",
    ],
)
@pytest.mark.parametrize("want", [Want.ANY, Want.MAP])
def test_an_optional_inside_a_value_is_an_error(evaluate: Evaluate, source: str, want: Want) -> None:
    with pytest.raises(EvaluationError, match="got an optional inside a value"):
        evaluate(source, want, hidden="{'a': dyn(optional.of(1))}")


def test_optionals_that_are_taken_out_leave_plain_values(evaluate: Evaluate) -> None:
    source = "[{'a': object.?spec.?nodeName.orValue('x'), ?'b': optional.of(2), ?'c': optional.none()}]"
    assert evaluate(source, Want.LIST_OF_MAPS) == [{"a": "x", "b": 2}]


# ---- variables ----


def test_variables_see_earlier_ones(evaluate: Evaluate) -> None:
    assert evaluate("variables.c", a="1 + gpu.count", b="variables.a * 2", c="variables.b + variables.a") == 15


def test_a_variable_that_is_not_reached_is_not_evaluated(evaluate: Evaluate) -> None:
    assert evaluate("gpu.count == 4 || variables.bad", bad="object.spec.nodeName == 'x'") is True
    with pytest.raises(EvaluationError, match="no such key: nodeName"):
        evaluate("gpu.count == 5 || variables.bad", bad="object.spec.nodeName == 'x'")


def test_a_variable_keeps_its_type(environment: Environment) -> None:
    nodes = environment.compile("topology.nodes(gpu)", want=Want.ANY)
    with pytest.raises(CompileError, match="undefined field 'exst' in Nodes"):
        environment.compile("variables.nodes.exst", want=Want.BOOL, variables={"nodes": nodes})


def test_an_optional_variable_stays_optional(evaluate: Evaluate) -> None:
    source = "variables.name.orValue('none') + (variables.name.hasValue() ? '!' : '?')"
    assert evaluate(source, name="object.spec.?nodeName") == "none?"


def test_variables_work_inside_loops_and_macros(evaluate: Evaluate) -> None:
    source = "object.spec.containers.all(c, c.name in variables.names)"
    assert evaluate(source, names="object.spec.containers.map(c, c.name)") is True


def test_a_chain_of_variables_may_be_long(evaluate: Evaluate) -> None:
    chain = {"v0": "1", **{f"v{i}": f"variables.v{i - 1} + 1" for i in range(1, 100)}}
    assert evaluate("variables.v99", **chain) == 100


def test_a_variable_given_by_type_is_bound_in_the_activation(environment: Environment, review: ReviewContext) -> None:
    size = environment.compile("variables.size + 1", want=Want.INT, variables={"size": CelType("int")})
    assert size.evaluate(environment.activation({"variables.size": 2}, review)) == 3
    with pytest.raises(EvaluationError, match=r"no such attribute: variables\.size"):
        size.evaluate(environment.activation({}, review))


def test_an_optional_variable_given_by_type_type_checks(environment: Environment) -> None:
    variables = {"size": CelType("optional_type", (CelType("int"),))}
    assert environment.compile("variables.size.orValue(1)", want=Want.INT, variables=variables).type == CelType("int")


# ---- what is known of an expression ----


def test_reads_name_what_functions_read_on_their_own(environment: Environment) -> None:
    expression = environment.compile("topology.nodes(gpu).exist", want=Want.BOOL)
    assert expression.reads == {
        ("topology",),
        ("object", "spec", "nodeName"),
        ("object", "spec", "nodeSelector"),
        ("object", "spec", "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution"),
        ("object", "spec", "tolerations"),
    }
    assert expression.functions == {"nodes"}


def test_reads_leave_out_names_that_are_no_variables(environment: Environment) -> None:
    source = "type(object.spec.hostname) == string && optional.of(gang.size).hasValue()"
    expression = environment.compile(source, want=Want.BOOL)
    assert expression.reads == {("object", "spec", "hostname"), ("gang", "size")}


def test_reads_spell_fields_as_json_does(environment: Environment) -> None:
    expression = environment.compile("object.metadata.__namespace__", want=Want.STRING)
    assert expression.reads == {("object", "metadata", "namespace")}


# ---- batches ----

_CONDITIONS = (
    "gpu.count == 4",
    "object.metadata.name == 'other'",
    "object.spec.containers.exists(c, c.name == 'side')",
    "topology.nodes(gpu).withLinkDomain(4).exist",
)


def compiled(environment: Environment, *sources: str) -> list[Expression]:
    return [environment.compile(source, want=Want.BOOL) for source in sources]


def test_a_batch_answers_in_order(environment: Environment, activation: Activation) -> None:
    batch = environment.batch(compiled(environment, *_CONDITIONS))
    assert batch.evaluate(activation) == [True, False, True, True]


def test_an_error_costs_the_others_nothing(environment: Environment, activation: Activation) -> None:
    answers = environment.batch(compiled(environment, "object.spec.nodeName == ''", *_CONDITIONS)).evaluate(activation)
    assert isinstance(answers[0], EvaluationError)
    assert str(answers[0]) == "no such key: nodeName"
    assert answers[1:] == [True, False, True, True]


def test_the_shared_iteration_cap_costs_nobody_their_answer(environment: Environment, review: ReviewContext) -> None:
    pod = {"spec": {"nodeSelector": {str(number): "" for number in range(6000)}}}
    many = "object.spec.nodeSelector.all(k, k != '')"
    too_many = "object.spec.nodeSelector.all(k, object.spec.nodeSelector.all(j, j != ''))"
    activation = environment.activation({"object": pod}, review)
    assert environment.batch(compiled(environment, many, many)).evaluate(activation) == [True, True]
    first, second = environment.batch(compiled(environment, too_many, many)).evaluate(activation)
    assert str(first) == "out of budget: more than 10,000 iterations"
    assert second is True


def test_conditions_of_a_batch_may_use_variables(environment: Environment, activation: Activation) -> None:
    size = environment.compile("gpu.count * 2", want=Want.ANY)
    both = [
        environment.compile(f"variables.size == {number}", want=Want.BOOL, variables={"size": size})
        for number in (8, 9)
    ]
    assert environment.batch(both).evaluate(activation) == [True, False]


def test_two_policies_may_call_different_things_by_one_name(environment: Environment, activation: Activation) -> None:
    both = [
        environment.compile(
            "variables.size == 4", want=Want.BOOL, variables={"size": environment.compile(source, want=Want.ANY)}
        )
        for source in ("gpu.count", "gpu.count + 1")
    ]
    assert environment.batch(both).evaluate(activation) == [True, False]


def test_many_conditions_are_one_batch(environment: Environment, activation: Activation) -> None:
    batch = environment.batch(compiled(environment, *_CONDITIONS * 100))
    assert batch._loaded is not None
    assert batch.evaluate(activation) == [True, False, True, True] * 100


def test_a_batch_of_nothing_answers_nothing(environment: Environment, activation: Activation) -> None:
    assert environment.batch([]).evaluate(activation) == []


# ---- environments and activations ----


def test_environments_are_independent(environment: Environment, activation: Activation, review: ReviewContext) -> None:
    other = Environment(PodSchema.packaged())
    theirs = other.compile("topology.nodes(gpu).count", want=Want.INT)
    ours = environment.compile("topology.nodes(gpu).count", want=Want.INT)
    other_activation = other.activation({"gpu": {}}, ReviewContext(review.index, review.need))
    assert ours.evaluate(activation) == theirs.evaluate(other_activation) == ours.evaluate(activation)


def test_an_expression_answers_for_the_activation_at_hand(environment: Environment, review: ReviewContext) -> None:
    name = environment.compile("object.metadata.name", want=Want.STRING)
    one, two = (environment.activation({"object": {"metadata": {"name": each}}}, review) for each in "ab")
    assert [name.evaluate(each) for each in (one, two, one)] == ["a", "b", "a"]


def test_evaluating_leaves_the_pod_as_it_was(environment: Environment, review: ReviewContext) -> None:
    pod = copy.deepcopy(POD)
    activation = environment.activation({"object": pod}, review)
    found = environment.compile("object.spec", want=Want.MAP).evaluate(activation)
    assert found == POD["spec"]
    found["containers"].clear()
    assert pod == POD
    assert environment.compile("object.spec.containers.size()", want=Want.INT).evaluate(activation) == 2


@pytest.mark.parametrize("value", [2**70, {1, 2}, "\ud800", {None: 1}])
def test_a_binding_that_is_no_cel_value_is_an_error_not_a_crash(
    environment: Environment, review: ReviewContext, value: Any
) -> None:
    activation = environment.activation({"object": {"metadata": value}}, review)
    with pytest.raises(EvaluationError):
        environment.compile("has(object.metadata.name)", want=Want.BOOL).evaluate(activation)


@pytest.mark.parametrize("names", [frozenset({"object"}), frozenset({"object", "variables"}), None])
def test_names_that_are_allowed_compile(environment: Environment, names: frozenset[str] | None) -> None:
    assert environment.compile("has(object.spec)", want=Want.BOOL, names=names).want is Want.BOOL


def test_nulls_that_are_converted_do_not_wear_none_out(evaluate: Evaluate) -> None:
    before = sys.getrefcount(None)
    for _ in range(1000):
        evaluate("[null, {'a': null}]", want=Want.ANY)
    assert sys.getrefcount(None) >= min(before, 1 << 31) - 10_000
    assert sys.getrefcount(None) > 1 << 31


def test_an_environment_that_nobody_uses_is_freed() -> None:
    environment = Environment(PodSchema.packaged())
    environment.compile("topology.nodes(gpu).exist", want=Want.BOOL)
    gone = weakref.ref(environment._runner)
    del environment
    gc.collect()
    assert gone() is None


def test_a_parser_that_ends_without_a_word_is_asked_once_more(monkeypatch: pytest.MonkeyPatch) -> None:
    environment = Environment(PodSchema.packaged())
    sound = environment._checker.check
    ends = [1]

    def check(*arguments: Any) -> bytes:
        if ends[0]:
            ends[0] -= 1
            raise RuntimeError("ABORTED:  [ABORTED]")
        return sound(*arguments)

    monkeypatch.setattr(environment._checker, "check", check)
    assert environment.compile("gpu.count > 1", want=Want.BOOL).want is Want.BOOL
    ends[0] = 2
    with pytest.raises(CompileError, match="ABORTED"):
        environment.compile("gpu.count > 2", want=Want.BOOL)


@pytest.mark.parametrize(
    "source",
    [
        "{'a': dyn(object.metadata)[?'labels']}",
        "{'a': dyn(object).?metadata}",
        "{'a': {'b': dyn(object.spec)[?'containers'][?0]}}",
        "{'a': dyn([1]).first()}",
    ],
)
def test_an_optional_of_a_dyn_value_ends_no_process(evaluate: Evaluate, source: str) -> None:
    # The type of such an expression is dyn, and says nothing of an optional.
    with pytest.raises(EvaluationError, match="got an optional inside a value"):
        evaluate(source, Want.MAP)
    with pytest.raises(EvaluationError):
        evaluate(f"{{'a': '%s'.format(dyn([{source}]))}}", Want.MAP)


def test_a_time_with_an_offset_is_an_error_where_times_are_written_as_text(evaluate: Evaluate) -> None:
    india = "timestamp('2026-01-01T00:00:00+05:30')"
    with pytest.raises(EvaluationError, match=r"got a time with the offset \+05:30, want it in UTC \(Z\)"):
        evaluate("string(variables.t)", t=india)
    with pytest.raises(EvaluationError, match="want it in UTC"):
        evaluate("variables.text + string(variables.t > timestamp(0))", t=india, text="string(dyn(timestamp(0)))")
    # What is not needed writes nothing.
    assert evaluate("variables.t > timestamp(0)", t=india, text="string(dyn(timestamp(0)))") is True
