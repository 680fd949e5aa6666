"""Events are written despite faults of the API server and writes of other replicas; lost ones are counted."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from integration.event_server import EventServer, event_server
from integration.serving import CapturedLines, run, until
from podberth.admission.notices import Notice, Regarding
from podberth.api.client import ClusterClient
from podberth.api.protocol import Timing
from podberth.cluster.event_series import Limits
from podberth.cluster.events import Events, name
from podberth.telemetry.log import Log
from podberth.telemetry.metrics import EventMetrics, Metrics

TIMING = Timing(first_wait_seconds=0.01, longest_wait_seconds=0.02, least_wait_seconds=0.01)
# No notice waits for others, so that the test decides when a series is complete.
LIMITS = Limits(together_seconds=0.01, repeat_seconds=0.01, longest_repeat_seconds=0.02, requests_per_second=1000)
JOB = Regarding(api_version="batch/v1", kind="Job", namespace="team", name="train", uid="j-1")
LOOK = Notice(regarding=JOB, type="Warning", reason="PolicyWarning", action="Validate", note="look")
PATH = f"/apis/events.k8s.io/v1/namespaces/team/events/{name(LOOK)}"


@dataclass(frozen=True, slots=True)
class Publishing:
    """A process' Events, and the API server that they go to."""

    server: EventServer
    events: Events
    metrics: Metrics
    log: CapturedLines
    task: asyncio.Task[None]

    async def until(self, what: str, reached: Callable[[], bool]) -> None:
        async def ask() -> bool:
            assert not self.task.done()
            return reached()

        await until(f"{what}; got {self.server.asked}", ask)

    def counted(self) -> dict[str, float]:
        lines = (line.rpartition(" ") for line in self.metrics.exposition().decode().splitlines())
        found = {key.partition('="')[2].rstrip('"}'): value for key, _, value in lines if "notices_total{" in key}
        return {result: float(value) for result, value in found.items() if float(value)}

    def errors(self, reason: str) -> float:
        text = self.metrics.exposition().decode()
        [line] = [
            each for each in text.splitlines() if each.startswith(f'podberth_event_errors_total{{reason="{reason}"')
        ]
        return float(line.rpartition(" ")[2])

    def count(self, path: str = PATH) -> int:
        known = self.server.events.get(path, {})
        return int(known.get("series", {}).get("count", 1)) if known else 0


@asynccontextmanager
async def publishing(server: EventServer, limits: Limits = LIMITS) -> AsyncIterator[Publishing]:
    lines = CapturedLines()
    metrics = Metrics([], lines_dropped=int, in_flight=int)
    client = ClusterClient(server.kubeconfig, TIMING)
    events = Events(client, "podberth-1", EventMetrics(metrics.registry), Log(lines), timing=TIMING, limits=limits)
    task = asyncio.create_task(events.run())
    try:
        yield Publishing(server, events, metrics, lines, task)
    finally:
        await events.finish(task)


def test_an_event_is_valid_for_the_api(tmp_path: Path) -> None:
    async def body() -> None:
        async with event_server(tmp_path) as server, publishing(server) as process:
            process.events.publish(LOOK)
            await process.until("an Event", lambda: PATH in server.events)
            [(method, path, document)] = server.asked
            assert (method, path) == ("POST", PATH.rpartition("/")[0])
            assert document["eventTime"].endswith("Z")
            assert {key: document[key] for key in document if key != "eventTime"} == {
                "apiVersion": "events.k8s.io/v1",
                "kind": "Event",
                "metadata": {"name": name(LOOK), "namespace": "team"},
                "type": "Warning",
                "reason": "PolicyWarning",
                "action": "Validate",
                "note": "look",
                "regarding": {
                    "apiVersion": "batch/v1",
                    "kind": "Job",
                    "namespace": "team",
                    "name": "train",
                    "uid": "j-1",
                },
                "reportingController": "podberth.io/webhook",
                "reportingInstance": "podberth-1",
            }

    run(body)


def test_an_event_about_an_object_in_no_namespace_is_in_default(tmp_path: Path) -> None:
    async def body() -> None:
        async with event_server(tmp_path) as server, publishing(server) as process:
            process.events.publish(replace(LOOK, regarding=replace(JOB, namespace="")))
            await process.until("an Event", lambda: bool(server.events))
            [(_, path, document)] = server.asked
            assert path == "/apis/events.k8s.io/v1/namespaces/default/events"
            assert "namespace" not in document["regarding"]

    run(body)


def test_a_thousand_pods_of_a_job_are_one_event_that_counts_them(tmp_path: Path) -> None:
    async def body() -> None:
        async with event_server(tmp_path) as server, publishing(server) as process:
            for _ in range(1000):
                process.events.publish(LOOK)
            await process.until("one Event of all", lambda: process.count() == 1000)
            assert len(server.asked) == 1
            for _ in range(10):
                process.events.publish(LOOK)
            await process.until("ten more", lambda: process.count() == 1010)
            assert list(server.events) == [PATH]
            # What the server has is counted here when its answer comes.
            await process.until("all counted", lambda: process.counted() == {"created": 1, "repeated": 1009})

    run(body)


def test_two_replicas_and_a_restarted_one_count_in_one_event(tmp_path: Path) -> None:
    async def body() -> None:
        async with event_server(tmp_path) as server:
            async with publishing(server) as one, publishing(server) as other:
                for each in (one, other) * 5:
                    each.events.publish(LOOK)
                    await asyncio.sleep(0)
                await one.until("all ten", lambda: one.count() == 10)
            async with publishing(server) as restarted:
                restarted.events.publish(LOOK)
                await restarted.until("one more", lambda: restarted.count() == 11)
            assert list(server.events) == [PATH]

    run(body)


