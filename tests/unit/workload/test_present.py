"""The Pod that a workload becomes; compared with what a kube-apiserver 1.36 and its controllers make."""

from copy import deepcopy
from typing import Any

import pytest

from builders import container, cron_job, deployment, gpu_pod, job, pod, sidecar, stateful_set, workload
from podberth.kinds.places import PLACEHOLDER_UID
from podberth.kube.shape import shape_problems
from podberth.workload.kinds import KINDS, row_for
from podberth.workload.templates import templates
from presented import present

JSON = dict[str, Any]


def shown(document: JSON) -> JSON:
    return present(document, namespace="default").pod


def test_a_deployments_pod_comes_from_its_replica_set() -> None:
    presented = present(deployment(gpu_pod(4, labels={"tier": "x"}, annotations={"a": "b"})), namespace="ml")
    assert presented.path == ("spec", "template")
    assert presented.owner_uid == PLACEHOLDER_UID
    assert presented.pod["metadata"] == {
        "namespace": "default",
        "labels": {"app": "serve", "tier": "x", "pod-template-hash": "0000000000"},
        "annotations": {"a": "b"},
        "generateName": "serve-0000000000-",
        "ownerReferences": [
            {
                "apiVersion": "apps/v1",
                "kind": "ReplicaSet",
                "name": "serve-0000000000",
                "uid": PLACEHOLDER_UID,
                "controller": True,
                "blockOwnerDeletion": True,
            }
        ],
    }


