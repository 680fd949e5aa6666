"""Declares library functions: each with upstream's signature and podberth's implementation.

A library is a table of overloads with upstream's names, ids and types; the implementations work on plain Python values.
A value of a type that CEL does not have (a Quantity, an IP, ...) is a canonical text in Python. Two canonical texts are
equal if upstream's values are equal. For the engine, ``cel.opaque`` makes a message of the value's type from the text.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

QUANTITY = "kubernetes.Quantity"
SEMVER = "kubernetes.Semver"
URL = "kubernetes.URL"
FORMAT = "kubernetes.NamedFormat"
IP = "net.IP"
CIDR = "net.CIDR"
AUTHORIZER, PATH_CHECK, GROUP_CHECK, RESOURCE_CHECK, DECISION = AUTHORIZATION = tuple(
    f"kubernetes.authorization.{each}"
    for each in ("Authorizer", "PathCheck", "GroupCheck", "ResourceCheck", "Decision")
)

OPAQUE: tuple[str, ...] = (QUANTITY, SEMVER, URL, FORMAT, IP, CIDR, *AUTHORIZATION)
"""The names of the types that the libraries add to CEL, as in upstream (apiserver pkg/cel)."""

# Operators that are not written as their names are: cel-spec doc/langdef.md, syntax.
_SPACED: Mapping[str, str] = {"@in": "_ in _", "_?_:_": "_ ? _ : _", "_?._": "_.?_"} | {
    f"_{each}_": f"_ {each} _" for each in ("&&", "||", "==", "!=", "<", "<=", ">", ">=", "+", "-", "*", "/", "%")
}


class LibraryError(Exception):
    """Raised by a library function that has no value for the given arguments.

    The CEL expression then fails, unless ``||`` or ``&&`` absorbs the error.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Overload:
    """One signature of a library function, with the implementation.

    Either ``call`` or ``body`` implements the function; without both, the engine itself implements the function.
    """

    id: str
    """Upstream's id of the overload, which is unique."""
    name: str
    """The name of the function in policies, for example "quantity" or "format.named"."""
    parameters: tuple[str, ...]
    """The types of the parameters in the format of CEL's messages; the receiver is the first.

    A capital letter is any type.
    """
    result: str
    is_member: bool = True
    call: Callable[..., Any] | None = None
    """The implementation in Python, called with plain values; values of opaque types are texts.

    The function may raise LibraryError. The parameters are strings, numbers, bools and values of opaque types. Only
    ``format`` gets a list, which is checked first, because the engine crashes on converting a map with an optional.
    """
    body: str = ""
    """The implementation in CEL, with the arguments ``a``, ``b`` and ``c``. It may also call the functions that are in
    ``INTERNAL``."""
    asks: bool = False
    """Whether ``call`` gets the review (``functions.ReviewContext``) before the arguments."""

    @property
    def is_native(self) -> bool:
        """Whether the CEL engine itself implements the function."""
        return self.call is None and not self.body

    def written(self, operands: Sequence[str]) -> str:
        """Return a call of the function as an author writes it; ``operands`` are texts of operands or placeholders."""
        if not self.name.replace(".", "").isalnum():
            # An operator: each "_" in its name is an operand, and spaces stand around what is between two of them.
            pieces = _SPACED.get(self.name, self.name).split("_")
            return "".join(part for pair in zip_longest(pieces, operands, fillvalue="") for part in pair)
        first, rest = (f"{operands[0]}.", operands[1:]) if self.is_member else ("", operands)
        return f"{first}{self.name}({', '.join(rest)})"


# A comma that is not between the parameters of a type.
_COMMA = re.compile(r", (?![^(]*\))")


def overload(each: str, signature: str, answer: Callable[..., Any] | str | None = None) -> Overload:
    """Return the overload with upstream's id ``each`` and a signature, like ``.indexOf(list(A), A): int``.

    A dot at the beginning marks a member function, whose receiver is the first parameter. ``answer`` is the
    implementation: a Python function or a CEL expression; None means that the engine implements the function.
    """
    name, _, rest = signature.partition("(")
    inside, _, result = rest.rpartition("): ")
    return Overload(
        id=each,
        name=name.removeprefix("."),
        parameters=tuple(_COMMA.split(inside)) if inside else (),
        result=result,
        is_member=name.startswith("."),
        call=answer if callable(answer) else None,
        body=answer if isinstance(answer, str) else "",
    )


def accepted(parse: Callable[..., object]) -> Callable[..., bool]:
    """Return a function that returns whether ``parse`` accepts the arguments, that is, raises no LibraryError."""

    def accepts(*arguments: Any) -> bool:
        try:
            parse(*arguments)
        except LibraryError:
            return False
        return True

    return accepts
