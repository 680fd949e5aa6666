"""Decodes, encodes and walks a type-checked expression, a tree of protobuf messages, and reads the types in the tree.

The engine serialises a compiled expression as ``google.protobuf.Any`` holding a ``cel.expr.CheckedExpr``. The messages
are declared here as a table, in a separate descriptor pool, so that no other package's copy of ``cel.expr`` can clash
with this copy. The field numbers, which alone matter in the serialised form, are those of cel-spec's
proto/cel/expr/checked.proto and syntax.proto.

A ``Node`` is a protobuf message without static types, and is not used outside ``cel``.
"""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, TypeAlias

from google.protobuf import any_pb2, descriptor_pb2, message_factory
from google.protobuf.descriptor_pool import DescriptorPool

from .types import DYN, CelType

Node: TypeAlias = Any
"""A protobuf message of the type CheckedExpr, Expr or Type of ``cel.expr``."""
Scalar: TypeAlias = bool | int | float | str | bytes | None

# "type name = number" for each field. The type is a protobuf scalar, a message of this table, list(...) or map(...).
# The keys of a map are int64.
_MESSAGES: Mapping[str, str] = {
    "CheckedExpr": (
        "map(Reference) reference_map = 2; map(Type) type_map = 3; Expr expr = 4; "
        "SourceInfo source_info = 5; string expr_version = 6"
    ),
    "SourceInfo": "list(int32) line_offsets = 3; map(int32) positions = 4",
    "Reference": "string name = 1; list(string) overload_id = 3; Constant value = 4",
    "Expr": (
        "int64 id = 2; Constant const_expr = 3; Ident ident_expr = 4; Select select_expr = 5; "
        "Call call_expr = 6; CreateList list_expr = 7; CreateStruct struct_expr = 8; "
        "Comprehension comprehension_expr = 9"
    ),
    "Ident": "string name = 1",
    "Select": "Expr operand = 1; string field = 2; bool test_only = 3",
    "Call": "Expr target = 1; string function = 2; list(Expr) args = 3",
    "CreateList": "list(Expr) elements = 1; list(int32) optional_indices = 2",
    "CreateStruct": "string message_name = 1; list(Entry) entries = 2",
    "Entry": "int64 id = 1; string field_key = 2; Expr map_key = 3; Expr value = 4; bool optional_entry = 5",
    "Comprehension": (
        "string iter_var = 1; Expr iter_range = 2; string accu_var = 3; Expr accu_init = 4; "
        "Expr loop_condition = 5; Expr loop_step = 6; Expr result = 7; string iter_var2 = 8"
    ),
    # Zero is a value here, so presence has to be kept: see _ONE_OF.
    "Constant": (
        "int32 null_value = 1; bool bool_value = 2; int64 int64_value = 3; uint64 uint64_value = 4; "
        "double double_value = 5; string string_value = 6; bytes bytes_value = 7"
    ),
    "Type": (
        "Empty dyn = 1; int32 null = 2; int32 primitive = 3; int32 wrapper = 4; int32 well_known = 5; "
        "ListType list_type = 6; MapType map_type = 7; string message_type = 9; string type_param = 10; "
        "Type type = 11; AbstractType abstract_type = 14"
    ),
    "ListType": "Type elem_type = 1",
    "MapType": "Type key_type = 1; Type value_type = 2",
    "AbstractType": "string name = 1; list(Type) parameter_types = 2",
    "Empty": "",
}
_ONE_OF = frozenset({"Constant", "Type", "Expr"})

# checked.proto: Type.PrimitiveType and Type.WellKnownType.
_PRIMITIVES: Mapping[int, str] = {1: "bool", 2: "int", 3: "uint", 4: "double", 5: "string", 6: "bytes"}
_WELL_KNOWN: Mapping[int, str] = {1: "dyn", 2: "google.protobuf.Timestamp", 3: "google.protobuf.Duration"}


