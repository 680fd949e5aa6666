"""JSON Patch as the API server applies it.

tests/e2e/test_upstream_mutations.py puts the same operations to a real one.
"""

import copy
from typing import Any

import pytest

from podberth.kube.json_patch import ABSENT, MAX_COPIED_BYTES, Operation, PatchError, UnmetError, edit, steps_of
from podberth.kube.paths import escape

DOCUMENT = {"a": {"b": 1, "n": None, "t": True}, "l": [1, 2, 3], "x/y": {"~": 0}, "deep": {"list": [{"k": "v"}]}}


def operation(verb: Any, path: str, value: Any = ABSENT, source: str = "/a") -> Operation:
    return Operation(verb, steps_of(path), steps_of(source), value)


def applied(*operations: Operation) -> dict[str, Any]:
    before = copy.deepcopy(DOCUMENT)
    result = edit(DOCUMENT, operations, lambda _, __: None)
    assert before == DOCUMENT
    return result


@pytest.mark.parametrize(
    ("each", "path", "expected"),
    [
        (operation("add", "/a/c", 2), ("a", "c"), 2),
        (operation("add", "/a/b", 2), ("a", "b"), 2),
        (operation("add", "/l/-", 4), ("l",), [1, 2, 3, 4]),
        (operation("add", "/l/0", 0), ("l",), [0, 1, 2, 3]),
        (operation("add", "/l/3", 4), ("l",), [1, 2, 3, 4]),
        (operation("add", "/l/-1", 4), ("l",), [1, 2, 3, 4]),
        (operation("add", "/x~1y/~0", 1), ("x/y", "~"), 1),
        (operation("add", "/deep/list/0/k", "w"), ("deep", "list"), [{"k": "w"}]),
        (operation("remove", "/l/0"), ("l",), [2, 3]),
        (operation("remove", "/l/-1"), ("l",), [1, 2]),
        (operation("replace", "/l/1", 9), ("l",), [1, 9, 3]),
        (operation("replace", "/a/new", 9), ("a", "new"), 9),  # no RFC, but upstream
        (operation("copy", "/l/0", source="/a/b"), ("l",), [1, 1, 2, 3]),
        (operation("move", "/l/-", source="/l/0"), ("l",), [2, 3, 1]),
        (operation("move", "/c", source="/a/b"), ("c",), 1),
    ],
)
def test_operations_write(each: Operation, path: tuple[str, ...], expected: Any) -> None:
    found: Any = applied(each)
    for step in path:
        found = found[step]
    assert found == expected


def test_remove_and_move_take_away() -> None:
    assert "b" not in applied(operation("remove", "/a/b"))["a"]
    assert "b" not in applied(operation("move", "/c", source="/a/b"))["a"]


def test_a_copy_and_its_source_live_apart() -> None:
    result = applied(operation("copy", "/c", source="/a"), operation("add", "/c/b", 2), operation("add", "/a/b", 3))

    assert (result["a"]["b"], result["c"]["b"]) == (3, 2)


def test_a_value_that_is_written_below_stays_as_it_was_given() -> None:
    value = {"k": [1]}
    applied(operation("add", "/c", value), operation("add", "/c/k/-", 2))

    assert value == {"k": [1]}


@pytest.mark.parametrize(
    ("path", "value"),
    [("/a/b", 1), ("/a/b", 1.0), ("/a", DOCUMENT["a"]), ("/l/-1", 3), ("/a/none", ABSENT), ("/a/n", ABSENT)],
)
def test_a_test_that_holds_lets_the_rest_apply(path: str, value: Any) -> None:
    assert applied(operation("test", path, value), operation("add", "/c", 1))["c"] == 1


@pytest.mark.parametrize(
    ("path", "value"),
    [("/a/b", 2), ("/a/t", 1), ("/a/b", True), ("/a/none", 1), ("/a/none", None), ("/a/b", ABSENT), ("/l", [1, 2])],
)
def test_a_test_that_does_not_hold_skips_everything(path: str, value: Any) -> None:
    with pytest.raises(UnmetError):
        applied(operation("add", "/c", 1), operation("test", path, value))


@pytest.mark.parametrize(
    ("each", "message"),
    [
        (operation("add", "/none/c", 1), r"\[0\] add /none/c: there is no 'none'"),
        (operation("add", "/a/n/c", 1), "there is no 'n'"),
        (operation("add", "/l/5", 1), "got index 5, want one below 4"),
        (operation("add", "/l/-5", 1), "got index -5"),
        (operation("add", "/l/x", 1), "got 'x' for a list, want an index"),
        (operation("add", "/a/c"), "got no value"),
        (operation("remove", "/a/none"), "there is no 'none'"),
        (operation("replace", "/l/3", 1), "got index 3, want one below 3"),
        (operation("copy", "/c", source="/a/none"), "there is nothing at /a/none"),
        (operation("move", "/c", source="/a/none"), "there is no 'none'"),
        (operation("test", "/none/c", 1), "there is no 'none'"),
        (operation("test", "/l/9", 1), "got index 9"),
    ],
)
def test_what_does_not_apply_is_an_error(each: Operation, message: str) -> None:
    with pytest.raises(PatchError, match=message) as raised:
        applied(each)
    assert not isinstance(raised.value, UnmetError)


def test_what_is_copied_is_bounded() -> None:
    grow = [operation("copy", "/a/b", source="/a"), operation("copy", "/a/c", source="/a")] * 20

    with pytest.raises(PatchError, match=f"copies more than {MAX_COPIED_BYTES} bytes"):
        applied(*grow)


@pytest.mark.parametrize("key", ["a/b", "~", "~1", "m~n/o", ""])
def test_an_escaped_key_is_one_step(key: str) -> None:
    assert steps_of(f"/a/{escape(key)}") == ("a", key)


# apiserver pkg/cel/library/jsonpatch_test.go
@pytest.mark.parametrize(("key", "escaped"), [("k8s.io/my~label", "k8s.io~1my~0label"), ("abc/def", "abc~1def")])
def test_keys_are_escaped_as_upstream_does(key: str, escaped: str) -> None:
    assert escape(key) == escaped


@pytest.mark.parametrize("pointer", ["", "a", "a/b"])
def test_a_pointer_begins_with_a_slash(pointer: str) -> None:
    with pytest.raises(PatchError, match="want a JSON Pointer"):
        steps_of(pointer)
