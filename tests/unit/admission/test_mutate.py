"""/mutate: policies write in order, each sees the earlier ones' work, and all of a policy applies or nothing."""

import json
import re
from typing import Any

import pytest

from builders import gpu_pod, pod, review
from podberth.admission import decide
from podberth.admission.outcome import Outcome
from podberth.admission.review import decode_review
from podberth.admission.snapshot import Snapshot
from podberth.errors import ReviewError
from podberth.kube.patch import apply
from podberth.wellknown import GANG_LABEL
from records import annotation_of, claims_of, with_annotation, with_record
from snapshots import cluster, policy, snapshot
from tenants import limits


def mutate(document: dict[str, Any], known: Snapshot, **fields: Any) -> Outcome:
    return decide.mutate(decode_review(review(document, **fields)), known)


def label(name: str, expression: str, *, order: int = 1000, more: str = "") -> str:
    return policy(name, f"  mutations:\n  - labels: {{{name}: {json.dumps(expression)}}}\n{more}", order=order)


def test_a_pod_without_gpus_is_none_of_a_gpu_policys_business() -> None:
    outcome = mutate(pod(), snapshot(label("a", "'1'")))

    assert outcome.verdict == "allowed"
    assert outcome.response["response"] == {"uid": outcome.response["response"]["uid"], "allowed": True}


def test_nothing_is_written_if_two_containers_have_one_name() -> None:
    document = gpu_pod()
    document["spec"]["initContainers"] = [{"name": document["spec"]["containers"][0]["name"]}]
    known = snapshot(label("a", "'1'"))

    assert (mutate(gpu_pod(), known).verdict, mutate(document, known).verdict) == ("mutated", "allowed")


def test_scope_all_reaches_every_pod() -> None:
    known = snapshot(policy("a", "  scope: All\n  mutations:\n  - labels: {a: \"'1'\"}"))

    assert mutate(pod(), known).verdict == "mutated"


def test_a_later_policy_sees_what_an_earlier_one_wrote() -> None:
    first = label("one", "'x'", order=1)
    second = label("two", "object.metadata.labels['one'] + 'y'", order=2)
    document = gpu_pod()
    outcome = mutate(document, snapshot(second, first))

    labels = apply(document, outcome.patch)["metadata"]["labels"]
    assert (labels["one"], labels["two"]) == ("x", "xy")


def test_a_condition_is_asked_again_when_an_earlier_policy_wrote_what_it_reads() -> None:
    first = label("one", "'x'", order=1)
    condition = "  matchConditions:\n  - {name: seen, expression: \"'one' in object.metadata.labels\"}"
    second = label("two", "'y'", order=2, more=condition)
    document = gpu_pod(labels={"app": "a"})

    assert apply(document, mutate(document, snapshot(first, second)).patch)["metadata"]["labels"]["two"] == "y"


def test_an_expression_behind_dyn_is_an_error_of_the_policy_and_not_of_podberth() -> None:
    known = snapshot(label("a", "string(dyn(gpu).nope)"))

    assert "no such key" in mutate(gpu_pod(), known).denial


def test_a_dialect_that_a_policy_writes_takes_the_pod_out_of_the_scope_of_later_ones() -> None:
    speaks = policy("one", "  mutations:\n  - annotations: {gpu-fraction: \"'0.5'\"}", order=1)
    document = gpu_pod(schedulerName="kai-scheduler")

    assert len(mutate(document, snapshot(speaks, label("two", "'x'", order=2))).decisions) == 1


def test_conditions_are_asked_for_each_params_object() -> None:
    done = (
        "  paramKind: {apiVersion: v1, kind: ConfigMap}\n"
        "  paramRef: {selector: {matchLabels: {p: q}}, namespace: team, parameterNotFoundAction: Deny}\n"
        '  matchConditions:\n  - {name: once, expression: "!has(object.metadata.labels.done)"}'
    )
    text = policy("a", f'  mutations:\n  - labels: {{done: "params.metadata.name"}}\n{done}')
    maps = [limits("team", name) for name in ("one", "two")]
    for each in maps:
        each["metadata"]["labels"]["p"] = "q"
    outcome = mutate(gpu_pod(labels={"app": "a"}), snapshot(text, objects=maps))

    assert [decision.message for decision in outcome.decisions] == ["label done=one"]


def test_all_mutations_of_a_policy_apply_or_none() -> None:
    broken = policy(
        "broken",
        "  failurePolicy: Ignore\n  mutations:\n  - labels: {a: \"'1'\"}\n"
        "  - labels: {b: \"object.metadata.labels['no']\"}",
    )
    document = gpu_pod(labels={"app": "a"})
    outcome = mutate(document, snapshot(broken))

    assert outcome.patch == []
    assert [decision.action for decision in outcome.decisions] == ["error"]
    assert outcome.warnings[0].startswith("podberth broken: mutations[1]: no such key: no")


def test_the_error_of_a_mutation_names_the_variable_that_failed() -> None:
    variables = (
        "  variables:\n  - {name: team, expression: \"object.metadata.labels['team']\"}\n"
        "  - {name: prefix, expression: \"variables.team.split('-')[0]\"}"
    )
    known = snapshot(label("a", "variables.prefix", more=variables))

    assert "mutations[0]: variables.team: no such key: team" in mutate(gpu_pod(labels={"app": "a"}), known).denial


def test_a_policy_that_errors_denies_under_failure_policy_fail() -> None:
    broken = label("broken", "object.metadata.labels['no']")
    outcome = mutate(gpu_pod(labels={"app": "a"}), snapshot(broken))

    response = outcome.response["response"]
    assert outcome.verdict == "denied"
    assert response["allowed"] is False
    assert response["status"]["code"] == 422
    assert response["status"]["message"].startswith("podberth broken: cannot be applied: mutations[0]: no such key")


