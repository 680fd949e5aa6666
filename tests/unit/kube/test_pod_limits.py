"""The largest pod that is decided on: one table of what podberth walks, and one walk that ends at what is too long."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from builders import gpu_container, pod
from podberth.kube.paths import ELEMENT
from podberth.kube.pod_limits import (
    ALL_ENTRIES,
    ANNOTATIONS,
    CONTAINERS,
    LARGEST,
    MAX_BYTES,
    MAX_NAME_BYTES,
    TERMS,
    entries_in,
    excess,
)
from podberth.kube.schema import PodSchema, Schema
from podberth.kube.shape import shape_problems

Path = tuple[str, ...]
SCHEMA = PodSchema.packaged()
# Below a container's probe and the like stand the same definitions once more.
DEEPEST = 10


def with_entries(path: Path, number: int) -> dict[str, Any]:
    """Return a pod with that many entries at a path; with elements on the way, half of them in each of two."""
    head, _, tail = "/".join(path).rpartition(f"/{ELEMENT}/")
    if not head:
        return {"metadata": {}, "spec": {}, **_below(path, _entries(path, number))}
    halves = [number // 2, number - number // 2]
    return _below(tuple(head.split("/")), [_below(tuple(tail.split("/")), _entries(path, half)) for half in halves])


def _entries(path: Path, number: int) -> Any:
    return {f"k{at}": "1" for at in range(number)} if kinds()[path] == "map" else [{} for _ in range(number)]


def _below(path: Path, value: Any) -> dict[str, Any]:
    for step in reversed(path):
        value = [value] if step == ELEMENT else {step: value}
    return dict(value)


def kinds() -> dict[Path, str]:
    """Return every list and map of a Pod, by its path."""
    return {path: schema.kind for path, schema in _lists((), Schema(kind="message", message=POD))}


POD = "io.k8s.api.core.v1.Pod"


def _lists(path: Path, schema: Schema | None) -> Iterator[tuple[Path, Schema]]:
    if schema is None or len(path) > DEEPEST:
        return
    if schema.kind == "message":
        for name, field in SCHEMA.definitions[schema.message].items():
            yield from _lists((*path, name), field)
    elif schema.element is not None:
        yield path, schema
        yield from _lists((*path, ELEMENT), schema.element)


@pytest.mark.parametrize("path", LARGEST, ids=".".join)
def test_every_list_and_map_has_its_bound(path: Path) -> None:
    most = LARGEST[path]
    assert excess(with_entries(path, most)) == ""
    wrong = excess(with_entries(path, most + 1))
    assert ".".join(path).replace(f".{ELEMENT}", "[*]") in wrong
    assert f"got {most + 1:,} entries, want {most:,} at most" in wrong


@pytest.mark.parametrize("path", [path for path in kinds() if path[0] in ("metadata", "spec")], ids=".".join)
def test_every_list_and_map_that_the_shape_check_looks_into_is_in_the_table(path: Path) -> None:
    """What readers of a pod rely on has its types checked, element by element: so nothing is walked without a bound."""
    wrong = object()
    document = _below(path, {"key": wrong} if kinds()[path] == "map" else [wrong])
    looked_into = any("object, want" in problem for problem in shape_problems(document))
    assert not looked_into or path in LARGEST


def test_every_row_is_a_list_or_a_map_of_a_pod() -> None:
    assert set(kinds()) >= set(LARGEST)


def test_all_lists_together_have_a_bound_too() -> None:
    containers: list[dict[str, Any]] = [{"env": [{}] * 5_000}]
    others: dict[str, Any] = {
        "tolerations": [{}] * 999,
        "volumes": [{}] * 1_000,
        "hostAliases": [{}] * (ALL_ENTRIES - 7_000),
    }
    found: dict[str, Any] = {"spec": {"containers": containers, **others}}
    assert excess(found) == ""
    found["spec"]["tolerations"].append({})
    assert f"all lists together: got more than {ALL_ENTRIES:,} entries" in excess(found)


_MAPS = ("annotations", "labels", "nodeSelector", "overhead")


def test_lists_that_are_small_each_are_within_the_bound_of_all_together_too() -> None:
    below = ("env", "envFrom", "args", "command", "ports", "volumeMounts", "volumeDevices", "resizePolicy")
    amounts = {name: {str(at): 1 for at in range(64)} for name in ("limits", "requests", "claims")}
    container = {**{name: [{}] * 64 for name in below}, "resources": amounts}
    for values, is_within in ((52, True), (56, False)):
        terms = [{"matchExpressions": [{"values": ["v"] * values}]}] * TERMS
        required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
        pod: dict[str, Any] = {"spec": {"containers": [container] * 6, "affinity": {"nodeAffinity": required}}}
        for path in LARGEST:
            if len(path) == 2 and path[1] not in ("containers", "initContainers", "ephemeralContainers"):
                of_part = pod.setdefault(path[0], {})
                of_part.setdefault(path[1], {str(at): "" for at in range(64)} if path[1] in _MAPS else [{}] * 64)
        del pod["spec"]["topologySpreadConstraints"]
        assert (entries_in(pod) > 0) is is_within
        assert (excess(pod) == "") is is_within


def test_annotations_have_the_bound_of_the_api_server() -> None:
    annotations = {"a": "x" * (ANNOTATIONS.most - 1)}
    assert excess({"metadata": {"annotations": annotations}}) == ""
    annotations["b"] = ""
    wrong = excess({"metadata": {"annotations": annotations}}, ANNOTATIONS.most + 1)
    assert f"metadata.annotations: got {ANNOTATIONS.most + 1:,} characters, want {ANNOTATIONS.most:,} at most" in wrong


@pytest.mark.parametrize("odd", [None, "text", 5, [[]], {"a": "b"}, [None], {"containers": {"a": {}}}])
def test_a_pod_of_any_shape_is_measured(odd: object) -> None:
    for document in (odd, {"spec": odd, "metadata": odd}, {"spec": {"containers": odd, "affinity": odd}}):
        assert excess(document) == ""


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
    assert f"metadata.{field}: got {MAX_NAME_BYTES + 1} characters, want {MAX_NAME_BYTES} at most" in excess(
        {"metadata": {field: "a" * (MAX_NAME_BYTES + 1)}}
    )


def test_entries_of_containers_count_together() -> None:
    containers = [{"name": f"c{at}", "env": [{}] * 35} for at in range(CONTAINERS)]
    assert excess({"spec": {"containers": containers}}) == ""
    containers[0]["env"] = [{}] * 36
    assert "spec.containers[*].env: got 7,001 entries" in excess({"spec": {"containers": containers}})


@pytest.mark.parametrize("odd", [None, "text", 5])
def test_what_is_no_list_has_no_entries(odd: object) -> None:
    """The shape check does not look at these."""
    containers = [{"name": "c", "env": odd, "args": odd, "resources": {"claims": odd}} for _ in range(20)]
    assert excess({"spec": {"containers": containers, "volumes": odd}, "metadata": {"finalizers": odd}}) == ""
