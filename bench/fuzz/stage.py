"""Asks one review and judges the one answer: what must be true of it whatever was asked."""

import base64
import marshal
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import jsonpatch
import orjson

from podberth.admission import decide
from podberth.admission.messages import MAX_LINE, MAX_TOTAL
from podberth.admission.outcome import Outcome
from podberth.admission.recall import Recall
from podberth.admission.review import AdmissionRequest
from podberth.admission.review_text import read_review
from podberth.admission.snapshot import Snapshot
from podberth.admission.workload import validate_workload
from podberth.errors import ReviewError
from podberth.kube.patch import apply
from podberth.server.judge import Judgement
from podberth.server.state import Decider, Deciders

from .port import Answer, Served
from .tally import Check, Row, Tally
from .values import JSON, with_raw
from .worlds import forgetful

_OVER_TLS: Final = 100
"""One review in so many."""
_OK: Final = 200
_BAD_REQUEST: Final = 400
_SERVER_ERROR: Final = 500
_UNDECIDED: Final = frozenset({0, 413})
"""There was no answer, or the body was not read."""
_OPERATIONS: Final = frozenset({"CREATE", "UPDATE", "DELETE", "CONNECT"})


@dataclass(frozen=True, slots=True)
class Asked:
    """A review and its answer. ``after`` is the review's object with the patch applied, if there is one."""

    status: int
    response: JSON
    """Of the AdmissionReview; empty where there is none."""
    patch: list[JSON]
    after: Any

    @property
    def verdict(self) -> str:
        """The answer in one word."""
        if self.status != _OK:
            return "error"
        if not self.response.get("allowed"):
            return "denied"
        return "mutated" if self.patch else "allowed"


class CountingRecall(Recall):
    """Counts what is answered from memory."""

    __slots__ = ("remembered",)

    def __init__(self) -> None:
        """Remember nothing yet."""
        super().__init__()
        self.remembered = 0

    def answer(self, key: Any, ask: Callable[[], Any], texts: Callable[[Any], Iterable[str]] | None = None) -> Any:
        """Answer as ever."""
        asked = False

        def counted() -> Any:
            nonlocal asked
            asked = True
            return ask()

        found = super().answer(key, counted, texts)
        self.remembered += not asked
        return found


