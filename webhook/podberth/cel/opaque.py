"""Values of types that CEL does not have, as the engine holds them: messages around their text.

The engine has no opaque types, but it has messages: they keep their type through lists, maps and ``dyn``, are equal
where their text is, and are passed to Python functions and back. The checker sees the same names without any field.
"""

from collections.abc import Mapping
from typing import Any

from google.protobuf import message_factory
from google.protobuf.message import Message

from .libraries import quantity
from .libraries.overload import OPAQUE, QUANTITY
from .typing import descriptor_pool

POOL = descriptor_pool(
    {name: {"text": "string"} | ({"signs": "list(double)"} if name == QUANTITY else {}) for name in OPAQUE}
)
"""The message types of a program's environment: all other values are JSON."""

_CLASSES: Mapping[str, Any] = {
    name: message_factory.GetMessageClass(POOL.FindMessageTypeByName(name)) for name in OPAQUE
}


def wrap(kind: str, value: Any) -> Any:
    """Return a function's result for the engine: a text of an opaque type becomes a value of that type."""
    made = _CLASSES.get(kind)
    if made is None:
        return value
    if kind != QUANTITY:
        return made(text=value)
    text, signs = quantity.apart(value)
    return made(text=text, signs=signs)


def unwrap(operand: Any) -> tuple[str, Any]:
    """Return the opaque type of an operand and its text; of any other operand "" and itself."""
    if isinstance(operand, Message):
        name = operand.DESCRIPTOR.full_name
        if name in _CLASSES:
            held: Any = operand
            return name, quantity.together(held.text, held.signs) if name == QUANTITY else held.text
    return "", operand
