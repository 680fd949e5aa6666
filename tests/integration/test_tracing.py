"""The span of a review continues the API server's trace and has the result, at a collector that reads OTLP."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TypeAlias

import pytest

from integration.serving import CapturedLines, Serving, admit, body, post, run, serving, until
from otlp_receiver import ReceivedSpan, Receiver, receiver
from podberth import __version__
from podberth.admission.outcome import Outcome
from podberth.admission.review import AdmissionRequest
from podberth.admission.snapshot import Snapshot
from podberth.cli.serve import _tracer
from podberth.server.state import Decider
from podberth.telemetry.log import Log
from podberth.telemetry.metrics import Phases
from podberth.telemetry.tracing import OpenTelemetryTracer

TRACE, CALL = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
KEPT = {"traceparent": f"00-{TRACE}-{CALL}-01"}
NOT_KEPT = {"traceparent": f"00-{TRACE}-{CALL}-00"}


@dataclass(frozen=True, slots=True)
class Traced:
    """A review port with traces, and where they go."""

    port: Serving
    receiver: Receiver

    async def spans(self, count: int) -> list[ReceivedSpan]:
        async def ask() -> list[ReceivedSpan] | None:
            found = self.receiver.spans()
            return found if len(found) >= count else None

        return await until(f"{count} spans; got {self.receiver.spans()}", ask)


Traces: TypeAlias = Callable[[Decider], AbstractAsyncContextManager[Traced]]


@pytest.fixture
def traced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Traces:
    @asynccontextmanager
    async def make(decider: Decider) -> AsyncIterator[Traced]:
        with receiver() as collector:
            for name, value in collector.environ.items():
                monkeypatch.setenv(name, value)
            tracer = OpenTelemetryTracer("podberth-1")
            try:
                async with serving(tmp_path, decider, tracer=tracer) as port:
                    yield Traced(port, collector)
            finally:
                await asyncio.to_thread(tracer.close)

    return make


def test_a_review_is_one_span_of_the_callers_trace_with_its_phases_in_it(traced: Traces) -> None:
    async def test() -> None:
        async with traced(admit) as it:
            assert (await it.port.ask(post(body("u-7"), "/validate", KEPT))).status == 200
            spans = await it.spans(4)
            [whole] = [each for each in spans if each.parent == CALL]
            assert {each.trace for each in spans} == {TRACE}
            assert (whole.name, whole.server, whole.failed) == ("review /validate", True, False)
            assert whole.attributes == {
                "http.response.status_code": 200,
                "podberth.path": "/validate",
                "podberth.review.uid": "u-7",
                "podberth.review.operation": "CREATE",
                "podberth.review.kind": "Pod",
                "podberth.review.namespace": "default",
                "podberth.review.dry_run": False,
                "podberth.verdict": "allowed",
                "podberth.policies": ["nothing"],
            }
            phases = sorted((each for each in spans if each.parent == whole.id), key=lambda each: each.started_ns)
            assert sorted(each.name for each in phases) == sorted(Phases._fields)
            # Three durations, each rounded to a nanosecond.
            assert abs(phases[0].started_ns - whole.started_ns) + abs(phases[-1].ended_ns - whole.ended_ns) <= 4
            assert all(one.ended_ns <= other.started_ns for one, other in pairwise(phases))
            resource = {key: whole.resource[key] for key in ("service.name", "service.version", "service.instance.id")}
            assert [*resource.values()] == ["podberth", __version__, "podberth-1"]

    run(test)


def test_an_unsampled_trace_is_not_kept_and_a_caller_without_one_starts_one(
    traced: Traces,
) -> None:
    async def test() -> None:
        async with traced(admit) as it:
            await it.port.ask(post(body("u-1"), "/mutate", NOT_KEPT))
            await it.port.ask(post(body("u-2"), "/mutate"))
            spans = await it.spans(4)
            [root] = [each for each in spans if not each.parent]
            assert root.attributes["podberth.review.uid"] == "u-2"
            assert len(spans) == 4
            assert root.trace != TRACE

    run(test)


def test_a_request_without_a_decision_has_a_span_and_a_bug_is_an_error(traced: Traces) -> None:
    def broken(_: AdmissionRequest, __: Snapshot) -> Outcome:
        raise ValueError("broken on purpose")

    async def test() -> None:
        async with traced(broken) as it:
            for content, path in ((body("u-1"), "/mutate"), (b"{}", "/mutate"), (b"{}", "/no")):
                await it.port.ask(post(content, path, KEPT))
            spans = await it.spans(3)
            reported = {each.attributes["http.response.status_code"]: each for each in spans}
            assert {code: (each.name, each.failed) for code, each in reported.items()} == {
                500: ("review /mutate", True),
                400: ("review /mutate", False),
                404: ("review other", False),
            }
            assert {each.attributes["podberth.verdict"] for each in spans} == {"error"}
            assert reported[500].attributes["podberth.review.uid"] == "u-1"

    run(test)


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc", "want http/protobuf"),
        ("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "0", "max_export_batch_size"),
    ],
)
def test_reviews_are_answered_even_if_traces_cannot_be_sent(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, said: str
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
    monkeypatch.setenv(name, value)
    lines = CapturedLines()
    assert _tracer(Log(lines)) is None
    [line] = lines.lines
    assert line["msg"] == "traces: none are sent"
    assert said in line["problem"]


@pytest.mark.parametrize("header", ["", "nonsense", "00-" + "0" * 32 + "-" + "0" * 16 + "-01", "x" * 5000])
def test_a_strangers_header_costs_no_answer(traced: Traces, header: str) -> None:
    async def test() -> None:
        async with traced(admit) as it:
            answer = await it.port.ask(post(body("u-1"), "/mutate", {"traceparent": header, "tracestate": header}))
            assert answer.status == 200
            assert len([each for each in await it.spans(4) if not each.parent]) == 1

    run(test)
