"""Damaged reviews of all four paths, over the real port: decided on, or refused with a reason; never a bug."""

from pathlib import Path

import pytest

from fuzzed_envelopes import fuzzed
from integration.serving import post, run, serving
from integration.test_awaited import AWAITED
from podberth.cli.serve import DECIDERS
from podberth.server import handler
from shipped import shipped

COUNT = 1_500


@pytest.mark.parametrize("seed", range(2))
def test_a_damaged_review_is_decided_on_or_refused_with_a_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.setattr(handler, "PATIENCE_SECONDS", 0.0)

    async def test() -> None:
        async with serving(tmp_path, DECIDERS) as server, server.connect() as connection:
            server.state.snapshot, server.state.awaited = shipped(), AWAITED
            statuses: dict[int, int] = {}
            for path, body in fuzzed(seed, COUNT):
                answer = await connection.ask(post(body, f"{path}?timeout=30s"))
                statuses[answer.status] = statuses.get(answer.status, 0) + 1
                assert answer.status == 200 or 400 <= answer.status < 500, (path, body, answer.content)
                assert len(answer.content) < 100_000
            assert not [line for line in server.log.lines if line["msg"] == "bug"]
            # Both halves are reached: neither nothing but refusals, nor nothing but reviews.
            assert min(statuses[200], statuses[400]) > COUNT / 10

    run(test)
