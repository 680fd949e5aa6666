"""Every example, as it is, by kubectl apply: what its user reads and what becomes of it."""

from dataclasses import dataclass
from typing import Any

import pytest

from . import fleet
from .manifest import EXAMPLES, GPU_TOLERATION, SKU_TOLERATION, preferred_products, record, tolerations
from .space import Space

_TOLERATES = "podberth: tolerates nvidia.com/gpu:NoSchedule"
_PREFERS_ZONE = f"prefers one domain of {fleet.ZONE} for the gang"


def _lacks_shm(gpus: int) -> str:
    return (
        f"podberth shm-and-limits: a container has {gpus} GPUs and 64 MiB of /dev/shm; mount an emptyDir with medium "
        "Memory and a sizeLimit there"
    )


@dataclass(frozen=True, slots=True)
class Expected:
    """What comes of an example: how many pods run, and for how many of them podberth did something."""

    pods: int
    warnings: tuple[str, ...] = ()
    tolerations: tuple[dict[str, Any], ...] = ()
    gpus: int = 1


_RIGHT_SIZED = (
    "podberth: nvidia.com/mig-3g.20gb instead of nvidia.com/gpu: the smallest with at least 10240 MiB of GPU memory"
)
# Eight GPUs fit on machines that share NVLink and on no others here: of that there is nothing to say.
EXPECTED = {
    "cpu-pod": Expected(1, gpus=0),
    "cuda-pod": Expected(1, (f"{_TOLERATES}, sku=gpu:NoSchedule",), (GPU_TOLERATION, SKU_TOLERATION)),
    "launcher-and-workers": Expected(5, (_lacks_shm(8), f"{_TOLERATES}; {_PREFERS_ZONE}"), (GPU_TOLERATION,), gpus=4),
    "llm-deployment": Expected(
        2,
        (f"{_TOLERATES}; 4 GPUs in one NVLink domain: prefers 16 of 20 nodes",),
        (GPU_TOLERATION,),
        gpus=2,
    ),
    "notebook-memory": Expected(
        1,
        (f"{_RIGHT_SIZED}; tolerates nvidia.com/gpu:NoSchedule",),
        (GPU_TOLERATION,),
    ),
    "own-affinity": Expected(
        1,
        (_TOLERATES, _lacks_shm(2)),
        (
            {"key": "nvidia.com/gpu", "operator": "Equal", "value": "present", "effect": "NoSchedule"},
            {"key": "team", "operator": "Equal", "value": "research", "effect": "NoSchedule"},
            GPU_TOLERATION,
        ),
    ),
    "training-indexed-job": Expected(
        8,
        (_lacks_shm(8), f"{_TOLERATES}; member of a gang of 8; {_PREFERS_ZONE}"),
        (GPU_TOLERATION,),
        gpus=8,
    ),
}
# No pods of these here: the one is denied, the other's nodes are labelled by an operator that is not there.
_OTHERS = {"gpu-daemonset", "unknown-mig-profile"}


def test_every_example_is_tried() -> None:
    assert {file.stem for file in EXAMPLES.glob("*.yaml")} == EXPECTED.keys() | _OTHERS


@pytest.mark.parametrize("name", EXPECTED)
def test_an_example_runs_and_its_user_reads_what_was_changed(space: Space, name: str) -> None:
    expected = EXPECTED[name]
    said = space.must_apply(file=EXAMPLES / f"{name}.yaml")
    assert said.ours == expected.warnings
    assert said.warnings == said.ours
    changed = [pod for pod in space.wait_for_pods(expected.pods, "Running") if record(pod)]
    assert len(changed) == expected.gpus
    assert all(tolerations(pod) == list(expected.tolerations) for pod in changed)


def test_a_served_model_lands_where_four_gpus_share_nvlink(space: Space) -> None:
    space.must_apply(file=EXAMPLES / "llm-deployment.yaml")
    for pod in space.wait_for_pods(2, "Running"):
        products = preferred_products(pod)
        assert set(products) == {fleet.H100}  # the trays keep their arm64 taint
        assert space.label_of_node(pod, fleet.PRODUCT) in products


def test_a_notebook_gets_a_slice_instead_of_a_gpu(space: Space) -> None:
    space.must_apply(file=EXAMPLES / "notebook-memory.yaml")
    [pod] = space.wait_for_pods(1, "Running")
    resources = pod["spec"]["containers"][0]["resources"]
    assert resources["limits"] == {"memory": "2Gi", "nvidia.com/mig-3g.20gb": "1"}
    assert resources["requests"] == {"cpu": "1", "memory": "2Gi", "nvidia.com/mig-3g.20gb": "1"}
    assert pod["spec"]["nodeName"].startswith("a100-mig-")


def test_an_exporter_of_the_gpu_operator_is_left_alone(space: Space) -> None:
    said = space.must_apply(file=EXAMPLES / "gpu-daemonset.yaml")
    assert said.warnings == ()
    spec = space.read("apps/v1/daemonsets", "gpu-metrics-exporter")["spec"]["template"]["spec"]
    assert spec["tolerations"] == [GPU_TOLERATION]
