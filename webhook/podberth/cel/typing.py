"""The types of the names in an expression: message types from the Pod schema, and podberth's own types.

Message types are used only for type checking. At run time every value is plain JSON, so this module makes no values.
Field names are the names in JSON.
"""

import json
from collections.abc import Mapping
from importlib import resources
from types import MappingProxyType

from google.protobuf import descriptor_pb2, struct_pb2
from google.protobuf.descriptor_pool import DescriptorPool

from ..kube.schema import CONFIG_MAP, NAMESPACE, POD, PodSchema, Schema
from .libraries.overload import AUTHORIZER, OPAQUE, RESOURCE_CHECK

Fields = Mapping[str, str]


def _types_of(file: str) -> dict[str, Fields]:
    found: dict[str, Fields] = json.loads(resources.files(__package__).joinpath("data", file).read_bytes())
    return found


DECLARED: dict[str, Fields] = _types_of("types.json")
"""podberth's own message types, each with the types of its fields.

A type is bool, int, double, string, dyn, a message's name, or list(...) or map(string, ...) of another type.

Upstream's ``request`` has no uid, object or oldObject: apiserver pkg/admission/plugin/cel/compile.go.
"""

_NATIVE: dict[str, Fields] = _types_of("native_types.json")
"""The message types of the variables in ``NATIVE_VARIABLES`` that are not among ``DECLARED``."""

# The namespace as upstream's expressions see it: no managedFields, no ownerReferences (apiserver
# pkg/admission/plugin/cel/compile.go, whose declaration spells `UID`, which no object has).
_NAMESPACE_HIDES = frozenset({"managedFields", "ownerReferences", "selfLink"})

VARIABLES: Mapping[str, str] = MappingProxyType(
    {
        "object": "k8s.Pod",
        "oldObject": "k8s.Pod",
        "request": "podberth.Request",
        "namespaceObject": "k8s.Namespace",
        "params": "k8s.ConfigMap",
        "gpu": "podberth.Gpu",
        "gang": "podberth.Gang",
        "topology": "podberth.Topology",
        "mig": "podberth.Mig",
        "jsonpatch": "podberth.JsonPatch",
        "shell": "podberth.Shell",
        "models": "podberth.Models",
    }
)
"""The variables that an expression may use, besides ``variables``, each with a message type."""

NATIVE_VARIABLES: Mapping[str, str] = MappingProxyType(
    {
        "object": "dyn",
        "oldObject": "dyn",
        "request": "podberth.Request",
        "namespaceObject": "podberth.Namespace",
        "params": "dyn",
        "jsonpatch": "podberth.JsonPatch",
        "authorizer": AUTHORIZER,
        "authorizer.requestResource": RESOURCE_CHECK,
    }
)
"""The variables of ValidatingAdmissionPolicy and MutatingAdmissionPolicy with their types.

Source: createEnvForOpts, BuildRequestType and BuildNamespaceType, apiserver pkg/admission/plugin/cel/compile.go. The
times of a namespace are dyn here: upstream declares timestamps, but the values are strings.
"""

NULLABLE: frozenset[str] = frozenset({"k8s.Pod", "k8s.Namespace", "k8s.ConfigMap", "podberth.Namespace"})
"""The message types of variables that may be null: a created object has no ``oldObject``, and a policy without a
paramRef no ``params``. Every other value of a message type is a map."""

# apiserver pkg/cel/escaping.go: reserved words of CEL have this form in field names. Here are those that occur.
_ESCAPED: Mapping[str, str] = {"namespace": "__namespace__"}
UNESCAPED: Mapping[str, str] = {spelling: name for name, spelling in _ESCAPED.items()}
"""A mapping from escaped field names in upstream's CEL to field names; the CEL engine's parser needs no escapes."""

_SCALARS: Mapping[str, "descriptor_pb2.FieldDescriptorProto.Type.ValueType"] = {
    "bool": descriptor_pb2.FieldDescriptorProto.TYPE_BOOL,
    "int": descriptor_pb2.FieldDescriptorProto.TYPE_INT64,
    "double": descriptor_pb2.FieldDescriptorProto.TYPE_DOUBLE,
    "string": descriptor_pb2.FieldDescriptorProto.TYPE_STRING,
}
_SPELLED = {"boolean": "bool", "integer": "int", "number": "double", "string": "string", "any": "dyn"}
# The CEL checker reads these three well-known messages as JSON values.
_JSON: Mapping[str, str] = {
    "dyn": ".google.protobuf.Value",
    "list(dyn)": ".google.protobuf.ListValue",
    "map(string, dyn)": ".google.protobuf.Struct",
}


