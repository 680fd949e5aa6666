"""What is kept of tenants' ConfigMaps, within bounds for each namespace and for all."""

from typing import Any

import pytest

from podberth.admission.namespace_params import MOST_BYTES, MOST_OF_NAMESPACE, NamespaceParams
from podberth.cluster import live_params
from podberth.cluster.live_params import TenantParams
from tenants import limits


def kept(*config_maps: dict[str, Any]) -> TenantParams:
    sink = TenantParams(lambda: None)
    put(sink, *config_maps)
    return sink


def put(sink: TenantParams, *config_maps: dict[str, Any]) -> None:
    for each in config_maps:
        sink.put("{namespace}/{name}".format(**each["metadata"]), each)


def many(count: int, namespace: str = "a", size: int = 0) -> list[dict[str, Any]]:
    return [limits(namespace, f"limits-{at:04}", version="1", most="8" + " " * size) for at in range(count)]


def names(found: NamespaceParams) -> list[str]:
    return list(found.config_maps)


def test_config_maps_are_kept_by_namespace_in_the_order_of_their_names() -> None:
    sink = kept(limits("a", "y", version="1"), limits("b", "x", version="1"), limits("a", "x", version="1"))
    assert {namespace: names(each) for namespace, each in sink.take().items()} == {"a": ["x", "y"], "b": ["x"]}
    sink.drop("a/x")
    sink.drop("b/x")
    sink.drop("c/never")
    assert {namespace: names(each) for namespace, each in sink.take().items()} == {"a": ["y"]}


def test_an_unchanged_namespace_is_not_worked_out_again() -> None:
    sink = kept(limits("a", version="1"), limits("b", version="1"))
    before = sink.take()
    put(sink, limits("a", version="2"))
    after = sink.take()
    assert after["b"] is before["b"]
    assert after["a"] is not before["a"]


def test_those_of_podberths_own_namespace_and_those_without_a_uid_are_not_kept() -> None:
    assert kept(limits("podberth-system", version="1"), limits("a")).take() == {}


def test_managed_fields_are_left_out() -> None:
    sent = limits("a", version="1")
    sent["metadata"]["managedFields"] = [{"manager": "kubectl"}]
    assert "managedFields" not in kept(sent).take()["a"].config_maps["limits"]["metadata"]


def test_a_namespace_with_too_many_is_known_again_once_some_are_deleted() -> None:
    sink = kept(*many(MOST_OF_NAMESPACE + 1))
    assert sink.take()["a"] == NamespaceParams(
        {}, "namespace a: got 201 ConfigMaps with the label of params, want 200 at most; delete some"
    )
    sink.drop("a/limits-0007")
    assert len(sink.take()["a"].config_maps) == MOST_OF_NAMESPACE


def test_far_beyond_the_bound_nothing_more_is_kept_and_the_namespace_says_so_until_it_is_deleted() -> None:
    sink = kept(*many(3 * MOST_OF_NAMESPACE))
    assert sink.left_out == MOST_OF_NAMESPACE
    assert "got more than 200 ConfigMaps in the namespace; delete some, then write it again" in sink.take()["a"].excess
    for at in range(MOST_OF_NAMESPACE, 3 * MOST_OF_NAMESPACE):
        sink.drop(f"a/limits-{at:04}")
    assert (sink.left_out, sink.take()["a"].excess) == (0, "")


def test_one_that_is_too_large_is_not_kept_and_is_named() -> None:
    large = limits("a", version="1", most=" " * MOST_BYTES)
    sink = kept(large, limits("a", "other", version="1"))
    assert sink.take()["a"].excess.startswith("ConfigMap a/limits: got 32,9")
    put(sink, limits("a", version="2", most="8"))
    assert names(sink.take()["a"]) == ["limits", "other"]


def test_all_namespaces_together_have_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_params, "MOST_BYTES_OF_ALL", 4096)
    sink = kept(limits("a", version="1", most=" " * 2000), limits("b", version="1", most=" " * 2000))
    assert sink.take()["a"].excess == ""
    assert "got more than 4,096 bytes of ConfigMaps in all namespaces" in sink.take()["b"].excess
    sink.drop("a/limits")
    put(sink, limits("b", version="2", most=" " * 2000))
    assert names(sink.take()["b"]) == ["limits"]


def test_what_is_forgotten_takes_no_room() -> None:
    sink = kept(*many(3), *many(2, "b"))
    sink.take()
    sink.forget()
    assert sink.take() == {}
    put(sink, *many(1))
    assert len(sink.take()["a"].config_maps) == 1
