"""The outcome of a review: the answer, and the decisions of each policy. The server logs and counts the decisions."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from ..kube.patch import Patch

Action: TypeAlias = Literal["mutate", "restore", "skip", "conflict", "deny", "warn", "audit", "error", "except", "note"]
Verdict: TypeAlias = Literal["allowed", "mutated", "denied"]


@dataclass(frozen=True, slots=True)
class Decision:
    """One decision of one policy. ``message`` is the phrase for the user, without the policy's name.

    The action "conflict" means that an earlier policy wrote another value, which is kept. The action "error" means that
    the policy failed on the pod, and the policy's failurePolicy Ignore admits the pod. The action "except" means that
    the policy was not evaluated, because of the GPUPolicyException with the name ``exception``. The action "note" means
    that the pod's group system has to be asked for a preference: ``podberth check`` has a note, and nobody is warned.
    """

    policy: str
    action: Action
    message: str
    fault: bool = False
    """Whether the policy failed on the pod, under either failurePolicy."""
    exception: str = ""
    """The name of the GPUPolicyException; empty unless the action is ``except``."""

    @property
    def of_namespace(self) -> bool:
        """Whether a policy of the pod's namespace decided: only the names of these policies have a slash."""
        return "/" in self.policy


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The outcome of one review. ``response`` is the AdmissionReview to send; ``patch`` is [] if nothing changes.

    Callers must not modify an outcome, because other outcomes may share lists and maps with it.
    """

    response: dict[str, Any]
    verdict: Verdict
    decisions: tuple[Decision, ...] = ()
    patch: Patch
    warnings: tuple[str, ...] = ()

    @property
    def denial(self) -> str:
        """The message of a denial; empty if the review is not denied."""
        response = self.response["response"]
        return "" if response["allowed"] else str(response["status"]["message"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """The changes that one mutation of one policy made to the pod; ``patch`` has the changes as a JSON patch."""

    policy: str
    mutation: str
    """The mutation's ``name``, or the mutation's path in the policy if there is no name. Messages use the same text."""
    reason: str
    patch: Patch


@dataclass(frozen=True, slots=True)
class Judged:
    """The result of all policies' validations for one pod."""

    decisions: tuple[Decision, ...]
    reasons: tuple[str, ...]
    """The status reasons of the denials, such as ``Invalid``, in the order of the denials."""
    audit: Mapping[str, str]
    """The values of the audit annotations by key. Several values of one key are joined; of failures only the first."""

    def texts(self) -> Iterator[str]:
        """Yield the messages of the decisions, then the values of the audit annotations."""
        yield from (each.message for each in self.decisions)
        yield from self.audit.values()


NOT_JUDGED: Final = Judged((), (), {})
"""The result where there is no policy."""