def test_a_false_condition_skips_the_policy_even_beside_one_that_errors() -> None:
    errs = "  - {name: errs, expression: \"object.metadata.labels['no'] == 'x'\"}"
    conditions = f"  matchConditions:\n{errs}\n  - {{name: few, expression: gpu.count > 99}}"
    known = snapshot(label("a", "'1'", more=conditions))

    assert mutate(gpu_pod(labels={"app": "a"}), known).verdict == "allowed"


def test_an_unknown_namespace_is_an_error_and_never_no_match() -> None:
    selector = "  matchConstraints:\n    namespaceSelector: {matchLabels: {team: a}}"
    known = snapshot(label("a", "'1'", more=selector))

    assert mutate(gpu_pod(), known).verdict == "denied"


def test_the_users_label_stays() -> None:
    outcome = mutate(gpu_pod(labels={"a": "mine"}), snapshot(label("a", "'1'")))

    assert outcome.patch == []


def test_missing_params_skip_the_policy_or_count_as_an_error() -> None:
    def reading(action: str) -> str:
        params = "  paramKind: {apiVersion: v1, kind: ConfigMap}\n"
        reference = f"  paramRef: {{name: p, namespace: team, parameterNotFoundAction: {action}}}"
        return label("a", "params.data['x']", more=params + reference)

    config_map = limits("team", "p", x="1")

    assert mutate(gpu_pod(), snapshot(reading("Allow"))).verdict == "allowed"
    assert mutate(gpu_pod(), snapshot(reading("Deny"))).verdict == "denied"
    assert mutate(gpu_pod(), snapshot(reading("Deny"), objects=[config_map])).verdict == "mutated"


def test_the_record_says_what_was_written_and_the_second_pass_changes_nothing() -> None:
    known = snapshot(label("a", "'1'"))
    document = gpu_pod()
    final = apply(document, mutate(document, known).patch)

    assert re.fullmatch(r'{"a":{"labels":{"a":"1"}},"=":"[\w-]{22}"}', annotation_of(final))
    assert mutate(final, known).patch == []


def test_a_record_that_comes_with_a_pod_is_cut_down_to_what_it_holds() -> None:
    claims = {"a": {"labels": {"x": "1"}}, "b": {"tolerations": [{"key": "nope"}]}, "c": [], "d": {"labels": 7}}
    document = with_record(gpu_pod(labels={"x": "1"}), claims)
    final = apply(document, mutate(document, snapshot()).patch)

    assert claims_of(final) == {"a": {"labels": {"x": "1"}}}


def test_a_record_without_a_seal_is_taken_away() -> None:
    document = with_annotation(gpu_pod(labels={"x": "1"}), '{"a":{"labels":{"x":"1"}}}')

    assert mutate(document, snapshot()).patch == [
        {"op": "remove", "path": "/metadata/annotations/podberth.io~1applied"}
    ]


def test_a_requirement_that_contradicts_the_pods_own_choice_is_named_and_not_written() -> None:
    wanted = "[{'matchExpressions': [{'key': 'product', 'operator': 'In', 'values': ['H100']}]}]"
    known = snapshot(policy("a", f'  mutations:\n  - nodeAffinity:\n      required: "{wanted}"'))
    found = mutate(gpu_pod(nodeSelector={"product": "A100"}), known)

    assert found.patch == []
    reason = "it wants product in (H100), and the pod's nodeSelector says product in (A100)"
    assert found.warnings == (f"podberth a: nodeAffinity left as it is: {reason}",)


@pytest.mark.parametrize("system", [{"labels": {"kueue.x-k8s.io/queue-name": "q"}}, {"schedulerName": "volcano"}])
def test_pods_of_a_group_system_get_no_affinity(system: dict[str, Any]) -> None:
    known = snapshot(
        policy("a", "  mutations:\n  - nodeAffinity: {required: topology.nodes(gpu).terms}"),
        objects=cluster(hgx_h100_8=1, l4_1=1),
    )

    assert mutate(gpu_pod(8, **system), known).patch == []
    assert mutate(gpu_pod(8), known).verdict == "mutated"


@pytest.mark.parametrize(
    ("fields", "path"),
    [({"object": None}, "request.object: got null"), ({"object": {"spec": []}}, "spec: got list, want object")],
)
def test_a_review_without_a_pod_is_the_callers_fault(fields: dict[str, Any], path: str) -> None:
    document = review(gpu_pod())
    document["request"].update(fields)

    with pytest.raises(ReviewError, match=path):
        decide.mutate(decode_review(document), snapshot())


@pytest.mark.parametrize("operation", ["DELETE", "CONNECT"])
def test_other_operations_pass(operation: str) -> None:
    assert mutate(gpu_pod(), snapshot(label("a", "'1'")), operation=operation).verdict == "allowed"


def test_a_policy_that_is_asked_before_its_gang_is_labelled_writes_on_no_later_pass_either() -> None:
    first = policy("level", "  mutations:\n  - topology: {level: \"'zone'\", mode: preferred}", order=1)
    second = policy("join", '  mutations:\n  - gang: {name: "\'a-gang\'", size: "2"}', order=2)
    known, document = snapshot(first, second), gpu_pod()
    once = apply(document, mutate(document, known).patch)

    assert once["metadata"]["labels"][GANG_LABEL] == "a-gang"
    assert mutate(once, known).patch == []
