"""What is kept of tenants' ConfigMaps, within bounds for each namespace and for all."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, cast

import pytest
from prometheus_client import CollectorRegistry

from integration.serving import CapturedLines
from podberth.admission.namespace_params import MOST_BYTES, MOST_OF_NAMESPACE, NamespaceParams
from podberth.api.protocol import NAMESPACE_PARAMS, AnswerLimits, Timing
from podberth.api.reflector import ClusterAccess
from podberth.cluster import live_params
from podberth.cluster.live_params import LiveParams, TenantParams
from podberth.errors import ClusterError
from podberth.telemetry.log import Log
from podberth.telemetry.watch_metrics import WatchCounts
from tenants import limits

if TYPE_CHECKING:
    from podberth.api.opening import Client


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
    assert sink.objects.unusable == MOST_OF_NAMESPACE
    assert "got more than 200 ConfigMaps in the namespace; delete some, then write it again" in sink.take()["a"].excess
    for at in range(MOST_OF_NAMESPACE, 3 * MOST_OF_NAMESPACE):
        sink.drop(f"a/limits-{at:04}")
    assert (sink.objects.unusable, sink.take()["a"].excess) == (0, "")


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
    sink.objects.forget()
    assert sink.take() == {}
    put(sink, *many(1))
    assert len(sink.take()["a"].config_maps) == 1


class Served:
    """An API server with these ConfigMaps; it refuses to list them as often as ``refusals`` says."""

    def __init__(self, *config_maps: dict[str, Any], refusals: int = 0) -> None:
        self.config_maps = config_maps
        self.refusals = refusals
        self.queries: list[Mapping[str, str]] = []

    async def get(self, _path: str, query: dict[str, str], _limits: AnswerLimits) -> bytes:
        """Return the one page of the list, or refuse."""
        self.queries.append(query)
        if len(self.queries) <= self.refusals:
            error = ClusterError("refused", "got 403")
            error.status = HTTPStatus.FORBIDDEN
            raise error
        return json.dumps({"metadata": {"resourceVersion": "9"}, "items": self.config_maps}).encode()

    @asynccontextmanager
    async def stream(self, _path: str, _query: dict[str, str]) -> AsyncIterator[AsyncIterator[bytes]]:
        """Yield a watch without events."""

        async def nothing() -> AsyncIterator[bytes]:
            await asyncio.Event().wait()
            yield b""

        yield nothing()

    async def reset(self) -> None:
        """Do nothing: there are no connections."""


def followed(served: Served, until: Callable[[list[Any]], bool]) -> tuple[list[Any], LiveParams]:
    """Follow until ``until`` holds for what was passed on; return that."""
    taken: list[Any] = []
    timing = Timing(first_wait_seconds=0.0, least_wait_seconds=0.0)

    async def run() -> LiveParams:
        done = asyncio.Event()

        def take(found: Any) -> None:
            taken.append(found)
            if until(taken):
                done.set()

        live = LiveParams(
            take,
            ClusterAccess(
                lambda: cast("Client", served), WatchCounts(CollectorRegistry()), Log(CapturedLines()), timing
            ),
        )
        running = asyncio.create_task(live.run())
        await asyncio.sleep(0)
        assert served.queries == []
        assert live.states() == {}
        await live.known()
        assert taken
        async with asyncio.timeout(60):
            await done.wait()
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        return live

    live = asyncio.run(run())
    return taken, live


def test_nothing_is_listed_before_a_policy_needs_it_and_then_what_has_the_label() -> None:
    served = Served(limits("a", version="1"))
    taken, live = followed(served, bool)
    assert names(taken[0]["a"]) == ["limits"]
    assert served.queries[0]["labelSelector"] == "podberth.io/params=true,!podberth.io/topology"
    assert live.states() == {NAMESPACE_PARAMS.name: "followed"}
    assert live.watched()[NAMESPACE_PARAMS.name].objects == 1


def test_a_refusal_is_passed_on_and_the_right_is_noticed_when_it_is_given() -> None:
    served = Served(limits("a", version="1"), refusals=3)
    taken, live = followed(served, lambda found: not isinstance(found[-1], str))
    assert taken[0] == "got no right to list its ConfigMaps, want it; install the component namespace-params"
    assert names(taken[-1]["a"]) == ["limits"]
    assert live.states() == {NAMESPACE_PARAMS.name: "followed"}
