"""cel-python, an engine of other authors, as a second opinion on every expression (docs/adr/0008-second-engine.md).

Its answer comes from another parser, another evaluator and another reading of CEL's specification than cel-cpp's. The
pinned release lacks parts of the language; they are added here, from the specification, and share no code with cel-cpp.
"""

from .compare import KNOWN, ComparingEnvironment, Difference
from .engine import SecondEngine, UnreadableError

__all__ = ["KNOWN", "ComparingEnvironment", "Difference", "SecondEngine", "UnreadableError"]
