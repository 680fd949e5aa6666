"""The diagnosis of one cause that holds a pod, and the answer made of diagnoses."""

from dataclasses import dataclass
from typing import Any

from .picture import NotRead


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """One cause that holds a pod: the title of the cause, the evidence, and the user's options."""

    cause: str
    """The name of the cause, from the table in docs/commands.md."""
    title: str
    """The cause in one line, for the user."""
    evidence: tuple[str, ...] = ()
    do: tuple[str, ...] = ()
    """The user's options, each one a command or a change of the manifest."""
    waits: bool = True
    """Whether the pod waits because of the cause; False: the pod is not pending at all, or has no problem."""

    def as_json(self) -> dict[str, Any]:
        """Return the diagnosis as JSON."""
        return {"cause": self.cause, "title": self.title, "evidence": list(self.evidence), "do": list(self.do)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """A message of a scheduler, or of an autoscaler, about the pod; every text is empty without a message."""

    scheduler: str
    """The name of the program that says it."""
    reason: str = ""
    message: str = ""

    def as_json(self) -> dict[str, str]:
        """Return the message as JSON."""
        return {"name": self.scheduler, "reason": self.reason, "message": self.message}


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The answer to the question why one pod or workload waits."""

    subject: str
    """The pod that the answer is about: ``Pod team-a/train-0``; without a pod, the workload."""
    among: str
    """The states of the workload's pods as text; empty if the user asked about a pod."""
    waits_seconds: float
    """The time since the pod was created; 0 without a pod."""
    diagnosis: Diagnosis
    then: tuple[Diagnosis, ...]
    """The causes that would hold the pod if the first cause were gone, in the order in which they hold a pod."""
    said: Said
    """The message in the pod's condition PodScheduled."""
    autoscaler: Said
    """The newest message of an autoscaler in the pod's Events."""
    unread: tuple[NotRead, ...]

    def as_json(self) -> dict[str, Any]:
        """Return the answer as JSON (docs/why.md)."""
        return {
            "version": 1,
            "subject": self.subject,
            "among": self.among,
            "waits": self.diagnosis.waits,
            "ageSeconds": round(self.waits_seconds),
            **self.diagnosis.as_json(),
            "then": [each.as_json() for each in self.then],
            "scheduler": self.said.as_json(),
            "autoscaler": self.autoscaler.as_json(),
            "unread": [{"want": each.want, "why": each.why} for each in self.unread],
        }
