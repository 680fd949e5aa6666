"""Answers AdmissionReviews over HTTP. The module is podberth's hot path and has only code that every review needs.

An answer is HTTP 200 with an AdmissionReview if and only if there is a decision. In every other case, also after a bug
in podberth, the answer is an HTTP error with a reason. The apiserver then follows the webhook's failurePolicy, in which
the cluster's operator has decided about pods that podberth cannot judge. An answer that allows the pod would be wrong
under failurePolicy Fail, and an answer that denies the pod would be wrong under Ignore.
"""

import asyncio
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from time import perf_counter, time_ns
from urllib.parse import parse_qs

import orjson
from aiohttp import hdrs, web

from ..admission.outcome import Outcome
from ..admission.review import AdmissionRequest
from ..admission.review_text import read_review
from ..errors import ReviewError
from ..port.answer import WholeAnswer
from ..port.byte_budget import Hold, MemoryBudget
from ..telemetry.metrics import OTHER_PATH, Phases
from ..telemetry.reviews import ReviewRecorder
from ..telemetry.traces import ReviewTracer, TracedReview
from .body import Body, keep_body, read_body
from .judge import Judgement
from .listen import connection_of
from .state import Decider, Deciders, ServingState

# ---- the target of a request: the decider that its path names, and the deadline in its query -------------------------

# apiserver: timeoutSeconds is 10 by default, and 30 at most (admissionregistration/v1 types.go).
DEFAULT_TIMEOUT_SECONDS = 10.0
MAX_TIMEOUT_SECONDS = 30.0
# The apiserver's clock starts before it dials; a dial with a TLS handshake takes a few milliseconds within a
# cluster. A tenth of the shortest legal timeout, 1 s, is 100 ms.
BUDGET_SHARE = 0.9

# Go's time.Duration.String(), in which client-go writes the parameter: "5s", "1m0s", "500ms".
_DURATION = re.compile(r"(?:\d{1,6}(?:\.\d{1,9})?(?:h|ms|m|s|us|µs|ns))+", re.ASCII)
_PART = re.compile(r"(\d+(?:\.\d+)?)(h|ms|m|s|us|µs|ns)", re.ASCII)
_UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}


@dataclass(frozen=True, slots=True)
class Target:
    """The parsed URL of a request. ``decider`` is the function that decides; None if the path is not served.

    ``budget_seconds`` is the part of the API server's timeout that the answer may take.
    """

    path: str
    decider: Decider | None
    budget_seconds: float


def resolve(deciders: Deciders, target: str) -> Target:
    """Return the path, the deciding function and the time budget of a request from the URL ``target``.

    The deciding function is None if the path is not served. An invalid timeout in the query is ignored.
    """
    path, _, query = target.partition("?")
    return Target(path, deciders.get(path), timeout_seconds(query) * BUDGET_SHARE)


def timeout_seconds(query: str) -> float:
    """Return the ``timeout`` parameter of a URL's query, in seconds; the default if missing or invalid."""
    try:
        value = parse_qs(query, max_num_fields=16).get("timeout", [""])[0]
    except ValueError:
        return DEFAULT_TIMEOUT_SECONDS
    if not _DURATION.fullmatch(value):
        return DEFAULT_TIMEOUT_SECONDS
    seconds = sum(float(number) * _UNITS[unit] for number, unit in _PART.findall(value))
    return min(seconds, MAX_TIMEOUT_SECONDS) if seconds > 0 else DEFAULT_TIMEOUT_SECONDS


# ---- the answer ------------------------------------------------------------------------------------------------------

_JSON = "application/json"
_JSON_BYTES = _JSON.encode()
# How long the first pod of a new Namespace or Job waits for the watch to report that object: events are passed on
# together after a tenth of a second. The API server waits 50 ms in the same situation and then asks etcd
# (missingNamespaceWait, apiserver pkg/admission/plugin/namespace/lifecycle). The shortest timeout of podberth's webhook
# entries is 2 s.
PATIENCE_SECONDS = 0.5
# podberth's webhook entries have a few URLs. A stranger may send any others, of 8 KiB at most (aiohttp).
_MOST_URLS = 64


