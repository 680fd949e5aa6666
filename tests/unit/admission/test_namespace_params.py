"""Params in tenants' namespaces: which count, what a tenant can do with them, and what is remembered of them."""

from typing import Any

import pytest

from builders import gpu_pod, review
from calls import calls
from podberth.admission import decide
from podberth.admission.namespace_params import (
    MOST_BYTES,
    MOST_BYTES_OF_NAMESPACE,
    MOST_ENTRIES,
    MOST_OF_NAMESPACE,
    bounded,
)
from podberth.admission.outcome import Outcome
from podberth.admission.review import decode_review
from podberth.admission.snapshot import Snapshot
from podberth.policy.evaluate import Evaluation
from podberth.wellknown import PARAMS_LABEL
from snapshots import policy, snapshot
from tenants import at_most, limits

SELECTED = "{selector: {matchLabels: {podberth.io/params: 'true'}}, parameterNotFoundAction: Allow}"


def judged(state: Snapshot, namespace: str, gpus: int = 4) -> Outcome:
    return decide.validate(decode_review(review(gpu_pod(gpus), namespace=namespace)), state)


def denial(state: Snapshot, namespace: str, gpus: int = 4) -> str:
    return judged(state, namespace, gpus).denial


def followed(text: str, *config_maps: dict[str, Any]) -> Snapshot:
    """Return a snapshot of a live cluster with these ConfigMaps."""
    return snapshot(text).with_followed_params(by_namespace(*config_maps))


def by_namespace(*config_maps: dict[str, Any]) -> dict[str, Any]:
    spaces = {each["metadata"]["namespace"] for each in config_maps}
    return {
        space: bounded(space, [each for each in config_maps if each["metadata"]["namespace"] == space])
        for space in spaces
    }


@pytest.mark.parametrize("live", [True, False], ids=["live", "from files"])
def test_each_namespace_has_params_of_its_own(*, live: bool) -> None:
    objects = [limits("a", most="2", version="1"), limits("b", most="8", version="2")]
    state = followed(at_most(), *objects) if live else snapshot(at_most(), objects=objects)
    for _ in range(3):  # what is remembered is as what is asked
        assert "got 4 GPUs, want 2 at most" in denial(state, "a")
        assert judged(state, "b").verdict == "allowed"
        assert denial(state, "c") == (
            f"podberth at-most: params: no ConfigMap limits in namespace c; want one with the label {PARAMS_LABEL}=true"
        )


def test_a_config_map_without_the_label_is_no_params_but_in_podberths_own_namespace() -> None:
    plain = limits("a", most="8")
    del plain["metadata"]["labels"]
    assert "no ConfigMap limits" in denial(snapshot(at_most(), objects=[plain]), "a")
    home = {**plain, "metadata": {"name": "limits", "namespace": "podberth-system"}}
    reference = "{name: limits, namespace: podberth-system, parameterNotFoundAction: Deny}"
    assert judged(snapshot(at_most(reference), objects=[home]), "a").verdict == "allowed"


def test_a_new_version_decides_the_next_review_and_nothing_else_is_asked_again() -> None:
    state = followed(at_most(), limits("a", most="2", version="1"), limits("b", most="8", version="2"))
    for namespace in ("a", "b") * 3:
        judged(state, namespace)
    later = state.with_followed_params(
        by_namespace(limits("a", most="4", version="3"), limits("b", most="8", version="2"))
    )
    counted = calls(lambda: [judged(later, "b") for _ in range(5)])
    assert counted[Evaluation.failures.__code__] == 0
    assert judged(later, "a").verdict == "allowed"
    assert "want 2 at most" in denial(state, "a")


def test_an_error_names_the_config_map_and_the_policys_failure_policy_decides() -> None:
    wrong = limits("a", most="many", version="1")
    said = denial(followed(at_most(), wrong), "a")
    assert "podberth at-most: cannot be decided:" in said
    assert said.endswith("(with ConfigMap a/limits)")
    assert judged(followed(at_most(failure_policy="Ignore"), wrong), "a").verdict == "allowed"


