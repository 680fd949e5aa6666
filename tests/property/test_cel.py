"""Properties of compiling and evaluating CEL."""

import contextlib
from collections.abc import Iterable
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from node_builders import index_of, machines, need_of
from podberth.cel.engine import CelProblem, CompileError, Environment, Want
from podberth.cel.functions import ReviewContext
from podberth.cel.typing import messages
from podberth.errors import EvaluationError
from podberth.kube.paths import ELEMENT
from podberth.kube.schema import PodSchema
from properties import examples
from second_engine import ComparingEnvironment

_SCHEMA = PodSchema.packaged()
_TYPES = messages(_SCHEMA)
_ENVIRONMENT = Environment(_SCHEMA)
_REVIEW = ReviewContext(index_of(machines("h100-nvl-4", 2)), need_of(2))

_NAMES = st.sampled_from(["main", "side", "", "é"])
_CONTAINERS = st.lists(
    st.fixed_dictionaries({"name": _NAMES}, optional={"image": _NAMES, "env": st.just([{"name": "A", "value": "1"}])}),
    max_size=3,
)
_PODS = st.fixed_dictionaries(
    {"metadata": st.fixed_dictionaries({}, optional={"name": _NAMES, "labels": st.dictionaries(_NAMES, _NAMES)})},
    optional={
        "spec": st.fixed_dictionaries(
            {"containers": _CONTAINERS},
            optional={"nodeName": _NAMES, "priority": st.integers(-5, 5), "futureField": st.just({"a": [1]})},
        )
    },
)
_GPUS = st.fixed_dictionaries({"count": st.integers(0, 4), "kind": st.sampled_from(["whole", "mig", "none"])})

_CONDITIONS = (
    "gpu.count > 1",
    "gpu.kind == 'whole' && object.spec.nodeName != ''",
    "has(object.spec.nodeName) && object.spec.nodeName == 'main'",
    "!has(object.spec.priority) || object.spec.priority > gpu.count",
    "object.spec.containers.all(c, c.name != '')",
    "object.spec.containers.exists(c, c.image == 'main')",
    "object.spec.containers.filter(c, has(c.env)).size() > 0",
    "'main' in object.metadata.labels",
    "object.metadata.labels['main'] == 'side'",
    "object.metadata.?labels[?'é'].orValue('') == ''",
    "object.metadata.name.size() / gpu.count > 0",
    "topology.nodes(gpu).withLinkDomain(gpu.count).exist",
    "topology.nodes(gpu).taints.exists(t, t.key == object.metadata.name)",
    "dyn(object).spec.futureField.a[0] == 1",
    "[object.spec.containers[0].name, object.metadata.name].exists(n, n == 'side')",
    "(gpu.count > 2 ? object.spec : oldObject.spec).nodeName == 'main'",
)
_OPTIONALS = (
    "object.?spec.?priority.orValue(0) > gpu.count",
    "object.?spec.?nodeName.or(object.metadata.?name).hasValue()",
    "object.?spec.?containers[?1].?image.orValue('') == ''",
    "object.spec.containers.map(c, c.?env[?0].?name) == [optional.of('A'), optional.none()]",
    "[?object.metadata.?name, ?object.?spec.?nodeName].exists(n, n == 'side')",
    "{?'a': object.metadata.?name}.size() == size({?'b': object.?spec.?nodeName})",
    "object.?spec.?containers.optMap(all, all.size()).value() > 1",
    "object.metadata.?labels.optFlatMap(l, l[?'main']).orValue('-') != object.metadata.?name.value()",
    "optional.ofNonZeroValue(object.metadata.?name.orValue('')).hasValue()",
    "has(object.?spec.nodeName) || has(object.metadata.labels.side)",
)
_COMPILED = {source: _ENVIRONMENT.compile(source, want=Want.BOOL) for source in _CONDITIONS}


