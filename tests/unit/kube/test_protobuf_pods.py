"""Lists of pods in protobuf: the pods are those of JSON, however the answer is cut, and anything else is refused."""

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podberth.kube.protobuf_pods import PodListReader, read_status
from podberth.wellknown import PROTOBUF_PREFIX
from protobuf_answers import sent

PODS: list[dict[str, Any]] = [
    {
        "metadata": {
            "name": "a",
            "namespace": "team",
            "creationTimestamp": "2026-01-02T03:04:05Z",
            "labels": {"k": "v"},
        },
        "spec": {
            "containers": [{"resources": {"requests": {"cpu": "1500m", "nvidia.com/gpu": "2"}}}, {}],
            "affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "z"}]}},
            "nodeName": "n",
            "priority": 7,
        },
    },
    {"metadata": {"name": "b" * 200}, "spec": {}, "status": {"conditions": [{"type": "Ready"}]}},
]
LIST = {"metadata": {"continue": "t"}, "items": PODS}


def read(*pieces: bytes) -> tuple[list[dict[str, Any]], str]:
    reader = PodListReader()
    return [pod for piece in pieces for pod in reader.feed(piece)], reader.end()


@given(st.lists(st.integers(min_value=0, max_value=len(sent("PodList", LIST)))))
def test_a_list_is_read_the_same_however_it_is_cut(cuts: list[int]) -> None:
    whole = sent("PodList", LIST)
    pieces = [whole[begin:end] for begin, end in pairwise([0, *sorted(cuts), len(whole)])]
    assert read(*pieces) == (PODS, "t")


def test_pods_are_returned_as_soon_as_they_are_whole() -> None:
    whole, reader = sent("PodList", LIST), PodListReader()
    assert reader.feed(whole[:-1]) == PODS[:1]
    assert reader.feed(whole[-1:]) == PODS[1:]


def test_an_empty_list_has_no_pods() -> None:
    assert read(sent("PodList", {"metadata": {}})) == ([], "")


def test_what_comes_after_the_list_is_not_read() -> None:
    assert read(sent("PodList", LIST) + b"\x1a\x00", b"\x22\x00") == (PODS, "t")


def test_a_list_that_is_cut_is_refused() -> None:
    whole = sent("PodList", LIST)
    for size in range(len(whole)):
        with pytest.raises(ValueError, match="got a part of a list of pods"):
            read(whole[:size])


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b'{"kind":"PodList","items":[]}', "got no protobuf"),
        (b"k8s", "got a part"),
        (PROTOBUF_PREFIX + b"<html>", "got a field of type 4"),
        (PROTOBUF_PREFIX + b"\xff" * 20, "got a number of more than 10 bytes"),
        (sent("Status", {"code": 200}), "got 'Status', want a PodList"),
        (sent("Pod", PODS[0]), "got 'Pod', want a PodList"),
        (PROTOBUF_PREFIX + b"\x12\x02\x12\x00", "got '', want a PodList"),
        (sent("PodList", {"items": [{}]})[:-2] + b"\x08\x01", "got a field of type 0"),
        (sent("PodList", {"items": [{"spec": {}}]})[:-1] + b"\x09", "got no valid message PodList"),
        (
            sent("PodList", {"items": [{"status": {"startTime": "9999-12-31T23:59:59Z"}}]}).replace(
                b"\xff\x82\xd1\xff\xaf\x07", b"\xff\xff\xff\xff\xff\x7f"
            ),
            "out of range",
        ),
    ],
)
def test_what_is_no_list_of_pods_is_refused(body: bytes, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        read(body)


def test_a_refusal_has_its_message() -> None:
    status = {"message": "m", "reason": "Expired", "code": 410, "details": {"causes": [{"reason": "r"}]}}
    assert read_status(sent("Status", status)) == status
    with pytest.raises(ValueError, match="got no valid message Unknown"):
        read_status(PROTOBUF_PREFIX + b"\x0a")
