"""When a request may be sent again, and what is told of it meanwhile. Pure: times are given.

A request that fails is behind a wait of its own, and so is one whose effect is yet to be seen.
"""

from collections.abc import Callable, Container, Hashable, Iterable, Iterator
from dataclasses import dataclass, replace
from http import HTTPStatus
from random import random
from typing import Final, TypeAlias

from ..admission.notices import Notice, note
from ..api.protocol import Pace, Timing
from ..errors import ClusterError
from .plan.model import Action, Change, Create, LookUp, Owned, Place
from .requests import Answer, word

LONGEST_REFUSED_SECONDS: Final = 300.0
"""The most before what the API server refuses is sent again: what it says no to, a quota or a webhook, a person mends
in minutes. 1,000 groups over a quota are then some seven requests a second, and not 200."""
# How long the watch may take to show what was written; then it is written again, where it is still wanted.
_SEEN_SECONDS: Final = 5.0

Subject: TypeAlias = Owned | tuple[str, Place]
"""What an action is about, as in ``World.failed``."""


@dataclass(slots=True)
class _Wait:
    """A request that is not to be sent again before ``until``."""

    of: Subject
    failing: Pace
    refusing: Pace
    until: float = 0.0
    notice: Notice | None = None
    failed: str = ""
    """What it met, where the API server neither did nor refused it."""
    refused: object = None
    """What was asked for when it was refused."""
    unreadable_since: float | None = None


class Waits:
    """The requests that wait for their next try."""

    def __init__(self, timing: Timing, draw: Callable[[], float] = random) -> None:
        """Nothing waits. ``draw`` returns numbers from 0 to 1."""
        self._timing = timing
        self._refused = replace(timing, longest_wait_seconds=LONGEST_REFUSED_SECONDS)
        self._draw = draw
        self._each: dict[Hashable, _Wait] = {}

    def clear(self) -> None:
        """Forget all."""
        self._each.clear()

    def keep(self, wanted: Container[Hashable]) -> None:
        """Forget what is wanted no more."""
        self._each = {key: each for key, each in self._each.items() if key in wanted}

    def due(self, action: Action, at: float) -> bool:
        """Tell whether it may be sent; what was refused may be at once where it asks for something else now."""
        wait = self._each.get(key_of(action))
        if wait is None or wait.until <= at:
            return True
        return wait.refused is not None and wait.refused != _asked(action)

    def in_turn(self, actions: Iterable[Action], at: float) -> list[Action]:
        """Return what may be sent: first what was never tried, then what has waited longest for its next try.

        In another order owners that hang, tried again and again, would keep those behind them from their first try.
        """
        return sorted((each for each in actions if self.due(each, at)), key=self._due_at)

    def _due_at(self, action: Action) -> float:
        wait = self._each.get(key_of(action))
        return wait.until if wait is not None else float("-inf")

    def next_at(self, after: float) -> float:
        """Return when the next one is due that is not yet; infinity: none."""
        return min((each.until for each in self._each.values() if each.until > after), default=float("inf"))

    def failed(self) -> dict[Subject, str]:
        """Return what the last tries met, for ``World.failed``."""
        return {each.of: each.failed for each in self._each.values() if each.failed}

    def notices(self) -> Iterator[Notice]:
        """Yield what is to be told of what was refused."""
        yield from (each.notice for each in self._each.values() if each.notice)

    def written(self, action: Action, at: float) -> None:
        """Let it wait for the watch to show what it did."""
        self._each[key_of(action)] = wait = self._new(action)
        wait.until = at + _SEEN_SECONDS

    def overtaken(self, action: Action, answer: Answer, at: float) -> None:
        """Let it wait for the watch to say by what; nothing that it met before stands."""
        wait = self._later(action, answer, at)
        wait.notice, wait.failed, wait.refused = None, "", None

    def put_off(self, action: Action, answer: Answer, at: float) -> str:
        """Let it wait for its next try; return what it met."""
        wait, said = self._later(action, answer, at), str(answer.error)
        wait.failed, wait.refused = said, None
        if answer.result == "refused" and not isinstance(action, LookUp):
            wait.failed, wait.refused = "", _asked(action)
            wait.notice = _refusal(action, said)
        return said

    def unreadable(self, action: LookUp, error: ClusterError | None, at: float) -> bool:
        """Take in what a look-up met; tell whether nothing came for so long but that the owner cannot be read.

        An API server that has just started refuses everybody for some seconds.
        """
        wait = self._each.setdefault(key_of(action), self._new(action))
        # Refused, or longer than an object can be.
        if error is None or (error.status != HTTPStatus.FORBIDDEN and error.reason != "garbled"):
            wait.unreadable_since = None
            return False
        if wait.unreadable_since is None:
            wait.unreadable_since = at
        return at - wait.unreadable_since >= self._timing.refused_seconds

    def _later(self, action: Action, answer: Answer, at: float) -> _Wait:
        wait = self._each.setdefault(key_of(action), self._new(action))
        refused = answer.result == "refused" and not isinstance(action, LookUp)
        pace = wait.refusing if refused else wait.failing
        wait.until = at + pace.wait_seconds(0.0, answer.error.retry_after_seconds if answer.error else 0.0)
        if wait.unreadable_since is not None:
            # Then it is known, and the gang waits no longer.
            wait.until = min(wait.until, max(at, wait.unreadable_since + self._timing.refused_seconds))
        return wait

    def _new(self, action: Action) -> _Wait:
        return _Wait(subject_of(action), Pace(self._timing, self._draw), Pace(self._refused, self._draw))


def _refusal(action: Create | Change, said: str) -> Notice:
    place = "/".join(action.place)
    text = f"{action.noun} {place}: the API server refuses to {word(action)} it, and podberth tries again: {said}"
    return Notice(regarding=action.about, type="Warning", reason=action.refused, action="Write", note=note(text))


def _asked(action: Action) -> object:
    if isinstance(action, Create):
        return action.document
    return action.minimum if isinstance(action, Change) else None


def subject_of(action: Action) -> Subject:
    """Return what an action is about."""
    return (action.namespace, action.owner) if isinstance(action, LookUp) else (action.kind, action.place)


def key_of(action: Action) -> Hashable:
    """Return what an action is told apart by: there is one at a time."""
    return subject_of(action) if isinstance(action, LookUp) else (word(action), action.kind, action.place)
