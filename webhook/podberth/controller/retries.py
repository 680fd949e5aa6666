"""Decides when a request may be sent again, and what is reported until then. Pure: the caller gives the time.

A request waits after a failure, and after a success until the watch shows the effect of the request.
"""

from collections.abc import Callable, Container, Hashable, Iterable, Iterator
from dataclasses import dataclass, replace
from http import HTTPStatus
from random import random
from typing import Final, TypeAlias

from ..admission.notices import Notice, note
from ..api.protocol import Pace, Timing
from ..errors import ClusterError
from ..kube.object_names import NamespacedName
from .plan.world import Action, Create, GroupChange, LookUp, Owned
from .requests import RequestResult, word

LONGEST_REFUSED_SECONDS: Final = 300.0
"""The maximum number of seconds before a refused request is sent again.

A person fixes the cause of the refusal, a quota or a webhook, in minutes. With this wait, 1,000 groups over a quota
cause some seven requests a second instead of 200.
"""
# How long the watch may take to show a write. After that the object is written again, if that is still wanted.
_SEEN_SECONDS: Final = 5.0

Subject: TypeAlias = Owned | tuple[str, NamespacedName]
"""The owner or the object that an action is about, as in ``World.failed``."""


@dataclass(slots=True)
class _Wait:
    """A request that is not sent again before the time ``until``."""

    of: Subject
    failing: Pace
    refusing: Pace
    until: float = 0.0
    notice: Notice | None = None
    failed: str = ""
    """The error of the request, if the API server neither executed nor refused the request; else empty."""
    refused: object = None
    """The content of the request, if the API server refused the request; else None."""
    unreadable_since: float | None = None


class Waits:
    """The requests that wait for another try."""

    def __init__(self, timing: Timing, draw: Callable[[], float] = random) -> None:
        """Create the object, in which no request waits. ``draw`` returns random numbers from 0 to 1."""
        self._timing = timing
        self._refused = replace(timing, longest_wait_seconds=LONGEST_REFUSED_SECONDS)
        self._draw = draw
        self._each: dict[Hashable, _Wait] = {}

    def clear(self) -> None:
        """Forget all waiting requests."""
        self._each.clear()

    def keep(self, wanted: Container[Hashable]) -> None:
        """Forget the requests whose identity is not in ``wanted``, because the plan no longer has these requests."""
        self._each = {key: each for key, each in self._each.items() if key in wanted}

    def due(self, action: Action, at: float) -> bool:
        """Return whether the request for an action may be sent at the time ``at``.

        If a request was refused and its content has changed since, the request may be sent at any time.
        """
        wait = self._each.get(key_of(action))
        if wait is None or wait.until <= at:
            return True
        return wait.refused is not None and wait.refused != _asked(action)

    def in_turn(self, actions: Iterable[Action], at: float) -> list[Action]:
        """Return the actions whose requests may be sent; requests that were never tried come first.

        The others follow in the order in which their waiting times ended. In any other order, repeated look-ups of
        owners that never answer would delay the first look-up of other owners.
        """
        return sorted((each for each in actions if self.due(each, at)), key=self._due_at)

    def _due_at(self, action: Action) -> float:
        wait = self._each.get(key_of(action))
        return wait.until if wait is not None else float("-inf")

    def next_at(self, after: float) -> float:
        """Return the first time after ``after`` at which a request may be sent again; infinity if there is none."""
        return min((each.until for each in self._each.values() if each.until > after), default=float("inf"))

    def failed(self) -> dict[Subject, str]:
        """Return a mapping from the subject of each failed request to its error; refused writes are left out."""
        return {each.of: each.failed for each in self._each.values() if each.failed}

    def notices(self) -> Iterator[Notice]:
        """Yield a notice about each write that the API server refused."""
        yield from (each.notice for each in self._each.values() if each.notice)

    def written(self, action: Action, at: float) -> None:
        """Record that a write succeeded; a repetition is due if the watch shows no effect after 5 s."""
        self._each[key_of(action)] = wait = self._new(action)
        wait.until = at + _SEEN_SECONDS

    def overtaken(self, action: Action, answer: RequestResult, at: float) -> None:
        """Record that a write was not executed, for a reason that is no error, and postpone the next try.

        Either another writer changed the object first, or a group's minimum cannot change. Usually the watch then shows
        that the action is no longer needed. Earlier errors of the action are forgotten.
        """
        wait = self._later(action, answer, at)
        wait.notice, wait.failed, wait.refused = None, "", None

    def put_off(self, action: Action, answer: RequestResult, at: float) -> str:
        """Record that the request for an action failed, and schedule the next try; return the error."""
        wait, said = self._later(action, answer, at), str(answer.error)
        wait.failed, wait.refused = said, None
        if answer.result == "refused" and not isinstance(action, LookUp):
            wait.failed, wait.refused = "", _asked(action)
            wait.notice = _refusal(action, said)
        return said

    def unreadable(self, action: LookUp, error: ClusterError | None, at: float) -> bool:
        """Record the error of a look-up; return whether podberth should give up reading the owner.

        podberth should give up if the API server has forbidden the look-up or sent invalid answers for the configured
        time (``Timing.refused_seconds``). A server that has just started refuses all requests for some seconds. Other
        errors count as temporary.
        """
        wait = self._each.setdefault(key_of(action), self._new(action))
        # "garbled" is also an answer that is longer than an object can be.
        if error is None or (error.status != HTTPStatus.FORBIDDEN and error.reason != "garbled"):
            wait.unreadable_since = None
            return False
        if wait.unreadable_since is None:
            wait.unreadable_since = at
        return at - wait.unreadable_since >= self._timing.refused_seconds

    def _later(self, action: Action, answer: RequestResult, at: float) -> _Wait:
        wait = self._each.setdefault(key_of(action), self._new(action))
        refused = answer.result == "refused" and not isinstance(action, LookUp)
        pace = wait.refusing if refused else wait.failing
        wait.until = at + pace.wait_seconds(0.0, answer.error.retry_after_seconds if answer.error else 0.0)
        if wait.unreadable_since is not None:
            # The next try is not later than the moment at which the failure counts as final: the gang waits for that.
            wait.until = min(wait.until, max(at, wait.unreadable_since + self._timing.refused_seconds))
        return wait

    def _new(self, action: Action) -> _Wait:
        return _Wait(subject_of(action), Pace(self._timing, self._draw), Pace(self._refused, self._draw))


def _refusal(action: Create | GroupChange, said: str) -> Notice:
    place = "/".join(action.place)
    text = f"{action.noun} {place}: the API server refuses to {word(action)} it, and podberth tries again: {said}"
    return Notice(regarding=action.about, type="Warning", reason=action.refused, action="Write", note=note(text))


def _asked(action: Action) -> object:
    if isinstance(action, Create):
        return action.document
    return action.minimum if isinstance(action, GroupChange) else None


def subject_of(action: Action) -> Subject:
    """Return the owner or the object that an action is about."""
    return (action.namespace, action.owner) if isinstance(action, LookUp) else (action.kind, action.place)


def key_of(action: Action) -> Hashable:
    """Return the identity of an action; two actions with an equal identity are never in progress together."""
    return subject_of(action) if isinstance(action, LookUp) else (word(action), action.kind, action.place)
