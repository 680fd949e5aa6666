"""Runs library functions: one engine function for each name, which selects the overload by the types of the operands.

The engine selects overloads by the basic type of the operands, such as int, list or message. All values of types that
CEL lacks are messages. So overloads with equal basic types share a function, which selects the overload by the type of
each message.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from cel_expr_python import cel  # type: ignore[import-untyped]  # no py.typed in 0.1.3

from . import opaque
from .calls import Bind
from .declarations import by_name
from .libraries import AUTHORIZATION, INTERNAL, LIBRARIES, LibraryError, Overload
from .libraries.overload import OPAQUE
from .libraries.regex import FOUND
from .libraries.text import FORMAT

# Reading a text of 1.5 MiB, which a pod can have, takes up to 0.6 s (semver), one of this length 25 ms. Real URLs,
# versions and names are shorter.
LONGEST_TEXT = 1 << 16
_OF_ANY_LENGTH = frozenset({FOUND, FORMAT})

_KINDS: Mapping[str, Any] = {
    "int": cel.Type.INT,
    "string": cel.Type.STRING,
    "bool": cel.Type.BOOL,
    "double": cel.Type.DOUBLE,
    "list": cel.Type.LIST,
    # Any of them: a message is a message.
    **dict.fromkeys(OPAQUE, cel.Type(OPAQUE[0])),
}


def run_name(name: str) -> str:
    """Return the name by which the CEL engine runs a library function; no built-in function has this name."""
    return name if name.startswith("internal.") else f"library.{name}"


def declarations(bind: Bind) -> list[Any]:
    """Return the CEL engine's declarations of the library functions, for the environment that runs programs.

    ``bind`` wraps a Python function into a callable that the engine can call.
    """
    rows = by_name(row for row in (*LIBRARIES, *AUTHORIZATION, *INTERNAL) if row.call is not None)
    return [cel.FunctionDecl(run_name(name), _overloads(run_name(name), alike, bind)) for name, alike in rows.items()]


def _overloads(name: str, rows: Iterable[Overload], bind: Bind) -> list[Any]:
    by_kinds: dict[tuple[str, ...], list[Overload]] = {}
    for row in rows:
        by_kinds.setdefault(tuple("message" if each in OPAQUE else each for each in row.parameters), []).append(row)
    return [
        cel.Overload(
            f"{name}_{'_'.join(kinds)}",
            return_type=cel.Type.DYN,
            parameters=[_KINDS[each] for each in alike[0].parameters],
            impl=bind(_answer(alike), len(kinds)),
        )
        for kinds, alike in by_kinds.items()
    ]


def _answer(rows: list[Overload]) -> Callable[..., Any]:
    by_types = {tuple(each if each in OPAQUE else "" for each in row.parameters): row for row in rows}
    name = rows[0].name

    def answer(review: object, *operands: Any) -> Any:
        unwrapped = [opaque.unwrap(each) for each in operands]
        row = by_types.get(tuple(kind for kind, _ in unwrapped))
        if name not in _OF_ANY_LENGTH:
            _want_short(name, operands)
        if row is None or row.call is None:
            raise LibraryError(f"no such overload: {name}({', '.join(kind or '...' for kind, _ in unwrapped)})")
        given = (review,) if row.asks else ()
        return opaque.wrap(row.result, row.call(*given, *(value for _, value in unwrapped)))

    return answer


def _want_short(name: str, operands: tuple[Any, ...]) -> None:
    for each in operands:
        if isinstance(each, str) and len(each) > LONGEST_TEXT:
            raise LibraryError(f"{name}: got a text of {len(each)} characters, want at most {LONGEST_TEXT}")
