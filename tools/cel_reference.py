"""Write the table of podberth's own CEL functions in docs/policy.md: signatures and costs from the code.

    .venv/bin/python tools/cel_reference.py           # writes what has changed
    .venv/bin/python tools/cel_reference.py --check   # writes nothing; exits with 1 and says what is stale

Examples are compiled; what they take at most is what the compiler says.
"""

import sys

from cel_manual import MANUALS
from generated import main, spliced

from podberth.cel.engine import Environment, Want
from podberth.cel.functions import FUNCTIONS, Function
from podberth.cel.typing import VARIABLES
from podberth.kube.schema import PodSchema

PAGE = "docs/policy.md"
_NAMES = {kind: name for name, kind in VARIABLES.items()}
_HEAD = "| function | result | meaning | example | at most |\n|---|---|---|---|---|\n"


def _functions() -> str:
    environment = Environment(PodSchema.packaged())
    return _HEAD + "\n".join(_row(each, environment) for each in FUNCTIONS)


def _row(function: Function, environment: Environment) -> str:
    signature = f"{_shown(function.receiver)}.{function.name}({', '.join(map(_shown, function.parameters))})"
    meaning, example = MANUALS[signature]
    cost = environment.compile(example, want=Want.ANY).costs[""].microseconds
    cells = (f"`{signature}`", _shown(function.result), meaning, f"`{example}`", f"{cost:,.0f} µs")
    return f"| {' | '.join(cells)} |"


def _shown(kind: str) -> str:
    return _NAMES.get(kind, kind.removeprefix("podberth."))


if __name__ == "__main__":
    sys.exit(main({PAGE: spliced(PAGE, {"functions": _functions()})}))
