"""Params that are missing, and conditions that have no value for some of several: as kube-apiserver decides."""

import json

import pytest

from builders import gpu_pod, review
from calls import calls
from params_scenes import OF_K, SCENES, WITH_K, WITHOUT_K, Scene
from podberth.admission import decide
from podberth.admission.outcome import Outcome
from podberth.admission.review import decode_review
from podberth.admission.snapshot import Snapshot
from podberth.cel.cost import MAX_MICROSECONDS
from podberth.kube.selector import LabelRequirements
from snapshots import policy, snapshot

REFERENCE = {"selector": {}, "namespace": "params", "parameterNotFoundAction": "Allow"}
REACHES = "object.spec.containers.all(c, !has(c.env) || c.env.all(e, e.name != params.data.k))"
"""A price of some milliseconds."""


def selecting(count: int, *, failure_policy: str = "Fail", mutations: bool = False) -> Snapshot:
    """Return a policy of some milliseconds with so many ConfigMaps that it selects, beside one that it does not."""
    scene = Scene(name="many", params=(WITH_K,) * count, validation=REACHES, failure_policy=failure_policy, denied=True)
    spec = {**scene.spec(), "paramRef": scene.param_ref("params"), "validationActions": ["Deny"]}
    if mutations:
        spec = {key: value for key, value in spec.items() if not key.startswith("validation")}
        spec["mutations"] = [{"when": REACHES, "labels": {"made": "params.data.k"}}]
    text = policy("many", "".join(f"  {key}: {json.dumps(value)}\n" for key, value in spec.items()))
    other = Scene(name="other", params=(WITH_K,), denied=False)
    return snapshot(text, objects=[*scene.config_maps("params"), *other.config_maps("params")])


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
    assert status["message"] == (
        "podberth p: params: no ConfigMap that the selector selects in namespace params; "
        "want one with the label podberth.io/params=true"
    )
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


@pytest.mark.parametrize("mutations", [True, False], ids=["mutate", "validate"])
def test_a_policy_with_more_params_objects_than_its_price_allows_is_not_evaluated(*, mutations: bool) -> None:
    """The bound is that of a policy: 300 objects of 6 ms each took 1.8 s of one review."""
    decided = decide.mutate if mutations else decide.validate
    request = decode_review(review(gpu_pod()))
    most = selecting(1, mutations=mutations).policies[0].most_params
    price = selecting(1, mutations=mutations).policies[0].cost_microseconds
    assert 1 < most <= MAX_MICROSECONDS / price

    assert decided(request, selecting(most, mutations=mutations)).verdict == ("mutated" if mutations else "allowed")
    beyond = decided(request, selecting(most + 1, mutations=mutations))
    status = beyond.response["response"]["status"]
    assert (
        f"paramRef.selector: got {most + 1} ConfigMaps in namespace params, want {most} at most (the "
        "policy may take 100 ms with all of them); select fewer, or make the policy cheaper"
    ) in status["message"]
    ignored = decided(request, selecting(most + 1, failure_policy="Ignore", mutations=mutations))
    assert (ignored.verdict, [each.action for each in ignored.decisions]) == ("allowed", ["error"])


def test_a_policy_that_reads_the_pod_is_charged_for_its_conversion_with_each_params_object() -> None:
    """The engine converts what is read of the pod for each activation: 3.8 ms for the largest pod, after the first."""

    def most(validation: str) -> int:
        text = policy(
            "p",
            f"  paramKind: {{apiVersion: v1, kind: ConfigMap}}\n  paramRef: {json.dumps(REFERENCE)}\n"
            f"  validations: [{{expression: {json.dumps(validation)}}}]\n  validationActions: [Deny]\n",
        )
        return snapshot(text).policies[0].most_params

    assert most("object.spec.hostNetwork == (params.data.k == 'x')") == 18
    assert most("gpu.kind == params.data.k") > 100


def test_a_selector_is_compared_with_the_config_maps_of_a_namespace_once_for_a_snapshot() -> None:
    state = selecting(3)
    requests = [decode_review(review(gpu_pod(), namespace=namespace)) for namespace in ("default", "other", "third")]
    states = (state, state.with_owners({}), state.with_topology(state.topology), state.with_workloads(state.facts))
    counted = calls(lambda: [decide.validate(each, of) for each in requests for of in states])
    assert counted[LabelRequirements.match.__code__] == 4  # the three, and the one that is not selected