def test_an_error_of_a_mutation_names_the_config_map() -> None:
    text = policy(
        "labels",
        "  paramKind: {apiVersion: v1, kind: ConfigMap}\n"
        "  paramRef: {name: limits, parameterNotFoundAction: Allow}\n"
        "  mutations: [{labels: {made: params.data.none}}]\n",
    )
    outcome = decide.mutate(
        decode_review(review(gpu_pod(), namespace="a")), followed(text, limits("a", most="1", version="1"))
    )
    assert "mutations[0]: no such key: none (with ConfigMap a/limits)" in outcome.denial


BEYOND = {
    "bytes": ([limits("a", most="x" * MOST_BYTES)], "ConfigMap a/limits: got "),
    "entries": (
        [limits("a", **{f"k{number}": "" for number in range(MOST_ENTRIES + 1)})],
        "ConfigMap a/limits: got 1,001 entries, want 1,000 at most; make it smaller",
    ),
    "number": (
        [limits("a", f"limits-{number}", most="8") for number in range(MOST_OF_NAMESPACE + 1)],
        "namespace a: got 201 ConfigMaps with the label of params, want 200 at most; delete some",
    ),
    "all bytes": (
        [limits("a", f"limits-{number}", most="x" * (MOST_BYTES - 500)) for number in range(10)],
        f"bytes of ConfigMaps with the label of params, want {MOST_BYTES_OF_NAMESPACE:,} at most; delete some",
    ),
    "no text": ([{**limits("a"), "data": {"most": 8}}], "ConfigMap a/limits: data.most: got a number, want a string"),
    "no map": ([{**limits("a"), "data": ["most"]}], "ConfigMap a/limits: data: got a list, want a map of strings"),
}


@pytest.mark.parametrize("live", [True, False], ids=["live", "from files"])
@pytest.mark.parametrize(("objects", "message"), BEYOND.values(), ids=BEYOND)
def test_beyond_a_bound_the_policies_of_that_namespace_fail_and_of_no_other(
    objects: list[dict[str, Any]], message: str, *, live: bool
) -> None:
    """The number, the size and the types of a tenant's ConfigMaps: what is wrong with one is an error for all there."""
    for reference in ("{name: other, parameterNotFoundAction: Allow}", SELECTED):
        mine = [*objects, limits("a", "other", most="8")] if len(objects) < MOST_OF_NAMESPACE else objects
        given = [*mine, limits("b", "other", most="8")]
        state = followed(at_most(reference), *given) if live else snapshot(at_most(reference), objects=given)
        assert message in denial(state, "a")
        assert judged(state, "b").verdict == "allowed"


def test_a_policy_whose_condition_is_false_fails_too_so_that_what_is_remembered_holds_for_every_namespace() -> None:
    text = at_most("{name: limits, parameterNotFoundAction: Allow}").replace(
        "  validations:", "  matchConditions: [{name: many, expression: gpu.count > 100}]\n  validations:"
    )
    state = followed(text, limits("a", most="x" * MOST_BYTES), limits("b", most="8"))
    assert [judged(state, namespace).verdict for namespace in ("b", "a", "b", "a")] == ["allowed", "denied"] * 2


def test_without_the_right_to_list_them_a_policy_that_looks_for_params_fails() -> None:
    state = snapshot(at_most("{name: limits, parameterNotFoundAction: Allow}")).with_followed_params("got no right")
    assert denial(state, "a") == "podberth at-most: params: namespace a: got no right"
    reference = "{name: limits, namespace: podberth-system, parameterNotFoundAction: Allow}"
    assert judged(snapshot(at_most(reference)).with_followed_params("got no right"), "a").verdict == "allowed"


def test_a_selector_finds_the_config_maps_of_the_requests_namespace_alone() -> None:
    state = followed(
        at_most(SELECTED), limits("a", "one", most="8"), limits("a", "two", most="2"), limits("b", most="1")
    )
    assert "want 2 at most" in denial(state, "a")
    assert "want 1 at most" in denial(state, "b")
    assert judged(state, "c").verdict == "allowed"


def test_the_clusters_config_map_replaces_that_of_files() -> None:
    state = snapshot(at_most(), objects=[limits("a", most="2")])
    assert "want 2 at most" in denial(state, "a")
    assert (
        judged(state.with_followed_params(by_namespace(limits("a", most="8", version="1"))), "a").verdict == "allowed"
    )
    assert "want 2 at most" in denial(state.with_followed_params({}), "a")
