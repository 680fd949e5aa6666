"""The exception classes of podberth, one for each party that can cause a fault.

Verdicts (a denial, a finding) are values and never exceptions. An exception is a fault:

    PodberthError
    ├── PolicyError        the policy author: a file that cannot be read as policies, or does not compile
    │   └── EvaluationError    an expression that failed on one pod; governed by the policy's failurePolicy
    │       └── UndecidedError     one whose outcome in the API server podberth does not know
    │           └── BudgetError        one that podberth's own engine stopped, because it took too many steps
    ├── ReviewError        the caller: a body that is no AdmissionReview v1; carries the HTTP status
    ├── TopologyError      a Node, ConfigMap or snapshot document that is not what it claims to be
    ├── ClusterError       the API server: it does not answer, refuses the request, or its answer is not valid
    ├── DeviceError        the node: it has no driver, or the driver does not answer
    ├── CertificateError   a certificate or key that cannot be read, or a key of another certificate
    ├── UsageError         the operator: a flag, a path, a setting
    └── UnprovedError      podberth itself: a patch that does not lead from the original to the result

Callers classify a fault by its type, never by its message, and chain the cause with ``from``.
"""

from dataclasses import dataclass


class PodberthError(Exception):
    """The base class of the exceptions that callers classify by who caused the fault."""


@dataclass(frozen=True, slots=True, order=True)
class Problem:
    """One error in a document, with the error's position. Problems sort by file, line and column.

    ``line`` and ``column`` count from 1; 0 means the whole document. ``where`` is the path of the field
    ("spec.mutations[0].when"), empty for the whole document.
    """

    file: str
    line: int
    column: int
    where: str
    message: str

    @property
    def place(self) -> str:
        """``file:line:column``, or only the file if the problem is about the whole document."""
        return f"{self.file}:{self.line}:{self.column}" if self.line else self.file

    def __str__(self) -> str:
        """Return the problem in the form that editors recognize: ``file:line:column where: message``."""
        return f"{self.place} {self.where}: {self.message}" if self.where else f"{self.place}: {self.message}"


class PolicyError(PodberthError):
    """Policies cannot be used. The attribute ``problems`` has all problems of the policies, sorted."""

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        super().__init__("\n".join(str(problem) for problem in problems))
        self.problems = problems


class EvaluationError(PodberthError):
    """The evaluation of a CEL expression failed on one pod.

    Examples: a key is missing, the expression takes too many steps, the value has a wrong type, or a mutation cannot
    write the value.
    """


class UndecidedError(EvaluationError):
    """An expression of a native policy failed in podberth. Its outcome in the API server is unknown."""


class BudgetError(UndecidedError):
    """podberth's engine stopped a CEL expression: more than 10,000 iterations, or too long an argument of a function.

    The API server has neither limit.
    """


class ReviewError(PodberthError):
    """A request body is not a usable AdmissionReview. The attribute ``status`` is the HTTP status of the answer."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class TopologyError(PodberthError):
    """A topology document (ConfigMap), a snapshot document or a Node cannot be decoded."""


class ClusterError(PodberthError):
    """The API server does not answer, refuses the request, or sends an answer that is not valid.

    The attribute ``reason`` is the value of the label in podberth's metric of failed requests. ``retry_after_seconds``
    is the wait that the API server asked for; 0 if no wait was asked for. ``status`` is the HTTP status; 0 if there was
    no answer.
    """

    def __init__(self, reason: str, message: str, *, retry_after_seconds: float = 0.0) -> None:
        super().__init__(message)
        self.reason = reason
        self.status = 0
        self.retry_after_seconds = retry_after_seconds


class TooLongError(ClusterError):
    """The API server's answer has more bytes than the caller takes."""


class DeviceError(PodberthError):
    """The devices of a node cannot be read at all.

    The attribute ``lasting`` is True if this process will never be able to read the devices, because the process has
    loaded a library that does not match the driver.
    """

    def __init__(self, message: str, *, lasting: bool = False) -> None:
        super().__init__(message)
        self.lasting = lasting


class CertificateError(PodberthError):
    """A certificate, a key or a CA certificate cannot be used."""


class UsageError(PodberthError):
    """A flag, a path or a setting is not valid."""


class UnprovedError(PodberthError):
    """A patch by podberth does not turn the original into the intended document: a bug; such a patch is never sent."""


def without_extra(error: ImportError, extra: str) -> str:
    """Return the end of a message about a library that is not installed, with the pip command that installs it.

    ``error`` is the failed import, and ``extra`` the extra's name in ``[project.optional-dependencies]``. No package
    index has podberth, so pip installs the extra from a checkout.
    """
    return f"got {error}, want podberth's extra {extra}; do: pip install '.[{extra}]' in a checkout of podberth"
