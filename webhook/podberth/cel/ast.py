"""The checked expression as a tree: decoding, encoding, walking, and the checker's result for each part.

The engine serialises a compiled expression as ``google.protobuf.Any`` holding a ``cel.expr.CheckedExpr``. The messages
are declared here as a table, in their own pool, so that no other package's copy of ``cel.expr`` can clash with them.
Field numbers: cel-spec proto/cel/expr/checked.proto and syntax.proto; only they matter in the serialised form.

Nodes are protobuf messages without static types: ``Node`` stays inside ``cel``.
"""

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from google.protobuf import any_pb2, descriptor_pb2, message_factory
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import DecodeError

from .types import DYN, CelType

Node: TypeAlias = Any
"""A ``cel.expr`` message: CheckedExpr, Expr or Type."""

__all__ = [
    "DecodeError",
    "Node",
    "children",
    "copy_of",
    "decode",
    "encode",
    "functions",
    "has_type",
    "kind",
    "new_checked",
    "position",
    "size",
    "type_of",
    "walk",
]

# message -> (number, name, type); type = a protobuf scalar, a message of this table, list(...) or map(int64, ...).
_MESSAGES: Mapping[str, tuple[tuple[int, str, str], ...]] = {
    "CheckedExpr": (
        (2, "reference_map", "map(Reference)"),
        (3, "type_map", "map(Type)"),
        (4, "expr", "Expr"),
        (5, "source_info", "SourceInfo"),
        (6, "expr_version", "string"),
    ),
    "SourceInfo": ((3, "line_offsets", "list(int32)"), (4, "positions", "map(int32)")),
    "Reference": ((1, "name", "string"), (3, "overload_id", "list(string)"), (4, "value", "Constant")),
    "Expr": (
        (2, "id", "int64"),
        (3, "const_expr", "Constant"),
        (4, "ident_expr", "Ident"),
        (5, "select_expr", "Select"),
        (6, "call_expr", "Call"),
        (7, "list_expr", "CreateList"),
        (8, "struct_expr", "CreateStruct"),
        (9, "comprehension_expr", "Comprehension"),
    ),
    "Ident": ((1, "name", "string"),),
    "Select": ((1, "operand", "Expr"), (2, "field", "string"), (3, "test_only", "bool")),
    "Call": ((1, "target", "Expr"), (2, "function", "string"), (3, "args", "list(Expr)")),
    "CreateList": ((1, "elements", "list(Expr)"), (2, "optional_indices", "list(int32)")),
    "CreateStruct": ((1, "message_name", "string"), (2, "entries", "list(Entry)")),
    "Entry": (
        (1, "id", "int64"),
        (2, "field_key", "string"),
        (3, "map_key", "Expr"),
        (4, "value", "Expr"),
        (5, "optional_entry", "bool"),
    ),
    "Comprehension": (
        (1, "iter_var", "string"),
        (2, "iter_range", "Expr"),
        (3, "accu_var", "string"),
        (4, "accu_init", "Expr"),
        (5, "loop_condition", "Expr"),
        (6, "loop_step", "Expr"),
        (7, "result", "Expr"),
        (8, "iter_var2", "string"),
    ),
    # Zero is a value here, so presence has to be kept: see _ONE_OF.
    "Constant": (
        (1, "null_value", "int32"),
        (2, "bool_value", "bool"),
        (3, "int64_value", "int64"),
        (4, "uint64_value", "uint64"),
        (5, "double_value", "double"),
        (6, "string_value", "string"),
        (7, "bytes_value", "bytes"),
    ),
    "Type": (
        (1, "dyn", "Empty"),
        (2, "null", "int32"),
        (3, "primitive", "int32"),
        (4, "wrapper", "int32"),
        (5, "well_known", "int32"),
        (6, "list_type", "ListType"),
        (7, "map_type", "MapType"),
        (9, "message_type", "string"),
        (10, "type_param", "string"),
        (11, "type", "Type"),
        (14, "abstract_type", "AbstractType"),
    ),
    "ListType": ((1, "elem_type", "Type"),),
    "MapType": ((1, "key_type", "Type"), (2, "value_type", "Type")),
    "AbstractType": ((1, "name", "string"), (2, "parameter_types", "list(Type)")),
    "Empty": (),
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
        for number, field_name, spelled in fields:
            field = _add_field(message, name, number, field_name, spelled)
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
_CheckedExpr = message_factory.GetMessageClass(_pool.FindMessageTypeByName("podberth.cel.CheckedExpr"))
_TYPE_URL = "type.googleapis.com/cel.expr.CheckedExpr"


def decode(serialized: bytes) -> Node:
    """Return the CheckedExpr in the engine's serialised form.

    Raises:
        DecodeError: it is nested too deeply (protobuf reads 100 messages).
    """
    envelope = any_pb2.Any.FromString(serialized)
    return _CheckedExpr.FromString(envelope.value)


def encode(checked: Node) -> bytes:
    """Return the serialised form for the engine."""
    envelope = any_pb2.Any(type_url=_TYPE_URL, value=checked.SerializeToString(deterministic=True))
    return bytes(envelope.SerializeToString())


def new_checked() -> Node:
    """Return an empty CheckedExpr."""
    return _CheckedExpr()


def copy_of(node: Node) -> Node:
    """Return a copy that no longer belongs to its tree."""
    copy = type(node)()
    copy.CopyFrom(node)
    return copy


def kind(node: Node) -> str:
    """Return the kind of an Expr: "const_expr", "select_expr", ... ("" for one that is not set)."""
    return node.WhichOneof("which") or ""


def children(node: Node) -> Iterator[Node]:
    """Yield the direct subexpressions of an expression."""
    match kind(node):
        case "select_expr":
            yield node.select_expr.operand
        case "call_expr":
            if node.call_expr.HasField("target"):
                yield node.call_expr.target
            yield from node.call_expr.args
        case "list_expr":
            yield from node.list_expr.elements
        case "struct_expr":
            for entry in node.struct_expr.entries:
                if entry.HasField("map_key"):
                    yield entry.map_key
                yield entry.value
        case "comprehension_expr":
            loop = node.comprehension_expr
            yield from (loop.iter_range, loop.accu_init, loop.loop_condition, loop.loop_step, loop.result)


def walk(node: Node) -> Iterator[Node]:
    """Yield the expression and all of its subexpressions, parents first.

    Recursion is bounded: the parser refuses more than 32 levels, each of which is a few expressions at most.
    """
    yield node
    for child in children(node):
        yield from walk(child)


def size(node: Node) -> int:
    """Return the number of expressions in an expression, including itself."""
    return sum(1 for _ in walk(node))


def type_of(checked: Node, node: Node) -> CelType:
    """Return the type that the checker gave to an expression of this tree."""
    return _type(checked.type_map[node.id]) if node.id in checked.type_map else DYN


def has_type(checked: Node, name: str) -> bool:
    """Return whether any expression of the tree is of an abstract type of that name."""
    types = checked.type_map.values()
    return any(each.WhichOneof("which") == "abstract_type" and each.abstract_type.name == name for each in types)


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
    """Return line and column, from 1, of an expression in its source (of a call: its parenthesis)."""
    info = checked.source_info
    offset = info.positions.get(node_id, 0)
    starts = [0, *(each for each in info.line_offsets if each <= offset)]
    return len(starts), offset - starts[-1] + 1


def functions(checked: Node) -> frozenset[str]:
    """Return the names of the called functions and operators."""
    return frozenset(node.call_expr.function for node in walk(checked.expr) if kind(node) == "call_expr")
