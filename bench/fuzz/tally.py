"""What is counted of a run: reviews, features, checks, and violations with the first cases that show them."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple, TypeAlias

from ..figures import table

Check: TypeAlias = Literal[
    "an answer, and no 5xx",
    "no traceback or error in the log",
    "answers are AdmissionReviews of the review's uid, or Statuses",
    "the review is not changed",
    "warnings are within the limits",
    "the patch applies (jsonpatch), and as kube.patch applies it",
    "a second pass patches nothing",
    "not refused after podberth's own patch",
    "bodies and documents are given back to the budget",
    "from memory as afresh",
    "a forged record changes nothing",
]
"""What must be true, and is counted whenever it is looked at."""

_SHOWN: Final = 5
_LONGEST: Final = 600


class Row(NamedTuple):
    """Reviews that are counted together."""

    path: str
    operation: str
    verdict: str
    status: int


@dataclass(slots=True)
class Tally:
    """Counts of one batch, or of several; plain data, for it goes from process to process."""

    cases: int = 0
    reviews: Counter[Row] = field(default_factory=Counter)
    over_tls: int = 0
    remembered: int = 0
    """Questions that were answered from memory."""
    features: Counter[str] = field(default_factory=Counter)
    """Cases by what they have."""
    checked: Counter[Check] = field(default_factory=Counter)
    violated: Counter[Check] = field(default_factory=Counter)
    first: dict[Check, list[tuple[int, str]]] = field(default_factory=dict, compare=False)
    """Of each violation the first cases, and what was seen there; a log has times and addresses in it."""

    @property
    def asked(self) -> int:
        """How many reviews were answered."""
        return self.reviews.total()

    def violate(self, check: Check, case: int, seen: str) -> None:
        """Count a violation; each check prints a case once."""
        self.violated[check] += 1
        shown = self.first.setdefault(check, [])
        if len(shown) < _SHOWN and all(number != case for number, _ in shown):
            shown.append((case, seen if len(seen) <= _LONGEST else f"{seen[:_LONGEST]}…"))

    def add(self, other: "Tally") -> None:
        """Count what another has counted, whose cases come later."""
        self.cases += other.cases
        self.over_tls += other.over_tls
        self.remembered += other.remembered
        self.reviews.update(other.reviews)
        self.features.update(other.features)
        self.checked.update(other.checked)
        self.violated.update(other.violated)
        for check, shown in other.first.items():
            mine = self.first.setdefault(check, [])
            mine += shown[: _SHOWN - len(mine)]

    def report(self) -> str:
        """Return the tables, in Markdown."""
        parts = [
            table(("path", "operation", "verdict", "status", "reviews"), self._review_rows()),
            table(("feature", "cases"), ((name, f"{count:,}") for name, count in sorted(self.features.items()))),
            table(("must be true", "looked at", "violated"), self._check_rows()),
            *self._violations(),
        ]
        return "\n\n".join(parts)

    def _review_rows(self) -> Iterator[tuple[str, ...]]:
        for row, count in sorted(self.reviews.items()):
            yield (*map(str, row), f"{count:,}")
        yield ("all", "", "", "", f"{self.asked:,}")
        yield ("of them over TLS", "", "", "", f"{self.over_tls:,}")

    def _check_rows(self) -> Iterable[tuple[str, ...]]:
        return ((check, f"{count:,}", f"{self.violated[check]:,}") for check, count in sorted(self.checked.items()))

    def _violations(self) -> Iterator[str]:
        for check, shown in sorted(self.first.items()):
            lines = (f"  --only {number}: {seen}" for number, seen in shown)
            yield "\n".join((f"VIOLATED: {check} ({self.violated[check]:,})", *lines))
