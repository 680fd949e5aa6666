"""The largest pod that is decided on."""

import json
from typing import Any

import pytest

from builders import gpu_container, pod
from podberth.kube.budget import CONTAINERS, LARGEST, MAX_BYTES, MAX_NAME_BYTES, excess
from podberth.kube.paths import ELEMENT


def with_entries(path: tuple[str, ...], number: int) -> dict[str, Any]:
    """Return a pod with that many entries at a path, spread over two containers where it is one of containers."""
    found: dict[str, Any] = {"metadata": {}, "spec": {}}
    if ELEMENT in path:
        kind, below = path[1], path[3:]
        halves = [number // 2, number - number // 2]
        found["spec"][kind] = [_holding(below, half) for half in halves]
        return found
    return _holding(path, number)


def _holding(path: tuple[str, ...], number: int) -> dict[str, Any]:
    maps = ("labels", "annotations", "limits", "requests", "nodeSelector")
    value: Any = {f"k{at}": "1" for at in range(number)} if path[-1] in maps else [{} for _ in range(number)]
    for step in reversed(path):
        value = {step: value}
    return dict(value)


@pytest.mark.parametrize("path", LARGEST, ids=".".join)
def test_every_list_and_map_has_its_bound(path: tuple[str, ...]) -> None:
    most = LARGEST[path]
    assert excess(with_entries(path, most)) == ""
    wrong = excess(with_entries(path, most + 1))
    assert path[-1] in wrong
    assert f"got {most + 1:,} entries, want {most:,} at most" in wrong


@pytest.mark.parametrize("known", [None, MAX_BYTES * 2])
def test_bytes_are_those_of_the_pod_as_json(known: int | None) -> None:
    found = pod(gpu_container("main", 1))
    found["spec"]["containers"][0]["image"] = ""
    room = MAX_BYTES - len(json.dumps(found, separators=(",", ":")))
    found["spec"]["containers"][0]["image"] = "x" * room
    assert excess(found, known) == ""
    found["spec"]["containers"][0]["image"] += "x"
    assert excess(found, known).endswith(f"got {MAX_BYTES + 1:,} bytes, want {MAX_BYTES:,} at most")


def test_a_review_that_is_small_enough_is_not_measured() -> None:
    found = {"spec": {"containers": [{"name": "main"}]}, "metadata": {"name": "a", "odd": object()}}
    assert excess(found, MAX_BYTES) == ""
    assert "no API server sends such a pod" in excess(found, MAX_BYTES + 1)


@pytest.mark.parametrize("field", ["name", "generateName", "namespace"])
def test_names_are_names(field: str) -> None:
    assert excess({"metadata": {field: "a" * MAX_NAME_BYTES}}) == ""
    assert f"metadata.{field}" in excess({"metadata": {field: "a" * (MAX_NAME_BYTES + 1)}})


def test_entries_of_containers_count_together() -> None:
    containers = [{"name": f"c{at}", "env": [{}] * 45} for at in range(CONTAINERS)]
    assert excess({"spec": {"containers": containers}}) == ""
    containers[0]["env"] = [{}] * 46
    assert "spec.containers[*].env: got 9,001 entries" in excess({"spec": {"containers": containers}})


@pytest.mark.parametrize("odd", [None, "text", 5])
def test_what_is_no_list_has_no_entries(odd: object) -> None:
    """The shape check does not look at these."""
    containers = [{"name": "c", "env": odd, "args": odd, "resources": {"claims": odd}} for _ in range(20)]
    assert excess({"spec": {"containers": containers, "volumes": odd}, "metadata": {"finalizers": odd}}) == ""
