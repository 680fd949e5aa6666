"""Messages of protobuf as plain dicts: what is declared is read, and what is cut or wrong is refused."""

from typing import Any

import pytest

from podberth.kube.protobuf import Reader, message_classes

TABLE = {
    "Rack": "string name = 1; repeated Node nodes = 2; repeated string zones = 3; bytes seal = 4; shared Size size = 5",
    "Node": "string name = 1; int32 gpus = 2; Time made = 3; Size size = 4; repeated Labels labels = 5; int64 disk = 6",
    "Size": "int32 units = 1",
    "Time": "int64 seconds = 1",
    "Labels": "string key = 1; string value = 2",
}
RICHER = {**TABLE, "Size": f"{TABLE['Size']}; string unknown = 9"}
CLASSES = message_classes(RICHER, "richer")


def reader() -> Reader:
    return Reader(
        TABLE,
        "podberth",
        {
            "Time": lambda message: f"at {message.seconds}",
            "Labels": lambda entries: {each.key: each.value for each in entries},
        },
    )


def message(kind: str, /, **fields: Any) -> bytes:
    return CLASSES[kind](**fields).SerializeToString()


def test_the_declared_fields_that_are_set_are_read_and_no_others() -> None:
    node = {
        "name": "a",
        "gpus": 8,
        "made": {"seconds": 3},
        "size": {"units": 2, "unknown": "u"},
        "labels": [{"key": "rack", "value": "r1"}],
        "disk": 2**40,
    }
    size = message("Size", units=4, unknown="u")
    body = message("Rack", name="r", nodes=[node, {"size": {}}], zones=["x", "y"], seal=b"\xff", size=size)
    read = {"name": "a", "gpus": 8, "made": "at 3", "size": {"units": 2}, "labels": {"rack": "r1"}, "disk": 2**40}
    assert reader().read("Rack", body) == {
        "name": "r",
        "nodes": [read, {"size": {}}],
        "zones": ["x", "y"],
        "seal": b"\xff",
        "size": {"units": 4},
    }


def test_an_empty_text_and_a_zero_are_as_absent() -> None:
    assert reader().read("Node", message("Node", name="", gpus=0, disk=0)) == {}


def test_equal_shared_messages_are_one_dict() -> None:
    body, read = message("Rack", size=message("Size", units=4)), reader()
    assert read.read("Rack", body)["size"] is read.read("Rack", body)["size"]


def test_a_text_that_is_no_utf8_is_read_with_replacements() -> None:
    assert reader().read("Node", b"\x0a\x03a\xffb") == {"name": "a\ufffdb"}


@pytest.mark.parametrize("body", [b"\x0a", b"\x0a\x05ab", b"\x12\x03\x0a\x05a", b"<html>", b"\x2a\x02\x0a\x05"])
def test_a_message_that_is_cut_is_refused(body: bytes) -> None:
    with pytest.raises(ValueError, match="got no valid message"):
        reader().read("Rack", body)


def test_a_message_that_is_not_declared_is_refused() -> None:
    with pytest.raises(ValueError, match="got a message 'Pod', want one of Rack, Node"):
        reader().read("Pod", b"")
