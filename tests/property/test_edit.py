"""Text edited in place: what the operations make of the document, and every other line as it was."""

import json
from collections.abc import Callable
from typing import Any

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from podberth.kube.documents import load_documents
from podberth.kube.edit import edited
from podberth.kube.json_patch import Operation, Verb, edit
from podberth.kube.paths import pointer
from podberth.kube.yaml_text import Flow, Indents, as_yaml, flow
from properties import examples

# What a careless writer of YAML gets wrong.
WORDS = (
    *("a", "name", "on", "no", "y", "~", "null", "1", "0x1f", "1e3", "2026-11-21", "1:30", "", " ", " a ", "a: b"),
    *("a #b", "- a", "*a", "&a", "{a", "a,b", "<<", "=", "---", "...", "%a", "@a", "?", "|", ">", "!a", "a'b", 'a"b'),
    *("a\\b", "a\nb", "a\n", "\na", " a\nb", "a\n\n", "é☃", "𝄞", "\x1b[1m", "\u0085", "\u2028", "\ufeff"),
    *("nvidia.com/gpu", "a/b~c"),
)
words = st.sampled_from(WORDS)
keys = words | st.text(max_size=5)
leaves = st.none() | st.booleans() | st.integers(-(10**18), 10**18) | st.floats(allow_nan=False, allow_infinity=False)
values = st.recursive(
    leaves | words | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4),
    max_leaves=12,
)
objects = st.dictionaries(keys, values, min_size=1, max_size=5)
STYLES: dict[str, Callable[[Any], str]] = {
    "kubectl": as_yaml,
    "indented lists": lambda value: as_yaml(value, Indents(2, 2)),
    "four": lambda value: as_yaml(value, Indents(4, 2)),
    "json": lambda value: json.dumps(value, indent=2) + "\n",
    "compact json": lambda value: json.dumps(value, separators=(",", ":")),
    "json in ascii": lambda value: json.dumps(value, indent=4, ensure_ascii=True),
    "kyaml": lambda value: "---\n" + flow(value, Flow(indent=2, trailing_comma=True)) + "\n",
    "flow": lambda value: flow(value, Flow()) + "\n",
}


@st.composite
def operations(draw: st.DrawFn, document: dict[str, Any]) -> list[Operation]:
    """Return operations that apply to a document, one after the other."""
    found: list[Operation] = []
    for _ in range(draw(st.integers(1, 4))):
        path: tuple[str, ...] = ()
        container: Any = document
        inner = [key for key, item in _items(container) if isinstance(item, dict | list)]
        deeper = draw(st.integers(0, 4))
        while inner and len(path) < deeper:
            key = draw(st.sampled_from(inner))
            path, container = (*path, str(key)), container[key]
            inner = [key for key, item in _items(container) if isinstance(item, dict | list)]
        present = [str(key) for key, _ in _items(container)]
        verbs: list[Verb] = ["add", "replace", "remove"] if present else ["add"]
        verb: Verb = draw(st.sampled_from(verbs))
        if verb == "add":
            fresh = draw(keys) if isinstance(container, dict) else str(draw(st.integers(0, len(container))))
        else:
            fresh = draw(st.sampled_from(present))
        each = (
            Operation(verb, (*path, fresh)) if verb == "remove" else Operation(verb, (*path, fresh), value=draw(values))
        )
        found.append(each)
        document = edit(document, [each], lambda _path, _value: None)
    return found


def _items(container: Any) -> list[tuple[Any, Any]]:
    return list(container.items()) if isinstance(container, dict) else list(enumerate(container))