def answer(source: str, pod: Any, gpu: Any) -> bool | str:
    """Return what a condition says, or why it says nothing."""
    try:
        return bool(_COMPILED[source].evaluate(_ENVIRONMENT.activation({"object": pod, "gpu": gpu}, _REVIEW)))
    except EvaluationError as error:
        return str(error)


@given(st.lists(st.sampled_from(_CONDITIONS), max_size=8), _PODS, _GPUS)
def test_a_batch_says_what_its_conditions_say_alone(sources: list[str], pod: Any, gpu: Any) -> None:
    batch = _ENVIRONMENT.batch([_COMPILED[source] for source in sources])
    together = batch.evaluate(_ENVIRONMENT.activation({"object": pod, "gpu": gpu}, _REVIEW))
    assert [str(each) if isinstance(each, EvaluationError) else each for each in together] == [
        answer(source, pod, gpu) for source in sources
    ]


_COMPARING = ComparingEnvironment(_SCHEMA)
_COMPARED = {source: _COMPARING.compile(source, want=Want.BOOL) for source in (*_CONDITIONS, *_OPTIONALS)}


@given(st.sampled_from(list(_COMPARED)), _PODS, _GPUS)
def test_both_engines_say_the_same(source: str, pod: Any, gpu: Any) -> None:
    with contextlib.suppress(EvaluationError):
        _COMPARED[source].evaluate(_COMPARING.activation({"object": pod, "gpu": gpu}, _REVIEW))
    assert (list(_COMPARING.differences), _COMPARING.explained) == ([], {})


def only(value: Any, paths: Iterable[tuple[str, ...]]) -> Any:
    """Return the value without what is on, above or below none of the paths."""
    paths = list(paths)
    if () in paths or not isinstance(value, dict):
        return value
    heads = {path[0] for path in paths}
    return {
        key: only(each, [path[1:] for path in paths if path[0] == key]) for key, each in value.items() if key in heads
    }


@given(st.sampled_from(_CONDITIONS), _PODS, _GPUS)
def test_an_expression_does_not_notice_what_it_does_not_read(source: str, pod: Any, gpu: Any) -> None:
    reads = _COMPILED[source].reads
    pruned = only({"object": pod, "gpu": gpu}, reads)
    whole, part = answer(source, pod, gpu), answer(source, pruned.get("object"), pruned.get("gpu"))
    assert whole == part


@st.composite
def selections(draw: st.DrawFn) -> tuple[str, set[tuple[str, ...]]]:
    """Draw a walk through the Pod's fields, maps and lists, and the paths that it reads.

    An index stands for every element of its list, whose number it also gives.
    """
    source, path, spelled = "object", ["object"], "k8s.Pod"
    counted: set[tuple[str, ...]] = set()
    for _ in range(draw(st.integers(1, 6))):
        step = ""
        if spelled in _TYPES:
            step = draw(st.sampled_from(sorted(name for name in _TYPES[spelled] if name.isidentifier())))
            source += f".{step}"
            spelled = _TYPES[spelled][step]
        elif spelled.startswith("map(string, "):
            step = draw(st.sampled_from(["team", "podberth.io/gang", "a b", "é"]))
            source += f"['{step}']"
            spelled = spelled.removeprefix("map(string, ").removesuffix(")")
        elif spelled.startswith("list("):
            source += f"[{draw(st.sampled_from(['0', '7', 'gpu.count']))}]"
            spelled, step = spelled.removeprefix("list(").removesuffix(")"), ELEMENT
            counted.add((*path, ELEMENT, ""))
        if step:
            path.append(step)
    return source, {tuple(path), *counted}


@given(selections())
def test_reads_are_the_path_that_is_selected(selection: tuple[str, set[tuple[str, ...]]]) -> None:
    source, paths = selection
    extra = {("gpu", "count")} if "gpu.count" in source else set()
    assert _ENVIRONMENT.compile(source, want=Want.ANY).reads == paths | extra


