"""The reviews that podberth writes Events about, and the namespaces, by its knowledge of the caller."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from builders import gpu_pod, review
from integration.event_server import EventServer, event_server
from integration.serving import CapturedLines, run, until
from podberth.admission import decide
from podberth.admission.review import decode_review
from podberth.api.client import ClusterClient
from podberth.api.protocol import Timing
from podberth.cluster.event_series import Limits
from podberth.cluster.events import Events, ReviewEvents
from podberth.telemetry.log import Log
from podberth.telemetry.metrics import EventMetrics, Metrics
from snapshots import policy, snapshot

TIMING = Timing(first_wait_seconds=0.01, longest_wait_seconds=0.02, least_wait_seconds=0.01)
LIMITS = Limits(together_seconds=0.01, repeat_seconds=0.01, requests_per_second=1000)
WARNS = policy("warns", "  validations:\n  - {expression: 'false', message: look}\n  validationActions: [Warn]")
KNOWN = snapshot(WARNS, objects=[{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}}])
HOSTILE = ("..", "../kube-system/secrets", "team/../../x", "team?x=", "team#", "Team", "a" * 5000, "")
OWNER = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "serve-1", "uid": "r-1", "controller": True}


@dataclass(frozen=True, slots=True)
class Listening:
    server: EventServer
    listener: ReviewEvents
    metrics: Metrics

    def ask(self, namespace: str, **owner: Any) -> None:
        pod = gpu_pod()
        pod["metadata"]["ownerReferences"] = [{**OWNER, **owner}]
        # An envelope with another namespace is refused before it gets here; these are held against it all the same.
        request = replace(decode_review(review(pod, namespace="team")), namespace=namespace)
        self.listener.observe(request, decide.validate(request, KNOWN))

    def counted(self, result: str) -> float:
        wanted = f'podberth_event_notices_total{{result="{result}"}} '
        [line] = [each for each in self.metrics.exposition().decode().splitlines() if each.startswith(wanted)]
        return float(line.removeprefix(wanted))


@asynccontextmanager
async def listening(directory: Path, *, proved: bool) -> AsyncIterator[Listening]:
    metrics = Metrics([], lines_dropped=int, in_flight=int)
    async with event_server(directory) as server:
        client = ClusterClient(server.kubeconfig, TIMING)
        events = Events(
            client, "p-1", EventMetrics(metrics.registry), Log(CapturedLines()), timing=TIMING, limits=LIMITS
        )
        task = asyncio.create_task(events.run())
        try:
            yield Listening(server, ReviewEvents(events, lambda: KNOWN, proved=proved), metrics)
        finally:
            await events.finish(task)


@pytest.mark.parametrize("proved", [True, False])
def test_an_invalid_name_of_a_namespace_or_object_makes_no_request(tmp_path: Path, *, proved: bool) -> None:
    async def test() -> None:
        async with listening(tmp_path, proved=proved) as heard:
            for text in HOSTILE[:-1]:
                heard.ask(text)
            for text in (*HOSTILE, "two words"):
                heard.ask("team", name=text)
            assert heard.counted("unknown") == len(HOSTILE) - 1 + len(HOSTILE) + 1
            heard.ask("team")
            await until("the Event of an object that can be", _async(lambda: bool(heard.server.events)))
            [(method, path, _)] = heard.server.asked
            assert (method, path) == ("POST", "/apis/events.k8s.io/v1/namespaces/team/events")

    run(test)


def _async(reached: Any) -> Any:
    async def ask() -> bool:
        return bool(reached())

    return ask


def test_a_caller_without_a_certificate_causes_events_in_known_namespaces_only(tmp_path: Path) -> None:
    async def test() -> None:
        async with listening(tmp_path, proved=False) as heard:
            heard.ask("kube-system")
            heard.ask("team", apiVersion="batch/v1", kind="Job", name="nobody-knows")
            assert heard.counted("unknown") == 2
        async with listening(tmp_path, proved=True) as heard:
            heard.ask("kube-system")
            heard.ask("team", apiVersion="batch/v1", kind="Job", name="nobody-knows")
            await until("both Events", _async(lambda: len(heard.server.events) == 2))

    run(test)


def test_a_flood_of_callers_without_certificates_is_a_few_events(tmp_path: Path) -> None:
    async def test() -> None:
        async with listening(tmp_path, proved=False) as heard:
            for number in range(1000):
                heard.ask("team", name=f"serve-{number}", uid=f"r-{number}")
            assert heard.counted("limited") >= 1000 - LIMITS.unproved_burst - 1
            await until("the Events", _async(lambda: len(heard.server.events) >= LIMITS.unproved_burst))

    run(test)
