"""Demands: of Pods, and of files, by number and by rate."""

from typing import Any

import pytest

from builders import gpu_pod
from podberth.errors import UsageError
from podberth.mig_plan.demand import Need, of_document, of_pods


def test_pods_need_what_they_ask_for() -> None:
    ended = gpu_pod(1)
    ended["status"] = {"phase": "Succeeded"}
    found = of_pods(
        [
            gpu_pod(1, annotations={"podberth.io/gpu-memory": "10Gi"}),
            gpu_pod(2, annotations={"podberth.io/gpu-memory": "10Gi"}),
            gpu_pod(1),
            gpu_pod(3, resource="nvidia.com/mig-1g.5gb"),
            gpu_pod(1, resource="amd.com/gpu"),
            gpu_pod(0),
            ended,
        ],
        frozenset(),
    )
    assert found == {Need(memory_mib=10240): 1, Need(gpus=2): 1, Need(gpus=1): 1, Need(profile="1g.5gb"): 3}


def test_a_stated_memory_counts_and_not_the_slice_that_mig_right_size_wrote() -> None:
    stated = {"podberth.io/gpu-memory": "4Gi"}
    found = of_pods([gpu_pod(1, resource="nvidia.com/mig-2g.10gb", annotations=stated)], frozenset())
    assert found == {Need(memory_mib=4096): 1}


@pytest.mark.parametrize("name", ["podberth.io/gpu-product", "podberth.io/gpu-compute"])
def test_a_pod_that_names_a_model_keeps_its_whole_gpu(name: str) -> None:
    pod = gpu_pod(1, annotations={"podberth.io/gpu-memory": "4Gi", name: "x"})
    assert of_pods([pod], frozenset()) == {Need(gpus=1): 1}


def test_a_pod_beside_others_keeps_its_whole_gpu() -> None:
    pod = gpu_pod(1, annotations={"podberth.io/gpu-memory": "4Gi"})
    pod["spec"]["affinity"] = {"podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": []}}
    assert of_pods([pod], frozenset()) == {Need(gpus=1): 1}


def test_pods_on_other_nodes_are_no_demand() -> None:
    pods = [gpu_pod(1), gpu_pod(1), gpu_pod(1)]
    pods[0]["spec"]["nodeName"], pods[1]["spec"]["nodeName"] = "a", "b"
    assert of_pods(pods, {"a"}) == {Need(gpus=1): 2}


@pytest.mark.parametrize("spec", [1, {"containers": [1]}, {"containers": [{"resources": {"limits": [1]}}]}])
def test_a_pod_with_a_wrong_type_is_named(spec: Any) -> None:
    pod = {"kind": "Pod", "metadata": {"namespace": "team", "name": "web"}, "spec": spec}
    with pytest.raises(UsageError, match=r"^Pod team/web: .*got .*, want "):
        of_pods([pod], frozenset())


def test_a_file_states_numbers_and_rates() -> None:
    needs = [
        {"memory": "10Gi", "count": 4},
        {"profile": "MIG 1g.10gb", "count": 2},
        {"gpus": 2, "count": 1},
        # 10 at the same time on average; Poisson's 90 % quantile is 14.
        {"memory": "4Gi", "perHour": 30, "minutes": 20},
        {"memory": "10Gi", "count": 1},
    ]
    assert of_document({"needs": needs}, "d.yaml") == {
        Need(memory_mib=10240): 5,
        Need(profile="1g.10gb"): 2,
        Need(gpus=2): 1,
        Need(memory_mib=4096): 14,
    }


@pytest.mark.parametrize(("rate", "most"), [(0.1, 1), (60, 2), (30_000, 529), (60_000, 1041)])
def test_a_rate_is_exceeded_in_a_tenth_of_the_time(rate: float, most: int) -> None:
    """The means are 0.002 (of which one is planned for), 1, 500 and 1,000."""
    [count] = of_document({"needs": [{"memory": "1Gi", "perHour": rate, "minutes": 1}]}, "d.yaml").values()
    assert count == most


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ([], "d.yaml: got no list of needs, want needs: [{memory: 10Gi, count: 4}] and nothing else"),
        ({"needs": []}, "got no list of needs"),
        ({"needs": [1]}, "d.yaml: needs[0]: got 1, want an object"),
        ({"needs": [{"memory": "1Gi", "counts": 1}]}, "needs[0]: got the field 'counts', want count, gpus, memory"),
        ({"needs": [{"count": 1}]}, "needs[0]: got none, want one of memory, profile and gpus"),
        ({"needs": [{"gpus": 1, "memory": "1Gi", "count": 1}]}, "got memory and gpus, want one of"),
        ({"needs": [{"gpus": 0, "count": 1}]}, "needs[0].gpus: got 0, want a number from 1 to 100,000"),
        ({"needs": [{"gpus": True, "count": 1}]}, "needs[0].gpus: got true"),
        ({"needs": [{"profile": "large", "count": 1}]}, "needs[0].profile: "),
        ({"needs": [{"memory": "10", "count": 1}]}, "got 10, want at least 1Mi; give the unit, as in 10Gi"),
        ({"needs": [{"memory": "much", "count": 1}]}, "needs[0].memory: "),
        ({"needs": [{"memory": "1Gi"}]}, "needs[0]: want count, or perHour and minutes"),
        ({"needs": [{"memory": "1Gi", "perHour": 1}]}, "needs[0]: want count, or perHour and minutes"),
        ({"needs": [{"memory": "1Gi", "count": 1, "perHour": 1, "minutes": 1}]}, "want count, or perHour and minutes"),
        (
            {"needs": [{"memory": "1Gi", "perHour": -1, "minutes": 1}]},
            "needs[0].perHour: got -1, want a number above 0",
        ),
        ({"needs": [{"memory": "1Gi", "perHour": float("nan"), "minutes": 1}]}, "needs[0].perHour: got nan"),
        ({"needs": [{"memory": "1Gi", "perHour": 5e6, "minutes": 60}]}, "pods at the same time, want 100,000 at most"),
    ],
)
def test_a_file_that_states_something_else_is_refused(document: Any, message: str) -> None:
    with pytest.raises(UsageError) as raised:
        of_document(document, "d.yaml")
    assert message in str(raised.value)
