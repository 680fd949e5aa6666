"""Groups that stand on the pod by name, and whom they are read from: as each system's own source reads them."""

from typing import Any

import pytest

from builders import gpu_pod, owned, pod, workload
from named_owners import gang_of
from podberth.facts.cluster import collect
from podberth.kube.pod import by_name
from podberth.workload.gangs import Gang
from podberth.workload.owners import OWNER_KINDS

JSON = dict[str, Any]


def gang(document: JSON, **known: Any) -> Gang:
    return gang_of(document, "default", {}, **known)


def koordinated(*, labels: JSON | None = None, **annotations: str) -> JSON:
    said = {f"gang.scheduling.koordinator.sh/{key.replace('_', '-')}": each for key, each in annotations.items()}
    old = {f"pod-group.scheduling.sigs.k8s.io/{key.replace('_', '-')}": each for key, each in (labels or {}).items()}
    return gpu_pod(labels=old, annotations=said, schedulerName="koord-scheduler")


@pytest.mark.parametrize(
    ("document", "name", "size", "index"),
    [
        (koordinated(labels={"name": "ring", "min_available": "4"}), "ring", 4, -1),
        (koordinated(labels={"name": "ring"}, name="other", min_available="3"), "ring", 3, -1),
        (koordinated(labels={"name": "ring", "min_available": "4"}, min_available="3"), "ring", 4, -1),
        (koordinated(name="ring", min_available="3", total_number="5", network_topology_index="2"), "ring", 5, 2),
        # a total below the minimum counts for nothing
        (koordinated(name="ring", min_available="3", total_number="2"), "ring", 3, -1),
    ],
)
def test_koordinators_own_words(document: JSON, name: str, size: int, index: int) -> None:
    """GetGangName, GetGangMinNumFromPod, tryInitByPodConfig (koordinator-sh/koordinator)."""
    found = gang(document)
    assert (found.known, found.name, found.size, found.index) == (True, name, size, index)
    assert found.system == "koordinator"


@pytest.mark.parametrize(
    ("reference", "name"),
    [
        ({"name": "llama", "podGroup": "workers"}, "llama-workers"),
        ({"name": "llama", "podGroup": "workers", "podGroupReplicaKey": "0"}, "llama-workers-0"),
    ],
)
def test_a_group_of_kubernetes_1_35_is_a_gang_of_unknown_size(reference: JSON, name: str) -> None:
    expected = Gang(known=True, name=name, source="Workload", system="native")
    assert gang(gpu_pod(workloadRef=reference)) == expected


@pytest.mark.parametrize("reference", [{"name": "llama"}, {"podGroup": "workers"}, ["x"], "x"])
def test_a_reference_that_names_no_group_is_none(reference: Any) -> None:
    found = gang(gpu_pod(workloadRef=reference))
    assert (found.known, found.system) == (False, "native")


def test_kueues_own_label_says_the_index() -> None:
    """As its webhook writes it, where an annotation names no other (pkg/controller/jobs/pod/pod_webhook.go)."""
    labels = {"kueue.x-k8s.io/pod-group-name": "ring", "kueue.x-k8s.io/pod-group-pod-index": "2"}
    assert gang(gpu_pod(labels=labels)).index == 2


def test_volcano_reads_a_minimum_of_owners_only() -> None:
    """As getMinMemberFromUpperRes does (volcano-sh/volcano pkg/controllers/podgroup/pg_controller_handler.go)."""
    said = {"scheduling.k8s.io/group-name": "ring", "scheduling.volcano.sh/group-min-member": "9"}
    document = gpu_pod(annotations=said, schedulerName="volcano")
    assert gang(document).size == 0
    assert gang(document, size_of={("scheduling.volcano.sh", "default", "ring"): 4}.get).size == 4


def test_kai_reads_a_minimum_of_the_workload_on_top_only() -> None:
    """As calcPodGroupMinAvailable (kai-scheduler/KAI-Scheduler pkg/podgrouper/podgrouper/plugins/job)."""
    said = {"pod-group-name": "ring", "kai.scheduler/batch-min-member": "9"}
    document = gpu_pod(annotations=said, schedulerName="kai-scheduler")
    assert gang(document).size == 0
    assert gang(document, size_of={("scheduling.run.ai", "default", "ring"): 4}.get).size == 4


@pytest.mark.parametrize(
    ("labels", "annotations", "name"),
    [
        ({"yunikorn.apache.org/app-id": "a", "applicationId": "b"}, {"yunikorn.apache.org/app-id": "c"}, "a"),
        ({"applicationId": "b"}, {"yunikorn.apache.org/app-id": "c"}, "c"),
        ({"applicationId": "b", "spark-app-selector": "spark-1"}, {}, "b"),
        ({"spark-app-selector": "spark-1"}, {}, "spark-1"),
    ],
)
def test_yunikorn_finds_an_application_in_four_places(labels: JSON, annotations: JSON, name: str) -> None:
    """GetApplicationIDFromPod (apache/yunikorn-k8shim pkg/common/utils/utils.go)."""
    said = {"yunikorn.apache.org/task-group-name": "workers", **annotations}
    found = gang(pod(labels=labels, annotations=said, schedulerName="yunikorn"))
    assert (found.name, found.role, found.source) == (name, "workers", "YuniKorn")


# ---- Spark ---------------------------------------------------------------------------------------------------------


def executor(**labels: str) -> JSON:
    """As spark-operator has Spark make it (internal/controller/sparkapplication/submission.go executorConfOption)."""
    said = {"spark-app-selector": "spark-1", "spark-role": "executor", "spark-exec-id": "2", **labels}
    return owned(gpu_pod(1, labels=said), "Pod", api_version="v1", name="pi-driver", uid="driver")


def application(name: str = "pi", uid: str = "u") -> JSON:
    made = workload("sparkoperator.k8s.io/v1beta2", "SparkApplication", {"executor": {"instances": 4}}, name=name)
    return {**made, "metadata": {**made["metadata"], "namespace": "default", "uid": uid}}


def test_an_executor_finds_its_application_by_name() -> None:
    owners = collect([application(), application("e", "v")], now=None).owners
    document = executor(**{"sparkoperator.k8s.io/app-name": "pi"})
    assert gang_of(document, "default", owners).size == 5
    assert gang_of(document, "other", owners).size == 0
    assert gang_of(executor(), "default", owners).size == 0


def test_those_that_are_known_by_name_are_known_so_from_files_and_from_a_cluster() -> None:
    assert [each.kind for each in OWNER_KINDS if each.by_name] == ["SparkApplication"]
    assert collect([application()], now=None).owners.keys() == {"u", by_name("SparkApplication", "default", "pi")}
