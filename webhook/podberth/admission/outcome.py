"""The outcome of a review: the answer, and the decisions of each policy. The server logs and counts these."""

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from ..kube.patch import Patch

Action: TypeAlias = Literal["mutate", "restore", "skip", "conflict", "deny", "warn", "audit", "error"]
Verdict: TypeAlias = Literal["allowed", "mutated", "denied"]


@dataclass(frozen=True, slots=True)
class Decision:
    """One thing that one policy decided. ``message`` is the phrase for the user, without the policy's name.

    The action ``conflict``: an earlier policy wrote the field with another value, which stays. The action ``error``:
    the policy failed on this pod, and its failurePolicy Ignore admits the pod.
    """

    policy: str
    action: Action
    message: str
    fault: bool = False
    """Whether the policy failed on this pod, whatever its failurePolicy is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The outcome of one review. ``response`` is the AdmissionReview to send; ``patch`` is [] if nothing changes.

    Callers must not change it, because other reviews may share parts of it.
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
    """The write of one mutation of one policy; ``patch`` turns the pod before the mutation into the pod after it."""

    policy: str
    mutation: str
    """The mutation's name, or its place in the policy, as messages have it."""
    reason: str
    patch: Patch