def _file() -> descriptor_pb2.FileDescriptorProto:
    file = descriptor_pb2.FileDescriptorProto(name="podberth/cel.proto", package="podberth.cel", syntax="proto3")
    for name, fields in _MESSAGES.items():
        message = file.message_type.add(name=name)
        if name in _ONE_OF:
            message.oneof_decl.add(name="which")
        for declared in filter(None, fields.split("; ")):
            spelled, field_name, _, number = declared.split(" ")
            field = _add_field(message, name, int(number), field_name, spelled)
            if name in _ONE_OF and field_name != "id":
                field.oneof_index = 0
    return file


def _add_field(
    message: descriptor_pb2.DescriptorProto, owner: str, number: int, name: str, spelled: str
) -> descriptor_pb2.FieldDescriptorProto:
    kind = descriptor_pb2.FieldDescriptorProto
    field: descriptor_pb2.FieldDescriptorProto = message.field.add(name=name, number=number, label=kind.LABEL_OPTIONAL)
    inner = spelled
    if "(" in spelled:
        field.label = kind.LABEL_REPEATED
        inner = spelled[spelled.index("(") + 1 : -1]
    if spelled.startswith("map("):
        entry = message.nested_type.add(name="".join(part.title() for part in name.split("_")) + "Entry")
        entry.options.map_entry = True
        _add_field(entry, owner, 1, "key", "int64")
        _add_field(entry, owner, 2, "value", inner)
        inner = f"{owner}.{entry.name}"
    if inner in _MESSAGES or "." in inner:
        field.type = kind.TYPE_MESSAGE
        field.type_name = f".podberth.cel.{inner}"
    else:
        field.type = kind.Type.Value(f"TYPE_{inner.upper()}")
    return field


_pool = DescriptorPool()
_pool.AddSerializedFile(_file().SerializeToString())
CheckedExpr: Any = message_factory.GetMessageClass(_pool.FindMessageTypeByName("podberth.cel.CheckedExpr"))
Expr: Any = message_factory.GetMessageClass(_pool.FindMessageTypeByName("podberth.cel.Expr"))
"""The message classes of a type-checked expression and of one of its nodes; an empty Expr is no expression yet."""
_Type: Any = message_factory.GetMessageClass(_pool.FindMessageTypeByName("podberth.cel.Type"))
_TYPE_URL = "type.googleapis.com/cel.expr.CheckedExpr"


def decode(serialized: bytes) -> Node:
    """Return the CheckedExpr that the CEL engine has serialised.

    Raises:
        DecodeError: the expression is nested too deeply: protobuf reads at most 100 nested messages.
    """
    envelope = any_pb2.Any.FromString(serialized)
    return CheckedExpr.FromString(envelope.value)


def encode(checked: Node) -> bytes:
    """Return a CheckedExpr in the serialised form that the CEL engine reads."""
    envelope = any_pb2.Any(type_url=_TYPE_URL, value=checked.SerializeToString(deterministic=True))
    return bytes(envelope.SerializeToString())


def copy_of(node: Node) -> Node:
    """Return a copy of a node, which belongs to no tree yet."""
    copy = type(node)()
    copy.CopyFrom(node)
    return copy


def put(checked: Node, node: Node, made: Node) -> None:
    """Replace the expression ``node`` in the tree of ``checked`` by ``made``, which gets the id of ``node``."""
    made.id = node.id
    node.CopyFrom(made)
    if node.id in checked.reference_map:
        del checked.reference_map[node.id]


def kind(node: Node) -> str:
    """Return the kind of expression that an Expr is, such as "const_expr" or "select_expr"; "" for an empty Expr."""
    return node.WhichOneof("which") or ""


def constant(node: Node) -> Scalar:
    """Return the value of a literal; None for the literal null, and for an expression that is not a literal."""
    which = node.const_expr.WhichOneof("which")
    return None if which in (None, "null_value") else getattr(node.const_expr, which)


def key_of(entry: Node) -> tuple[str, Scalar]:
    """Return (type, value) of the key in an item of a map literal; ("", None) if the key is not a literal."""
    return entry.map_key.const_expr.WhichOneof("which") or "", constant(entry.map_key)


