"""Diagnoses wait for quiet, run in a thread of their own, and are cancelled by the next change."""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import Any

from podberth.conventions import Conventions
from podberth.kube.schema import PodSchema
from podberth.lint.findings import Level
from podberth.lsp.answers.diagnostics import Diagnostic, Linting
from podberth.lsp.answers.text import Place, Range
from podberth.lsp.diagnosing import Cluster, Diagnosing

Findings = tuple[Diagnostic, ...]
PLACE = Place(0, 0)


def found(message: str) -> Findings:
    return (Diagnostic(Range(PLACE, PLACE), Level.ERROR, "rule", message),)


def played(script: Callable[[Diagnosing], Coroutine[Any, Any, None]]) -> None:
    async def run() -> None:
        cluster = Cluster(pod_schema=PodSchema.packaged(), conventions=Conventions(), nodes=None, level=Level.WARNING)
        diagnosing = Diagnosing(cluster)
        try:
            async with asyncio.timeout(60):
                await script(diagnosing)
        finally:
            diagnosing.close()

    asyncio.run(run())


def test_only_the_last_of_several_changes_is_diagnosed() -> None:
    async def script(diagnosing: Diagnosing) -> None:
        worked: list[str] = []
        published: asyncio.Future[Findings] = asyncio.get_running_loop().create_future()

        def work(_: Linting, text: str) -> Findings:
            worked.append(text)
            return found(text)

        for text in ("a", "ab", "abc"):
            diagnosing.changed("uri", lambda linting, text=text: work(linting, text), published.set_result)  # type: ignore[misc]
        assert (await published)[0].message == "abc"
        assert worked == ["abc"]

    played(script)


def test_a_change_ends_a_diagnosis_that_runs() -> None:
    async def script(diagnosing: Diagnosing) -> None:
        loop = asyncio.get_running_loop()
        began, ended = asyncio.Event(), threading.Event()
        published: asyncio.Future[Findings] = loop.create_future()

        def slow(linting: Linting) -> Findings:
            late = linting.environment.deadline()
            loop.call_soon_threadsafe(began.set)
            while not late():
                ended.wait(0.01)
            ended.set()
            return found("old")

        diagnosing.changed("uri", slow, published.set_result)
        await began.wait()
        diagnosing.changed("uri", lambda _: found("new"), published.set_result)
        assert (await published)[0].message == "new"
        assert ended.is_set()

    played(script)


def test_a_document_that_is_closed_is_not_diagnosed() -> None:
    async def script(diagnosing: Diagnosing) -> None:
        published: list[Findings] = []
        other: asyncio.Future[Findings] = asyncio.get_running_loop().create_future()
        diagnosing.changed("closed", lambda _: found("closed"), published.append)
        diagnosing.changed("open", lambda _: found("open"), other.set_result)
        diagnosing.forget("closed")
        await other
        assert published == []

    played(script)
