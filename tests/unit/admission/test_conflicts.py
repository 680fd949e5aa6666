"""Two policies that write one field: the first stays, and the user hears of both."""

import json
from typing import Any

import pytest

from builders import container, gpu_container, gpu_pod, pod, pod_group, review
from podberth.admission import decide
from podberth.admission.outcome import Outcome
from podberth.admission.review import decode_review
from podberth.admission.snapshot import Snapshot
from podberth.kube.patch import apply
from podberth.workload.systems import JOINED, NATIVE
from snapshots import policy, snapshot
from snapshots import snapshot_of_mutations as known


def mutate(document: dict[str, Any], of: Snapshot) -> Outcome:
    return decide.mutate(decode_review(review(document)), of)


def patch(*operations: dict[str, Any]) -> dict[str, Any]:
    return {"jsonPatch": json.dumps(operations)}


def claim(template: str) -> dict[str, Any]:
    return {"resourceClaims": f"[{{'name': 'nic', 'template': '{template}'}}]"}


def rewrite(to: str, quantity: int = 1, of: str = "nvidia.com/gpu") -> dict[str, Any]:
    item = f"{{'container': 'main', 'from': '{of}', 'to': '{to}', 'quantity': {quantity}}}"
    return {"resources": f"[{item}]"}


def bear(seconds: int, rest: str = "'operator': 'Exists'") -> dict[str, Any]:
    return {"tolerations": f"[{{'key': 'a', {rest}, 'effect': 'NoExecute', 'tolerationSeconds': {seconds}}}]"}


ALONE = "object.spec.containers.size() == 1"
SMALL, LARGE = "nvidia.com/mig-1g.5gb", "nvidia.com/mig-2g.10gb"
# Whatever the pod asks for, as it is when the policy is asked.
ALL_TO_LARGE = {
    "resources": "gpu.requests.map(r, {'container': r.container, 'from': r.resource, 'to': '" + LARGE + "', "
    "'quantity': r.quantity})"
}

