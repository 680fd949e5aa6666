"""patch(original) == mutated copy, for any document and any edits."""

import copy
from typing import Any

import jsonpatch
from hypothesis import given
from hypothesis import strategies as st

from podberth.kube.patch import Draft

KEYS = st.sampled_from(["a", "b", "c/d", "~e", "0", ""])
LEAVES = st.one_of(st.none(), st.integers(0, 3), st.text("xy", max_size=2))
DOCUMENTS = st.dictionaries(
    KEYS,
    st.recursive(
        LEAVES, lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(KEYS, inner, max_size=3))
    ),
    max_size=4,
)
EDITS = st.lists(
    st.tuples(st.sampled_from(["set", "append", "remove"]), st.lists(KEYS, min_size=1, max_size=3), LEAVES), max_size=6
)


def edit(document: dict[str, Any], edits: list[tuple[str, list[str], Any]]) -> Draft:
    draft = Draft(document)
    for verb, path, value in edits:
        parents = [draft.get(tuple(path[:depth])) for depth in range(1, len(path))]
        if any(not isinstance(parent, dict) and parent is not None for parent in parents):
            continue  # builders write below objects only
        where = tuple(path)
        if verb == "set":
            draft.set(where, value)
        elif verb == "append" and isinstance(draft.get(where), list | None):
            draft.append(where, value)
        elif verb == "remove" and draft.get(where) is not None:
            draft.remove(where)
    return draft


@given(DOCUMENTS, EDITS)
def test_patch_of_the_original_is_the_mutated_copy(document: dict[str, Any], edits: Any) -> None:
    before = copy.deepcopy(document)
    draft = edit(document, edits)

    patched = jsonpatch.JsonPatch(draft.patch()).apply(copy.deepcopy(before))

    assert patched == draft.document
    assert document == before


@given(DOCUMENTS, EDITS, DOCUMENTS)
def test_a_draft_becomes_any_document(document: dict[str, Any], edits: Any, wanted: dict[str, Any]) -> None:
    draft = edit(document, edits)
    branch = draft.fork()
    branch.become(wanted)

    assert branch.document == wanted
    assert jsonpatch.JsonPatch(branch.patch()).apply(copy.deepcopy(document)) == wanted
    assert jsonpatch.JsonPatch(branch.changes(since=draft)).apply(copy.deepcopy(draft.document)) == wanted


@given(DOCUMENTS, EDITS)
def test_a_document_that_did_not_change_has_no_patch(document: dict[str, Any], edits: Any) -> None:
    draft = edit(document, edits)

    assert (draft.patch() == []) == (draft.document == document)
