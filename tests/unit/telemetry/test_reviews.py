import json
from typing import Any

import pytest

from builders import gpu_pod, review
from podberth.admission import response
from podberth.admission.outcome import Decision, Outcome
from podberth.admission.review import decode_review
from podberth.telemetry.line_writer import LineWriter
from podberth.telemetry.log import MAX_TEXT, Log, Spared
from podberth.telemetry.metrics import Metrics, Phases
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
    ReviewRecorder(metrics, Log(lines)).decided(
        "/mutate", decode_review(document), made, Phases(0.001, 0.0002, 0.0000347)
    )
    [line] = lines.lines
    return line


def test_policies_are_named_once_in_the_order_of_their_decisions() -> None:
    decisions = tuple(Decision(name, "mutate", "") for name in ("b", "a", "b"))
    patch = [{"op": "add", "path": "/a", "value": 1}]
    line = _record(review(gpu_pod()), Outcome(response={}, verdict="mutated", decisions=decisions, patch=patch))
    assert (line["policies"], line["patch_ops"], line["duration_ms"]) == (["b", "a"], 1, 1.235)


def test_a_review_counts_once_for_a_policy_that_is_at_fault_however_often() -> None:
    metrics = Metrics(["/mutate"], lines_dropped=int, in_flight=int)
    recorder = ReviewRecorder(metrics, Log(_Lines()))
    faults = (Decision("a", "deny", "", fault=True), Decision("a", "audit", "", fault=True), Decision("b", "deny", ""))
    outcome = Outcome(response={}, verdict="denied", decisions=faults, patch=[])
    recorder.decided("/mutate", decode_review(review(gpu_pod())), outcome, Phases(0.0, 0.0, 0.0))
    counted = [line for line in metrics.exposition().decode().splitlines() if "policy_errors_total{" in line]
    assert counted == ['podberth_policy_errors_total{policy="a"} 1.0']


def test_a_listener_on_a_path_hears_only_of_its_answers() -> None:
    heard: list[str] = []
    metrics = Metrics(["/mutate", "/validate"], lines_dropped=int, in_flight=int)
    recorder = ReviewRecorder(metrics, Log(_Lines()), {"/validate": lambda request, _: heard.append(request.uid)})
    outcome = Outcome(response={}, verdict="allowed", patch=[])
    for path, uid in (("/mutate", "u-1"), ("/validate", "u-2")):
        recorder.decided(path, decode_review(review(gpu_pod(), uid=uid)), outcome, Phases(0.0, 0.0, 0.0))
    assert heard == ["u-2"]


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
def test_a_pod_without_a_name_is_logged_by_its_generate_name(metadata: Any, name: str) -> None:
    document = review({**gpu_pod(), "metadata": metadata} if metadata is not None else {"spec": {}}, name="")
    assert _record(document)["name"] == name


def test_strings_from_outside_are_shortened() -> None:
    document = gpu_pod(name="m" * 100_000)
    line = _record(review(document, userInfo={"username": "n" * 100_000}, name=""))
    assert {len(line[key]) for key in ("user", "name")} == {MAX_TEXT}


@pytest.mark.parametrize("user", [None, {"username": None}, {}])
def test_user_that_is_none_is_empty(user: Any) -> None:
    assert _record(review(gpu_pod(), userInfo=user))["user"] == ""


def test_requests_without_a_decision_are_counted_all_and_logged_a_few() -> None:
    lines, now = _Lines(), [0.0]
    metrics = Metrics(["/mutate"], lines_dropped=int, in_flight=int)
    recorder = ReviewRecorder(metrics, Log(lines), spared=Spared(lambda: now[0]))
    for _ in range(10_000):
        recorder.refused("other", 404, "path: got '/', want one that reviews are sent to", 0.001)
    assert len(lines.lines) == 100
    now[0] = 60.0
    recorder.refused("other", 404, "again", 0.001)
    assert lines.lines[-1]["left_out"] == 9_900
    recorder.refused("other", 404, "again", 0.001)
    assert "left_out" not in lines.lines[-1]
    text = metrics.exposition().decode()
    assert 'podberth_admission_requests_total{operation="",path="other",verdict="error"} 10002.0' in text


def test_a_bug_that_is_met_again_and_again_fills_no_disk() -> None:
    lines = _Lines()
    metrics = Metrics(["/mutate"], lines_dropped=int, in_flight=int)
    recorder = ReviewRecorder(metrics, Log(lines), spared=Spared(lambda: 0.0))
    for _ in range(1000):
        recorder.broke("/mutate", ValueError("x"), None)
    assert len(lines.lines) == 100


def test_reviews_with_a_decision_are_all_logged() -> None:
    lines = _Lines()
    metrics = Metrics(["/mutate"], lines_dropped=int, in_flight=int)
    recorder = ReviewRecorder(metrics, Log(lines), spared=Spared(lambda: 0.0))
    made = Outcome(response=response.allowed("u"), verdict="allowed", patch=[])
    for _ in range(1000):
        recorder.decided("/mutate", decode_review(review(gpu_pod())), made, Phases(0.0, 0.0, 0.0))
    assert len(lines.lines) == 1000
