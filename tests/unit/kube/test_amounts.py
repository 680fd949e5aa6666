import pytest

from builders import container, pod, sidecar
from podberth.kube.amounts import requested, shown


def test_a_pod_asks_for_its_containers_its_sidecars_its_overhead_and_a_slot() -> None:
    asked = pod(
        container(requests={"cpu": "500m", "memory": "1Gi"}),
        init=[sidecar(limits={"cpu": "250m"}), container("early", requests={"cpu": "2"})],
        overhead={"cpu": "100m"},
    )
    assert requested(asked) == {"cpu": 2350, "memory": 2**30 * 1000, "pods": 1000}


def test_resources_of_the_pod_replace_the_sum_of_its_containers() -> None:
    asked = pod(container(requests={"cpu": "1"}), resources={"requests": {"cpu": "3"}})
    assert requested(asked)["cpu"] == 3000


@pytest.mark.parametrize(
    ("resource", "amount", "text"),
    [
        ("nvidia.com/gpu", 8000, "8 nvidia.com/gpu"),
        ("cpu", 500, "500m cpu"),
        ("memory", 3 * 2**29 * 1000, "1.5Gi memory"),
        ("memory", 2**20 * 1000, "1Mi memory"),
        ("memory", 0, "0 memory"),
    ],
)
def test_an_amount_is_shown_in_the_unit_of_its_resource(resource: str, amount: int, text: str) -> None:
    assert shown(resource, amount) == text
