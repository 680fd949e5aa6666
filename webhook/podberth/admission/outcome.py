"""What comes of a review: the answer, and what each policy had to do with it. The shell logs and counts from here."""

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from ..kube.patch import Patch

Action: TypeAlias = Literal["mutate", "restore", "skip", "conflict", "deny", "warn", "audit", "error"]
Verdict: TypeAlias = Literal["allowed", "mutated", "denied"]


@dataclass(frozen=True, slots=True)
class Decision:
    """One thing that one policy decided. ``message`` is the phrase for the user, without the policy's name.

    ``conflict`` is a field that an earlier policy wrote with another value, which stays. ``error`` is a fault of the
    policy on this pod that its failurePolicy Ignore let pass.
    """

    policy: str
    action: Action
    message: str
    fault: bool = False
    """Whether it is a fault of the policy on this pod, whatever its failurePolicy makes of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The whole of an answer. ``response`` is the AdmissionReview to send; ``patch`` is [] where nothing changes.

    To be read only: other reviews may get parts of it, too.
    """

    response: dict[str, Any]
    verdict: Verdict
    decisions: tuple[Decision, ...] = ()
    patch: Patch
    warnings: tuple[str, ...] = ()

    @property
    def denial(self) -> str:
        """What the user reads of a denial; empty where there is none."""
        response = self.response["response"]
        return "" if response["allowed"] else str(response["status"]["message"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """What one mutation of one policy wrote on a pod; ``patch`` leads from the pod before it to the pod behind it."""

    policy: str
    mutation: str
    """Its name, or its place in the policy, as messages have it."""
    reason: str
    patch: Patch
