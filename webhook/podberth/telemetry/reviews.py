"""Writes the metrics and one log line for each review, from the decision's outcome. This code runs in every review."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, TypeAlias

from ..admission.outcome import Outcome
from ..admission.review import AdmissionRequest
from ..kube.unchecked import mapping_at, text
from ..wellknown import NAMESPACED_KIND
from .log import MAX_TEXT, Level, Log, Spared
from .metrics import Metrics, Phases

Listener: TypeAlias = Callable[[AdmissionRequest, Outcome], None]
"""A function that is called with the review and the outcome after every answer on one URL path; the function must not
block.
"""


@dataclass(slots=True)
class ReviewRecorder:
    """Counts and logs reviews, and calls ``listeners`` after each answer."""

    metrics: Metrics
    log: Log
    listeners: Mapping[str, Listener] = field(default_factory=dict)
    """The function for each URL path that is called after every answer."""
    spared: Spared = field(default_factory=Spared)

    def decided(self, path: str, request: AdmissionRequest, outcome: Outcome, phases: Phases) -> None:
        """Record the metrics and the log line of a review that was answered with an AdmissionReview.

        The duration of the review is the sum of ``phases``, in seconds.
        """
        metrics = self.metrics
        seconds = sum(phases)
        metrics.request(path, request.operation, outcome.verdict, seconds)
        metrics.phases(path, phases)
        policies: dict[str, bool] = {}  # whether a policy had an error, in the order in which the policies decided
        for decision in outcome.decisions:
            metrics.decision(_label(decision.policy), decision.action)
            policies[decision.policy] = decision.fault or policies.get(decision.policy, False)
        for policy, fault in policies.items():
            if fault:
                metrics.policy_error(_label(policy))
        line = _line("info", path, request)
        line["verdict"] = outcome.verdict
        line["code"] = 200
        line["duration_ms"] = round(seconds * 1000, 3)
        line["policies"] = [*policies]
        line["patch_ops"] = len(outcome.patch)
        self.log.write(line)
        if listener := self.listeners.get(path):
            listener(request, outcome)

    def refused(
        self, path: str, status: int, message: str, seconds: float, request: AdmissionRequest | None = None
    ) -> None:
        """Count a request that was answered with an HTTP error, and log the request if the rate allows.

        ``status`` is the HTTP status, ``message`` the error, ``seconds`` the duration. ``request`` is None if no review
        could be decoded.
        """
        self.metrics.request(path, request.operation if request else "", "error", seconds)
        if (besides := self.spared.pass_on()) is None:
            return
        line = _line("warning", path, request) | besides
        line["verdict"] = "error"
        line["code"] = status
        line["duration_ms"] = round(seconds * 1000, 3)
        line["error"] = message[:MAX_TEXT]
        self.log.write(line)

    def broke(self, path: str, error: Exception, request: AdmissionRequest | None) -> None:
        """Log the traceback of a bug, in addition to the log line about the HTTP error."""
        if (besides := self.spared.pass_on()) is not None:
            self.log.fault("bug", error, path=path, uid=request.uid if request else "", **besides)


def _label(policy: str) -> str:
    """Return the value of a metric's label for a policy: the policy's name.

    For every policy of a namespace, the value is NAMESPACED_KIND, because tenants choose the names and the number of
    these policies.
    """
    return NAMESPACED_KIND if "/" in policy else policy


def _line(level: Level, path: str, request: AdmissionRequest | None) -> dict[str, Any]:
    """Return the first fields of a review's log line.

    Values that may be long are shortened.
    """
    line = {"time": datetime.now(UTC), "level": level, "msg": "review", "path": path}
    if request is None:
        return line
    user = request.envelope.get("userInfo") or {}
    metadata = mapping_at(request.object, "metadata")
    return line | {
        "uid": request.uid,
        "operation": request.operation,
        "kind": request.kind,
        "namespace": request.namespace,
        "name": request.name or text(metadata.get("name") or metadata.get("generateName"))[:MAX_TEXT],
        "user": (user.get("username") or "")[:MAX_TEXT],
        "dry_run": request.dry_run,
    }
