"""One library function as upstream declares it, with its implementation here.

A library is a table of these rows, with upstream's names, overload ids and types, and plain functions over plain
values. A value of a type that CEL does not have (a Quantity, an IP, ...) is its text here, in a canonical form that is
equal where upstream's values are equal; ``cel.opaque`` makes an object of its own type from it.
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

OPAQUE: tuple[str, ...] = (QUANTITY, SEMVER, URL, FORMAT, IP, CIDR)
"""The types that the libraries add, by upstream's names (apiserver pkg/cel)."""

# Operators that are not written as their names are: cel-spec doc/langdef.md, syntax.
_SPACED: Mapping[str, str] = {"@in": "_ in _", "_?_:_": "_ ? _ : _", "_?._": "_.?_"} | {
    f"_{each}_": f"_ {each} _" for each in ("&&", "||", "==", "!=", "<", "<=", ">", ">=", "+", "-", "*", "/", "%")
}


class LibraryError(Exception):
    """A function has no value for its arguments: an error of the expression, which ``||`` and ``&&`` may absorb."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Overload:
    """A function for one list of argument types.

    ``call`` implements it, or ``body``, or, without both, the engine itself.
    """

    id: str
    """Upstream's name of the overload; unique."""
    name: str
    """The name in policies: "quantity", "format.named"."""
    parameters: tuple[str, ...]
    """Types, spelled as CEL's messages do; the receiver is the first. A capital letter is any type."""
    result: str
    is_member: bool = True
    call: Callable[..., Any] | None = None
    """Called with plain values and the texts of opaque ones.

    Raises LibraryError. Its parameters are strings, numbers, bools and opaque ones. The engine crashes on converting a
    map that contains an optional, so only ``format`` is given a list, which was checked first.
    """
    body: str = ""
    """The CEL that computes it, in the arguments ``a``, ``b`` and ``c``; may use the functions of ``INTERNAL``."""

    @property
    def is_native(self) -> bool:
        """Whether the engine implements it."""
        return self.call is None and not self.body

    def written(self, operands: Sequence[str]) -> str:
        """Return a call of it as a policy writes it, with operands or placeholders."""
        if not self.name.replace(".", "").isalnum():
            # An operator: each "_" in its name is an operand, and spaces stand around what is between two of them.
            pieces = _SPACED.get(self.name, self.name).split("_")
            return "".join(part for pair in zip_longest(pieces, operands, fillvalue="") for part in pair)
        first, rest = (f"{operands[0]}.", operands[1:]) if self.is_member else ("", operands)
        return f"{first}{self.name}({', '.join(rest)})"


# A comma that is not between the parameters of a type.
_COMMA = re.compile(r", (?![^(]*\))")


def overload(each: str, signature: str, answer: Callable[..., Any] | str | None = None) -> Overload:
    """Return the overload with an id and a signature, ``.indexOf(list(A), A): int``.

    A dot in front marks a member, whose receiver is the first parameter. ``answer`` is the function or the body; None:
    the engine implements it.
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
    """Return the function that tells whether another has a value for its arguments."""

    def accepts(*arguments: Any) -> bool:
        try:
            parse(*arguments)
        except LibraryError:
            return False
        return True

    return accepts
