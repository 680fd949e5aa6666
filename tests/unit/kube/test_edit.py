"""JSON Patch on YAML text: what changes, and what stays as somebody wrote it."""

import pytest

from podberth.kube.documents import load_documents
from podberth.kube.edit import edited
from podberth.kube.json_patch import Operation

MANIFEST = """\
# head
apiVersion: v1   # the api
kind: Pod
metadata: {name: a, labels: {x: y}}
spec:
  nodeSelector:  # none
  containers:
    # first
    - name: a  # keep
      image: "x"
      resources:
        limits:
          nvidia.com/gpu: 1  # one

    -   name: b
        args: |
          hello
  priority: 5
"""


def patched(text: str, *operations: Operation) -> str:
    (source, *_), problems = load_documents(text, "f.yaml")
    assert problems == []
    result, problems = edited(text, "f.yaml", [(source, operations)])
    assert problems == []
    return result


def add(path: str, value: object) -> Operation:
    return Operation("add", _steps(path), value=value)


def replace(path: str, value: object) -> Operation:
    return Operation("replace", _steps(path), value=value)


def remove(path: str) -> Operation:
    return Operation("remove", _steps(path))


def _steps(path: str) -> tuple[str, ...]:
    return tuple(step.replace("~1", "/") for step in path.split("/")[1:])


def test_only_the_lines_of_the_changes_differ() -> None:
    result = patched(
        MANIFEST,
        add("/metadata/labels/z", "on"),
        add("/spec/nodeSelector", {"a": "yes"}),
        replace("/spec/containers/0/image", "y"),
        add("/spec/containers/0/resources/limits/cpu", "500m"),
        add("/spec/containers/1/env", [{"name": "A", "value": "1"}]),
        remove("/spec/priority"),
        add("/spec/tolerations", [{"key": "k", "operator": "Exists"}]),
    )

    assert result == MANIFEST.replace("labels: {x: y}", 'labels: {x: y, z: "on"}').replace(
        "  nodeSelector:  # none\n", "  nodeSelector:  # none\n    a: 'yes'\n"
    ).replace('"x"', '"y"').replace("# one\n", "# one\n          cpu: 500m\n").replace(
        "          hello\n  priority: 5\n",
        "          hello\n        env:\n          - name: A\n            value: '1'\n"
        "  tolerations:\n    - key: k\n      operator: Exists\n",
    )


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_line_ends_and_the_other_documents_stay(line_end: str) -> None:
    text = f"\ufeff{MANIFEST}---\n# nothing\n---\nb:   1\n".replace("\n", line_end)

    result = patched(text, add("/spec/x", 1))

    assert result == text.replace("priority: 5", f"priority: 5{line_end}  x: 1")


def test_an_operation_that_changes_nothing_leaves_every_byte() -> None:
    assert patched(MANIFEST, replace("/spec/priority", 5), remove("/kind"), add("/kind", "Pod")) == MANIFEST


def test_a_key_and_an_item_go_with_their_lines_and_comments_above_others_stay() -> None:
    text = "a:\n# of b\n- b: 1 # one\n  # of c\n  c: 2\n- d\nx: 1\n# of w\nw: 2\n"

    assert patched(text, remove("/a/0/b")) == "a:\n# of b\n- c: 2\n- d\nx: 1\n# of w\nw: 2\n"
    assert patched(text, remove("/a/0")) == "a:\n# of b\n- d\nx: 1\n# of w\nw: 2\n"
    assert patched(text, remove("/x")) == "a:\n# of b\n- b: 1 # one\n  # of c\n  c: 2\n- d\n# of w\nw: 2\n"
    assert patched("a:\n  b: 1\nc: 2\n", remove("/a/b")) == "a: {}\nc: 2\n"


def test_a_key_comes_in_behind_an_object_that_has_lost_its_last() -> None:
    assert patched("a:\n  b: 1\n  c: 2\n", remove("/a/c"), add("/d", 3)) == "a:\n  b: 1\nd: 3\n"