@settings(max_examples=examples(400))
@given(st.data(), objects, st.sampled_from(sorted(STYLES)), st.sampled_from(["\n", "\r\n", "\r"]))
def test_the_edited_text_reads_as_the_edited_document(
    data: st.DataObject, document: dict[str, Any], style: str, line_end: str
) -> None:
    text = STYLES[style](document).replace("\n", line_end)
    documents, problems = load_documents(text, "f")
    assert problems == []
    assert documents[0].document == document
    wanted = data.draw(operations(document))
    result, problems = edited(text, "f", [(documents[0], wanted)])

    assert problems == []
    expected = edit(document, wanted, lambda _path, _value: None)
    assert [each.document for each in load_documents(result, "f")[0]] == [expected]
    if expected == document:
        assert result == text


@settings(max_examples=examples(200))
@given(st.data(), objects, st.sampled_from([Indents(2, 0), Indents(2, 2), Indents(3, 1)]))
def test_what_is_added_leaves_every_line_and_comment(
    data: st.DataObject, document: dict[str, Any], indents: Any
) -> None:
    plain = as_yaml(document, indents)
    assume("|" not in plain)  # a comment in a block scalar is none
    text = "".join(f"{line}  # {number}\n" for number, line in enumerate(plain.splitlines()))
    (source,), problems = load_documents(text, "f")
    assert problems == []
    filled = [path for path in _paths(document) if _at(document, path)]
    path = data.draw(st.sampled_from(filled))
    key = data.draw(keys) if isinstance(_at(document, path), dict) else "-"
    assume(isinstance(_at(document, path), list) or key not in _at(document, path))
    each = Operation("add", (*map(str, path), key), value=data.draw(values))
    result, problems = edited(text, "f", [(source, [each])])

    assert problems == [], pointer(each.path)
    rest = iter(result.splitlines())
    assert all(line in rest for line in text.splitlines())


def _paths(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    if not isinstance(value, dict | list):
        return []
    return [path, *(found for key, item in _items(value) for found in _paths(item, (*path, key)))]


def _at(value: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        value = value[key]
    return value


# Rare and well-formed: anchors, merge keys, tags, documents in one file, comments where they are in the way.
ODD = (
    "base: &b\n  x: 1\n  z: [1]\none: *b\ntwo:\n  <<: *b\n  yy: 2\n",
    "a: &a {x: 1}\nb: [*a, *a]\nc: {d: *a, <<: *a}\n",
    "a: &n 5\nb: *n\nc:\n- *n\n- &m [1, 2] # m\n- *m\n",
    "a:\n  - &x\n    m: 1\n  - <<: [*x, {q: 2}]\n    r: 3\n  - - 1\n    - 2\n",
    "? a\n: 1\nb: 2\n",
    "a: [b: 1, c]\nd: !!str 5\n",
    "a:  # one\n  # two\n  b:   # three\n# four\nc: # five\n- # six\n  d: 1\n-\n- e\n",
    "a: |+\n  x\n\n\nb: >-\n  y\n  z\n\nc: 'q\n  r'\nd:\n",
    "---\na: 1\n--- # next\nb: 2\n...\n# end\n",
    "%YAML 1.1\n---\na: 1\n...\n---\nb: {\n  x: 1, # x\n\n  k: [ 1,2 , ], # k\n}\n",
    "\ufeffa: 1",
    "{a: 1, 'b': [ ], c: { }, }\n",
    '{\n\t"a": [1,\n\t2],\n\t"b": {}\n}\n',
)


@settings(max_examples=examples(600))
@given(st.data(), st.sampled_from(ODD))
def test_a_rare_form_is_edited_or_refused_and_its_other_documents_stay(data: st.DataObject, text: str) -> None:
    documents, problems = load_documents(text, "f")
    assert problems == []
    chosen = data.draw(st.sampled_from(range(len(documents))))
    wanted = data.draw(operations(documents[chosen].document))
    result, problems = edited(text, "f", [(documents[chosen], wanted)])

    expected = [each.document for each in documents]
    if problems:
        assert result == text
    else:
        expected[chosen] = edit(expected[chosen], wanted, lambda _path, _value: None)
    assert [each.document for each in load_documents(result, "f")[0] if each.document] == [
        each for each in expected if each
    ]
