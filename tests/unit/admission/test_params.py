"""Params that are missing, and conditions that have no value for some of several: as kube-apiserver decides."""

import json

import pytest

from builders import gpu_pod, review
from params_scenes import OF_K, SCENES, WITH_K, WITHOUT_K, Scene
from podberth.admission import decide
from podberth.admission.outcome import Outcome
from podberth.admission.review import decode_review
from snapshots import policy, snapshot


def judged(scene: Scene, *, times: int = 1) -> list[Outcome]:
    spec = {**scene.spec(), "paramRef": scene.param_ref("params"), "validationActions": list(scene.actions)}
    text = policy("p", "".join(f"  {key}: {json.dumps(value)}\n" for key, value in spec.items()))
    state = snapshot(text, objects=scene.config_maps("params"))
    # What is remembered is as what is asked.
    return [decide.validate(decode_review(review(gpu_pod(labels={"a": "b"}))), state) for _ in range(times)]


@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.name)
def test_as_on_the_apiserver(scene: Scene) -> None:
    for outcome in judged(scene, times=3):
        warned = [each for each in outcome.decisions if each.action == "warn"]
        assert (outcome.verdict == "denied", len(warned)) == (scene.denied, scene.warnings)


def test_missing_params_say_so_whatever_the_actions() -> None:
    (outcome,) = judged(SCENES[0])
    status = outcome.response["response"]["status"]
    assert status["message"] == "podberth p: params: no ConfigMap that the selector selects in namespace params"
    assert (status["reason"], status["code"]) == ("Invalid", 422)


def test_params_of_the_requests_namespace_are_looked_for_in_each() -> None:
    # The condition is false: it is the params alone that decide, and what is remembered must know of them.
    scene = Scene(name="here", params=({"k": "x"},), condition="gpu.count > 100", denied=True)
    reference = {key: value for key, value in scene.param_ref("").items() if key != "namespace"}
    spec = {**scene.spec(), "paramRef": reference, "validationActions": ["Deny"]}
    text = policy("p", "".join(f"  {key}: {json.dumps(value)}\n" for key, value in spec.items()))
    state = snapshot(text, objects=scene.config_maps("default"))
    verdicts = [
        decide.validate(decode_review(review(gpu_pod(), namespace=namespace)), state).verdict
        for namespace in ("default", "other", "default", "other")
    ]
    assert verdicts == ["allowed", "denied", "allowed", "denied"]


def test_mutations_go_by_each_params_object_alone() -> None:
    scene = Scene(name="two", params=(WITHOUT_K, WITH_K), condition=OF_K, failure_policy="Ignore", denied=False)
    spec = {key: value for key, value in scene.spec().items() if key != "validations"} | {
        "paramRef": scene.param_ref("params"),
        "mutations": [{"labels": {"made": "params.data.k"}}],
    }
    text = policy("p", "".join(f"  {key}: {json.dumps(value)}\n" for key, value in spec.items()))
    outcome = decide.mutate(decode_review(review(gpu_pod())), snapshot(text, objects=scene.config_maps("params")))
    assert [each.action for each in outcome.decisions].count("error") == 1
    assert any(each["path"].startswith("/metadata/labels") for each in outcome.patch)
