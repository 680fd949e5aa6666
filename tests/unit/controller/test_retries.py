"""When a request is sent again, by a simulated clock and with the longest possible waits."""

from itertools import pairwise
from typing import Any

import pytest

from podberth.admission.notices import Regarding
from podberth.api.protocol import Timing
from podberth.controller.plan.world import Action, Create, GroupChange, LookUp
from podberth.controller.requests import RequestResult, Result
from podberth.controller.retries import LONGEST_REFUSED_SECONDS, Waits, key_of
from podberth.errors import ClusterError
from podberth.kube.pod import OwnerReference

ABOUT = Regarding(api_version="batch/v1", kind="Job", namespace="team", name="train", uid="j-1")
SAID: dict[str, Any] = {"kind": "podgroups.scheduling.x-k8s.io", "noun": "PodGroup", "refused": "PodGroupRefused"}
DOCUMENT = {"metadata": {"namespace": "team", "name": "gang"}, "spec": {"minMember": 2}}
CREATE = Create(**SAID, document=DOCUMENT, about=ABOUT)
CHANGE = GroupChange(**SAID, place=("team", "gang"), uid="g-1", patch={}, about=ABOUT, minimum=2)
LOOK_UP = LookUp("team", OwnerReference("batch/v1", "Job", "train", "j-1"))
TIMING = Timing()
STATUSES = {"refused": 403, "conflict": 409, "failed": 500}


def waiting() -> Waits:
    return Waits(TIMING, lambda: 1.0)


def answer(result: Result) -> RequestResult:
    error = ClusterError("refused" if result == "refused" else "failed", f"got {result}")
    error.status = STATUSES[result]
    return RequestResult(result, error=error)


def longest_wait(action: Action, result: Result) -> tuple[float, int]:
    """Return the longest of the waits of an hour, and how many there are."""
    waits, at, tries = waiting(), 0.0, [0.0]
    while at < 3600.0:
        waits.put_off(action, answer(result), at)
        at = waits.next_at(at)
        tries.append(at)
    return max(later - one for one, later in pairwise(tries)), len(tries)


@pytest.mark.parametrize("action", [CREATE, CHANGE])
def test_a_refused_request_is_sent_less_and_less_often(action: Action) -> None:
    """A thousand groups over a quota would otherwise be as many requests in one wait."""
    longest, tries = longest_wait(action, "refused")
    assert longest == LONGEST_REFUSED_SECONDS
    assert tries < 30


@pytest.mark.parametrize(("action", "result"), [(CREATE, "failed"), (LOOK_UP, "failed"), (LOOK_UP, "refused")])
def test_a_failed_request_is_sent_again_soon(action: Action, result: Result) -> None:
    assert longest_wait(action, result)[0] == TIMING.longest_wait_seconds


@pytest.mark.parametrize(
    ("refused", "other"),
    [
        (CREATE, Create(**SAID, document={**DOCUMENT, "spec": {"minMember": 3}}, about=ABOUT)),
        (CHANGE, GroupChange(**SAID, place=("team", "gang"), uid="g-1", patch={}, about=ABOUT, minimum=3)),
    ],
)
def test_a_refused_request_is_sent_at_once_if_its_content_changes(refused: Action, other: Action) -> None:
    waits = waiting()
    waits.put_off(refused, answer("refused"), 10.0)
    assert key_of(refused) == key_of(other)
    assert not waits.due(refused, 10.0)
    assert waits.due(other, 10.0)
    waits.put_off(refused, answer("failed"), 10.0)
    assert not waits.due(other, 10.0)


@pytest.mark.parametrize(
    ("results", "notices", "failed"),
    [
        (["refused"], 1, ""),
        (["failed"], 0, "got failed"),
        (["refused", "failed"], 1, "got failed"),
        (["failed", "refused"], 1, ""),
        (["refused", "conflict"], 0, ""),
        (["failed", "conflict"], 0, ""),
    ],
)
def test_an_error_before_a_conflict_stands_no_more(results: list[Result], notices: int, failed: str) -> None:
    waits = waiting()
    for result in results:
        (waits.overtaken if result == "conflict" else waits.put_off)(CREATE, answer(result), 0.0)
    assert len(list(waits.notices())) == notices
    assert waits.failed() == ({(CREATE.kind, CREATE.place): failed} if failed else {})


def unreadable(reason: str, status: int = 0) -> ClusterError:
    error = ClusterError(reason, "no")
    error.status = status
    return error


FORBIDDEN, LARGE, LOST = unreadable("refused", 403), unreadable("garbled"), unreadable("lost")


@pytest.mark.parametrize(
    ("met", "lasting"),
    [
        ([(0.0, FORBIDDEN)], False),
        ([(0.0, FORBIDDEN), (9.9, FORBIDDEN)], False),
        ([(0.0, FORBIDDEN), (10.0, FORBIDDEN)], True),
        ([(0.0, LARGE), (10.0, LARGE)], True),
        ([(0.0, FORBIDDEN), (5.0, LOST), (10.0, FORBIDDEN)], False),
        ([(0.0, LOST), (10.0, LOST)], False),
        ([(0.0, unreadable("refused", 401)), (10.0, unreadable("refused", 401))], False),
    ],
)
def test_that_an_owner_cannot_be_read_is_believed_after_a_while(
    met: list[tuple[float, ClusterError]], lasting: bool
) -> None:
    waits = waiting()
    assert [waits.unreadable(LOOK_UP, error, at) for at, error in met][-1] is lasting


def test_an_owner_that_cannot_be_read_is_asked_for_when_that_is_believed() -> None:
    waits, at = waiting(), 0.0
    while not waits.unreadable(LOOK_UP, FORBIDDEN, at):
        waits.put_off(LOOK_UP, RequestResult("refused", error=FORBIDDEN), at)
        at = waits.next_at(at)
    assert at == TIMING.refused_seconds


def test_a_new_look_up_comes_before_repeated_ones() -> None:
    """More of these requests than places are due again before the last of them was sent."""
    waits = waiting()
    hanging = [LookUp("team", OwnerReference("batch/v1", "Job", f"job-{n}", str(n))) for n in range(3)]
    for at, each in enumerate(reversed(hanging)):
        waits.put_off(each, answer("failed"), float(at))
    assert waits.in_turn([*hanging, LOOK_UP], 100.0) == [LOOK_UP, *reversed(hanging)]
    assert waits.in_turn([*hanging, LOOK_UP], 0.3) == [LOOK_UP, hanging[2]]


def test_a_write_is_repeated_if_the_watch_does_not_show_it() -> None:
    waits = waiting()
    waits.put_off(CREATE, answer("refused"), 0.0)
    waits.written(CREATE, 1.0)
    assert not waits.due(CREATE, 5.9)
    assert waits.due(CREATE, 6.0)
    assert list(waits.notices()) == []
    waits.keep(())
    assert waits.due(CREATE, 1.0)