def problems_of(source: str) -> tuple[CelProblem, ...]:
    try:
        _ENVIRONMENT.compile(source, want=Want.ANY)
    except CompileError as error:
        return error.problems or (CelProblem(0, 0, "a compile error without a problem"),)
    return ()


@given(st.text(alphabet="ab.'\"(){}[],:?|&!=+ \n1éobjectspec\ud800", max_size=40))
@settings(max_examples=examples(300))
def test_any_text_compiles_or_says_where_it_does_not(source: str) -> None:
    lines = source.split("\n")
    for problem in problems_of(source):
        assert 1 <= problem.line <= len(lines)
        assert 1 <= problem.column <= len(lines[problem.line - 1]) + 1
        assert problem.message


_LEAVES = st.sampled_from(
    [
        *("1", "-7", "2u", "1.5", "true", "null", "'x'", "''", "b'x'", "[]", "{}", "object", "object.metadata.labels"),
        *("gpu.count", "topology.nodes(gpu).terms", "timestamp('2026-01-01T00:00:00Z')", "duration('1s')", "type(1)"),
        *("optional.none()", "optional.of(1)", "object.?metadata.?name"),
    ]
)
_OPERATORS = st.sampled_from(["+", "==", "<", "in", "/"])
_KINDS = {
    Want.BOOL: bool,
    Want.STRING: str,
    Want.MESSAGE: str,
    Want.INT: int,
    Want.MAP: dict,
    Want.LIST_OF_MAPS: list,
    Want.ANY: object,
    Want.PART: object,
}


def _larger(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.tuples(inner, _OPERATORS, inner).map(lambda x: f"dyn({x[0]}) {x[1]} {x[2]}"),
        st.lists(inner, max_size=3).map(lambda x: f"[{', '.join(x)}]"),
        st.tuples(inner, inner).map(lambda x: f"{{'a': {x[0]}, 'b': {x[1]}}}"),
        st.tuples(inner, inner).map(lambda x: f"(gpu.count > 1 ? dyn({x[0]}) : dyn({x[1]}))"),
        inner.map(lambda x: f"dyn({x})"),
        inner.map(lambda x: f"optional.of({x})"),
        inner.map(lambda x: f"[1, 2].map(i, {x})"),
        st.tuples(inner, inner).map(lambda x: f"dyn({x[0]})[{x[1]}]"),
    )


@given(st.recursive(_LEAVES, _larger, max_leaves=6), st.sampled_from(Want), _PODS, _GPUS)
@settings(max_examples=examples(400))
def test_what_compiles_has_a_value_or_an_error(source: str, want: Want, pod: Any, gpu: Any) -> None:
    try:
        expression = _ENVIRONMENT.compile(source, want=want)
    except CompileError:
        return
    activation = _ENVIRONMENT.activation({"object": pod, "gpu": gpu}, _REVIEW)
    with contextlib.suppress(EvaluationError):
        value = expression.evaluate(activation)
        assert value is None or isinstance(value, _KINDS[want])


@given(st.sampled_from(_CONDITIONS), st.sampled_from(_CONDITIONS), _PODS, _GPUS)
def test_a_variable_stands_for_its_expression(one: str, other: str, pod: Any, gpu: Any) -> None:
    written = _ENVIRONMENT.compile(f"({one}) ? !({other}) : ({one})", want=Want.BOOL)
    named = _ENVIRONMENT.compile(
        "variables.one ? !variables.other : variables.one",
        want=Want.BOOL,
        variables={"one": _COMPILED[one], "other": _COMPILED[other]},
    )
    activation = _ENVIRONMENT.activation({"object": pod, "gpu": gpu}, _REVIEW)
    answers: list[bool | str] = []
    for each in (written, named):
        try:
            answers.append(each.evaluate(activation))
        except EvaluationError as error:
            answers.append(str(error))
    assert answers[0] == answers[1]
