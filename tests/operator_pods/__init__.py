"""Pods of every kind that a membership or a note of the dossiers names, as its source makes them."""

from .alone import ALONE
from .batch import BATCH_CASES
from .case import Case
from .groups import GROUPED
from .serving import SERVING_CASES
from .training import TRAINING_CASES

__all__ = ["ALONE", "CASES", "GROUPED", "Case"]

CASES: tuple[Case, ...] = (*BATCH_CASES, *TRAINING_CASES, *SERVING_CASES)
