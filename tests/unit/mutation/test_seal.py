"""A seal is of one text, for one pod, by one key."""

import json
from typing import Any

import pytest

from builders import gpu_pod
from podberth.kube.patch import Draft
from podberth.mutation import record
from podberth.mutation.record import sealed
from podberth.mutation.seal import OFFLINE, SEAL_LENGTH, Bearer, Sealer, bearer_of
from records import annotation_of, arrived, with_annotation, with_record

OURS = Sealer.of(b"ours")
BEARER = Bearer("a", "pod")
TEXT = '{"p":{"labels":{"a":"1"}}}'
WROTE = {"p": {"labels": {"a": "1"}}}


def without_annotation(pod: dict[str, Any]) -> dict[str, Any]:
    return {**pod, "metadata": {key: value for key, value in pod["metadata"].items() if key != "annotations"}}


def test_a_seal_is_believed_of_its_text_and_its_pod_alone() -> None:
    seal = OURS.seal(BEARER, TEXT)

    assert len(seal) == SEAL_LENGTH
    assert OURS.believes(seal, BEARER, TEXT)
    assert not OURS.believes(seal, Bearer("b", "pod"), TEXT)
    assert not OURS.believes(seal, Bearer("a", "other"), TEXT)
    assert not OURS.believes(seal, BEARER, TEXT.replace("1", "2"))
    assert not Sealer.of(b"theirs").believes(seal, BEARER, TEXT)


def test_what_one_part_ends_with_does_not_pass_for_the_beginning_of_the_next() -> None:
    assert OURS.seal(Bearer("ab", "c"), TEXT) != OURS.seal(Bearer("a", "bc"), TEXT)


def test_all_keys_are_believed_and_the_first_one_seals() -> None:
    both = Sealer.of(b"new", b"ours")

    assert both.seal(BEARER, TEXT) == Sealer.of(b"new").seal(BEARER, TEXT)
    assert both.believes(OURS.seal(BEARER, TEXT), BEARER, TEXT)


@pytest.mark.parametrize("seal", ["", "\udcff" * SEAL_LENGTH, "ä" * SEAL_LENGTH, "A" * 10_000])
def test_what_cannot_be_a_seal_is_not_believed(seal: str) -> None:
    assert not OURS.believes(seal, BEARER, TEXT)


def test_no_representation_of_a_sealer_shows_a_key() -> None:
    sealer = Sealer.of(b"ours")
    assert sealer.keys[0].hex() not in repr(sealer)
    assert repr(sealer.keys[0]) not in repr(sealer)


def test_a_generated_name_is_known_by_its_prefix_before_and_after_it_is_generated() -> None:
    before = {"metadata": {"generateName": "train-"}}
    after = {"metadata": {"generateName": "train-", "name": "train-x7k2p"}}

    assert bearer_of(before, "a") == bearer_of(after, "a") == Bearer("a", "train-")
    assert bearer_of({"metadata": None}, "a") == Bearer("a", "")


@pytest.mark.parametrize(
    "annotation",
    [
        "",
        "{}",
        "[]",
        "{",
        TEXT,
        sealed(TEXT, "A" * SEAL_LENGTH),
        sealed(TEXT, OURS.seal(BEARER, TEXT)) + " ",
        " " + sealed(TEXT, OURS.seal(BEARER, TEXT)),
        json.dumps(json.loads(sealed(TEXT, OURS.seal(BEARER, TEXT)))),
        sealed(TEXT, OURS.seal(BEARER, TEXT)).replace('"p"', '"q"'),
        sealed("{" + " " * 20_000 + TEXT[1:], OURS.seal(BEARER, "{" + " " * 20_000 + TEXT[1:])),
    ],
)
def test_what_is_not_as_podberth_wrote_it_is_as_if_it_were_not_there(annotation: str) -> None:
    found = record.find(with_annotation(gpu_pod(), annotation), "a", OURS)

    assert found.there
    assert found.record == {}
    assert found.text == ""


@pytest.mark.parametrize("text", ["[1", '{"p":[]', '{"p":{"labels":7}', '{"p":{"unheard of":{}}'])
def test_a_sealed_record_of_another_form_says_nothing(text: str) -> None:
    whole = text + "}"
    document = with_annotation(gpu_pod(), sealed(whole, OURS.seal(Bearer("a", "pod"), whole)))

    assert record.find(document, "a", OURS).record == {}


def test_what_the_request_brought_does_not_stand_and_what_a_webhook_added_does() -> None:
    recorded = with_record(gpu_pod(), WROTE, OURS, namespace="a")
    added = with_annotation(arrived(gpu_pod()), annotation_of(recorded))

    assert record.find(arrived(recorded), "a", OURS).standing == {}
    assert record.find(arrived(recorded), "a", OURS).record == WROTE
    assert record.find(added, "a", OURS).standing == WROTE
    assert record.find(recorded, "a", OURS).standing == {}


def test_a_record_that_is_noted_and_not_there_is_disowned_when_one_is_written() -> None:
    """Another webhook has taken away what was sent."""
    document = without_annotation(arrived(with_annotation(gpu_pod(), "{}")))
    found = record.find(document, "a", OURS)
    nothing, something = Draft(document), Draft(document)

    assert record.write(nothing, {}, found, lambda _: "") == ""
    assert nothing.patch() == []
    assert record.write(something, WROTE, found, lambda text: OURS.seal(Bearer("a", "pod"), text)) == TEXT
    assert record.find(something.document, "a", OURS).standing == WROTE


def test_offline_nobody_says_who_wrote_what_and_a_record_stands() -> None:
    assert record.find(with_record(gpu_pod(), WROTE), "default", OFFLINE).standing == WROTE
