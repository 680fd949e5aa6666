"""Every key that shows a system, as its own source spells it: a missing key would put affinity into its group."""

import pytest

from podberth.workload.systems import PLAIN, SYSTEMS, more_decisive, system_of

LABELS = {
    # apache/yunikorn-k8shim pkg/common/constants/constants.go
    "applicationId": "yunikorn",
    "yunikorn.apache.org/app-id": "yunikorn",
    # kai-scheduler/KAI-Scheduler pkg/common/constants/constants.go, podgrouper/plugins/constants/constants.go
    "kai.scheduler/node-pool": "kai",
    "kai.scheduler/preemptibility": "kai",
    # volcano-sh/volcano staging/src/volcano.sh/apis/pkg/apis/batch/v1alpha1/labels.go
    "volcano.sh/queue-name": "volcano",
    # koordinator-sh/koordinator apis/extension/coscheduling.go
    "pod-group.scheduling.sigs.k8s.io/name": "koordinator",
    "pod-group.scheduling.sigs.k8s.io/min-available": "koordinator",
    # kubernetes-sigs/kueue pkg/constants/constants.go, pkg/controller/constants/constants.go
    "kueue.x-k8s.io/cluster-queue-name": "kueue",
    "kueue.x-k8s.io/local-queue-name": "kueue",
    "kueue.x-k8s.io/prebuilt-workload-name": "kueue",
    "kueue.x-k8s.io/pod-group-pod-index": "kueue",
}
ANNOTATIONS = {
    "yunikorn.apache.org/app-id": "yunikorn",
    "yunikorn.apache.org/queue": "yunikorn",
    "yunikorn.apache.org/schedulingPolicyParameters": "yunikorn",
    "kai.scheduler/topology-required-placement": "kai",
    "kai.scheduler/topology-preferred-placement": "kai",
    "kai.scheduler/segment-size": "kai",
    "kai.scheduler/segment-topology-required-placement": "kai",
    "kai.scheduler/segment-topology-preferred-placement": "kai",
    # staging/src/volcano.sh/apis/pkg/apis/scheduling/v1beta1/labels.go
    "scheduling.volcano.sh/queue-name": "volcano",
    "scheduling.volcano.sh/queue-allocation-gate": "volcano",
    "volcano.sh/numa-topology-policy": "volcano",
    "volcano.sh/queue-name": "volcano",
    "gang.scheduling.koordinator.sh/min-available": "koordinator",
    "gang.scheduling.koordinator.sh/total-number": "koordinator",
    # koordinator-sh/koordinator apis/extension/network_topology.go
    "gang.scheduling.koordinator.sh/network-topology-spec": "koordinator",
    # pkg/controller/jobs/pod/constants/constants.go
    "kueue.x-k8s.io/pod-suspending-parent": "kueue",
    "kueue.x-k8s.io/prebuilt-workload-name": "kueue",
    "kueue.x-k8s.io/pod-group-pod-index-label": "kueue",
}


@pytest.mark.parametrize(("key", "system"), LABELS.items())
def test_a_label_alone_speaks_for_its_system(key: str, system: str) -> None:
    assert system_of({"schedulerName": "default-scheduler"}, {key: "x"}, {}) == system


@pytest.mark.parametrize(("key", "system"), ANNOTATIONS.items())
def test_an_annotation_alone_speaks_for_its_system(key: str, system: str) -> None:
    assert system_of({"schedulerName": "default-scheduler"}, {}, {key: "x"}) == system


def test_words_that_are_anybodys_speak_for_none() -> None:
    for key in ("queue", "app", "pod-group-name", "spark-app-selector"):
        assert system_of({}, {key: "x"}, {}) == PLAIN


def test_of_two_systems_the_one_above_has_the_pod() -> None:
    names = [row.name for row in SYSTEMS]
    for above, below in zip(names, [*names[1:], PLAIN], strict=True):
        assert more_decisive(above, below) == more_decisive(below, above) == above
    assert more_decisive(PLAIN, PLAIN) == PLAIN


def test_what_is_said_about_topology_names_where_the_system_reads_it() -> None:
    """As tryInitByPodConfig (Koordinator) and GetPodGroupMetadata (KAI) do: of a pod by itself they read the pod."""
    rows = {row.name: row for row in SYSTEMS}
    assert "network-topology-spec of its PodGroup, or of its pods where it has none" in rows["koordinator"].places()
    assert any("network-topology-spec" in each for each in rows["koordinator"].reads)
    assert any("topology-required-placement" in each for each in rows["kai"].reads)
    assert any("segment-size" in each for each in rows["kai"].reads)
    assert not any("group-min-member" in each for each in rows["volcano"].reads)
