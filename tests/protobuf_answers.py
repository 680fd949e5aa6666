"""Objects as the API server sends them in protobuf, with the fields of which podberth knows the numbers."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from podberth.kube.protobuf import message_classes
from podberth.kube.protobuf_pods import TABLE
from podberth.wellknown import PROTOBUF_PREFIX

_CLASSES = message_classes(TABLE, "sent")


def sent(kind: str, document: Mapping[str, Any]) -> bytes:
    """Return an object that JSON has as ``document``."""
    return PROTOBUF_PREFIX + _bytes("Unknown", {"typeMeta": {"kind": kind}, "raw": _bytes(kind, document)})


def _bytes(kind: str, document: Mapping[str, Any]) -> bytes:
    return _CLASSES[kind](**_fields(kind, document)).SerializeToString()


def _fields(kind: str, document: Mapping[str, Any]) -> dict[str, Any]:
    declared = [each.split() for each in TABLE[kind].split("; ")]
    return {
        name: _bytes(of, document[name]) if label == ["shared"] else _value(of, document[name])
        for *label, of, name, _, _ in declared
        if document.get(name) is not None
    }


def _value(kind: str, value: Any) -> Any:
    if kind == "Texts":
        return [{"key": key, "value": each} for key, each in value.items()]
    if kind == "Amounts":
        return [{"key": key, "value": {"string": str(each)}} for key, each in value.items()]
    if kind == "Time":
        return {"seconds": int(datetime.fromisoformat(value).timestamp())}
    if kind not in TABLE:
        return value
    return _fields(kind, value) if isinstance(value, Mapping) else [_fields(kind, each) for each in value]