@dataclass(slots=True)
class Stage:
    """Asks the reviews of one batch."""

    snapshot: Snapshot
    tally: Tally
    show: Callable[[str, bytes, Answer], None] | None = None
    case: int = 0
    """Which case is played."""
    served: Served = field(init=False)
    changed: list[str] = field(default_factory=list)
    """Reviews that a decider has changed."""

    def watched(self, deciders: Deciders) -> Deciders:
        """Return deciders whose reviews are looked at before and behind."""
        return {path: self._unchanging(path, decider) for path, decider in deciders.items()}

    def check(self, check: Check, *, good: bool, seen: Callable[[], str]) -> None:
        """Count one thing that must be true."""
        self.tally.checked[check] += 1
        if not good:
            self.tally.violate(check, self.case, seen())

    async def ask(self, path: str, review: JSON, text: bytes | None = None) -> Asked:
        """Ask one review, as ``text`` if that is given; ``review`` is then what it is about."""
        body = with_raw(orjson.dumps(review)) if text is None else text
        over_tls = self.tally.asked % _OVER_TLS == _OVER_TLS - 1
        answer = await (self.served.tls if over_tls else self.served.memory).ask(path, body)
        if self.show is not None:
            self.show(path, body, answer)
        asked = self._read(path, review, body, answer)
        request = review.get("request")
        operation = request.get("operation") if isinstance(request, dict) else None
        known = operation if isinstance(operation, str) and operation in _OPERATIONS else "other"
        self.tally.reviews[Row(path, known, asked.verdict, asked.status)] += 1
        self.tally.over_tls += over_tls
        self._compare(path, body, asked)
        return asked

    def _read(self, path: str, review: JSON, body: bytes, answer: Answer) -> Asked:
        status = answer.status
        faults, changed = self.served.faults.taken(), self.changed.copy()
        self.changed.clear()
        self.check(
            "an answer, and no 5xx",
            good=0 < status < _SERVER_ERROR,
            seen=lambda: f"{path}: {status} {answer.content[:300]!r} {faults[:1]}",
        )
        self.check("no traceback or error in the log", good=not faults, seen=lambda: f"{path}: {faults[0][-500:]}")
        held = self.served.budget.used["bodies"] + self.served.budget.used["documents"]
        self.check(
            "bodies and documents are given back to the budget",
            good=held == 0,
            seen=lambda: f"{path}: {self.served.budget.used}",
        )
        self.check("the review is not changed", good=not changed, seen=lambda: changed[0])
        document, formed = _formed(answer, review)
        self.check(
            "answers are AdmissionReviews of the review's uid, or Statuses",
            good=formed,
            seen=lambda: f"{path}: {status} {answer.content[:300]!r}",
        )
        if status != _OK or not formed:
            return Asked(status, {}, [], None)
        response: JSON = document["response"]
        lines = response.get("warnings", [])
        self.check(
            "warnings are within the limits",
            good=all(len(line) <= MAX_LINE for line in lines) and sum(map(len, lines)) <= MAX_TOTAL,
            seen=lambda: f"{path}: {len(lines)} of {sum(map(len, lines))} characters, longest {max(map(len, lines))}",
        )
        patch: list[JSON] = orjson.loads(base64.b64decode(response["patch"])) if "patch" in response else []
        return Asked(status, response, patch, self._patched(path, body, patch) if patch else None)

    def _patched(self, path: str, body: bytes, patch: list[JSON]) -> Any:
        """Apply a patch by an implementation that is not podberth's."""
        before = orjson.loads(body)["request"]["object"]
        seen = "another document than kube.patch's"
        after: Any = None
        try:
            ours = apply(before, patch)
            after = jsonpatch.JsonPatch(patch).apply(orjson.loads(body)["request"]["object"], in_place=True)
            good = after == ours
        except Exception as error:  # noqa: BLE001 - whatever a patch does to either is what is looked for
            good, seen = False, f"{type(error).__name__}: {error}"
        self.check(
            "the patch applies (jsonpatch), and as kube.patch applies it",
            good=good,
            seen=lambda: f"{path}: {seen}: {patch}",
        )
        return after if _can_be_sent(after) else None

    def _compare(self, path: str, body: bytes, asked: Asked) -> None:
        """Hold an answer against the one that is made without memory."""
        if path not in _FRESH or asked.status in _UNDECIDED or asked.status >= _SERVER_ERROR:
            return
        status, response = _fresh(path, body, forgetful(self.snapshot))
        self.check(
            "from memory as afresh",
            good=(status, response) == (asked.status, asked.response),
            seen=lambda: f"{path}: {asked.response}, afresh {status} {response}",
        )

    def _unchanging(self, path: str, decider: Decider) -> Decider:
        def look(request: AdmissionRequest, before: bytes) -> None:
            if _frozen(request) != before:
                self.changed.append(f"{path}: the object, the old one or the envelope")

        def decide_on(request: AdmissionRequest, snapshot: Snapshot) -> Outcome | Judgement:
            before = _frozen(request)
            try:
                outcome = decider(request, snapshot)
            finally:
                look(request, before)
            if not isinstance(outcome, Outcome):
                outcome.when_ended(lambda: look(request, before))
            return outcome

        return decide_on


def _frozen(request: AdmissionRequest) -> bytes:
    """Return all of a review; what is nested too deeply for it, as a text that says nothing."""
    try:
        # Version 2: later ones also write which parts are one object.
        return marshal.dumps((request.object, request.old_object, dict(request.envelope)), 2)
    except ValueError:
        return b""


def _can_be_sent(document: Any) -> bool:
    """Say whether a document is nested no more deeply than orjson writes it, which reads more."""
    try:
        orjson.dumps(document)
    except orjson.JSONEncodeError:
        return False
    return True


def _formed(answer: Answer, review: JSON) -> tuple[JSON, bool]:
    try:
        document = orjson.loads(answer.content)
    except orjson.JSONDecodeError:
        return {}, False
    if answer.status != _OK:
        return document, document.get("kind") == "Status" and document.get("code") == answer.status
    uid = review["request"]["uid"]
    good = document.get("kind") == "AdmissionReview" and document["response"]["uid"] == uid
    return document, good and isinstance(document["response"]["allowed"], bool)


def _fresh(path: str, body: bytes, snapshot: Snapshot) -> tuple[int, JSON]:
    """Decide without memory and without the handler."""
    try:
        outcome = _FRESH[path](read_review(body), snapshot)
    except ReviewError as error:
        return error.status, {}
    response: JSON = outcome.response["response"]
    return _OK, response


_FRESH: Final[Mapping[str, Callable[[AdmissionRequest, Snapshot], Outcome]]] = {
    "/mutate": decide.mutate,
    "/validate": decide.validate,
    "/validate-workload": validate_workload,
}