def children(node: Node) -> list[Node]:
    """Return the direct subexpressions of an expression, in the order of the source."""
    match kind(node):
        case "select_expr":
            return [node.select_expr.operand]
        case "call_expr":
            call = node.call_expr
            return [call.target, *call.args] if call.HasField("target") else list(call.args)
        case "list_expr":
            return list(node.list_expr.elements)
        case "struct_expr":
            entries = node.struct_expr.entries
            return [
                part
                for each in entries
                for part in ((each.map_key, each.value) if each.HasField("map_key") else (each.value,))
            ]
        case "comprehension_expr":
            loop = node.comprehension_expr
            return [loop.iter_range, loop.accu_init, loop.loop_condition, loop.loop_step, loop.result]
        case _:
            return []


def walk(node: Node) -> Iterator[Node]:
    """Yield the expression and all subexpressions at any depth; an expression comes before its subexpressions."""
    waiting = [node]
    while waiting:
        found = waiting.pop()
        yield found
        waiting += reversed(children(found))


def size(node: Node) -> int:
    """Return the number of nodes in the tree of an expression, the expression's own node included."""
    return sum(1 for _ in walk(node))


def type_of(checked: Node, node: Node) -> CelType:
    """Return the type that the type checker gave to an expression in the tree of ``checked``."""
    return _type_of(checked.type_map[node.id].SerializeToString()) if node.id in checked.type_map else DYN


def overloads(checked: Node, node: Node) -> list[str]:
    """Return the ids of the overloads that the type checker allows for a call; empty for built-in operators."""
    return list(checked.reference_map[node.id].overload_id) if node.id in checked.reference_map else []


def has_type(checked: Node, name: str) -> bool:
    """Return whether any expression of the tree has the abstract type ``name``."""
    types = checked.type_map.values()
    return any(each.WhichOneof("which") == "abstract_type" and each.abstract_type.name == name for each in types)


@lru_cache(maxsize=1024)  # thousands of nodes have a few types, and reading one takes four times as long
def _type_of(serialized: bytes) -> CelType:
    return _type(_Type.FromString(serialized))


def _type(node: Node) -> CelType:
    parameters: tuple[Node, ...] = ()
    match node.WhichOneof("which"):
        case "null":
            name = "null_type"
        case "primitive":
            name = _PRIMITIVES[node.primitive]
        case "wrapper":  # a primitive or null; no message of ours has one
            name = "dyn"
        case "well_known":
            name = _WELL_KNOWN[node.well_known]
        case "list_type":
            name, parameters = "list", (node.list_type.elem_type,)
        case "map_type":
            name, parameters = "map", (node.map_type.key_type, node.map_type.value_type)
        case "message_type":
            name = node.message_type
        case "type":
            name = "type"
        case "abstract_type":
            name, parameters = node.abstract_type.name, tuple(node.abstract_type.parameter_types)
        case _:  # dyn, a free type parameter (the element of []), a type of a later checker
            return DYN
    return CelType(name, tuple(_type(each) for each in parameters))


def position(checked: Node, node_id: int) -> tuple[int, int]:
    """Return the line and the column, from 1, of an expression in the source; (1, 1) if the id is unknown.

    The position of a call is the position of the call's opening parenthesis.
    """
    info = checked.source_info
    offset = info.positions.get(node_id, 0)
    starts = [0, *(each for each in info.line_offsets if each <= offset)]
    return len(starts), offset - starts[-1] + 1


def functions(checked: Node) -> frozenset[str]:
    """Return the names of all functions and operators that the expression calls."""
    return frozenset(node.call_expr.function for node in walk(checked.expr) if kind(node) == "call_expr")


def added(loop: Node) -> Node | None:
    """Return the expression that a ``map`` or ``filter`` loop adds to its result in each round; else None."""
    step, accumulated = loop.loop_step.call_expr, loop.accu_var
    if step.function == "_?_:_":
        if step.args[2].ident_expr.name != accumulated:
            return None
        step = step.args[1].call_expr
    starts_empty = kind(loop.accu_init) == "list_expr" and not children(loop.accu_init)
    if not starts_empty or step.function != "_+_" or loop.result.ident_expr.name != accumulated:
        return None
    elements = step.args[1].list_expr.elements
    return elements[0] if step.args[0].ident_expr.name == accumulated and len(elements) == 1 else None
