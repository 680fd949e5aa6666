"""Values of types that CEL does not have, as the engine holds them: messages around their text.

The engine has no opaque types, but it has messages: they keep their type through lists, maps and ``dyn``, are equal
where their text is, and are passed to Python functions and back. The checker sees the same names without any field.
"""

from collections.abc import Mapping
from typing import Any

from google.protobuf import descriptor_pb2, message_factory
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import Message

from .libraries import quantity
from .libraries.overload import OPAQUE, QUANTITY

_FIELD = "text"
_SIGNS = "signs"


def _pool() -> DescriptorPool:
    pool = DescriptorPool()
    files: dict[str, descriptor_pb2.FileDescriptorProto] = {}
    for name in OPAQUE:
        package, _, short = name.rpartition(".")
        file = files.setdefault(
            package, descriptor_pb2.FileDescriptorProto(name=f"{package}.proto", package=package, syntax="proto3")
        )
        kind = descriptor_pb2.FieldDescriptorProto
        message = file.message_type.add(name=short)
        message.field.add(name=_FIELD, number=1, type=kind.TYPE_STRING, label=kind.LABEL_OPTIONAL)
        if name == QUANTITY:
            message.field.add(name=_SIGNS, number=2, type=kind.TYPE_DOUBLE, label=kind.LABEL_REPEATED)
    for file in files.values():
        pool.AddSerializedFile(file.SerializeToString())
    return pool


POOL = _pool()
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
            text = getattr(operand, _FIELD)
            return name, quantity.together(text, getattr(operand, _SIGNS)) if name == QUANTITY else text
    return "", operand
