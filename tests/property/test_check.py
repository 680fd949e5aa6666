"""What check writes is final: checked again, the patched documents change no more."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checking import ROOT, checked, patched, shipped
from properties import examples

FILES = sorted([*(ROOT / "examples").glob("*.yaml"), *(ROOT / "tests" / "manifests").glob("*.yaml")])


def assert_final(text: str, *, nodes: bool) -> None:
    first = checked(text, by=shipped(nodes=nodes))
    again = checked("\n---\n".join(json.dumps(each) for each in patched(first)), by=shipped(nodes=nodes))
    assert [result.changes for result in again.results if result.changes] == []
    settled = {"mutated": "unchanged"}
    verdicts = [settled.get(result.verdict, result.verdict) for result in first.results]
    assert [result.verdict for result in again.results] == verdicts


@pytest.mark.parametrize("nodes", [True, False], ids=["nodes", "no nodes"])
@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.name))
def test_a_second_pass_over_a_manifest_changes_nothing(file: Any, *, nodes: bool) -> None:
    assert_final(file.read_text(encoding="utf-8"), nodes=nodes)


RESOURCES = st.sampled_from(["nvidia.com/gpu", "nvidia.com/mig-1g.5gb", "nvidia.com/mig-3g.20gb", "amd.com/gpu", "cpu"])
QUANTITIES = st.one_of(st.integers(0, 9), st.sampled_from(["1", "8", "2"]), st.none())
RESOURCE_LISTS = st.none() | st.dictionaries(RESOURCES, QUANTITIES, max_size=2)
CONTAINERS = st.fixed_dictionaries(
    {"name": st.just("main"), "image": st.just("i")},
    optional={
        "resources": st.none()
        | st.fixed_dictionaries({}, optional={"limits": RESOURCE_LISTS, "requests": RESOURCE_LISTS}),
        "env": st.just([{"name": "A", "value": "b"}]),
    },
)
TOLERATIONS = st.lists(
    st.sampled_from(
        [
            {"operator": "Exists"},
            {"key": "nvidia.com/gpu", "operator": "Exists"},
            {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"},
            {"key": "sku", "operator": "Equal", "value": "gpu"},
        ]
    ),
    max_size=2,
)
TERM = {"matchExpressions": [{"key": "kubernetes.io/os", "operator": "In", "values": ["linux"]}]}
AFFINITIES = st.sampled_from(
    [
        None,
        {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [TERM, TERM]}}},
        {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "preference": TERM}]}},
    ]
)
SPECS = st.fixed_dictionaries(
    {"containers": st.lists(CONTAINERS, min_size=1, max_size=1)},
    optional={
        "tolerations": TOLERATIONS,
        "affinity": AFFINITIES,
        "nodeSelector": st.sampled_from([None, {}, {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"}]),
    },
)
METADATA = st.fixed_dictionaries(
    {},
    optional={
        "labels": st.sampled_from([None, {"app": "a"}, {"podberth.io/gang": "g"}]),
        "annotations": st.sampled_from([None, {"podberth.io/gpu-memory": "10Gi"}, {"podberth.io/gang-size": "4"}]),
    },
)


@settings(max_examples=examples(60))
@given(spec=SPECS, metadata=METADATA, count=st.integers(1, 4))
def test_a_second_pass_over_a_generated_workload_changes_nothing(
    spec: dict[str, Any], metadata: dict[str, Any], count: int
) -> None:
    template = {"metadata": metadata, "spec": spec}
    documents = [
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", **metadata}, "spec": spec},
        {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": "j"},
            "spec": {"parallelism": count, "completions": count, "template": template},
        },
        {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}, "spec": {"template": template}},
    ]
    assert_final("\n---\n".join(map(json.dumps, documents)), nodes=True)