def test_the_apiservers_defaults_are_there() -> None:
    """tests/real-manifests.md 4: requests are copied from limits, and quantities are text."""
    assert shown(deployment(gpu_pod(4)))["spec"] == {
        "containers": [
            {
                "name": "main",
                "image": "nvcr.io/nvidia/cuda:13.0.1-base-ubuntu24.04",
                "resources": {"limits": {"nvidia.com/gpu": "4"}, "requests": {"nvidia.com/gpu": "4"}},
                "terminationMessagePath": "/dev/termination-log",
                "terminationMessagePolicy": "File",
                "imagePullPolicy": "IfNotPresent",
            }
        ],
        "restartPolicy": "Always",
        "terminationGracePeriodSeconds": 30,
        "dnsPolicy": "ClusterFirst",
        "serviceAccountName": "default",
        "serviceAccount": "default",
        "securityContext": {},
        "schedulerName": "default-scheduler",
        "enableServiceLinks": True,
        "priority": 0,
        "preemptionPolicy": "PreemptLowerPriority",
        "tolerations": [
            {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
            for key in ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
        ],
    }


def test_a_stateful_sets_first_pod_has_its_name_and_claims() -> None:
    document = stateful_set(gpu_pod(1, volumes=[{"name": "cache"}, {"name": "data"}]))
    document["spec"]["volumeClaimTemplates"] = [{"metadata": {"name": "data"}}]
    made = shown(document)
    assert made["metadata"]["name"] == "shard-0"
    assert made["metadata"]["generateName"] == "shard-"
    assert made["metadata"]["labels"] == {
        "app": "shard",
        "apps.kubernetes.io/pod-index": "0",
        "controller-revision-hash": "shard-0000000000",
        "statefulset.kubernetes.io/pod-name": "shard-0",
    }
    assert (made["spec"]["hostname"], made["spec"]["subdomain"]) == ("shard-0", "shard")
    assert made["spec"]["volumes"] == [
        {"name": "data", "persistentVolumeClaim": {"claimName": "data-shard-0"}},
        {"name": "cache", "emptyDir": {}},
    ]


def test_a_stateful_set_counts_from_its_first_ordinal() -> None:
    document = stateful_set(gpu_pod())
    document["spec"]["ordinals"] = {"start": 5}
    assert shown(document)["metadata"]["name"] == "shard-5"


JOB_LABELS = {
    "batch.kubernetes.io/controller-uid": PLACEHOLDER_UID,
    "batch.kubernetes.io/job-name": "train",
    "controller-uid": PLACEHOLDER_UID,
    "job-name": "train",
}


def test_a_jobs_pod_has_the_jobs_labels_and_finalizer() -> None:
    made = shown(job(gpu_pod()))
    assert made["metadata"]["labels"] == JOB_LABELS
    assert made["metadata"]["generateName"] == "train-"
    assert made["metadata"]["finalizers"] == ["batch.kubernetes.io/job-tracking"]
    assert made["metadata"]["ownerReferences"][0]["kind"] == "Job"
    assert made["spec"]["restartPolicy"] == "Never"
    assert "annotations" not in made["metadata"]
    assert "env" not in made["spec"]["containers"][0]


def test_an_indexed_jobs_first_pod_has_index_zero_everywhere() -> None:
    document = job(pod(container("a"), init=[sidecar("s")]), indexed=True, parallelism=8)
    made = shown(document)
    key = "batch.kubernetes.io/job-completion-index"
    field = {"apiVersion": "v1", "fieldPath": f"metadata.labels['{key}']"}
    assert made["metadata"]["labels"] == {**JOB_LABELS, key: "0"}
    assert made["metadata"]["annotations"] == {key: "0"}
    assert made["metadata"]["generateName"] == "train-0-"
    assert made["spec"]["hostname"] == "train-0"
    for each in (*made["spec"]["containers"], *made["spec"]["initContainers"]):
        assert each["env"] == [{"name": "JOB_COMPLETION_INDEX", "valueFrom": {"fieldRef": field}}]


def test_an_index_that_the_user_names_stays() -> None:
    own = [{"name": "JOB_COMPLETION_INDEX", "value": "7"}]
    assert shown(job(pod(container(env=own)), indexed=True))["spec"]["containers"][0]["env"] == own


def test_a_limit_of_failures_by_index_is_counted_on_the_pod() -> None:
    document = job(gpu_pod(), indexed=True)
    document["spec"]["backoffLimitPerIndex"] = 1
    assert shown(document)["metadata"]["annotations"]["batch.kubernetes.io/job-index-failure-count"] == "0"


def test_a_job_that_exists_gives_its_own_uid() -> None:
    document = job(gpu_pod())
    document["metadata"]["uid"] = "a-uid"
    presented = present(document, namespace="default")
    assert presented.owner_uid == "a-uid"
    assert presented.pod["metadata"]["labels"]["controller-uid"] == "a-uid"


def test_a_job_with_a_selector_of_its_own_stamps_no_labels() -> None:
    document = job(gpu_pod(1, labels={"mine": "x"}))
    document["spec"]["manualSelector"] = True
    assert shown(document)["metadata"]["labels"] == {"mine": "x"}


def test_a_cron_jobs_pod_belongs_to_a_job_yet_to_come() -> None:
    presented = present(cron_job(gpu_pod()), namespace="default")
    assert presented.path == ("spec", "jobTemplate", "spec", "template")
    assert presented.pod["metadata"]["labels"]["job-name"] == "nightly-00000000"
    assert presented.pod["metadata"]["ownerReferences"][0]["name"] == "nightly-00000000"


def test_a_bare_pod_is_defaulted_and_keeps_its_name() -> None:
    presented = present(gpu_pod(name="mine"), namespace="ml")
    assert (presented.path, presented.owner_uid) == ((), "")
    assert presented.pod["metadata"] == {"name": "mine", "namespace": "default"}
    assert presented.pod["spec"]["schedulerName"] == "default-scheduler"


def test_a_workload_without_namespace_gets_the_given_one() -> None:
    document = deployment(gpu_pod())
    del document["metadata"]["namespace"]
    assert present(document, namespace="ml").pod["metadata"]["namespace"] == "ml"


@pytest.mark.parametrize(
    "document", [deployment(gpu_pod()), job(gpu_pod(), indexed=True), cron_job(gpu_pod()), gpu_pod()]
)
def test_the_workload_is_left_as_it_is(document: JSON) -> None:
    before = deepcopy(document)
    present(document, namespace="default")
    assert document == before


def test_what_the_user_wrote_is_no_default() -> None:
    own: JSON = {
        "restartPolicy": "OnFailure",
        "schedulerName": "volcano",
        "priorityClassName": "high",
        "serviceAccountName": "sa",
        "tolerations": [{"key": "node.kubernetes.io/not-ready", "operator": "Exists", "tolerationSeconds": 5}],
    }
    made = shown(job(gpu_pod(1, **own)))["spec"]
    assert {key: made[key] for key in own if key != "tolerations"} == {
        k: v for k, v in own.items() if k != "tolerations"
    }
    assert made["serviceAccount"] == "sa"
    assert "priority" not in made
    assert [each["key"] for each in made["tolerations"]] == [
        "node.kubernetes.io/not-ready",
        "node.kubernetes.io/unreachable",
    ]


def test_a_toleration_of_everything_leaves_nothing_to_add() -> None:
    made = shown(deployment(gpu_pod(1, tolerations=[{"operator": "Exists"}])))
    assert made["spec"]["tolerations"] == [{"operator": "Exists"}]


@pytest.mark.parametrize(
    ("image", "policy"),
    [
        ("nginx", "Always"),
        ("nginx:latest", "Always"),
        ("nginx:1.27", "IfNotPresent"),
        ("localhost:5000/nginx", "Always"),
        ("localhost:5000/nginx:1", "IfNotPresent"),
        ("nginx@sha256:" + "0" * 64, "IfNotPresent"),
        ("nginx:latest@sha256:" + "0" * 64, "Always"),
    ],
)
def test_the_pull_policy_follows_the_tag(image: str, policy: str) -> None:
    assert shown(deployment(pod(container(image=image))))["spec"]["containers"][0]["imagePullPolicy"] == policy


def test_probes_ports_and_volumes_get_their_defaults() -> None:
    document = pod(
        container(livenessProbe={"httpGet": {"port": 80}}, ports=[{"containerPort": 80}]),
        volumes=[{"name": "s", "secret": {"secretName": "x"}}, {"name": "h", "hostPath": {"path": "/x"}}],
        hostNetwork=True,
    )
    spec = shown(deployment(document))["spec"]
    assert spec["containers"][0]["livenessProbe"] == {
        "httpGet": {"port": 80, "path": "/", "scheme": "HTTP"},
        "timeoutSeconds": 1,
        "periodSeconds": 10,
        "successThreshold": 1,
        "failureThreshold": 3,
    }
    assert spec["containers"][0]["ports"] == [{"containerPort": 80, "protocol": "TCP", "hostPort": 80}]
    assert spec["volumes"] == [
        {"name": "s", "secret": {"secretName": "x", "defaultMode": 420}},
        {"name": "h", "hostPath": {"path": "/x", "type": ""}},
    ]


@pytest.mark.parametrize("template", [None, [], "x", {}, {"spec": None}, {"metadata": [], "spec": {}}])
def test_a_template_of_any_shape_is_presented(template: Any) -> None:
    for document in (deployment(gpu_pod()), job(gpu_pod(), indexed=True)):
        document["spec"]["template"] = template
        assert present(document, namespace="default").path == ("spec", "template")


def test_a_template_of_a_wrong_shape_comes_back_to_be_reported() -> None:
    document = deployment(gpu_pod())
    document["spec"]["template"]["spec"]["containers"] = {}
    assert shape_problems(shown(document)) == ["spec.containers: got object, want list"]


def test_old_versions_are_known_and_other_kinds_are_not() -> None:
    """extensions/v1beta1 and apps/v1beta1 still occur in the field."""
    assert row_for({"apiVersion": "extensions/v1beta1", "kind": "Deployment"}) is row_for(deployment(pod()))
    assert row_for(workload("batch.example.com/v1alpha1", "Job", {})) is None
    assert row_for({}) is None
    assert templates(workload("v1", "Service", {}), namespace="default") == []


def test_the_table_has_every_kind_once() -> None:
    named = [(version, row.kind) for row in KINDS for version in row.api_versions]
    assert len(named) == len(set(named))
    assert all(row.source for row in KINDS)
