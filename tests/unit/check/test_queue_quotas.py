"""Quotas of Kueue: what its API refuses in a ClusterQueue or a Cohort."""

from typing import Any

import pytest

from checking import checked
from podberth.check.queue_quotas import misspelt_flavors, refused_quotas

JSON = dict[str, Any]


def queue(
    resources: list[JSON], covered: tuple[str, ...] = ("cpu", "nvidia.com/gpu"), kind: str = "ClusterQueue"
) -> JSON:
    groups = [{"coveredResources": [*covered], "flavors": [{"name": "h100", "resources": resources}]}]
    return {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": kind, "spec": {"resourceGroups": groups}}


def quota(name: str, amount: object) -> JSON:
    return {"name": name, "nominalQuota": amount}


CPU = quota("cpu", 8)


@pytest.mark.parametrize("kind", ["ClusterQueue", "Cohort"])
@pytest.mark.parametrize(
    ("gpus", "steps", "said"),
    [
        (quota("nvidia.com/gpu", None), (1, "nominalQuota"), "got no amount, want one such as 8"),
        (quota("nvidia.com/gpu", ""), (1, "nominalQuota"), "got no amount, want one such as 8"),
        ({"name": "nvidia.com/gpu"}, (1, "nominalQuota"), "got no amount, want one such as 8"),
        (quota("nvidia.com/gpu", -1), (1, "nominalQuota"), "got -1, want 0 or more"),
        (quota("nvidia.com/gpu", "eight"), (1, "nominalQuota"), "got 'eight', want an amount such as 8"),
        (
            {**quota("nvidia.com/gpu", 8), "borrowingLimit": "many"},
            (1, "borrowingLimit"),
            "got 'many', want an amount such as 8",
        ),
    ],
)
def test_an_amount_that_the_api_refuses_is_reported(gpus: JSON, steps: tuple[Any, ...], said: str, kind: str) -> None:
    path = ("spec", "resourceGroups", 0, "flavors", 0, "resources")
    assert [*refused_quotas(queue([CPU, gpus], kind=kind))] == [((*path, *steps), said)]


def test_a_flavor_has_a_quota_of_each_covered_resource() -> None:
    said = [message for _, message in refused_quotas(queue([CPU]))]
    assert said == ["got no quota of nvidia.com/gpu in flavor h100, want one for each of coveredResources"]


def test_a_misspelt_resource_of_a_flavor_is_reported_with_the_covered_one() -> None:
    said = [message for _, message in refused_quotas(queue([CPU, quota("nvidia.com/gpus", 8)]))]
    assert said[1] == "got nvidia.com/gpus, which coveredResources has not; did you mean nvidia.com/gpu?"


@pytest.mark.parametrize(
    "document",
    [
        queue([CPU, quota("nvidia.com/gpu", 8)]),
        queue([CPU, quota("nvidia.com/gpu", "0")]),
        queue([CPU, quota("nvidia.com/gpu", "${GPUS}")]),
        queue([CPU, quota("nvidia.com/gpu", "GPU_COUNT")]),
        {**queue([CPU]), "kind": "Workload"},
        {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ClusterQueue", "spec": None},
    ],
)
def test_nothing_is_said_of_quotas_that_the_api_takes_or_that_somebody_fills_in(document: JSON) -> None:
    assert not [*refused_quotas(document)]


QUEUE = """
apiVersion: kueue.x-k8s.io/v1beta1
kind: ClusterQueue
metadata: {name: cluster-total}
spec:
  resourceGroups:
  - coveredResources: [nvidia.com/gpu]
    flavors:
"""


def test_check_reports_a_refused_quota_as_an_error() -> None:
    [result] = checked(f"{QUEUE}    - {{name: h100, resources: [{{name: nvidia.com/gpu, nominalQuota: }}]}}\n").results
    assert [each.message for each in result.errors] == ["got no amount, want one such as 8"]


FLAVORS = """
apiVersion: kueue.x-k8s.io/v1beta1
kind: ResourceFlavor
metadata: {name: nvidia-a100}
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: ResourceFlavor
metadata: {name: spot-a}
---"""


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (["nvidia-100"], ["got nvidia-100, no ResourceFlavor of these files; did you mean nvidia-a100?"]),
        (["nvidia-a100"], []),
        (["spot-a", "spot-b"], []),  # the other one is in use, so that both may exist
        (["reserved"], []),
    ],
)
def test_a_flavor_that_the_files_have_in_other_letters_is_a_slip(names: list[str], said: list[str]) -> None:
    flavors = [f"    - {{name: {each}, resources: [{{name: nvidia.com/gpu, nominalQuota: 4}}]}}\n" for each in names]
    results = checked("".join([FLAVORS, QUEUE, *flavors])).results
    assert [each.message for result in results for each in result.warnings] == said


def test_without_flavors_in_the_files_nothing_is_said_of_their_names() -> None:
    document = queue([CPU, quota("nvidia.com/gpu", 8)])
    assert not [*misspelt_flavors(document, ())]
    assert not [*misspelt_flavors({**document, "spec": None}, [{"kind": "ResourceFlavor", "metadata": None}])]
