"""Events of reviews: the warnings of /validate, as far as the caller is known.

The API server proves its identity by a client certificate (``--client-ca``). If none is required, anybody who reaches
the port can send a review; podberth then writes nothing of its content with its own rights (docs/adr/0042).
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
    """Returns the snapshot in force."""
    proved: bool
    """Whether all clients have shown a certificate."""

    def observe(self, request: AdmissionRequest, outcome: Outcome) -> None:
        """Take an answer; returns at once."""
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