CONFLICTS = [
    ({"labels": {"a": "'1'"}}, {"labels": {"a": "'2'"}}, "/metadata/labels/a"),
    ({"nodeSelector": {"a": "'1'"}}, {"nodeSelector": {"a": "'2'"}}, "/spec/nodeSelector/a"),
    (
        {"nodeSelector": {"a": "'1'"}},
        patch({"op": "replace", "path": "/spec/nodeSelector/a", "value": "2"}),
        "/spec/nodeSelector/a",
    ),
    (
        {
            "jsonPatch": "has(object.spec.nodeSelector) ? [] : "
            "[{'op': 'add', 'path': '/spec/nodeSelector', 'value': {'a': '1'}}]"
        },
        {"nodeSelector": {"a": "'2'"}},
        "/spec/nodeSelector/a",
    ),
    ({"annotations": {"x.io/a": "'1'"}}, {"annotations": {"x.io/a": "'2'"}}, "/metadata/annotations/x.io~1a"),
    ({"schedulerName": "'a'"}, {"schedulerName": "'b'"}, "/spec/schedulerName"),
    ({"runtimeClassName": "'a'"}, {"runtimeClassName": "'b'"}, "/spec/runtimeClassName"),
    ({"env": {"A": "'1'"}}, {"env": {"A": "'2'"}}, "env A of container main"),
    (claim("one"), claim("two"), "/spec/resourceClaims nic"),
    (
        {"labels": {"a": "'1'"}},
        patch({"op": "replace", "path": "/metadata/labels/a", "value": "2"}),
        "/metadata/labels/a",
    ),
    (
        {"labels": {"a": "'1'"}},
        {"applyConfiguration": "{'metadata': {'labels': {'a': '2'}}}"},
        "/metadata/labels/a",
    ),
    (
        {"applyConfiguration": "{'spec': {'runtimeClassName': 'a'}}"},
        {"runtimeClassName": "'b'"},
        "/spec/runtimeClassName",
    ),
    (
        {"env": {"A": "'1'"}},
        patch({"op": "replace", "path": "/spec/containers/0/env", "value": []}),
        "/spec/containers",
    ),
    (
        patch({"op": "add", "path": "/spec/containers/0/env", "value": [{"name": "A", "value": "1"}]}),
        {"env": {"A": "'2'"}},
        "env A of container main",
    ),
    (
        {"applyConfiguration": "{'spec': {'resourceClaims': [{'name': 'nic', 'resourceClaimTemplateName': 'one'}]}}"},
        claim("two"),
        "/spec/resourceClaims nic",
    ),
    ({"gang": {"name": "'g'", "size": "4"}}, {"gang": {"name": "'h'", "size": "8"}}, "/metadata/labels/podberth.io~1"),
    ({"gang": {"name": "'g'"}}, {"gang": {"name": "'h'", "size": "8"}}, "/metadata/labels/podberth.io~1gang"),
    (
        {"gang": {"name": "'g'", "size": "4"}},
        {"gang": {"name": "'g'", "size": "8"}},
        "/metadata/annotations/podberth.io~1gang-size",
    ),
    ({"gang": {"name": "'g'"}}, {"labels": {"podberth.io/gang": "'h'"}}, "/metadata/labels/podberth.io~1gang"),
    ({"labels": {"podberth.io/gang": "'g'"}}, {"gang": {"name": "'h'"}}, "/metadata/labels/podberth.io~1gang"),
    (rewrite(SMALL), rewrite(LARGE), "/spec/containers/0/resources nvidia.com/gpu"),
    (rewrite(SMALL), rewrite(SMALL, 2), "/spec/containers/0/resources nvidia.com/gpu"),
    (rewrite(SMALL), ALL_TO_LARGE, f"/spec/containers/0/resources {SMALL}"),
    (
        rewrite(SMALL),
        patch({"op": "replace", "path": f"/spec/containers/0/resources/limits/{SMALL.replace('/', '~1')}", "value": 2}),
        "/spec/containers/0/resources/limits",
    ),
    (
        patch(
            {"op": "test", "path": f"/spec/containers/0/resources/limits/{SMALL.replace('/', '~1')}"},
            {"op": "add", "path": f"/spec/containers/0/resources/limits/{SMALL.replace('/', '~1')}", "value": "1"},
        ),
        rewrite(LARGE, of=SMALL),
        f"/spec/containers/0/resources {SMALL}",
    ),
    (bear(300), bear(60), "/spec/tolerations tolerationSeconds of a:NoExecute"),
    (bear(300), bear(600), "/spec/tolerations tolerationSeconds of a:NoExecute"),
    (bear(300), bear(60, "'value': 'x'"), "/spec/tolerations tolerationSeconds of a:NoExecute"),
]


@pytest.mark.parametrize(("first", "second", "path"), CONFLICTS)
def test_the_first_stays_and_both_are_named(first: dict[str, Any], second: dict[str, Any], path: str) -> None:
    document = gpu_pod()
    outcome = mutate(document, known(first, second))

    alone = mutate(document, known(first))
    assert outcome.patch == alone.patch
    [conflict] = [each for each in outcome.decisions if each.action == "conflict"]
    assert conflict.policy == "p1"
    assert "policy p0" in conflict.message
    assert path in conflict.message
    assert outcome.warnings[0].startswith("podberth p1: conflict with policy p0 at ")


@pytest.mark.parametrize(("first", "second", "path"), CONFLICTS)
def test_a_conflict_is_one_on_the_second_pass_too_and_changes_nothing(
    first: dict[str, Any], second: dict[str, Any], path: str
) -> None:
    of = known(first, second)
    once = apply(gpu_pod(), mutate(gpu_pod(), of).patch)
    again = mutate(once, of)

    assert again.patch == []
    assert [path in each.message for each in again.decisions if each.action == "conflict"] == [True]


@pytest.mark.parametrize(("first", "second", "_"), CONFLICTS)
def test_equal_values_are_no_conflict(first: dict[str, Any], second: dict[str, Any], _: str) -> None:
    decisions = [*mutate(gpu_pod(), known(first, first)).decisions, *mutate(gpu_pod(), known(second)).decisions]

    assert [each.action for each in decisions if each.action == "conflict"] == []


@pytest.mark.parametrize(("first", "second", "_"), CONFLICTS)
def test_a_conflict_denies_nothing(first: dict[str, Any], second: dict[str, Any], _: str) -> None:
    assert mutate(gpu_pod(), known(first, second, fail="Fail")).verdict == "mutated"


