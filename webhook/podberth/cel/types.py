"""The type of a CEL expression's value, and the type that the caller of the compiler wants."""

from dataclasses import dataclass
from enum import Enum

# cel.typing declares every message type in one of these two packages.
_MESSAGE_PACKAGES = ("k8s.", "podberth.")


@dataclass(frozen=True, slots=True)
class CelType:
    """A CEL type: the name in the language ("int", "list", "k8s.Pod") and the type parameters."""

    name: str
    parameters: tuple["CelType", ...] = ()

    def __str__(self) -> str:
        """Return the type in the format of CEL's own messages: ``list(map(string, dyn))``."""
        return f"{self.name}({', '.join(map(str, self.parameters))})" if self.parameters else self.name

    @property
    def is_message(self) -> bool:
        """Whether the type is a message: an object with declared fields."""
        return self.name.startswith(_MESSAGE_PACKAGES)

    @property
    def is_parameter(self) -> bool:
        """Whether the type is a type parameter: a capital letter in a function's declaration that means any type."""
        return len(self.name) == 1


def parse(text: str) -> CelType:
    """Return the CEL type that a text such as "list(map(string, dyn))" denotes."""
    name, bracket, inside = text.strip().partition("(")
    if not bracket:
        return CelType(name)
    parameters, depth, start = [], 0, 0
    inside = inside.removesuffix(")")
    for at, each in enumerate(inside):
        depth += (each == "(") - (each == ")")
        if each == "," and not depth:
            parameters.append(parse(inside[start:at]))
            start = at + 1
    return CelType(name, (*parameters, parse(inside[start:])))


BOOL = CelType("bool")
INT = CelType("int")
STRING = CelType("string")
NULL = CelType("null_type")
DYN = CelType("dyn")
NODES = CelType("podberth.Nodes")
"""The CEL type of a query's result from the index of nodes.

At run time the value is a number (``cel.functions``), so the value's fields are not JSON.
"""
OPTIONAL = "optional_type"


class Want(Enum):
    """The type that a field requires of an expression's value. Each member has the name of the type for messages."""

    BOOL = "bool"
    STRING = "string"
    INT = "int"
    MAP = "map"
    LIST_OF_MAPS = "list of maps"
    ANY = "any value"
    OBJECT = "Object"
    JSON_PATCHES = "list(JSONPatch)"
    MESSAGE = "string, and not null"
    PART = "any value, or a part of a patch"


_SCALARS = {Want.STRING: STRING, Want.MESSAGE: STRING, Want.INT: INT}


def accepts(want: Want, found: CelType, *, exact: bool = False) -> bool:
    """Return whether a value of the type ``found`` can have the wanted type.

    A condition must have the static type bool, as in ValidatingAdmissionPolicy, which refuses dyn. For any other wanted
    type, dyn is accepted and the value is checked at evaluation. Null or an absent optional is accepted, too, and means
    "no change". With ``exact``, a text must have the static type string, or be null; an object is never null.
    """
    if want is Want.BOOL:
        return found == BOOL
    if want in (Want.ANY, Want.PART):
        return True
    if want in (Want.OBJECT, Want.JSON_PATCHES):
        return str(found) == str(want.value)
    if exact and want in (Want.STRING, Want.MESSAGE):
        return found == STRING or (found == NULL and want is Want.STRING)
    return _may_be(want, found)


def _may_be(want: Want, found: CelType) -> bool:
    if found.name == OPTIONAL:
        found = found.parameters[0]
    if found in (DYN, NULL):
        return True
    if want is Want.MAP:
        return _is_map(found)
    if want is Want.LIST_OF_MAPS:
        return found.name == "list" and (found.parameters[0] == DYN or _is_map(found.parameters[0]))
    return found == _SCALARS[want]


def _is_map(found: CelType) -> bool:
    if found.name == "map":
        return found.parameters[0] in (STRING, DYN)
    return found.is_message and found != NODES