class ReviewHandler:
    """Handles every request to the review port.

    ``aiohttp.web.Server`` calls the handler directly, so there are no routes and no middlewares.
    """

    def __init__(
        self,
        deciders: Deciders,
        state: ServingState,
        recorder: ReviewRecorder,
        budget: MemoryBudget,
        tracer: ReviewTracer | None = None,
    ) -> None:
        """Create the handler.

        The handler answers requests for the paths of ``deciders`` with the snapshot in ``state``.
        """
        self._tracer = tracer
        self._state = state
        self._recorder = recorder
        self._budget = budget
        self._resolve = lru_cache(_MOST_URLS)(partial(resolve, deciders))

    async def __call__(self, request: web.BaseRequest) -> WholeAnswer:
        """Answer one request; a bug becomes an answer with status 500."""
        connection = connection_of(request)
        started = connection.read_at
        state = self._state
        state.in_flight += 1
        target = self._resolve(request.raw_path)
        review: AdmissionRequest | None = None
        hold = Hold(self._budget, proven=connection.proven)
        elsewhere: Judgement | None = None
        try:
            deadline = started + target.budget_seconds
            check_head(request, target, connection.stranger)
            body = await read_body(request, deadline, hold)
            review = reviewed(request, body, hold)
            if sought := state.lacks(review):
                # Without the document, which may be thirty times as large as its body; it is parsed again later.
                review = None
                hold.drop_document()
                keep_body(hold, len(body.text))
                # The wait takes half of the remaining time at most: the rest is for deciding without the object.
                await state.wait_for(sought, min(PATIENCE_SECONDS, (deadline - perf_counter()) / 2))
                review = reviewed(request, body, hold)
            received = perf_counter()
            outcome = self._decide(review, target, deadline)
            if not isinstance(outcome, Outcome):
                elsewhere = outcome
                outcome = await in_time(elsewhere, deadline)
            decided = perf_counter()
            answer = orjson.dumps(outcome.response)
            phases = Phases(received - started, decided - received, perf_counter() - decided)
            _behind(hold, self._recorder.decided, target.path, review, outcome, phases)
            if self._tracer is not None:
                traced = TracedReview(
                    request.headers, target.path, 200, time_ns(), sum(phases), review, outcome, phases
                )
                _behind(hold, self._tracer.review, traced)
            connection.prove()
            return WholeAnswer(200, answer, content_type=_JSON_BYTES, close=state.draining)
        except ReviewError as error:
            return self._refuse(request, target, started, error, review)
        except Exception as error:  # noqa: BLE001 - the one boundary where a bug in podberth must become an answer
            self._recorder.broke(target.path, error, review)
            fault = ReviewError(
                500,
                f"review {review.uid if review else ''}: a bug in podberth; its log has the traceback under this uid",
            )
            return self._refuse(request, target, started, fault, review)
        finally:
            state.in_flight -= 1
            if elsewhere is None:
                _behind(hold, hold.release)
            else:
                elsewhere.when_ended(hold.release)

    def _decide(self, review: AdmissionRequest, target: Target, deadline: float) -> Outcome | Judgement:
        snapshot = self._state.present()
        if snapshot is None or target.decider is None:
            raise ReviewError(503, "policies and topology are not loaded")
        if perf_counter() > deadline:
            # Nobody reads a late answer, and its cost would make the next one late.
            raise ReviewError(504, f"overloaded: no turn within {target.budget_seconds:.3g} s")
        return target.decider(review, snapshot)

    def _refuse(
        self,
        request: web.BaseRequest,
        target: Target,
        started: float,
        error: ReviewError,
        review: AdmissionRequest | None,
    ) -> WholeAnswer:
        path = target.path if target.decider else OTHER_PATH
        seconds = perf_counter() - started
        self._recorder.refused(path, error.status, str(error), seconds, review)
        if self._tracer is not None:
            said = str(error)
            self._tracer.review(
                TracedReview(request.headers, path, error.status, time_ns(), seconds, review, error=said)
            )
        # After an unread body, the start of the next request cannot be found.
        close = self._state.draining or not request.content.is_eof()
        return WholeAnswer(error.status, error_body(error.status, str(error)), content_type=_JSON_BYTES, close=close)