ADDING = [
    (bear(300), {"tolerations": "[{'key': 'a', 'effect': 'NoSchedule', 'value': 'x'}]"}),
    (bear(300, "'value': 'x'"), bear(60, "'value': 'y'")),
    (rewrite(SMALL), {"resources": "[{'container': 'other', 'from': 'nvidia.com/gpu', 'to': 'x/y', 'quantity': 1}]"}),
    (rewrite(SMALL), rewrite(SMALL, 2, of=LARGE)),  # there is none to rewrite
    ({"gang": {"name": "'g'"}}, {"gang": {"name": "'g'", "size": "8"}}),
    ({"gang": {"name": "'g'", "size": "8"}}, {"gang": {"name": "'g'"}}),
    ({"gang": {"name": "'g'", "size": "8"}}, {"gang": {"name": "'g'", "size": "-1"}}),
    (
        {**patch({"op": "add", "path": "/spec/containers/0", "value": container("first")}), "when": ALONE},
        rewrite(SMALL),
    ),
]


@pytest.mark.parametrize(("first", "second"), ADDING)
def test_what_adds_to_the_earlier_is_no_conflict(first: dict[str, Any], second: dict[str, Any]) -> None:
    decisions = mutate(gpu_pod(), known(first, second)).decisions

    assert [each.action for each in decisions if each.action != "mutate"] == []


def test_a_wider_toleration_is_added_though_the_earlier_says_how_long_the_narrow_taint_is_tolerated() -> None:
    of = known(bear(300, "'value': 'x'"), bear(60))
    once = apply(gpu_pod(), (outcome := mutate(gpu_pod(), of)).patch)

    assert [each.action for each in outcome.decisions] == ["mutate", "conflict", "mutate"]
    assert [each["tolerationSeconds"] for each in once["spec"]["tolerations"]] == [300, 60]
    # The earlier policy does not see the toleration of the later one, which stands behind it in the list.
    again = mutate(once, of)
    assert again.patch == []
    assert [(each.policy, each.action) for each in again.decisions] == [("p1", "conflict")]


def test_what_the_users_own_toleration_decides_is_no_conflict_of_policies() -> None:
    document = gpu_pod(tolerations=[{"key": "a", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5}])
    decisions = mutate(document, known(bear(300), bear(60))).decisions

    assert [each.action for each in decisions if each.action == "conflict"] == []


def test_of_a_list_only_what_conflicts_is_left_out() -> None:
    both = (
        "[{'container': 'main', 'from': 'nvidia.com/gpu', 'to': '" + LARGE + "', 'quantity': 1}, "
        "{'container': 'side', 'from': 'nvidia.com/gpu', 'to': '" + LARGE + "', 'quantity': 1}]"
    )
    document = pod(gpu_container("main"), gpu_container("side"))
    outcome = mutate(document, known(rewrite(SMALL), {"resources": both}))

    containers = apply(document, outcome.patch)["spec"]["containers"]
    assert [list(each["resources"]["limits"]) for each in containers] == [[SMALL], [LARGE]]
    assert [each.action for each in outcome.decisions] == ["mutate", "conflict", "mutate"]


def test_two_resources_do_not_become_different_amounts_of_one() -> None:
    document = pod(gpu_container("main", requests={LARGE: 1}))
    outcome = mutate(document, known(rewrite(SMALL), rewrite(SMALL, 2, of=LARGE)))

    assert [each.action for each in outcome.decisions] == ["mutate", "conflict"]
    assert outcome.patch == mutate(document, known(rewrite(SMALL))).patch


def test_a_value_within_a_list_that_the_earlier_replaced_stays() -> None:
    document = pod(gpu_container("main", env=[{"name": "A", "value": "0"}]))
    replace = patch({"op": "replace", "path": "/spec/containers/0/env/0/value", "value": "1"})
    outcome = mutate(document, known(replace, {"env": {"A": "'2'"}}))

    assert [each.action for each in outcome.decisions] == ["mutate", "conflict"]


