from typing import Any

import pytest

from podberth.installation.observation import Unread
from status_scenes import counting, gpu_policy, replica, row, rows, workload

FILES: dict[str, Any] = workload(readyReplicas=2, updatedReplicas=2)
FILES["spec"]["template"]["spec"]["containers"][0]["env"] = [
    {"name": "PODBERTH_POLICIES", "value": "/etc/podberth/policies"},
    {"name": "PODBERTH_TOPOLOGY", "value": "/etc/podberth/topology"},
]
# The default of the CRD.
UNREAD = [{"type": kind, "status": "Unknown", "reason": "NotRead"} for kind in ("Compiled", "Active")]
UNREACHED = Unread("no route", "get pods/proxy", refused=False)


def flagged(*arguments: str) -> dict[str, Any]:
    deployment = workload(readyReplicas=2, updatedReplicas=2)
    deployment["spec"]["template"]["spec"]["containers"][0]["args"] = ["serve", *arguments]
    return deployment


@pytest.mark.parametrize(
    ("deployment", "said"),
    [
        (workload(readyReplicas=2, updatedReplicas=2), "GPUPolicies; 2 in force"),
        (FILES, "files in /etc/podberth/policies; 2 in force"),
        (flagged("--policies", "mine"), "files in mine and GPUPolicies; 2 in force"),
        (flagged("--policies=mine"), "files in mine and GPUPolicies; 2 in force"),
        (Unread("forbidden", "get deployments"), "from an unknown source; 2 in force"),
    ],
)
def test_a_flag_comes_before_a_variable(deployment: Any, said: str) -> None:
    assert rows("source", deployment=deployment)[0].text == said


def test_how_many_are_in_force_is_the_replicas_to_say() -> None:
    assert row("source", replicas=(replica(policies_loaded=0.0),))[0] == "attention"
    differing = (replica(policies_loaded=2.0), replica(policies_loaded=3.0))
    assert row("source", replicas=differing) == (
        "attention",
        "GPUPolicies; 2 to 3 in force: replicas differ; if it lasts, see their logs",
    )
    silent = (type(replica())("podberth-1", UNREACHED),)
    assert row("source", replicas=silent)[0] == "note"


def test_objects_that_nobody_reads_are_named() -> None:
    assert row("objects", deployment=FILES, policies=()) == ("ok", "not in the cluster")
    state, text = row("objects", deployment=FILES)
    assert (state, text.partition(";")[0]) == ("attention", "2 GPUPolicies that no replica reads: a, b")


def test_objects_say_what_they_replace_and_what_they_switch_off() -> None:
    replacing, off = gpu_policy("b"), gpu_policy("c")
    replacing["status"]["conditions"][1]["reason"] = "Replaces"
    off["status"]["conditions"] = [
        {"type": "Compiled", "status": "Unknown", "reason": "Disabled"},
        {"type": "Active", "status": "False", "reason": "Disabled"},
    ]
    [found] = rows("objects", policies=(gpu_policy("a"), replacing, off))
    assert (found.state, found.text) == ("ok", "2 active, in the place of files' policies: b, disabled: c")
    assert (found.facts["replacing"], found.facts["disabled"]) == (("b",), ("c",))


def test_a_broken_policy_is_reported_with_its_first_error() -> None:
    message = "gpupolicy/c:3:5 spec.x: wrong\ngpupolicy/c:9:5 spec.y: wrong"
    objects = (gpu_policy("a"), gpu_policy("c", message=message))
    assert row("objects", policies=objects) == ("attention", "1 active, 1 broken")
    assert row("broken", policies=objects) == ("attention", "gpupolicy/c:3:5 spec.x: wrong")


def test_what_was_said_about_an_earlier_generation_says_nothing_of_this_one() -> None:
    objects = (
        gpu_policy("a"),
        gpu_policy("c", message="wrong", generation=2),
        {"metadata": {"name": "d", "generation": 1}},
        {"metadata": {"name": "e", "generation": 1}, "status": {"conditions": UNREAD}},
    )
    assert row("objects", policies=objects) == (
        "attention",
        "1 active, not read since they were changed: c, d, e",
    )
    assert rows("broken", policies=objects) == []


def test_of_many_broken_policies_three_are_reported_and_all_are_named() -> None:
    objects = tuple(gpu_policy(f"p{number}", message=f"wrong {number}") for number in range(5))
    assert [each.text for each in rows("broken", policies=objects)] == ["wrong 0", "wrong 1", "wrong 2"]
    [found] = rows("objects", policies=objects)
    assert found.facts["broken"] == ("p0", "p1", "p2", "p3", "p4")


