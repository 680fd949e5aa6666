"""Damaged reviews of all four paths, over the real port: decided on, or refused with a reason; never a bug."""

import json
from pathlib import Path
from typing import Any

import pytest

from builders import JSON, deployment, gpu_pod, review, workload_review
from fuzzed_envelopes import fuzzed
from integration.serving import post, run, serving
from integration.test_awaited import AWAITED
from podberth.admission.review_text import MAX_DEPTH
from podberth.cli.serve import DECIDERS
from podberth.server import handler
from shipped import shipped

COUNT = 1_500


def nested(levels: int) -> dict[str, Any]:
    """Return an object of so many levels."""
    value: dict[str, Any] = {}
    for _ in range(levels - 1):
        value = {"a": value}
    return value


def with_template(levels: int) -> JSON:
    """Return the review of a Deployment whose template has a field of so many levels."""
    document = deployment(gpu_pod())
    document["spec"]["template"]["spec"]["unknown"] = nested(levels)
    return workload_review(document, "deployments")


def of_policy(**fields: Any) -> JSON:
    """Return the review of a policy."""
    document = {"apiVersion": "podberth.io/v1alpha1", "kind": "GPUPolicy", "metadata": {"name": "p"}, **fields}
    return workload_review(document, "gpupolicies")


@pytest.mark.parametrize(
    ("path", "document", "status", "message"),
    [
        ("/validate-workload", with_template(MAX_DEPTH - 10), 200, ""),
        ("/validate-workload", with_template(MAX_DEPTH), 400, "body: nested too deeply: want 254 levels at most"),
        ("/validate-policy", of_policy(spec=nested(MAX_DEPTH)), 400, "body: nested too deeply"),
        ("/validate-policy", of_policy(metadata=[]), 400, "request.object.metadata: got list, want object"),
        ("/mutate", review(gpu_pod(), old={"spec": {"containers": 1}}), 400, "request.oldObject: got an object"),
        (
            "/validate",
            review(gpu_pod(), old={"spec": []}),
            400,
            "request.oldObject: got an object, want null on CREATE",
        ),
        ("/mutate", review(gpu_pod(), "UPDATE", old={"spec": []}), 400, "request.oldObject"),
        ("/validate", review(gpu_pod(), "UPDATE", old={"spec": []}), 400, "oldObject: spec: got list, want object"),
    ],
)
def test_a_document_that_once_met_a_bug_is_refused_by_the_name_of_its_field(
    tmp_path: Path, path: str, document: JSON, status: int, message: str
) -> None:
    async def test() -> None:
        async with serving(tmp_path, DECIDERS) as server:
            server.state.snapshot = shipped()
            answer = await server.ask(post(json.dumps(document).encode(), path))
            assert answer.status == status
            assert message in answer.content.decode()
            assert not [line for line in server.log.lines if line["msg"] == "bug"]

    run(test)


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
