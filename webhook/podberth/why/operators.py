"""The words of the operators that make pods, for refused pods.

The words come from all dossiers, whose import takes time. So this module is imported only if Events were found.
"""

from typing import Final

from ..kinds.dossiers import DOSSIERS

REFUSALS: Final = frozenset(reason for row in DOSSIERS for reason in row.refusals)
"""The reasons of the Events with which operators say that a pod was refused."""
