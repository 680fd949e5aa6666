"""Reads messages of protobuf as plain dicts: the fields that a table declares. A parser skips all other fields.

A table is a mapping from the name of each message to its fields, as a .proto file writes them, separated by "; ":
``repeated Container containers = 2``. Protobuf sends a map as a list of its entries, and a table declares it so. The
label ``shared`` is for a message that is the same in many messages: then there is one dict for equal messages.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any, Final

from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import DecodeError, Message
from google.protobuf.message_factory import GetMessageClass

_TYPES: Final = {
    "string": FieldDescriptorProto.TYPE_STRING,
    "bytes": FieldDescriptorProto.TYPE_BYTES,
    "int32": FieldDescriptorProto.TYPE_INT32,
    "int64": FieldDescriptorProto.TYPE_INT64,
}
# https://protobuf.dev/programming-guides/encoding/
_SIZED: Final = 2
_LONGEST_NUMBER: Final = 10
_SHARED: Final = "shared"
_MOST_SHARED: Final = 8192


def message_classes(table: Mapping[str, str], package: str) -> dict[str, type[Message]]:
    """Return the class of each message of a table, by the message's name; a shared message is bytes where it is used.

    ``package`` is the name of the package in the .proto file; it is in no message.
    """
    file = FileDescriptorProto(name=f"{package}.proto", package=package)
    for name, declared in table.items():
        message = file.message_type.add(name=name)
        for *label, kind, field_name, number in _declared(declared):
            made = message.field.add(name=field_name, number=int(number))
            repeated = label == ["repeated"]
            made.label = FieldDescriptorProto.LABEL_REPEATED if repeated else FieldDescriptorProto.LABEL_OPTIONAL
            if label == [_SHARED]:
                made.type = FieldDescriptorProto.TYPE_BYTES
            elif kind in table:
                made.type, made.type_name = FieldDescriptorProto.TYPE_MESSAGE, f".{package}.{kind}"
            else:
                made.type = _TYPES[kind]
    pool = DescriptorPool()  # separate: another library in the process may know the messages, too
    pool.Add(file)
    return {name: GetMessageClass(pool.FindMessageTypeByName(f"{package}.{name}")) for name in table}


def _declared(text: str) -> list[list[str]]:
    return [[*words, number] for *words, _, number in map(str.split, filter(None, text.split("; ")))]


class Reader:
    """Reads the messages of a table as plain dicts with the fields that are set.

    An empty text and a number of zero are left out, because Kubernetes sends them for absent fields, too.
    """

    def __init__(self, table: Mapping[str, str], package: str, forms: Mapping[str, Callable[[Any], Any]]) -> None:
        """Create the reader; ``forms`` has functions for messages that are no dict as JSON, such as a time.

        Such a function returns the value of a field in JSON from the message; for a field with the label ``repeated``
        from all of its messages.
        """
        self._classes = message_classes(table, package)
        self._reads: dict[object, tuple[str, Callable[[Any], Any] | None]] = {}
        for name, made in self._classes.items():
            for *label, kind, field, _ in _declared(table[name]):
                read = forms.get(kind, self._plain) if kind in table else None
                if label == [_SHARED]:
                    read = self._shared(kind)
                elif label and kind not in forms:
                    read = self._each if kind in table else list
                elif kind == "bytes":
                    read = bytes
                self._reads[made.DESCRIPTOR.fields_by_name[field]] = field, read

    def read(self, name: str, body: bytes) -> dict[str, Any]:
        """Return the message ``name`` of the table that ``body`` is.

        Raises:
            ValueError: the table has no such message, or ``body`` is no such message.
        """
        if name not in self._classes:
            raise ValueError(f"got a message {name!r}, want one of {', '.join(self._classes)}")
        try:
            return self._plain(self._classes[name].FromString(body))
        except DecodeError as error:
            raise ValueError(f"got no valid message {name}") from error

    def _plain(self, message: Message) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for field, value in message.ListFields():
            name, read = self._reads[field]
            if read is not None:
                found[name] = read(value)
            elif value:
                found[name] = value if type(value) is not bytes else text(value)
        return found

    def _each(self, messages: Any) -> list[dict[str, Any]]:
        return [self._plain(each) for each in messages]

    def _shared(self, name: str) -> Callable[[Any], Any]:
        return lru_cache(_MOST_SHARED)(lambda body: self.read(name, body))


def fields(data: bytes, begin: int = 0) -> Iterator[tuple[int, int, int]]:
    """Yield (number, begin, end) for each field of a message that begins in ``data`` at the byte ``begin``.

    ``data[begin:end]`` is the value of the field, and the end of the last one may be beyond the end of ``data``.

    Raises:
        ValueError: a field is not of a type that has a size: a message, a text or bytes.
    """
    while True:
        try:
            tag, size_at = _number(data, begin)
            size, begin = _number(data, size_at)
        except IndexError:
            return
        if tag & 7 != _SIZED:
            raise ValueError(f"got a field of type {tag & 7}, want {_SIZED}")
        yield tag >> 3, begin, begin + size
        begin += size


def _number(data: bytes, begin: int) -> tuple[int, int]:
    """Return (number, end) for the number at ``begin``: seven bits in each byte, the lowest first.

    Raises:
        IndexError: the number is not in ``data`` as a whole.
    """
    number, end = 0, begin
    while data[end] & 0x80:
        number |= (data[end] & 0x7F) << 7 * (end - begin)
        end += 1
        if end - begin > _LONGEST_NUMBER:
            raise ValueError(f"got a number of more than {_LONGEST_NUMBER} bytes")
    return number | data[end] << 7 * (end - begin), end + 1


def text(value: str | bytes) -> str:
    """Return the text of a field, for which the parser has bytes if it is no valid UTF-8."""
    return value if isinstance(value, str) else value.decode("utf-8", "replace")
