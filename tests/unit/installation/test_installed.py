from typing import Any

import pytest

from podberth.installation.observation import Unread
from status_scenes import CA, configuration, observed, report, row, rows, workload


def test_an_installation_without_faults_has_no_findings() -> None:
    found = report()
    assert found.troubles == 0
    assert {row.state for rows in found.sections.values() for row in rows} == {"ok"}


@pytest.mark.parametrize(
    ("deployment", "state", "text"),
    [
        (workload(readyReplicas=2, updatedReplicas=2), "ok", "2 of 2 replicas ready, podberth:0.1.0"),
        (
            workload(readyReplicas=1, updatedReplicas=2),
            "attention",
            "1 of 2 replicas ready, podberth:0.1.0; see kubectl",
        ),
        (workload(), "attention", "0 of 2 replicas ready"),
        (workload(readyReplicas=2, updatedReplicas=1), "attention", "1 of them up to date: a rollout is under way"),
        (
            workload(readyReplicas=2, updatedReplicas=2, observedGeneration=2),
            "attention",
            "a rollout is under way",
        ),
        ({**workload(), "spec": {**workload()["spec"], "replicas": 0}}, "attention", "scaled to no replica"),
        (None, "attention", "got no Deployment podberth-system/podberth, want one; "),
        (Unread("forbidden", "get deployments"), "unread", "could not be read: forbidden; want get deployments"),
    ],
)
def test_the_webhook(deployment: Any, state: str, text: str) -> None:
    found = row("webhook", deployment=deployment)
    assert found[0] == state
    assert text in found[1]


def test_the_controller_has_a_line_where_it_is_installed() -> None:
    assert rows("controller") == []
    well = workload(readyReplicas=2, updatedReplicas=2)
    assert row("controller", controller=well) == ("ok", "2 of 2 replicas ready, podberth:0.1.0")
    assert row("controller", controller=workload(readyReplicas=1))[0] == "attention"
    assert row("controller", controller=Unread("forbidden", "get deployments"))[0] == "unread"


@pytest.mark.parametrize(
    ("agents", "state", "text"),
    [
        (workload(numberReady=1, desiredNumberScheduled=2), "attention", "ready on 1 of 2 nodes"),
        (workload(numberReady=0, desiredNumberScheduled=0), "note", "its DaemonSet selects no node"),
        (None, "note", "not installed: nodes are known by their labels"),
        (Unread("forbidden", "get daemonsets"), "unread", "could not be read"),
    ],
)
def test_agents_may_be_left_out_but_not_be_broken(agents: Any, state: str, text: str) -> None:
    found = row("agents", agents=agents)
    assert found[0] == state
    assert text in found[1]


@pytest.mark.parametrize(
    ("served", "state"), [(True, "ok"), (False, "attention"), (Unread("lost", "get", refused=False), "unread")]
)
def test_the_kind_is_served_or_not(served: Any, state: str) -> None:
    assert row("crd", policies_served=served)[0] == state


def test_entries_are_counted_by_failure_policy() -> None:
    assert row("mutating") == ("ok", "3 entries, failurePolicy 1 Fail, 2 Ignore")
    assert row("validating") == ("ok", "8 entries, failurePolicy 1 Fail, 7 Ignore")


@pytest.mark.parametrize(("found", "said"), [(None, "got none"), (configuration(), "it has no entries")])
def test_without_entries_no_pod_is_sent(found: Any, said: str) -> None:
    others = {"ValidatingWebhookConfiguration": configuration(CA.pem)}
    state, text = row("mutating", configurations={"MutatingWebhookConfiguration": found, **others})
    assert state == "attention"
    assert text.startswith(f"MutatingWebhookConfiguration podberth: {said}: no pod is sent to podberth; ")


def test_a_guard_without_its_binding_guards_nothing() -> None:
    guards = {**observed().guards, "ValidatingAdmissionPolicyBinding/podberth-exemption": None}
    state, text = row("guards", guards=guards)
    assert (state, text.partition(": writes")[0]) == (
        "attention",
        "missing: ValidatingAdmissionPolicyBinding podberth-exemption",
    )
    assert rows("guards", guards=guards)[0].facts["missing"] == ("ValidatingAdmissionPolicyBinding podberth-exemption",)


def test_without_agents_nobody_misses_their_guard() -> None:
    guards = dict.fromkeys(observed().guards)
    guards |= {key: {"metadata": {}} for key in guards if not key.endswith("/podberth-agent")}
    assert row("guards", guards=guards)[0] == "attention"
    assert row("guards", guards=guards, agents=None) == (
        "ok",
        "podberth-configurations, podberth-events, podberth-exemption",
    )


def test_the_guard_of_a_component_is_missed_where_the_component_is() -> None:
    shared, leases = "podberth-shared-ca", "podberth-controller-lease"
    kinds = ("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding")
    guards = {**observed().guards, **{f"{kind}/{name}": None for kind in kinds for name in (shared, leases)}}
    assert row("guards", guards=guards)[0] == "ok"
    sharing = workload(readyReplicas=2, updatedReplicas=2)
    sharing["spec"]["template"]["spec"]["containers"][0]["env"] = [{"name": "PODBERTH_CA_SECRET", "value": "s"}]
    for component, name in (({"deployment": sharing}, shared), ({"controller": workload()}, leases)):
        missing = rows("guards", guards=guards, **component)[0].facts["missing"]
        assert missing == tuple(f"{kind} {name}" for kind in kinds)