def messages(schema: PodSchema) -> dict[str, Fields]:
    """Return a mapping from each message type that an expression may use to the types of the message's fields.

    The name of a message type is "k8s." and the last part of the definition's name, as in "k8s.Container".

    Raises:
        ValueError: two definitions would have one name, or one of Pod, Namespace and ConfigMap is missing.
    """
    found: dict[str, Fields] = DECLARED | _NATIVE | {name: {} for name in OPAQUE}
    for name, fields in schema.definitions.items():
        short = _short(name)
        if short in found:
            raise ValueError(f"schema: got two definitions named {short}, want one; rename one in cel.typing")
        found[short] = {field: _spelled(each) for field, each in fields.items()}
    for root in (POD, NAMESPACE, CONFIG_MAP):
        if _short(root) not in found:
            raise ValueError(f"schema: got no {root}, want it among the definitions")
    metadata = {field: each for field, each in found["k8s.ObjectMeta"].items() if field not in _NAMESPACE_HIDES}
    namespace = {**found["k8s.Namespace"], "metadata": "k8s.NamespaceMetadata"}
    return {**found, "k8s.NamespaceMetadata": metadata, "k8s.Namespace": namespace}


def descriptor_pool(types: Mapping[str, Fields]) -> DescriptorPool:
    """Return a new protobuf descriptor pool with a message for each type, for the type checker."""
    pool = DescriptorPool()
    pool.AddSerializedFile(struct_pb2.DESCRIPTOR.serialized_pb)
    # The packages refer to each other only from podberth to k8s, if at all; one file each keeps them apart.
    packages = sorted({name.rpartition(".")[0] for name in types} - {"k8s", "podberth"})
    for package in ("k8s", "podberth", *packages):
        file = descriptor_pb2.FileDescriptorProto(name=f"{package}.proto", package=package, syntax="proto3")
        file.dependency.append(struct_pb2.DESCRIPTOR.name)
        for name in sorted(types):
            if name.rpartition(".")[0] == package:
                _add_message(file, name.rpartition(".")[2], types[name])
        pool.AddSerializedFile(file.SerializeToString())
    return pool


def _short(name: str) -> str:
    return f"k8s.{name.rpartition('.')[2]}"


def _spelled(schema: Schema) -> str:
    element = _spelled(schema.element) if schema.element else "dyn"
    match schema.kind:
        case "message":
            return _short(schema.message)
        case "array":
            return f"list({element})"
        case "map":
            return f"map(string, {element})"
        case kind:
            return _SPELLED[kind]


def _add_message(file: descriptor_pb2.FileDescriptorProto, name: str, fields: Fields) -> None:
    message = file.message_type.add(name=name)
    for field, spelled in fields.items():
        _add_field(message, f"{file.package}.{name}", field, spelled)
        if field in _ESCAPED:
            _add_field(message, f"{file.package}.{name}", _ESCAPED[field], spelled)


def _add_field(message: descriptor_pb2.DescriptorProto, owner: str, name: str, spelled: str) -> None:
    field = message.field.add(name=name, number=len(message.field) + 1)
    field.label = descriptor_pb2.FieldDescriptorProto.LABEL_OPTIONAL
    if spelled in _JSON:
        _set_type(field, spelled)
    elif spelled.startswith("list("):
        field.label = descriptor_pb2.FieldDescriptorProto.LABEL_REPEATED
        _set_type(field, spelled.removeprefix("list(").removesuffix(")"))
    elif spelled.startswith("map("):
        # protobuf's own encoding of map<string, T>: a repeated nested message called <Field>Entry.
        entry = message.nested_type.add(name=f"{name[0].upper()}{name[1:]}Entry")
        entry.options.map_entry = True
        _add_field(entry, owner, "key", "string")
        _add_field(entry, owner, "value", spelled.removeprefix("map(string, ").removesuffix(")"))
        field.label = descriptor_pb2.FieldDescriptorProto.LABEL_REPEATED
        field.type = descriptor_pb2.FieldDescriptorProto.TYPE_MESSAGE
        field.type_name = f".{owner}.{entry.name}"
    else:
        _set_type(field, spelled)


def _set_type(field: descriptor_pb2.FieldDescriptorProto, spelled: str) -> None:
    """Set the type of a protobuf field to a scalar or a message; a list or map inside a list or map becomes dyn."""
    if spelled in _SCALARS:
        field.type = _SCALARS[spelled]
        return
    field.type = descriptor_pb2.FieldDescriptorProto.TYPE_MESSAGE
    field.type_name = _JSON.get(spelled) or (_JSON["dyn"] if "(" in spelled else f".{spelled}")