def test_objects_are_not_needed_and_may_be_unreadable() -> None:
    assert row("objects", policies=()) == ("ok", "none in the cluster")
    assert row("objects", policies=(), deployment=None) == ("ok", "none in the cluster")
    assert row("objects", policies=Unread("forbidden", "list gpupolicies"))[0] == "unread"


def test_what_could_not_be_loaded_is_counted_and_may_have_been_fixed_since() -> None:
    failed = counting("reload_total", {"what": "policies", "result": "error"}, 2.0)
    assert row("reloads") == ("ok", "none has failed")
    assert row("reloads", replicas=(failed, failed)) == (
        "note",
        "failed since the replicas started: policies 4; see their logs",
    )
    assert row("reloads", replicas=(counting("reload_total", {"what": "x", "result": "ok"}, 2.0),))[0] == "ok"


# ---- policies for every pod -----------------------------------------------------------------------------------------


def entry(name: str, *conditions: str) -> dict[str, Any]:
    return {
        "name": name,
        "clientConfig": {},
        "rules": [{"operations": ["CREATE"], "apiGroups": [""], "resources": ["pods"]}],
        "matchConditions": [{"name": each, "expression": "true"} for each in conditions],
    }


def sending(*, mutating: bool = False, validating: bool = False) -> dict[str, Any]:
    """Return configurations, those that are named with an entry for every pod."""
    chosen = {"MutatingWebhookConfiguration": mutating, "ValidatingWebhookConfiguration": validating}
    narrow, wide = entry("pods", "asks-for-accelerators", "no-mirror-pod"), entry("other-pods", "no-mirror-pod")
    metadata = {"name": "podberth", "generation": 1}
    return {
        kind: {"metadata": metadata, "webhooks": [narrow, *([wide] if sent else ())]} for kind, sent in chosen.items()
    }


def for_all(name: str, **spec: Any) -> dict[str, Any]:
    return {**gpu_policy(name), "spec": {"scope": "All", **spec}}


def content(name: str) -> dict[str, Any]:
    """Return a policy of scope All whose pods the ordinary entries send."""
    policy = for_all(name, **MUTATES)
    annotations = {"podberth.io/needs-every-pod": "false"}
    return {**policy, "metadata": {**policy["metadata"], "annotations": annotations}}


MUTATES: dict[str, Any] = {"mutations": [{"labels": {}}]}
JUDGES: dict[str, Any] = {"validations": [{"expression": "true"}]}
OF_UPDATES: dict[str, Any] = {
    "matchConstraints": {"resourceRules": [{"operations": ["UPDATE"], "apiGroups": [""], "resources": ["pods"]}]}
}


@pytest.mark.parametrize(
    ("policies", "configurations", "state", "text"),
    [
        ((gpu_policy("a"),), sending(), "ok", "not sent, and no policy of scope All needs it"),
        ((for_all("a", **MUTATES),), sending(mutating=True), "ok", "sent, as policies of scope All need it"),
        ((for_all("a", **MUTATES, **OF_UPDATES),), sending(), "ok", "not sent"),
        ((content("a"),), sending(), "ok", "not sent"),
        (
            (for_all("a", **MUTATES),),
            sending(),
            "attention",
            "a: scope All, and the MutatingWebhookConfiguration sends",
        ),
        (
            (for_all("a", **MUTATES), for_all("b", **JUDGES)),
            sending(mutating=True),
            "attention",
            "b: scope All, and the ValidatingWebhookConfiguration sends",
        ),
        (
            (),
            sending(validating=True),
            "attention",
            "the ValidatingWebhookConfiguration sends every pod, and no policy",
        ),
    ],
)
def test_policies_for_every_pod_and_entries_go_together(
    policies: Any, configurations: Any, state: str, text: str
) -> None:
    [found] = rows("every pod", policies=policies, configurations=configurations)
    assert found.state == state
    assert found.text.startswith(text)


def test_of_files_the_replicas_say_how_many_are_for_every_pod() -> None:
    judging = counting("policies_for_every_pod", {"review": "validate"}, 2.0)
    [found] = rows("every pod", deployment=FILES, policies=(), configurations=sending(), replicas=(judging,))
    assert found.text.startswith("2 policies: scope All, and the ValidatingWebhookConfiguration sends")
    [unknown] = rows("every pod", deployment=FILES, configurations=sending(mutating=True), replicas=UNREACHED)
    assert unknown.state == "note"
