"""Kinds and their resources; tests/e2e/test_native_policies.py holds the table to a real API server."""

import pytest

from podberth.native.resources import Resources, plural_of
from podberth.workload.kinds import KINDS


@pytest.mark.parametrize(
    ("kind", "plural"),
    [
        ("Pod", "pods"),
        ("Ingress", "ingresses"),
        ("NetworkPolicy", "networkpolicies"),
        ("Endpoints", "endpoints"),
        ("StorageClass", "storageclasses"),
    ],
)
def test_plurals_are_regular(kind: str, plural: str) -> None:
    assert plural_of(kind) == plural


def test_a_definition_says_plural_scope_and_versions() -> None:
    versions = [{"name": "v1", "served": True}, {"name": "v2", "served": True}, {"name": "v3", "served": False}]
    names = {"kind": "Ox", "plural": "oxen"}
    spec = {"group": "example.com", "scope": "Cluster", "names": names, "versions": versions}
    resources = Resources([{"kind": "CustomResourceDefinition", "spec": spec}])
    ox = resources.of("example.com/v1", "Ox")
    assert ox is not None
    assert (ox.plural, ox.namespaced, ox.renamed) == ("oxen", False, True)
    assert [each.version for each in resources.equivalents(ox)] == ["v2"]
    assert resources.of("example.com/v3", "Ox") is None


def test_events_and_autoscalers_are_served_twice() -> None:
    resources = Resources()
    for version, kind in (("v1", "Event"), ("autoscaling/v1", "HorizontalPodAutoscaler")):
        known = resources.of(version, kind)
        assert known is not None
        assert len(resources.equivalents(known)) == 1
    pod = resources.of("v1", "Pod")
    assert pod is not None
    assert not resources.equivalents(pod)


def test_operators_kinds_have_their_scope() -> None:
    resources = Resources()
    of_cluster = {
        (row.kind, version)
        for row in KINDS
        for version in row.api_versions
        if (known := resources.of(version, row.kind)) is not None and not known.namespaced
    }
    assert of_cluster == {
        ("ClusterWorkflowTemplate", "argoproj.io/v1alpha1"),
        ("ClusterServingRuntime", "serving.kserve.io/v1alpha1"),
        ("ClusterServingRuntime", "ome.io/v1beta1"),
        ("ClusterTrainingRuntime", "trainer.kubeflow.org/v1alpha1"),
    }


def test_versions_that_kubernetes_no_longer_serves_are_unknown() -> None:
    resources = Resources()
    deployment = resources.of("apps/v1", "Deployment")
    assert deployment is not None
    assert not resources.equivalents(deployment)
    for version, kind in (("apps/v1beta1", "Deployment"), ("extensions/v1beta1", "DaemonSet")):
        assert resources.of(version, kind) is None
    assert resources.of("batch/v2alpha1", "CronJob") is None
