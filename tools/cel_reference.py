"""Write the tables of what CEL sees in docs/expressions.md: types, signatures and costs from the code.

    .venv/bin/python tools/cel_reference.py           # writes what has changed
    .venv/bin/python tools/cel_reference.py --check   # writes nothing; exits with 1 and says what is stale

Examples are compiled; what they take at most is what the compiler says.
"""

import sys

from generated import main, spliced

from podberth.cel.engine import Environment, Want
from podberth.cel.functions import FUNCTIONS, Function
from podberth.cel.typing import DECLARED
from podberth.kube.schema import PodSchema
from podberth.lsp.manual import variables
from podberth.lsp.manual.lookup import element, signature, type_of

PAGE = "docs/expressions.md"
_HEAD = "| function | result | meaning | example | at most |\n|---|---|---|---|---|\n"


def _parts() -> dict[str, str]:
    tables = {table: _fields(table) for table in variables.FIELDS}
    return {"functions": _functions(), "cel-variables": _variables(), **tables}


def _functions() -> str:
    environment = Environment(PodSchema.packaged())
    return _HEAD + "\n".join(_row(each, environment) for each in FUNCTIONS)


def _row(function: Function, environment: Environment) -> str:
    written = signature(function)
    meaning, example = variables.MANUALS[written]
    cost = environment.compile(example, want=Want.ANY).costs[""].microseconds
    result = function.result.removeprefix("podberth.")
    cells = (f"`{written}`", result, meaning, f"`{example}`", f"{cost:,.0f} µs")
    return f"| {' | '.join(cells)} |"


def _variables() -> str:
    rows = "".join(f"| `{name}` | {meaning} |\n" for name, meaning in variables.VARIABLES.items())
    return f"| name | what it is |\n|---|---|\n{rows}"


def _fields(table: str) -> str:
    head = "field of a result" if table == "cel-results" else "field"
    rows = "".join(f"| `{path}` | {_type(path)} | {text} |\n" for path, text in variables.FIELDS[table].items())
    return f"| {head} | type | meaning |\n|---|---|---|\n{rows}"


def _type(path: str) -> str:
    """Return the type of a field as the page has it, by its path from a variable or from a type of a result."""
    spelled = type_of(path)
    if spelled in DECLARED:
        return "object"
    if spelled == "list(map(string, dyn))":
        return "list of maps"
    if element(spelled) in DECLARED:
        return "list"
    return "map" if spelled.startswith("map(") else {"dyn": "any"}.get(spelled, spelled)


if __name__ == "__main__":
    sys.exit(main({PAGE: spliced(PAGE, _parts())}))