def test_a_resource_that_the_earlier_took_away_is_not_put_back() -> None:
    document = pod(gpu_container("main", requests={LARGE: 1}))
    outcome = mutate(document, known(rewrite(SMALL), rewrite("nvidia.com/gpu", of=LARGE)))

    assert [each.action for each in outcome.decisions] == ["mutate", "conflict"]
    assert outcome.patch == mutate(document, known(rewrite(SMALL))).patch


def test_no_size_is_written_for_a_gang_that_the_pod_does_not_join() -> None:
    once = apply(
        gpu_pod(), mutate(gpu_pod(), known({"gang": {"name": "'g'"}}, {"gang": {"name": "'h'", "size": "8"}})).patch
    )

    assert "podberth.io/gang-size" not in once["metadata"]["annotations"]


def test_a_pod_labelled_for_one_gang_does_not_join_the_group_of_another() -> None:
    group = pod_group("h", 2, "kubernetes.io/zone")
    group["metadata"]["namespace"] = "default"
    texts = [
        policy(f"p{order}", f"  mutations: [{{gang: {{name: \"'{name}'\"}}}}]", order=order)
        for order, name in enumerate("gh")
    ]
    outcome = mutate(gpu_pod(), snapshot(*texts, objects=[group]))

    assert [each.action for each in outcome.decisions] == ["mutate", "conflict"]
    assert "schedulingGroup" not in apply(gpu_pod(), outcome.patch)["spec"]
    other_way = mutate(
        gpu_pod(),
        snapshot(*[text.replace(f"order: {n}", f"order: {1 - n}") for n, text in enumerate(texts)], objects=[group]),
    )
    assert "/spec/schedulingGroup/podGroupName" in other_way.warnings[0]
    assert other_way.warnings[0].startswith("podberth p0: conflict with policy p1")


def test_the_size_of_a_group_that_the_pod_is_in_is_no_field_of_the_pod() -> None:
    size = {"annotations": {"podberth.io/gang-size": "'4'"}}
    document = gpu_pod(schedulingGroup={"podGroupName": "g"})

    decisions = mutate(document, known(size, {"gang": {"name": "'g'", "size": "8"}})).decisions
    assert [each.action for each in decisions] == ["mutate"]


def test_another_size_of_the_group_that_an_earlier_policy_joined_is_a_conflict() -> None:
    group = {"gang": {"name": "'g'", "size": "4", "system": "'native'"}}
    served = {
        "apiVersion": "v1",
        "kind": "APIResourceList",
        "groupVersion": f"{JOINED[NATIVE].pod_groups}/v1beta1",
        "resources": [{"name": "podgroups"}],
    }
    texts = [
        policy(f"p{order}", f"  mutations: [{json.dumps(mutation)}]", order=order)
        for order, mutation in enumerate((group, {"gang": {"name": "'g'", "size": "8"}}))
    ]
    outcome = mutate(gpu_pod(), snapshot(*texts, objects=[served]))

    assert [each.action for each in outcome.decisions] == ["mutate", "conflict"]
    assert "at /metadata/annotations/podberth.io~1gang-size:" in outcome.warnings[0]


def test_a_fault_in_what_is_overruled_is_still_the_policys() -> None:
    outcome = mutate(gpu_pod(), known({"gang": {"name": "'g'"}}, {"gang": {"name": "'no label value!'"}}))

    assert [each.action for each in outcome.decisions] == ["mutate", "error"]


def test_what_an_earlier_policy_took_away_is_not_put_there_again() -> None:
    remove = patch({"op": "remove", "path": "/metadata/labels/a"})
    first = {**remove, "when": "'a' in object.metadata.labels"}
    document = gpu_pod(labels={"a": "0", "b": "0"})
    outcome = mutate(document, known(first, {"labels": {"a": "'1'"}}))

    assert [each.action for each in outcome.decisions] == ["mutate", "conflict"]
    assert "at /metadata/labels/a:" in outcome.warnings[0]
    assert apply(document, outcome.patch)["metadata"]["labels"] == {"b": "0"}


def test_what_the_user_wrote_is_no_conflict_of_policies() -> None:
    outcome = mutate(gpu_pod(labels={"a": "0"}), known({"labels": {"a": "'1'"}}, {"labels": {"a": "'2'"}}))

    assert outcome.decisions == ()


