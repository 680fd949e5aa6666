"""A resource is followed despite all faults that an API server or a proxy can cause in a list and a watch."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from integration.scripted import Recorder, Scripted, Step, event, page, scripted, status, stream
from integration.serving import CapturedLines, run, until
from podberth.api.client import ClusterClient
from podberth.api.protocol import NODES, Timing
from podberth.api.reflector import ClusterAccess, Reflector
from podberth.errors import ClusterError, UsageError
from podberth.telemetry.log import Log
from podberth.telemetry.metrics import Metrics, WatchMetrics

TIMING = Timing(
    first_wait_seconds=0.01, longest_wait_seconds=0.05, least_wait_seconds=0.01, settled_seconds=60, silence_seconds=10
)


@dataclass(frozen=True, slots=True)
class Follower:
    """A reflector at work."""

    server: Scripted
    sink: Recorder
    reflector: Reflector
    metrics: Metrics
    log: CapturedLines
    task: asyncio.Task[None]

    async def until(self, what: str, reached: Callable[[], bool]) -> None:
        async def ask() -> bool:
            if self.task.done():
                self.task.result()
            return reached()

        await until(what, ask)

    async def asked(self, count: int) -> None:
        await self.until(f"{count} requests; got {self.server.queries}", lambda: len(self.server.asked) >= count)

    def count(self, name: str, reason: str) -> float:
        [line] = [
            each
            for each in self.metrics.exposition().decode().splitlines()
            if each.startswith(f'podberth_watch_{name}_total{{reason="{reason}",resource="nodes"}}')
        ]
        return float(line.rpartition(" ")[2])


@asynccontextmanager
async def following(directory: Path, *steps: Step, timing: Timing = TIMING) -> AsyncIterator[Follower]:
    async with scripted(directory, *steps) as server:
        lines = CapturedLines()
        metrics = Metrics((), lines_dropped=lambda: 0, in_flight=lambda: 0)
        watching = WatchMetrics(metrics, dict, lambda: 0)
        sink = Recorder()
        client = ClusterClient(server.kubeconfig, timing)
        reflector = Reflector(NODES, client, sink, ClusterAccess(lambda: client, watching, Log(lines), timing))
        task = asyncio.create_task(reflector.run())
        try:
            yield Follower(server, sink, reflector, metrics, lines, task)
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


def test_a_list_is_read_page_by_page_and_watched_from_its_version(tmp_path: Path) -> None:
    async def test() -> None:
        steps = (page(["a", "b"], 5, "more"), page(["c"], 5), stream(event("DELETED", "b", 6), event("ADDED", "d", 7)))
        async with following(tmp_path, *steps) as follower:
            await follower.until("the events", lambda: set(follower.sink.objects) == {"a", "c", "d"})
            assert follower.server.queries == [{}, {"continue": "more"}, {"watch": "true", "resourceVersion": "5"}]
            _, query, who = follower.server.asked[-1]
            assert query["allowWatchBookmarks"] == "true"
            assert 300 <= int(query["timeoutSeconds"]) <= 600
            assert who == "Bearer first"
            assert follower.reflector.listed.is_set()
            assert len(follower.reflector.known) == 3

    run(test)


EXPIRED = stream(b'{"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired"}}\n')


@pytest.mark.parametrize("expired", [status(410, reason="Expired"), EXPIRED], ids=["status", "event"])
def test_a_version_that_is_too_old_means_a_new_list(tmp_path: Path, expired: Step) -> None:
    async def test() -> None:
        async with following(tmp_path, page(["a", "b"], 5), expired, page(["b", "c"], 9), stream()) as follower:
            await follower.asked(4)
            assert follower.server.queries[2:] == [{}, {"watch": "true", "resourceVersion": "9"}]
            # Unchanged objects are not passed on again, and deleted ones are.
            assert follower.sink.received == ["put a", "put b", "put c", "drop a"]
            assert (follower.count("lists", "expired"), follower.count("restarts", "expired")) == (1, 1)

    run(test)


def test_a_token_that_expires_in_the_middle_of_a_list_means_a_list_from_the_start(tmp_path: Path) -> None:
    async def test() -> None:
        steps = (page(["a"], 5, "more"), status(410, reason="Expired"), page(["a", "b"], 9), stream())
        async with following(tmp_path, *steps) as follower:
            await follower.asked(4)
            assert follower.server.queries[1:3] == [{"continue": "more"}, {}]
            assert follower.sink.received == ["put a", "put b"]

    run(test)


@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        (stream(event("ADDED", "b", 6), event("ADDED", "c", 7)[:-9], then="cut"), "lost"),
        (stream(event("ADDED", "b", 6), b'{"type":"ADDED","obj\n'), "garbled"),
        (stream(event("ADDED", "b", 6), then="end"), "ended"),
        (stream(event("ADDED", "b", 6), b'{"type":"ERROR","object":{"code":500}}\n'), "failed"),
    ],
)
def test_a_watch_goes_on_from_the_last_whole_event(tmp_path: Path, broken: Step, reason: str) -> None:
    async def test() -> None:
        async with following(tmp_path, page(["a"], 5), broken, stream(event("ADDED", "c", 7))) as follower:
            await follower.until("the third object", lambda: "c" in follower.sink.objects)
            assert follower.server.queries[2] == {"watch": "true", "resourceVersion": "6"}
            assert follower.count("restarts", reason) == 1
            assert follower.sink.sight.calls == ([] if reason == "ended" else ["lost", "regained"])

    run(test)


def test_a_bookmark_moves_where_the_next_watch_begins(tmp_path: Path) -> None:
    async def test() -> None:
        bookmark = b'{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"50"}}}\n'
        async with following(tmp_path, page(["a"], 5), stream(bookmark, then="end"), stream()) as follower:
            await follower.asked(3)
            assert follower.server.queries[2] == {"watch": "true", "resourceVersion": "50"}

    run(test)


def test_a_connection_that_has_gone_silent_is_given_up(tmp_path: Path) -> None:
    async def test() -> None:
        timing = replace(TIMING, silence_seconds=0.2)
        steps = (page(["a"], 5), stream(event("ADDED", "b", 6)), stream(event("ADDED", "c", 7)))
        async with following(tmp_path, *steps, timing=timing) as follower:
            await follower.until("the event after the silence", lambda: "c" in follower.sink.objects)
            assert follower.count("restarts", "silent") >= 1
            assert follower.sink.sight.calls[:2] == ["lost", "regained"]
            # A kind that does not change is silent, too.
            silent = [line["level"] for line in follower.log.lines if line.get("reason") == "silent"]
            assert set(silent) == {"info"}

    run(test)


def test_a_busy_apiserver_is_left_alone_for_as_long_as_it_asks(tmp_path: Path) -> None:
    async def test() -> None:
        timing = replace(TIMING, longest_wait_seconds=5.0)
        busy = status(429, {"Retry-After": "1"})
        async with following(tmp_path, busy, page(["a"], 5), stream(), timing=timing) as follower:
            await follower.asked(2)
            (first, *_), (second, *_) = follower.server.asked[:2]
            assert second - first >= 1
            assert follower.count("restarts", "busy") == 1

    run(test)


@pytest.mark.parametrize("step", [status(503), stream(then="end"), status(410), EXPIRED])
def test_no_repeated_answer_makes_a_tight_loop(tmp_path: Path, step: Step) -> None:
    async def test() -> None:
        async def alternate(request: Any) -> Any:
            return await (step if request.query.get("watch") else page(["a"], 5))(request)

        timing = replace(TIMING, first_wait_seconds=0.05, longest_wait_seconds=1.0, least_wait_seconds=0.05)
        async with following(tmp_path, alternate, timing=timing) as follower:
            await follower.asked(10)
            began, ended = follower.server.asked[0][0], follower.server.asked[9][0]
            # Ten requests are at least five rounds, with four waits between them.
            assert ended - began >= 4 * 0.05

    run(test)


def test_everything_is_listed_again_from_time_to_time(tmp_path: Path) -> None:
    async def test() -> None:
        timing = replace(TIMING, resync_seconds=0.0)
        steps = (page(["a", "b"], 5), stream(then="end"), page(["a"], 6), stream())
        async with following(tmp_path, *steps, timing=timing) as follower:
            await follower.until("the second list", lambda: set(follower.sink.objects) == {"a"})
            assert follower.count("lists", "resync") == 1

    run(test)


def test_a_rotated_token_is_read_for_the_next_request(tmp_path: Path) -> None:
    async def test() -> None:
        async with following(tmp_path, page(["a"], 5), stream(then="end")) as follower:
            await follower.asked(2)
            follower.server.token_file.write_text("second")
            await follower.until("the new token", lambda: follower.server.asked[-1][2] == "Bearer second")
            # Half-written, as by no kubelet: the next look finds it whole.
            follower.server.token_file.unlink()
            await follower.until("the loss", lambda: follower.count("restarts", "refused") >= 1)
            follower.server.token_file.write_text("third")
            await follower.until("the third token", lambda: follower.server.asked[-1][2] == "Bearer third")

    run(test)


def test_a_refusal_at_the_start_ends_it_with_a_message_and_a_later_one_does_not(tmp_path: Path) -> None:
    async def test() -> None:
        forbidden = status(403, message="nodes is forbidden")
        async with following(tmp_path, forbidden, timing=replace(TIMING, refused_seconds=0.1)) as follower:
            with pytest.raises(ClusterError, match="/api/v1/nodes: got 403 nodes is forbidden, want 200; see what"):
                await follower.asked(100)
        # A server that has just started refuses, too, before it has loaded the roles.
        async with following(tmp_path, forbidden, forbidden, page(["a"], 5), stream()) as follower:
            await follower.asked(4)
        async with following(tmp_path, page(["a"], 5), stream(then="cut"), forbidden, stream()) as follower:
            await follower.asked(4)
            reported = [line for line in follower.log.lines if line["msg"].startswith("nodes: the watch is lost")]
            assert [line["reason"] for line in reported] == ["lost", "refused"]
            assert {line["level"] for line in reported} == {"warning"}
            assert follower.sink.objects == {"a": "1"}

    run(test)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "No such file or directory; want a kubeconfig"),
        ("", "got 0 documents; want a kubeconfig"),
        ("{}", "Expected key current-context"),
        ("a: [", "want a kubeconfig"),
        ("- 1", "want a kubeconfig"),
        ('{"current-context": "x", "contexts": [{"name": "x", "context": {"cluster": "c"}}]}', "want a kubeconfig"),
    ],
)
def test_a_file_that_is_no_kubeconfig_is_refused_by_name(tmp_path: Path, text: str | None, said: str) -> None:
    path = tmp_path / "kubeconfig"
    if text is not None:
        path.write_text(text)
    with pytest.raises(UsageError, match=f"^--kubeconfig: {path}: cannot be used: ") as caught:
        ClusterClient(path, TIMING)
    assert said in str(caught.value)


def test_outside_of_a_pod_the_missing_configuration_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    with pytest.raises(UsageError, match=r"^kubeconfig: got neither .+; want --kubeconfig FILE$"):
        ClusterClient(None, TIMING)


def test_in_a_pod_without_a_service_account_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1")
    with pytest.raises(UsageError, match=r"want a pod with a service account, or --kubeconfig FILE$"):
        ClusterClient(None, TIMING)


def test_a_missing_server_is_lost_and_tried_again(tmp_path: Path) -> None:
    async def test() -> None:
        async with following(tmp_path, page(["a"], 5), stream()) as follower:
            await follower.asked(2)
            client = ClusterClient(follower.server.kubeconfig, TIMING)
        with pytest.raises(ClusterError, match=r"the connection failed: .*; try again$") as caught:
            await client.get(NODES.path, {})
        assert caught.value.reason == "lost"
        await client.reset()

    run(test)
