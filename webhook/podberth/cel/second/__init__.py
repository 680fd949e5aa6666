"""cel-python, an engine of other authors, as a second opinion on an expression; the only importers of ``celpy``.

It is no engine to decide with (docs/adr/0008-second-engine.md): it knows no types. What it says of an expression comes
from another parser, another evaluator and another reading of CEL's specification than the first engine's. What the
pinned release lacks is taught to it here, from the specification, and shares nothing with the first engine either.
"""

from .engine import SecondEngine, UnreadableError, Variable, unwrapped

__all__ = ["SecondEngine", "UnreadableError", "Variable", "unwrapped"]
