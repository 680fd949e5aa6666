"""Every exception of podberth, split by whose fault it is.

Verdicts (a denial, a finding) are values and never live here. An exception is a fault:

    PodberthError
    ├── PolicyError        the policy author: a file that cannot be read as policies, or does not compile
    │   └── EvaluationError    an expression that failed on one pod; governed by the policy's failurePolicy
    ├── ReviewError        the caller: a body that is no AdmissionReview v1; carries the HTTP status
    ├── TopologyError      a Node, ConfigMap or snapshot document that is not what it claims to be
    ├── ClusterError       the API server: it does not answer, refuses, or what it says is no answer
    ├── DeviceError        the node: no driver, or one that does not answer
    ├── ClusterError       the cluster: no way to its API server that could ever work
    ├── CertificateError   a certificate or key that cannot be read or does not fit
    ├── UsageError         the operator: a flag, a path, a setting
    └── UnprovedError      podberth itself: a patch that does not lead from the original to the result

Classify by type, never by message text. Chain the cause with ``from``.
"""

from dataclasses import dataclass


class PodberthError(Exception):
    """The root: anything podberth raises on purpose."""


@dataclass(frozen=True, slots=True, order=True)
class Problem:
    """One thing that is wrong in a document, at its place. Sorts by file, line, column.

    ``line`` and ``column`` count from 1; 0 means that the document as a whole is meant. ``where`` is the field path
    ("spec.mutations[0].when"), empty for the document.
    """

    file: str
    line: int
    column: int
    where: str
    message: str

    def __str__(self) -> str:
        """Render as editors parse it: ``file:line:column where: message``."""
        place = f"{self.file}:{self.line}:{self.column}" if self.line else self.file
        return f"{place} {self.where}: {self.message}" if self.where else f"{place}: {self.message}"


class PolicyError(PodberthError):
    """Policies that cannot be used; ``problems`` holds all of them, sorted."""

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        """Keep the problems; the message is one line each."""
        super().__init__("\n".join(str(problem) for problem in problems))
        self.problems = problems


class EvaluationError(PodberthError):
    """A CEL expression that has no value for this pod: a missing key, a wrong type, an exhausted budget."""


class ReviewError(PodberthError):
    """A request body that is no usable AdmissionReview; ``status`` is the HTTP status to answer with."""

    def __init__(self, status: int, message: str) -> None:
        """Keep the HTTP status beside the message."""
        super().__init__(message)
        self.status = status


class TopologyError(PodberthError):
    """A topology document or Node that cannot be decoded."""


class ClusterError(PodberthError):
    """The API server does not answer, refuses, or says what is no answer.

    ``reason`` is the word that it is counted by (``cluster.protocol.Reason``). ``retry_after_seconds`` is how long it
    asked to be left alone; 0: it did not say. ``status`` is the HTTP status, 0 where no answer came.
    """

    def __init__(self, reason: str, message: str, *, retry_after_seconds: float = 0.0) -> None:
        """Keep both beside the message."""
        super().__init__(message)
        self.reason = reason
        self.status = 0
        self.retry_after_seconds = retry_after_seconds


class DeviceError(PodberthError):
    """Devices that cannot be read at all.

    ``lasting`` tells that this process will never see them: another library is loaded than the driver wants.
    """

    def __init__(self, message: str, *, lasting: bool = False) -> None:
        """Keep whether it lasts beside the message."""
        super().__init__(message)
        self.lasting = lasting


class AccessError(PodberthError):
    """No way to an API server that could ever work: nobody says where it is. One that does not answer is waited for."""


class CertificateError(PodberthError):
    """A certificate, key or authority that cannot be used."""


class UsageError(PodberthError):
    """A flag, path or setting that makes no sense."""


class UnprovedError(PodberthError):
    """A patch of ours that, applied to the original, does not give the document it was made from: a bug, never sent."""
