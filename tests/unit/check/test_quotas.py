"""Quotas of accelerators: a name that Kubernetes takes, and never counts."""

from typing import Any

import pytest

from checking import checked
from podberth.check.quotas import uncounted

JSON = dict[str, Any]


def quota(**hard: Any) -> JSON:
    return {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q"}, "spec": {"hard": hard}}


@pytest.mark.parametrize("name", ["limits.nvidia.com/gpu", "nvidia.com/gpu", "limits.nvidia.com/mig-1g.10gb"])
def test_a_device_is_counted_under_requests_alone(name: str) -> None:
    want = f"requests.{name.removeprefix('limits.')}"
    [(path, message)] = uncounted(quota(**{name: 4, "pods": 8}))
    assert path == ("spec", "hard", name)
    assert message == f"got {name}, which no quota of Kubernetes counts; write {want}"


@pytest.mark.parametrize("prefix", ["", "limits.", "requests."])
def test_a_name_that_kubernetes_dropped_limits_nothing(prefix: str) -> None:
    name = f"{prefix}alpha.kubernetes.io/nvidia-gpu"
    [(path, message)] = uncounted(quota(**{name: 4}))
    assert path == ("spec", "hard", name)
    assert message == f"got {name}, a name that no node has since Kubernetes 1.11; write requests.nvidia.com/gpu"


@pytest.mark.parametrize(
    "hard",
    [
        {"alpha.kubernetes.io/nvidia-gpu": 4, "requests.nvidia.com/gpu": 4},
        {"requests.nvidia.com/gpu": 4},
        {"limits.nvidia.com/gpu": 4, "requests.nvidia.com/gpu": 4},
        {"limits.cpu": 4, "limits.example.com/licence": 1},
        {"limits.nvidia.com/gpu": 2, "limits.nvidia.com/gpumem": 2000},  # HAMi counts these itself
    ],
)
def test_nothing_is_said_of_what_something_counts(hard: JSON) -> None:
    assert not [*uncounted(quota(**hard))]


def test_quotas_in_the_objects_of_operators_are_read_too() -> None:
    text = """
apiVersion: config.kiosk.sh/v1alpha1
kind: AccountQuota
metadata: {name: dev}
spec: {account: dev, quota: {hard: {limits.nvidia.com/gpu: 4}}}
"""
    [result] = checked(text).results
    [finding] = result.warnings
    assert (finding.field, finding.message) == (
        "spec.quota.hard[limits.nvidia.com/gpu]",
        "got limits.nvidia.com/gpu, which no quota of Kubernetes counts; write requests.nvidia.com/gpu",
    )
