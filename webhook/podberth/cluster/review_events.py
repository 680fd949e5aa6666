"""Events of reviews: what /validate warns of, told as far as it is known who has asked.

The API server proves who it is by a client certificate (``--client-ca``). Where none is wanted, anybody who reaches the
port can send a review; what podberth then writes by its own rights holds nothing of theirs (docs/adr/0042).
"""

from collections.abc import Callable
from dataclasses import dataclass

from ..admission.notices import is_founded, notices
from ..admission.outcome import Outcome
from ..admission.review import AdmissionRequest
from ..admission.snapshot import Snapshot
from .events import Events


@dataclass(frozen=True, slots=True)
class ReviewEvents:
    """Listens to answers of /validate."""

    events: Events
    snapshot: Callable[[], Snapshot | None]
    """Returns what is in force."""
    proved: bool
    """Whether all clients have shown a certificate."""

    def observe(self, request: AdmissionRequest, outcome: Outcome) -> None:
        """Take in an answer; returns at once."""
        if self.proved:
            for notice in notices(request, outcome):
                self.events.tell(notice)
            return
        known = self.snapshot()
        if known is None:
            return
        for notice in notices(request, outcome, known):
            if notice.regarding.can_exist and is_founded(notice.regarding, known):
                self.events.tell(notice, proved=False)
            else:
                self.events.pass_over()
