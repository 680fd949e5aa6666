"""What is kept of NamespacedGPUPolicies, and what comes of them, namespace by namespace."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from integration.serving import CapturedLines, run, until
from podberth.api.protocol import Timing
from podberth.api.reflector import ClusterAccess
from podberth.cel.compile_limits import MAX_SET_PARTS
from podberth.cel.engine import Room
from podberth.cluster import live_namespaced
from podberth.cluster.live_namespaced import LiveNamespaced, TenantPolicies, _compiled
from podberth.kube.documents import load_documents
from podberth.policy.namespaced import MOST_BYTES, MOST_OF_NAMESPACE
from podberth.telemetry.log import Log
from snapshots import environment
from tenants import own_policy


def sent(name: str, expression: str = "true", *, namespace: str = "vision", generation: int = 1, **spec: Any) -> Any:
    """Return a policy as the API server sends it."""
    [one], _ = load_documents(own_policy(namespace, name, expression), "")
    made = one.document
    made["metadata"] |= {
        "uid": name,
        "resourceVersion": "1",
        "generation": generation,
        "creationTimestamp": "2026-01-01T00:00:00Z",
        "managedFields": [{}],
    }
    made["spec"] |= spec
    return made


def kept(*documents: Any, notify: Callable[[], None] = lambda: None) -> TenantPolicies:
    sink = TenantPolicies(notify, Log(CapturedLines()))
    put(sink, *documents)
    return sink


def put(sink: TenantPolicies, *documents: Any) -> None:
    for each in documents:
        sink.put("{namespace}/{name}".format(**each["metadata"]), each)


def compiled(sink: TenantPolicies, namespace: str = "vision") -> dict[str, tuple[str, str]]:
    """Return the state and the problems of each policy, by name."""
    room = Room(MAX_SET_PARTS, "all", MAX_SET_PARTS)
    found = _compiled(namespace, sink.objects.of(namespace), environment(), room)
    return {each.name: (each.state, "\n".join(map(str, each.problems))) for each in found.verdicts}


def test_a_change_of_status_alone_compiles_nothing_and_is_passed_on_to_whoever_writes_it() -> None:
    woken: list[None] = []
    sink = kept(sent("a"), notify=lambda: woken.append(None))
    assert sink.objects.take_changed() == ["vision"]
    put(sink, {**sent("a"), "status": {"conditions": []}})
    assert (sink.objects.take_changed(), len(woken)) == ([], 2)
    assert "status" in sink.documents()["vision/a"]
    put(sink, sent("a", generation=2))
    sink.drop("vision/never")
    assert sink.objects.take_changed() == ["vision"]
    sink.drop("vision/a")
    assert (sink.objects.take_changed(), sink.documents()) == (["vision"], {})


def test_each_policy_has_a_verdict_of_its_own() -> None:
    sink = kept(sent("good"), sent("broken", "gpu.cuont == 1"), sent("spare", "gpu.cuont == 1", disabled=True))
    found = compiled(sink)
    assert found["vision/good"] == ("active", "")
    assert found["vision/spare"] == ("disabled", "")
    assert found["vision/broken"][0] == "broken"
    assert found["vision/broken"][1].startswith("namespacedgpupolicy/vision/broken:")


def test_one_that_is_too_large_is_not_kept_and_its_status_says_so() -> None:
    sink = kept(sent("large", description="x" * MOST_BYTES))
    [document] = sink.documents().values()
    assert "spec" not in document
    assert document["metadata"] == {
        "name": "large",
        "namespace": "vision",
        "uid": "large",
        "resourceVersion": "1",
        "generation": 1,
    }
    state, problem = compiled(sink)["vision/large"]
    assert state == "broken"
    assert "want 16,384 at most; make several policies of it" in problem


def test_a_namespace_has_room_for_so_many_and_the_oldest_count() -> None:
    old = {**sent("z-old")}
    old["metadata"]["creationTimestamp"] = "2025-01-01T00:00:00Z"
    sink = kept(*(sent(f"p{at:02}") for at in range(MOST_OF_NAMESPACE)), old)
    found = compiled(sink)
    assert found["vision/z-old"][0] == "active"
    [without_room] = [name for name, (state, _) in found.items() if state == "broken"]
    assert without_room == f"vision/p{MOST_OF_NAMESPACE - 1}"
    put(sink, *(sent(f"q{at:02}") for at in range(2 * MOST_OF_NAMESPACE)))
    assert len(sink.documents()) == 2 * MOST_OF_NAMESPACE
    assert len(sink.left_out) == MOST_OF_NAMESPACE + 1
    put(sink, sent("p", namespace="other"))
    assert compiled(sink, "other") == {"other/p": ("active", "")}


def test_all_namespaces_together_have_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_namespaced, "MOST_BYTES_OF_ALL", 10_000)
    large = sent("a", description="x" * 9_000)
    sink = kept(large, sent("b", namespace="other", description="x" * 9_000))
    assert "in all namespaces; write it again later" in compiled(sink, "other")["other/b"][1]
    sink.drop("vision/a")
    put(sink, sent("b", namespace="other", description="x" * 9_000, generation=2))
    assert compiled(sink, "other") == {"other/b": ("active", "")}


def test_the_parts_of_all_namespaces_together_have_room() -> None:
    room = Room(3, "the policies of all namespaces", MAX_SET_PARTS)
    found = _compiled(
        "vision", kept(sent("a", "gpu.count <= 1 && gpu.count >= 0")).objects.of("vision"), environment(), room
    )
    assert "the policies of all namespaces grows beyond" in str(found.verdicts[0].problems[0])


def test_what_is_forgotten_takes_no_room_and_decides_no_longer() -> None:
    sink = kept(sent("a"))
    sink.objects.take_changed()
    sink.forget()
    assert (sink.documents(), sink.objects.take_changed(), compiled(sink)) == ({}, ["vision"], {})


@pytest.mark.parametrize("params", ["", "limits"])
def test_params_are_followed_before_a_policy_that_looks_for_them_decides(params: str) -> None:
    [one], _ = load_documents(own_policy("vision", "own", "true", params=params), "")
    document = sent(
        "own", paramRef=one.document["spec"].get("paramRef"), paramKind=one.document["spec"].get("paramKind")
    )
    document["spec"] = {key: value for key, value in document["spec"].items() if value is not None}
    seen: list[str] = []

    async def known() -> None:
        seen.append("params")

    async def body() -> None:
        client: Any = None
        counts: Any = None
        takes = (seen.extend, lambda _, __: None)
        log, schema = Log(CapturedLines()), environment().schema
        live = LiveNamespaced(takes, ClusterAccess(lambda: client, counts, log, Timing()), schema)
        live.when_params_wanted = known
        live._sink.put("vision/own", document)
        live.settled.set()
        task = asyncio.create_task(live._hand_on())
        await until("the policies are in force", lambda: _reached(seen))
        task.cancel()

    run(body)
    assert seen == [*(["params"] if params else []), "vision"]


async def _reached(seen: list[str]) -> bool:
    return "vision" in seen
