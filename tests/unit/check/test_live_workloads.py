"""Live workloads: which object is judged, what is a change and what was changed already, and suppositions."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

import pytest

from podberth.admission.snapshot import load_snapshot
from podberth.check.live_workloads import Supposition, check_workload, live_report, suppose
from podberth.check.owners import TopOwners, top_owners
from podberth.check.report import live_text
from podberth.check.result import Live, Report
from podberth.check.run import CheckSettings
from podberth.check.sources import Source, read
from podberth.check.surroundings import referred, surroundings, within
from podberth.conventions import Conventions
from podberth.facts.cluster import ClusterFacts
from podberth.policy.parse import parse_policies
from snapshots import environment, policy

Document = dict[str, Any]
LABEL = policy("label", "\n  mutations:\n  - {labels: {team: \"'a'\"}, reason: \"'counted'\"}")
FEW = policy("few", "\n  validations:\n  - {expression: gpu.count < 4, message: too many}\n  validationActions: [Warn]")
QUIET = FEW.replace("name: few", "name: quiet").replace("[Warn]", "[Audit]")
APPLIED = json.dumps({"label": {"labels": {"team": "a"}}})


def workload(kind: str, name: str, *, gpus: int = 1, owner: Document | None = None, **more: Any) -> Document:
    """Return a live object with a uid; ``more`` are further fields of it."""
    spec = {"containers": [{"name": "c", "image": "i", "resources": {"limits": {"nvidia.com/gpu": str(gpus)}}}]}
    version = {"Deployment": "apps/v1", "ReplicaSet": "apps/v1", "Job": "batch/v1", "CronJob": "batch/v1", "Pod": "v1"}
    metadata: Document = {"name": name, "namespace": "a", "uid": f"{kind}-{name}", "resourceVersion": "7"}
    metadata["managedFields"] = [{"manager": "kubectl"}]
    if owner is not None:
        reference = {"apiVersion": owner["apiVersion"], "kind": owner["kind"], "controller": True}
        metadata["ownerReferences"] = [{**reference, **{key: owner["metadata"][key] for key in ("name", "uid")}}]
    template = {"metadata": {"labels": {"app": name}}, "spec": spec}
    body: Document = {"template": template} if kind != "CronJob" else {"jobTemplate": {"spec": {"template": template}}}
    return {
        "apiVersion": version[kind],
        "kind": kind,
        "metadata": metadata,
        "spec": spec if kind == "Pod" else body,
    } | more


def pod(name: str, owner: Document | None = None, *, applied: bool = False, **metadata: Any) -> Document:
    """Return a running Pod, one that ``label`` has written on or not."""
    found = workload("Pod", name, owner=owner, status={"phase": "Running"})
    found["spec"] |= {"nodeName": "n"}
    written = {"labels": {"team": "a"}, "annotations": {"podberth.io/applied": APPLIED}} if applied else {}
    found["metadata"] |= written
    found["metadata"]["labels"] = {**found["metadata"].get("labels", {}), **metadata.pop("labels", {})}
    return found


def sources(objects: Iterable[Document]) -> list[Source]:
    return list(read("live.json", json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)})).sources)


def tops_of(*objects: Document) -> TopOwners:
    return top_owners(sources(objects), CheckSettings(), (), {})


def names(tops: TopOwners) -> list[str]:
    return [f"{each.source.kind}/{each.source.name}" for each in tops.owners]


def judged(objects: Sequence[Document], *policies: str, as_if: Sequence[Supposition] = ()) -> Report:
    """Judge live objects by policies."""
    parsed = parse_policies([(f"{number}.yaml", text) for number, text in enumerate(policies)])
    snapshot = load_snapshot(suppose(parsed, as_if), ClusterFacts(), environment(), Conventions())
    file = read("live.json", json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)}))
    around = surroundings([file], "default")
    whole, known = within(snapshot, around), tuple(referred(around))
    tops = top_owners(file.sources, CheckSettings(), known, whole.facts.namespaces)
    found = [check_workload(each, whole, CheckSettings(), known) for each in tops.owners]
    return live_report(found, tops, parsed.policies)


def live(report: Report) -> Live:
    assert report.live is not None
    return report.live


def text(report: Report) -> str:
    return "\n".join("".join(span.text for span in line.spans) for line in live_text.lines(report))


# ---- which owner is the top one --------------------------------------------------------------------------------------


def test_the_top_owner_represents_the_objects_that_it_created() -> None:
    deployment, cron = workload("Deployment", "d"), workload("CronJob", "c")
    replicas, job = workload("ReplicaSet", "d-1", owner=deployment), workload("Job", "c-28000000", owner=cron)
    tops = tops_of(pod("d-1-x", replicas), replicas, deployment, job, cron, pod("c-28000000-x", job), pod("bare"))
    assert names(tops) == ["Deployment/d", "CronJob/c", "Pod/bare"]
    assert tops.owned == 4
    assert [[each["metadata"]["name"] for each in one.pods] for one in tops.owners] == [
        ["d-1-x"],
        ["c-28000000-x"],
        ["bare"],
    ]


@pytest.mark.parametrize("forged", [{"namespace": "b"}, {"name": "e"}, {"kind": "StatefulSet"}], ids=str)
def test_a_pod_that_names_the_uid_of_a_foreign_object_represents_itself(forged: dict[str, str]) -> None:
    deployment = workload("Deployment", "d")
    borrowing = pod("x", deployment)
    place = {key: forged[key] for key in forged if key == "namespace"}
    borrowing["metadata"] |= place
    borrowing["metadata"]["ownerReferences"][0] |= {key: forged[key] for key in forged.keys() - place}
    assert names(tops_of(deployment, borrowing)) == ["Deployment/d", "Pod/x"]


def test_an_owner_is_found_by_name_where_what_is_between_was_not_asked_for() -> None:
    deployment, cron = workload("Deployment", "d"), workload("CronJob", "c")
    replicas, job = workload("ReplicaSet", "d-1f", owner=deployment), workload("Job", "c-28000000", owner=cron)
    first = pod("d-1f-x", replicas, labels={"pod-template-hash": "1f"})
    assert names(tops_of(deployment, first, cron, pod("c-28000000-x", job))) == ["Deployment/d", "CronJob/c"]


@pytest.mark.parametrize("listed", [True, False])
def test_the_replica_sets_of_a_rollout_are_part_of_it(*, listed: bool) -> None:
    """argoproj/argo-rollouts rollout/sync.go createDesiredReplicaSet."""
    rollout = {**workload("Deployment", "r"), "apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout"}
    replicas = workload("ReplicaSet", "r-1f", owner=rollout)
    first = pod("r-1f-x", replicas, labels={"rollouts-pod-template-hash": "1f"})
    [top] = tops_of(rollout, first, *([replicas] if listed else [])).owners
    assert (top.source.kind, [each["metadata"]["name"] for each in top.pods]) == ("Rollout", ["r-1f-x"])


def test_a_pod_of_a_replica_set_is_no_pod_of_the_deployment_of_the_same_name() -> None:
    of_replica_set = pod("d-x", workload("ReplicaSet", "d"))
    assert names(tops_of(workload("Deployment", "d"), of_replica_set)) == ["Deployment/d", "Pod/d-x"]


def test_an_owner_is_found_through_kinds_that_have_no_template() -> None:
    service = {
        "apiVersion": "serving.knative.dev/v1",
        "kind": "Service",
        "metadata": {"name": "s", "namespace": "a", "uid": "s"},
        "spec": {"template": {"spec": {"containers": [{"image": "i"}]}}},
    }
    revision = {**workload("Pod", "s-1", owner=service), "apiVersion": "serving.knative.dev/v1", "kind": "Revision"}
    tops = tops_of(service, revision, workload("Deployment", "s-1", owner=revision))
    assert (names(tops), dict(tops.unknown)) == (["Service/s"], {})


def test_an_object_of_an_unknown_owner_represents_itself() -> None:
    stranger = {"apiVersion": "example.com/v1", "kind": "Flow", "metadata": {"name": "f", "namespace": "a", "uid": "f"}}
    gone = workload("ReplicaSet", "gone")
    tops = tops_of(stranger, workload("Job", "j", owner=stranger), pod("p", gone))
    assert (names(tops), dict(tops.unknown)) == (["Job/j", "Pod/p"], {"example.com/v1 Flow": 1})


def test_owners_in_a_circle_represent_themselves() -> None:
    one, other = workload("Job", "one"), workload("Job", "other")
    one, other = workload("Job", "one", owner=other), workload("Job", "other", owner=one)
    assert names(tops_of(one, other)) == ["Job/one", "Job/other"]


def test_what_is_done_or_out_of_sight_is_counted_apart() -> None:
    done = workload("Job", "done", status={"conditions": [{"type": "Complete", "status": "True"}]})
    ended = workload("Pod", "ended", status={"phase": "Succeeded"})
    leaving = workload("Deployment", "leaving")
    leaving["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    system = workload("Deployment", "system")
    system["metadata"]["namespace"] = "kube-system"
    tops = tops_of(done, ended, leaving, system)
    assert (tops.owners, tops.finished, tops.exempt) == ((), 3, 1)


def test_namespaces_that_the_webhook_leaves_out_are_counted_apart() -> None:
    """By name or by any label, as the cluster's own configuration says."""
    rules = [{"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}]
    selector = {
        "matchExpressions": [
            {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["storage"]},
            {"key": "example.com/infra", "operator": "DoesNotExist"},
        ]
    }
    entry = {"name": "pods.validate.podberth.io", "rules": rules, "namespaceSelector": selector}
    configuration = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": "podberth", "uid": "podberth"},
        # Of policies, not of pods: sent from every namespace.
        "webhooks": [entry, {**entry, "rules": [{**rules[0], "resources": ["jobs"]}], "namespaceSelector": {}}],
    }
    placed = []
    for namespace in ("a", "storage", "infra"):
        placed.append(workload("Deployment", f"d-{namespace}"))
        placed[-1]["metadata"]["namespace"] = namespace
    namespaces = {"infra": {"metadata": {"name": "infra", "labels": {"example.com/infra": ""}}}}

    def found(*others: Document) -> tuple[list[str], int]:
        tops = top_owners(sources([*others, *placed]), CheckSettings(), (), namespaces)
        return names(tops), tops.exempt

    assert found(configuration) == (["Deployment/d-a"], 2)
    another = {**configuration, "metadata": {"name": "another", "uid": "another"}}
    assert found(another) == (["Deployment/d-a", "Deployment/d-storage", "Deployment/d-infra"], 0)


def test_workflows_that_are_done_are_no_findings() -> None:
    def workflow(name: str, phase: str) -> Document:
        spec = {
            "templates": [{"name": "t", "container": {"image": "i", "resources": {"limits": {"nvidia.com/gpu": 8}}}}]
        }
        metadata = {"name": name, "namespace": "a", "uid": name}
        head = {"apiVersion": "argoproj.io/v1alpha1", "kind": "Workflow", "metadata": metadata}
        return {**head, "spec": spec, "status": {"phase": phase}}

    tops = tops_of(workflow("going", "Running"), *(workflow(f"done-{each}", each) for each in ("Succeeded", "Error")))
    assert (names(tops), tops.finished) == (["Workflow/going"], 2)


# ---- what becomes of them -------------------------------------------------------------------------------------------


def test_a_workload_is_counted_once_and_by_policy() -> None:
    report = judged([workload("Deployment", "d", gpus=8), pod("bare")], LABEL, FEW)
    found = live(report)
    assert (found.workloads, found.denied, found.changed, found.warned) == (2, 0, 2, 1)
    counts = {each.policy: each for each in found.policies}
    assert (counts["label"].changed, counts["few"].warned, counts["few"].actions) == (2, 1, ("Warn",))
    assert text(report).splitlines()[0] == "0 of 2 workloads would be denied, 2 changed, 1 warned"
    assert "  Pod/a/bare: counted" in text(report)


def test_as_deny_says_who_would_be_denied_and_what_the_policy_says_today() -> None:
    report = judged([workload("Deployment", "d", gpus=8), pod("bare")], FEW, QUIET, as_if=["deny"])
    found = live(report)
    assert (found.denied, found.warned) == (1, 0)
    assert {each.policy: (each.denied, each.actions) for each in found.policies} == {
        "few": (1, ("Warn",)),
        "quiet": (1, ("Audit",)),
    }
    assert "denied by few: 1 workload" in text(report)


def test_audits_are_findings_of_live_workloads() -> None:
    report = judged([workload("Deployment", "d", gpus=8)], QUIET)
    [result] = report.as_json()["results"]
    assert [each["message"] for each in result["audits"]] == ["too many"]
    assert live(report).policies[0].audited == 1


def test_what_live_pods_hold_by_their_record_is_no_change_again() -> None:
    deployment = workload("Deployment", "d")
    report = judged([deployment, pod("d-x", deployment, applied=True), pod("bare", applied=True)], LABEL)
    assert (live(report).changed, live(report).unchanged, live(report).policies[0].in_force) == (0, 2, 1)
    assert report.results[0].changes == ()
    assert "in force: label has written what it would on live pods of 1 of 2 workloads" in text(report)


def test_a_policy_that_writes_more_than_it_did_is_a_change() -> None:
    deployment = workload("Deployment", "d")
    more = LABEL + "  - {annotations: {example.com/note: \"'b'\"}}\n"
    report = judged([deployment, pod("d-x", deployment, applied=True)], more)
    assert live(report).changed == 1


def test_a_record_that_the_pod_does_not_bear_out_counts_for_nothing() -> None:
    deployment = workload("Deployment", "d")
    forged = pod("d-x", deployment, applied=True)
    forged["metadata"]["labels"] = {"team": "b"}
    assert live(judged([deployment, forged], LABEL)).changed == 1


def test_a_rollout_is_reported_and_can_be_thought_away() -> None:
    slow = LABEL.replace("spec:", "spec:\n  rollout: {percent: 0}", 1)
    objects = [workload("Deployment", f"d{number}") for number in range(3)]
    report = judged(objects, slow)
    assert (live(report).changed, live(report).policies[0].held_back, live(report).policies[0].percent) == (0, 3, 0)
    assert "rollout: label is asked about 0 of 3 workloads (0 percent)" in text(report)
    assert live(judged(objects, slow, as_if=["rolled-out"])).changed == 3


@pytest.mark.parametrize("percent", [10, 50])
def test_a_workload_is_reached_as_its_pods_are(percent: int) -> None:
    """The Deployment's predicted pod and a live one of it, which is judged by itself, get the same answer."""
    slow = LABEL.replace("spec:", f"spec:\n  rollout: {{percent: {percent}}}", 1)
    for number in range(20):
        deployment = workload("Deployment", f"d{number}")
        replicas = workload("ReplicaSet", f"d{number}-1f", owner=deployment)
        alone = pod("x", replicas, labels={"pod-template-hash": "1f"})
        assert live(judged([deployment], slow)).changed == live(judged([alone], slow)).changed


def test_what_cannot_be_judged_is_an_error() -> None:
    broken = workload("Deployment", "d")
    broken["spec"]["template"]["spec"]["containers"] = "none"
    report = judged([broken], LABEL)
    assert (live(report).error, report.count("error")) == (1, 1)
    assert "1 could not be checked" in text(report)
