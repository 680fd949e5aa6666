"""What podberth's words look like where people read them: in a terminal, below kubectl."""

import json
from typing import Any

import pytest

from builders import gpu_container, gpu_pod, pod

from .manifest import EXAMPLES, example
from .registration import shipped
from .space import Space

_DENIAL = (
    'admission webhook "pods.validate.podberth.io" denied the request: podberth mig-right-size: container infer: '
    "resources.limits[nvidia.com/mig-4g.5gb]: no GPU has MIG profile 4g.5gb; nearest on offer here: "
    "nvidia.com/mig-2g.10gb"
)


def test_a_denial_says_where_what_and_what_to_write_instead(space: Space) -> None:
    said = space.apply(file=EXAMPLES / "unknown-mig-profile.yaml")
    assert said.status == 1
    assert _DENIAL in said.errors
    assert said.errors.count("\n") == 0
    assert space.pods() == []


def test_a_denial_is_an_unprocessable_entity(space: Space) -> None:
    status, body = space.control_plane.raw(
        "POST", f"/api/v1/namespaces/{space.name}/pods", example("unknown-mig-profile")
    )
    answer = json.loads(body)
    assert (status, answer["code"], answer["reason"]) == (422, 422, "Invalid")


def test_no_line_is_longer_than_kubectl_would_show(space: Space) -> None:
    crowd = [gpu_container(f"{'worker-' * 8}{number}", resource="nvidia.com/mig-9g.99gb") for number in range(20)]
    said = space.apply(pod(*crowd, name="crowd", annotations={"podberth.io/gpu-memory": "much" * 200}))
    assert said.status == 1
    lines = [*said.ours, *(line[line.index("podberth") :] for line in said.errors.splitlines() if "podberth" in line)]
    assert lines
    assert max(map(len, said.ours), default=0) <= 256
    assert all("\n" not in line for line in said.ours)


def test_every_warning_begins_with_the_product_and_the_policy_if_it_is_of_one(space: Space) -> None:
    said = space.must_apply(file=EXAMPLES / "training-indexed-job.yaml")
    assert said.warnings
    assert all(line.startswith(("podberth ", "podberth: ")) and len(line) <= 256 for line in said.warnings)


def test_a_pod_without_gpus_is_not_spoken_of(space: Space) -> None:
    assert space.must_apply(example("cpu-pod")).warnings == ()


@pytest.mark.parametrize(
    "metadata", [{"name": "Bad_Name"}, {"name": "a?b#c"}, {"name": "a\nb"}, {"generateName": "Bad_Name-"}], ids=str
)
def test_an_illegal_name_is_answered_by_the_api_server_in_its_own_words(space: Space, metadata: dict[str, Any]) -> None:
    creating = next(each for each in shipped() if each["kind"] == "MutatingWebhookConfiguration")["webhooks"][0]
    assert (creating["rules"][0]["operations"], creating["failurePolicy"]) == (["CREATE"], "Fail")

    path = f"/api/v1/namespaces/{space.name}/pods"
    status, body = space.control_plane.raw("POST", path, {**gpu_pod(), "metadata": metadata})
    answer = json.loads(body)

    assert (status, answer["reason"]) == (422, "Invalid")
    # Of a wrong generateName the name that is generated from it is wrong, too.
    wrong = {each["field"] for each in answer["details"]["causes"]}
    assert {f"metadata.{field}" for field in metadata} <= wrong <= {"metadata.name", "metadata.generateName"}
    assert "lowercase RFC 1123 subdomain" in answer["message"]