def test_an_item_comes_in_where_it_belongs() -> None:
    text = "a:\n  - x: 1\n  # of k\n  - k: 2\n"

    assert patched(text, add("/a/0", {"z": 0})) == "a:\n  - z: 0\n  - x: 1\n  # of k\n  - k: 2\n"
    assert patched(text, add("/a/1", "w")) == "a:\n  - x: 1\n  - w\n  # of k\n  - k: 2\n"


def test_json_stays_json_with_its_indentation() -> None:
    text = '{\n    "a": {\n        "b": [\n            1\n        ],\n        "e": {}\n    },\n    "c": 2\n}\n'

    assert patched(text, add("/a/b/-", {"x": "é"}), replace("/a/e", ["y"]), remove("/c")) == (
        '{\n    "a": {\n        "b": [\n            1,\n            {\n'
        '                "x": "é"\n            }\n        ],\n'
        '        "e": [\n            "y"\n        ]\n    }\n}\n'
    )
    assert patched('{"a":1,"b":[]}', add("/c", {"d": [1, 2]})) == '{"a":1,"b":[],"c":{"d":[1,2]}}'


def test_kyaml_stays_in_flow_style_with_its_commas() -> None:
    text = '---\n{\n  spec: {\n    a: [{\n      name: "x", # c\n    }],\n    priority: 5, # gone\n  },\n}\n'

    assert patched(text, add("/spec/a/0/image", "i"), remove("/spec/priority"), add("/spec/b", 3)) == (
        '---\n{\n  spec: {\n    a: [{\n      name: "x", # c\n      image: "i",\n    }],\n    b: 3,\n  },\n}\n'
    )


ALIASES = "base: &b\n  x: 1\none: *b\ntwo:\n  <<: *b\n  z: 2\n"


@pytest.mark.parametrize(
    ("operations", "expected"),
    [
        ((add("/base/x", 5),), "base: &b\n  x: 5\none:\n  x: 1\ntwo:\n  <<: *b\n  z: 2\n  x: 1\n"),
        ((add("/one/x", 5),), "base: &b\n  x: 1\none:\n  x: 5\ntwo:\n  <<: *b\n  z: 2\n"),
        ((add("/two/x", 5),), "base: &b\n  x: 1\none: *b\ntwo:\n  <<: *b\n  z: 2\n  x: 5\n"),
        ((remove("/two/x"),), "base: &b\n  x: 1\none: *b\ntwo:\n  z: 2\n"),
        ((remove("/base"),), "one:\n  x: 1\ntwo:\n  z: 2\n  x: 1\n"),
        (
            (add("/base/x", 5), add("/one/x", 5), add("/two/x", 5)),
            "base: &b\n  x: 5\none: *b\ntwo:\n  <<: *b\n  z: 2\n",
        ),
    ],
    ids=["at the anchor", "at the alias", "below a merge key", "of a merged key", "the anchor goes", "everywhere"],
)
def test_an_edit_below_a_shared_value_leaves_its_other_users(operations: tuple[Operation, ...], expected: str) -> None:
    assert patched(ALIASES, *operations) == expected


def test_an_explicit_key_is_written_as_the_others() -> None:
    assert patched("# one\n? a\n: 1\n", add("/b", 1)) == "# one\na: 1\nb: 1\n"


def test_what_cannot_be_edited_in_place_stays_and_is_said_at_its_place() -> None:
    # The blank line below b would become one of a's
    text = "# one\na: |+\n  x\nb: 2\n\nc: 3\n"
    (source,), _ = load_documents(text, "f.yaml")
    result, problems = edited(text, "f.yaml", [(source, [remove("/b")])])

    assert result == text
    (problem,) = problems
    assert str(problem) == (
        "f.yaml:2:1: the changes cannot be written into this text and leave the rest of it; got a rare form of YAML, "
        "want blocks or JSON; rewrite the document"
    )


def test_an_empty_value_stands_behind_its_colon_or_dash() -> None:
    (source,), _ = load_documents("a:  # none\nb:\n-\n- 1\n", "f.yaml")

    assert [source.positions.at(path) for path in [("a",), ("b", 0)]] == [(1, 3), (3, 2)]
