"""Kinds and their resources; tests/e2e/test_native_policies.py holds the table to a real API server."""

import pytest

from podberth.native.resources import Resources, plural_of


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
