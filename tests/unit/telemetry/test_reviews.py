import json
from typing import Any

import pytest

from builders import gpu_pod, review
from podberth.admission import response
from podberth.admission.outcome import Decision, Outcome
from podberth.admission.review import decode_review
from podberth.telemetry.lines import LineWriter
from podberth.telemetry.log import MAX_TEXT, Log
from podberth.telemetry.metrics import Metrics
from podberth.telemetry.reviews import ReviewRecorder


class _Lines(LineWriter):
    def __init__(self) -> None:
        self.dropped = 0
        self.lines: list[dict[str, Any]] = []

    def write(self, line: bytes) -> None:
        self.lines.append(json.loads(line))


def _record(document: dict[str, Any], outcome: Outcome | None = None) -> dict[str, Any]:
    lines = _Lines()
    metrics = Metrics(["/mutate"], lines_dropped=int, in_flight=int)
    made = outcome or Outcome(response=response.allowed("u"), verdict="allowed", patch=[])
    ReviewRecorder(metrics, Log(lines)).decided("/mutate", decode_review(document), made, 0.0012345)
    [line] = lines.lines
    return line


def test_policies_are_named_once_in_the_order_of_their_decisions() -> None:
    decisions = tuple(Decision(name, "mutate", "") for name in ("b", "a", "b"))
    patch = [{"op": "add", "path": "/a", "value": 1}]
    line = _record(review(gpu_pod()), Outcome(response={}, verdict="mutated", decisions=decisions, patch=patch))
    assert (line["policies"], line["patch_ops"], line["duration_ms"]) == (["b", "a"], 1, 1.234)


@pytest.mark.parametrize(
    ("metadata", "name"),
    [
        ({"generateName": "train-"}, "train-"),
        ({"name": "one", "generateName": "train-"}, "one"),
        ({}, ""),
        (None, ""),
        ([], ""),
        ({"generateName": 17}, ""),
    ],
)
def test_pod_without_a_name_goes_by_what_it_is_generated_from(metadata: Any, name: str) -> None:
    document = review({**gpu_pod(), "metadata": metadata} if metadata is not None else {"spec": {}}, name="")
    assert _record(document)["name"] == name


def test_what_comes_from_outside_is_cut() -> None:
    line = _record(review(gpu_pod(), uid="u" * 100_000, userInfo={"username": "n" * 100_000}, name="m" * 100_000))
    assert {len(line[key]) for key in ("uid", "user", "name")} == {MAX_TEXT}


@pytest.mark.parametrize("user", [None, [], "ann", {"username": 17}, {}])
def test_user_that_is_none_is_empty(user: Any) -> None:
    assert _record(review(gpu_pod(), userInfo=user))["user"] == ""
