"""No message about a document names a value as Python does: None is null, True is true, a dict is an object."""

import json
import re
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from builders import gpu_pod, review
from checking import ROOT, checked
from podberth.admission.review import decode_review
from podberth.errors import ReviewError
from podberth.facts.cluster import collect
from podberth.kube.documents import load_documents
from podberth.kube.walk import values
from properties import examples
from snapshots import cluster

PYTHONS = re.compile(r"\b(None|NoneType|True|False|dict|float|bool|str|int)\b")
FILES = sorted([*(ROOT / "examples").glob("*.yaml"), *(ROOT / "tests" / "manifests").glob("*.yaml")])
TEXTS = [
    json.dumps(each.document)
    for file in FILES
    for each in load_documents(file.read_text(encoding="utf-8"), file.name)[0]
]
VALUES = ("null", "true", "1.5", "7", "[null]", "[]", "{}", '{"a": null}')


@st.composite
def damaged(draw: st.DrawFn, text: str) -> dict[str, Any]:
    """Return the object in a JSON text, with up to three of its values, at any depth, replaced by others."""
    document = json.loads(text)
    for _ in range(draw(st.integers(1, 3))):
        path = draw(st.sampled_from([path for path, _ in values(document)][1:]))
        holder = document
        for step in path[:-1]:
            holder = holder[step]
        holder[path[-1]] = json.loads(draw(st.sampled_from(VALUES)))
    return dict(document)


def assert_no_word_of_python(message: str) -> None:
    assert PYTHONS.search(message) is None, message


def assert_words(message: str) -> None:
    assert PYTHONS.search(message) is None, message


@settings(max_examples=examples(200))
@given(st.sampled_from(TEXTS).flatmap(damaged))
def test_no_message_of_check_has_a_word_of_python(document: dict[str, Any]) -> None:
    for result in checked(json.dumps(document)).results:
        for finding in (*result.denials, *result.warnings, *result.errors, *result.notes):
            assert_words(finding.message)


@settings(max_examples=examples(200))
@given(st.sampled_from([json.dumps(each) for each in cluster(hgx_h100_8=1, dgx_a100_8_mig_mixed=1)]).flatmap(damaged))
def test_no_remark_about_a_snapshot_has_a_word_of_python(document: dict[str, Any]) -> None:
    for remark in collect([document, None, 1.5, [document]], now=None).remarks:
        assert_words(remark)


@settings(max_examples=examples(200))
@given(damaged(json.dumps(review(gpu_pod()))))
def test_no_refusal_of_a_review_has_a_word_of_python(document: dict[str, Any]) -> None:
    try:
        decode_review(document)
    except ReviewError as error:
        assert_words(str(error))