def test_counts_that_a_rival_has_added_are_not_lost(tmp_path: Path) -> None:
    async def body() -> None:
        async with event_server(tmp_path) as server, publishing(server) as process:
            process.events.publish(LOOK)
            await process.until("an Event", lambda: process.count() == 1)
            server.rivals_write(PATH, 4)
            process.events.publish(LOOK)
            await process.until("both", lambda: process.count() == 6)

    run(body)


def test_an_event_that_has_run_out_is_made_again(tmp_path: Path) -> None:
    async def body() -> None:
        async with event_server(tmp_path) as server, publishing(server) as process:
            process.events.publish(LOOK)
            await process.until("an Event", lambda: process.count() == 1)
            # The server's answer may be on its way: what it says is read before anything else is sent.
            server.events.clear()
            process.events.publish(LOOK)
            await process.until("another one", lambda: process.count() == 1)
            assert "series" not in server.events[PATH]

    run(body)


@pytest.mark.parametrize("fault", [0, 429, 500, 503])
def test_an_absent_or_busy_api_server_is_tried_again_and_no_event_is_lost(tmp_path: Path, fault: int) -> None:
    async def body() -> None:
        async with event_server(tmp_path) as server, publishing(server) as process:
            server.faults = [fault] * 3
            process.events.publish(LOOK)
            process.events.publish(LOOK)
            await process.until("an Event of both", lambda: process.count() == 2)
            assert process.errors({0: "lost", 429: "busy"}.get(fault, "failed")) == 3
            assert len([line for line in process.log.lines if line["msg"].startswith("events:")]) == 1
            assert "failed" not in process.counted()

    run(body)


def test_an_event_is_given_up_after_some_tries(tmp_path: Path) -> None:
    async def body() -> None:
        async with event_server(tmp_path) as server, publishing(server) as process:
            server.faults = [500] * 12
            process.events.publish(LOOK)
            await process.until("it to be given up", lambda: process.counted() == {"failed": 1})
            assert not server.faults
            process.events.publish(LOOK)
            await process.until("the next one to be sent", lambda: process.count() == 1)

    run(body)


def test_a_terminating_namespace_does_not_delay_others(tmp_path: Path) -> None:
    async def body() -> None:
        async with event_server(tmp_path) as server, publishing(server) as process:
            server.gone = frozenset({"going"})
            process.events.publish(replace(LOOK, regarding=replace(JOB, namespace="going")))
            process.events.publish(LOOK)
            await process.until("the other Event", lambda: process.count() == 1)
            await process.until("the first to be given up", lambda: process.counted() == {"created": 1, "failed": 1})
            assert process.errors("refused") == 3

    run(body)


def test_nonsense_for_an_answer_ends_nothing(tmp_path: Path) -> None:
    async def body() -> None:
        async with event_server(tmp_path) as server, publishing(server) as process:
            server.faults = [204]
            process.events.publish(LOOK)
            await process.until("an Event", lambda: process.count() == 1)
            assert process.errors("garbled") == 1

    run(body)


def test_requests_come_one_after_the_other(tmp_path: Path) -> None:
    async def body() -> None:
        limits = replace(LIMITS, burst=3, requests_per_second=0.001, series=10)
        async with event_server(tmp_path) as server, publishing(server, limits) as process:
            for number in range(12):
                process.events.publish(replace(LOOK, note=str(number)))
            await process.until("three Events", lambda: len(server.events) == 3)
            assert process.counted().get("dropped") == 2
            await process.events.finish(process.task)
            # When the process ends there is no next time.
            assert len(server.events) == 10

    run(body)


def test_unsent_notices_are_sent_when_the_process_ends(tmp_path: Path) -> None:
    async def body() -> None:
        async with event_server(tmp_path) as server:
            async with publishing(server, replace(LIMITS, together_seconds=600)) as process:
                process.events.publish(LOOK)
                process.events.publish(LOOK)
            assert process.count() == 2
            assert process.counted() == {"created": 1, "repeated": 1}

    run(body)


def test_an_api_server_that_does_not_answer_does_not_delay_the_end(tmp_path: Path) -> None:
    async def body() -> None:
        async with event_server(tmp_path) as server:
            server.hangs = True
            async with publishing(server, replace(LIMITS, together_seconds=600)) as process:
                process.events.publish(LOOK)
                # Far below what a request may take (Timing.list_seconds), or this test.
                await process.events.finish(process.task, 0.05)
            assert process.counted() == {"failed": 1}

    run(body)


def test_a_namespace_whose_events_fail_holds_up_no_other(tmp_path: Path) -> None:
    async def body() -> None:
        async with event_server(tmp_path) as server, publishing(server) as process:
            server.sick = frozenset({"sick"})
            process.events.publish(replace(LOOK, regarding=replace(JOB, namespace="sick")))
            await process.until("a failure", lambda: process.errors("failed") > 0)
            process.events.publish(LOOK)
            await process.until("the other's Event", lambda: PATH in server.events)
            assert process.counted().get("failed", 0) == 0

    run(body)


def test_at_the_end_a_refused_event_keeps_no_other_from_being_sent(tmp_path: Path) -> None:
    async def body() -> None:
        late = Limits(together_seconds=60.0)
        async with event_server(tmp_path) as server:
            server.gone = frozenset({"going"})
            async with publishing(server, late) as process:
                process.events.publish(replace(LOOK, regarding=replace(JOB, namespace="going")))
                process.events.publish(LOOK)
            assert PATH in server.events
            assert process.counted() == {"created": 1, "failed": 1}

    run(body)
