"""When a policy's status is written: a verdict is written once, and no replica answers another."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from calls import calls
from integration.serving import CapturedLines, run, until
from pages import ROOT
from podberth.api.protocol import NAMESPACED_POLICIES, Timing
from podberth.cluster.policy_status import PolicyStatuses, status_due, status_path, turn
from podberth.errors import ClusterError, Problem
from podberth.files.source import Verdict
from podberth.kube.documents import load_documents
from podberth.telemetry.log import Log

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
LATER = datetime(2026, 1, 2, 4, 4, 5, tzinfo=UTC)
GOOD = Verdict("a", 2, "active", ())
OVER = Verdict("a", 2, "active", (), "policies/a.yaml")
OFF = Verdict("a", 2, "disabled", (), "policies/a.yaml")
BROKEN = Verdict("a", 2, "outdated", (Problem("gpupolicy/a", 3, 4, "spec", "no"),))


def policy(status: dict[str, Any] | None = None, generation: int = 2) -> dict[str, Any]:
    return {"metadata": {"name": "a", "uid": "u-1", "generation": generation}, **({"status": status} if status else {})}


def said(verdict: Verdict) -> dict[str, Any]:
    status = status_due(policy(), verdict, NOW, again=True)
    assert status is not None
    return status


@pytest.mark.parametrize("verdict", [GOOD, OVER, OFF, BROKEN])
def test_a_condition_that_is_written_is_not_written_again(verdict: Verdict) -> None:
    assert status_due(policy(said(verdict)), verdict, LATER, again=True) is None


def test_a_broken_policy_has_its_problems_at_their_places() -> None:
    compiled, active = said(BROKEN)["conditions"]
    assert (compiled["status"], compiled["message"]) == ("False", "gpupolicy/a:3:4 spec: no")
    assert active["status"] == "False"


def test_a_policy_says_what_it_replaces_and_what_it_switches_off() -> None:
    def conditions(verdict: Verdict) -> list[tuple[str, str, str]]:
        return [(each["status"], each["reason"], each["message"]) for each in said(verdict)["conditions"]]

    place = "the policy of this name in policies/a.yaml"
    assert conditions(OVER) == [("True", "Compiled", ""), ("True", "Replaces", f"replaces {place}")]
    assert conditions(OFF) == [
        ("Unknown", "Disabled", "not compiled while spec.disabled is true"),
        ("False", "Disabled", f"spec.disabled is true; it switches off {place}"),
    ]
    assert conditions(replace(BROKEN, replaces="policies/a.yaml"))[1][2].endswith(f"stays in force, else {place}")


def test_it_does_not_depend_on_the_memory_of_a_replica() -> None:
    assert said(BROKEN) == said(Verdict("a", 2, "broken", BROKEN.problems))


def test_another_replicas_word_on_this_generation_is_corrected_once() -> None:
    assert status_due(policy(said(GOOD)), BROKEN, LATER, again=True) is not None
    assert status_due(policy(said(GOOD)), BROKEN, LATER, again=False) is None


def test_a_new_generation_gets_conditions_and_unchanged_ones_keep_their_time() -> None:
    newer = Verdict("a", 3, "active", ())
    status = status_due(policy(said(GOOD), generation=3), newer, LATER, again=False)
    assert status is not None
    assert status["observedGeneration"] == 3
    assert {each["lastTransitionTime"] for each in status["conditions"]} == {"2026-01-02T03:04:05Z"}
    broken = Verdict("a", 3, "outdated", BROKEN.problems)
    status = status_due(policy(said(GOOD), generation=3), broken, LATER, again=False)
    assert status is not None
    assert {each["lastTransitionTime"] for each in status["conditions"]} == {"2026-01-02T04:04:05Z"}


@pytest.mark.parametrize(
    ("verdict", "reason"), [(GOOD, "InForce"), (OFF, "Disabled"), (replace(BROKEN, state="broken"), "NotCompiled")]
)
def test_the_default_of_the_crd_counts_as_no_status(verdict: Verdict, reason: str) -> None:
    unread = policy(default_status())
    status = status_due(unread, verdict, NOW, again=False)
    assert status == said(verdict)
    notice = turn(unread, verdict)
    assert notice is not None
    assert notice.reason == reason


def default_status() -> dict[str, Any]:
    """Return the status of a policy that no replica has read, as the API server fills it in."""
    crd = load_documents((ROOT / "manifests" / "base" / "gpupolicy-crd.yaml").read_text(), "crd")[0][0].document
    status = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["status"]
    return dict(status["default"])


def test_a_verdict_on_an_earlier_generation_is_kept_to_oneself() -> None:
    assert status_due(policy(generation=3), GOOD, NOW, again=True) is None


class Sending:
    """A client that sees every status while it is being sent."""

    def __init__(self, seen: Callable[[dict[str, Any]], None]) -> None:
        self._seen = seen

    async def send(self, _: str, __: str, body: dict[str, Any], ___: str) -> bytes:
        self._seen(body)
        await asyncio.sleep(0)
        return b""

    async def reset(self) -> None:
        """Have nothing to close."""


def test_a_policy_that_changes_while_a_status_is_sent_gets_no_earlier_verdict() -> None:
    """B is deleted and made again without its fault while the status of a is being sent: both are generation 1."""

    def document(name: str, uid: str) -> dict[str, Any]:
        return {"metadata": {"name": name, "uid": uid, "generation": 1, "resourceVersion": "1"}}

    def verdict(name: str, *, good: bool) -> Verdict:
        return Verdict(name, 1, "active" if good else "broken", () if good else BROKEN.problems)

    sent: list[tuple[str, str]] = []

    def seen(body: dict[str, Any]) -> None:
        sent.append((body["metadata"]["uid"], body["status"]["conditions"][0]["status"]))
        if len(sent) > 1:
            return
        fixed = {"a": document("a", "a-1"), "b": document("b", "b-2")}
        statuses.receive(fixed, [verdict("a", good=True), verdict("b", good=True)])

    client: Any = Sending(seen)
    statuses = PolicyStatuses(client, Log(CapturedLines()), Timing(), "podberth", lambda: 0)
    before = {"a": document("a", "a-1"), "b": document("b", "b-1")}
    statuses.receive(before, [verdict("a", good=True), verdict("b", good=False)])

    async def body() -> None:
        task = asyncio.create_task(statuses.run())
        await until("the fixed policy's status", lambda: _soon(("b-2", "True") in sent))
        task.cancel()

    run(body)
    assert ("b-2", "False") not in sent


def test_a_bug_in_writing_one_status_does_not_end_the_writer() -> None:
    sent: list[str] = []

    def seen(body: dict[str, Any]) -> None:
        sent.append(body["metadata"]["uid"])
        if len(sent) == 1:
            raise RuntimeError("a bug")

    client: Any = Sending(seen)
    lines = CapturedLines()
    statuses = PolicyStatuses(client, Log(lines), Timing(look_seconds=0.01), "podberth", lambda: 0)
    metadata = {"name": "a", "uid": "a-1", "generation": 1, "resourceVersion": "1"}
    statuses.receive({"a": {"metadata": metadata}}, [Verdict("a", 1, "active", ())])

    async def body() -> None:
        task = asyncio.create_task(statuses.run())
        await until("the status", lambda: _soon(len(sent) > 1))
        task.cancel()

    run(body)
    assert [line["error"] for line in lines.lines if "a bug in podberth" in line["msg"]] == ["RuntimeError: a bug"]


def named(*names: str) -> dict[str, dict[str, Any]]:
    return {each: {"metadata": {"name": each, "uid": each, "generation": 1, "resourceVersion": "1"}} for each in names}


def test_a_policy_whose_status_the_api_server_refuses_keeps_no_other_from_its_status() -> None:
    """So does one of 1.5 MiB, which etcd takes without its status alone."""
    sent: list[str] = []

    def seen(body: dict[str, Any]) -> None:
        sent.append(body["metadata"]["uid"])
        if sent[-1] == "a":
            error = ClusterError("refused", "etcdserver: request is too large")
            error.status = 500
            raise error

    client: Any = Sending(seen)
    lines = CapturedLines()
    statuses = PolicyStatuses(client, Log(lines), Timing(look_seconds=0.01), "podberth", lambda: 0)
    statuses.receive(named("a", "b"), [Verdict(each, 1, "active", ()) for each in "ab"])

    async def body() -> None:
        task = asyncio.create_task(statuses.run())
        await until("the next policy's status, and another try", lambda: _soon(sent.count("a") > 1 and "b" in sent))
        task.cancel()

    run(body)
    assert sent[:2] == ["a", "b"]
    assert [line["problem"] for line in lines.lines] == ["etcdserver: request is too large"]


def test_a_change_of_one_policy_makes_no_other_be_looked_at() -> None:
    names = [f"p{at}" for at in range(500)]
    verdicts = [Verdict(each, 1, "active", ()) for each in names]
    documents = named(*names)
    for each in verdicts:
        status = status_due(documents[each.name], each, NOW, again=True)
        documents[each.name]["status"] = status
    statuses = PolicyStatuses(Sending(lambda _: None), Log(CapturedLines()), Timing(), "podberth", lambda: 0)  # type: ignore[arg-type]
    looked = []
    for _ in range(2):
        statuses.receive(documents, verdicts)
        looked.append(calls(lambda: asyncio.run(statuses._write()))[status_due.__code__])
        documents = {**documents, "p7": {**documents["p7"]}}
    assert looked == [500, 1]


async def _soon(reached: bool) -> bool:
    return reached


# ---- Events ----------------------------------------------------------------------------------------------------------

NEWER, NEWER_BROKEN = Verdict("a", 3, "active", ()), Verdict("a", 3, "outdated", BROKEN.problems)


@pytest.mark.parametrize(
    ("before", "now", "reason"),
    [
        (None, GOOD, "InForce"),
        (None, BROKEN, "NotCompiled"),
        (GOOD, NEWER_BROKEN, "Outdated"),
        (BROKEN, NEWER, "InForce"),
        (None, OVER, "InForce"),
        (GOOD, OFF, "Disabled"),
        (OFF, NEWER, "InForce"),
        (OFF, OFF, None),
        (GOOD, NEWER, None),
        (BROKEN, NEWER_BROKEN, None),
    ],
)
def test_a_policy_is_reported_when_it_turns_and_not_when_it_is_as_before(
    before: Verdict | None, now: Verdict, reason: str | None
) -> None:
    notice = turn(policy(said(before) if before else None, generation=now.generation), now)
    assert (notice.reason if notice else None) == reason
    if notice is not None:
        assert (notice.type == "Normal") == (not now.problems)
        assert (notice.regarding.kind, notice.regarding.namespace, notice.regarding.uid) == ("GPUPolicy", "", "u-1")
        assert notice.note.startswith(f"generation {now.generation} ")
        assert all(str(problem) in notice.note for problem in now.problems)


def test_the_status_is_in_the_policys_namespace() -> None:
    assert str(status_path(NAMESPACED_POLICIES, "vision/a")) == (
        "/apis/podberth.io/v1alpha1/namespaces/vision/namespacedgpupolicies/a/status"
    )
