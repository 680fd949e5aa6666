"""Values of types that CEL does not have, such as Quantity: protobuf messages that hold the value's text.

The engine has no opaque types, but messages serve as opaque types. A message keeps its type in lists, maps and ``dyn``,
equals another message if the texts are equal, and can be passed to Python functions and back. For the type checker, the
message types have no fields.
"""

import json
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
"""The protobuf messages of the opaque types, for the environment that runs programs; all other values there are
JSON."""

_CLASSES: Mapping[str, Any] = {
    name: message_factory.GetMessageClass(POOL.FindMessageTypeByName(name)) for name in OPAQUE
}


def wrap(kind: str, value: Any) -> Any:
    """Return the result of a Python function in the form that the CEL engine accepts.

    ``kind`` is the name of the result's CEL type. A result of an opaque type is a text, which is wrapped in a protobuf
    message. Any other result is returned unchanged.
    """
    made = _CLASSES.get(kind)
    if made is None:
        return value
    if kind != QUANTITY:
        return made(text=value)
    text, signs = quantity.apart(value)
    return made(text=text, signs=signs)


def shown(value: Any) -> Any:
    """Return the non-empty fields of a value of the CEL library ``authz``, such as an authorizer, as a dict."""
    return {key: each for key, each in json.loads(value.text).items() if each not in ("", None)}


def unwrap(operand: Any) -> tuple[str, Any]:
    """Return (type name, text) of a value of an opaque type; ("", operand) for any other operand."""
    if isinstance(operand, Message):
        name = operand.DESCRIPTOR.full_name
        if name in _CLASSES:
            held: Any = operand
            return name, quantity.together(held.text, held.signs) if name == QUANTITY else held.text
    return "", operand
