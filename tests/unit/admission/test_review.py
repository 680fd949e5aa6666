"""The envelope of a review: what the API server sends is read, everything else is refused by the name of its field."""

import json
from pathlib import Path
from typing import Any

import pytest

from builders import deployment, gpu_pod, review, workload_review
from podberth.admission.review import decode_review
from podberth.errors import ReviewError

_CAPTURED = sorted((Path(__file__).parents[2] / "captured").glob("*.json"))
_LONG = "a" * 254


@pytest.mark.parametrize("path", _CAPTURED, ids=lambda path: path.stem)
def test_what_an_api_server_sent_is_read(path: Path) -> None:
    for each in json.loads(path.read_text()):
        assert decode_review(each["review"]).uid == each["review"]["request"]["uid"]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"uid": 17}, "request.uid: got integer, want string"),
        ({"uid": None}, "request.uid: got an empty string, want the review's uid"),
        ({"uid": _LONG}, "request.uid: got 254 characters, want 253 at most"),
        ({"dryRun": "yes"}, "request.dryRun: got string, want boolean"),
        ({"options": []}, "request.options: got list, want object"),
        ({"object": "pod"}, "request.object: got string, want object"),
        ({"oldObject": 1}, "request.oldObject: got integer, want object"),
        ({"userInfo": "ann"}, "request.userInfo: got string, want object"),
        ({"userInfo": {"username": 1}}, "request.userInfo.username: got integer, want string"),
        ({"userInfo": {"groups": "all"}}, "request.userInfo.groups: got string, want list"),
        ({"userInfo": {"groups": [1]}}, "request.userInfo.groups[0]: got integer, want string"),
        ({"userInfo": {"extra": {"k": "v"}}}, "request.userInfo.extra[k]: got string, want list"),
        ({"kind": "Pod"}, "request.kind: got string, want object"),
        ({"kind": {"kind": ["Pod"]}}, "request.kind.kind: got list, want string"),
        ({"kind": {"group": "", "version": "v1", "kind": _LONG}}, "request.kind.kind: got 254 characters"),
        ({"resource": None}, "request.resource: got null, want an object"),
        ({"resource": {"resource": 1}}, "request.resource.resource: got integer, want string"),
        ({"requestKind": 1}, "request.requestKind: got integer, want object"),
        ({"requestResource": {"version": {}}}, "request.requestResource.version: got object, want string"),
        ({"requestSubResource": 1}, "request.requestSubResource: got integer, want string"),
        ({"subResource": _LONG}, "request.subResource: got 254 characters, want 253 at most"),
        ({"operation": "PATCH"}, "request.operation: got 'PATCH', want one of CREATE, UPDATE, DELETE, CONNECT"),
        ({"namespace": "kube-system/../x"}, "request.namespace: got 'kube-system/../x', want a DNS-1123 label"),
        ({"namespace": "a" * 64}, "want a DNS-1123 label of at most 63 characters"),
        ({"namespace": "Team"}, "request.namespace: got 'Team'"),
        ({"namespace": "a\n"}, "request.namespace: got 'a\\n'"),
        ({"name": _LONG}, "request.name: got 254 characters, want 253 at most"),
        ({"oldObject": {}}, "request.oldObject: got an object, want null on CREATE"),
        ({"oldObject": gpu_pod()}, "request.oldObject: got an object, want null on CREATE"),
        (
            {"kind": {"group": "apps", "version": "v1", "kind": "Deployment"}},
            "request.kind: got apps/v1 Deployment, want v1 Pod, as request.resource is pods",
        ),
        ({"kind": None}, "request.kind: got nothing, want v1 Pod"),
    ],
)
def test_a_field_that_is_no_such_thing_is_named(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ReviewError) as caught:
        decode_review(review(gpu_pod(), **fields))
    assert caught.value.status == 400
    assert message in str(caught.value)


@pytest.mark.parametrize("name", ["Bad_Name", "a?b#c", "../x", "a\nb", "\N{SNOWMAN}" * 253])
def test_the_characters_of_a_name_are_for_the_api_server_to_refuse(name: str) -> None:
    assert decode_review(review(gpu_pod(name=name), name=name)).name == name


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"kind": "Job"}, "request.object.kind: got 'Job', want 'Deployment', as in request.kind"),
        ({"kind": 1}, "request.object.kind: got 1, want 'Deployment', as in request.kind"),
        ({"apiVersion": "v1"}, "request.object.apiVersion: got 'v1', want 'apps/v1', as in request.kind"),
    ],
)
def test_the_object_is_of_the_kind_that_the_review_names(fields: dict[str, Any], message: str) -> None:
    document = workload_review(deployment(gpu_pod()), "deployments")
    document["request"]["object"] |= fields
    with pytest.raises(ReviewError) as caught:
        decode_review(document)
    assert str(caught.value) == message


def test_an_object_that_names_no_kind_is_of_the_kind_of_the_review() -> None:
    document = review({"spec": {}})
    assert decode_review(document).object == {"spec": {}}


def test_a_review_of_a_sub_resource_has_a_kind_of_its_own() -> None:
    kind = {"group": "policy", "version": "v1", "kind": "Eviction"}
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction"}
    assert decode_review(review(eviction, kind=kind, subResource="eviction")).kind == "Eviction"


def test_no_more_than_five_problems_are_named() -> None:
    with pytest.raises(ReviewError) as caught:
        decode_review(review(gpu_pod(), userInfo={"groups": [1] * 1000}))
    assert str(caught.value).count("got integer") == 5