def _behind(hold: Hold, call: Callable[..., object], *arguments: object) -> None:
    """Run ``call`` after the answer is written, in the event loop's next turn.

    If the request's document is large, ``call`` runs at once. A later call would keep the document in memory, while
    other reviews with large documents may be decided.
    """
    if hold.is_large:
        call(*arguments)
    else:
        asyncio.get_running_loop().call_soon(call, *arguments)


async def in_time(outcome: Judgement, deadline: float) -> Outcome:
    """Wait for a decision that is made outside the event loop, but only until the caller stops waiting.

    Raises:
        ReviewError: there was no decision before the deadline.
    """
    seconds = deadline - perf_counter()
    try:
        async with asyncio.timeout(seconds):
            return await outcome
    except TimeoutError as error:
        raise ReviewError(504, f"not decided within {max(seconds, 0):.3g} s; ask again, with less") from error


def check_head(request: web.BaseRequest, target: Target, stranger: str) -> None:
    """Check that the client, path, method and media type of a request are right for a review.

    ``stranger`` has the names in the client's certificate if no name is the expected name; else empty.

    Raises:
        ReviewError: the client, path, method or media type is wrong.
    """
    if stranger:
        raise ReviewError(403, f"client certificate: got one of {stranger[:80]!r}, want the API server's")
    if target.decider is None:
        raise ReviewError(404, f"path: got {target.path[:80]!r}, want one that reviews are sent to")
    if request.method != hdrs.METH_POST:
        raise ReviewError(405, f"method: got {request.method[:20]}, want POST")
    media_type = request.headers.get(hdrs.CONTENT_TYPE, "")
    if media_type != _JSON and media_type.partition(";")[0].strip().lower() != _JSON:
        raise ReviewError(415, f"Content-Type: got {media_type[:80]!r}, want {_JSON}")


def reviewed(request: web.BaseRequest, body: Body, hold: Hold) -> AdmissionRequest:
    """Return the review in a body; the memory for the parsed document is charged to ``hold``.

    Raises:
        ReviewError: the body holds no review, or there is no memory for the parsed document now.
    """
    try:
        return read_review(body.text, body.size, has_room=hold.take_document)
    except ReviewError as error:
        encoding = request.headers.get(hdrs.CONTENT_ENCODING, "")
        if isinstance(error.__cause__, orjson.JSONDecodeError) and encoding.strip().lower() not in ("", "identity"):
            # Deliberately not decompressed: a kilobyte may expand to all memory.
            raise ReviewError(415, f"Content-Encoding: got {encoding[:40]!r}, want none") from error
        raise


# A problem repeats the key at which it is, and a key may be as long as the body.
_LONGEST_MESSAGE = 1024


def error_body(status: int, message: str) -> bytes:
    """Return a metav1.Status as JSON; the apiserver shows the Status's message after "failed calling webhook".

    The apiserver decodes the body of an answer other than 2xx as a Status, and says "unknown" if the body is no Status:
    client-go rest/request.go, Result.Error and newUnstructuredResponseError.
    """
    return orjson.dumps(
        {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": f"podberth: {message[:_LONGEST_MESSAGE]}".encode("utf-8", "replace").decode(),
            "reason": _REASONS.get(status, "BadRequest"),
            "code": status,
        }
    )


# metav1.StatusReason: apimachinery pkg/apis/meta/v1/types.go
_REASONS = {
    403: "Forbidden",
    404: "NotFound",
    405: "MethodNotAllowed",
    408: "Timeout",
    413: "RequestEntityTooLarge",
    415: "UnsupportedMediaType",
    500: "InternalError",
    503: "ServiceUnavailable",
    504: "Timeout",
}
STATUSES = (200, 400, 431, *_REASONS)
"""All HTTP statuses of the review port's answers."""