def test_two_policies_that_add_to_one_list_do_not_conflict() -> None:
    add = [
        patch(
            {"op": "test", "path": "/spec/tolerations/0/key", "value": "own"},
            {"op": "add", "path": "/spec/tolerations/0", "value": {"key": key}},
        )
        for key in ("a", "b")
    ]
    document = gpu_pod(tolerations=[{"key": "own"}])
    outcome = mutate(document, known({"tolerations": "[{'key': 'x', 'operator': 'Exists'}]"}, add[0]))

    assert [each.action for each in outcome.decisions] == ["mutate", "mutate"]
    assert [each["key"] for each in apply(document, outcome.patch)["spec"]["tolerations"]] == ["a", "own", "x"]


GROUPED = [
    (patch({"op": "add", "path": "/spec/affinity", "value": {}}), "kueue places this pod's group"),
    ({"applyConfiguration": "{'spec': {'schedulerName': 'x'}}"}, "kueue places this pod's group"),
    (
        {"applyConfiguration": "{'spec': {'containers': [{'name': 'main', 'resources': {'limits': {'cpu': '1'}}}]}}"},
        "kueue has accounted",
    ),
    (claim("t"), "kueue has accounted"),
]


@pytest.mark.parametrize(("mutation", "reason"), GROUPED)
def test_what_a_group_system_decides_is_left_to_it(mutation: dict[str, Any], reason: str) -> None:
    outcome = mutate(gpu_pod(labels={"kueue.x-k8s.io/queue-name": "q"}), known(mutation))

    assert outcome.patch == []
    assert [(each.action, each.message.startswith(reason)) for each in outcome.decisions] == [("skip", True)]


def test_a_scheduler_is_not_chosen_for_a_group_and_the_environment_is_written() -> None:
    document = gpu_pod(labels={"kueue.x-k8s.io/queue-name": "q"})
    outcome = mutate(document, known({"schedulerName": "'x'"}, {"env": {"A": "'1'"}}))

    assert [each.policy for each in outcome.decisions] == ["p1"]


def priority_class(name: str) -> dict[str, Any]:
    return {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}, "value": 1}


SYSTEM = priority_class("system-node-critical")  # a cluster in which it is known has brought all its classes
PATCHED = "[{'op': 'add', 'path': '/spec/priorityClassName', 'value': 'urgent'}]"


@pytest.mark.parametrize(
    "mutation",
    [
        {"priorityClassName": "'urgent'"},
        {"applyConfiguration": "{'spec': {'priorityClassName': 'urgent'}}"},
        {"when": "!has(object.spec.priorityClassName)", "jsonPatch": PATCHED},
    ],
)
def test_a_priority_class_that_the_cluster_does_not_have_is_left_out_whoever_writes_it(
    mutation: dict[str, Any],
) -> None:
    text = policy("a", f"  mutations: {json.dumps([mutation])}")
    outcome = mutate(gpu_pod(), snapshot(text, objects=[SYSTEM]))
    assert outcome.patch == []
    [decision] = outcome.decisions
    assert decision.action == "skip"
    assert decision.message.endswith(" left as it is: the cluster has no PriorityClass urgent")
    for objects in ([], [priority_class("other")], [SYSTEM, priority_class("urgent")]):
        written = apply(gpu_pod(), mutate(gpu_pod(), snapshot(text, objects=objects)).patch)
        assert written["spec"]["priorityClassName"] == "urgent"


def test_the_clusters_default_priority_class_is_not_the_users() -> None:
    classes = [
        {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": name},
            "value": value,
            "globalDefault": default,
        }
        for name, value, default in (("usual", 5, True), ("urgent", 9, False))
    ]
    text = policy("a", "  mutations: [{priorityClassName: \"'urgent'\"}]")
    document = gpu_pod(priorityClassName="usual", priority=5)

    assert mutate(document, snapshot(text)).patch == []
    outcome = mutate(document, snapshot(text, objects=classes))
    assert "priority" not in apply(document, outcome.patch)["spec"]


def test_clashes_are_noted_on_the_snapshot() -> None:
    assert len(known({"labels": {"a": "'1'"}}, {"labels": {"a": "'2'"}}).notes) == 1
