"""What comes of a run: pairs counted by what the API server did, and those in which the two sides differ."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from .scenes import Document


@dataclass(frozen=True, slots=True)
class Pair:
    """One object under one policy or two, with both answers and in what they differ."""

    policies: Sequence[Document]
    given: Document
    ours: Any
    theirs: Any
    differs: str


@dataclass(slots=True)
class Tally:
    """What came of a run."""

    pairs: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    """The pairs by what the API server did."""
    differing: list[Pair] = field(default_factory=list)
    worded: Counter[tuple[str, str]] = field(default_factory=Counter)
    """The errors of expressions that the two say in other words, as (ours, theirs)."""

    def add(self, pair: Pair, outcome: str, worded: Iterable[tuple[str, str]] = ()) -> None:
        """Count a pair."""
        self.pairs += 1
        self.outcomes[outcome] += 1
        if pair.differs:
            self.differing.append(pair)
        self.worded.update(worded)
