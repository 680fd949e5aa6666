"""A pod that podberth decides on is the same with the floor and without it."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from builders import review
from floors import Floor, data_of, mark, received
from podberth.admission import decide
from podberth.admission.outcome import Outcome
from podberth.admission.review import AdmissionRequest, decode_review
from podberth.kube.patch import apply
from shipped import NODES, pods, shipped

FLOOR = Floor(data_of(NODES))


def known(pod: dict[str, Any]) -> dict[str, Any]:
    """Return the pod as the API server has read it, without the field that is no Pod's."""
    pod["spec"].pop("x-unknown")
    return received(pod)


def reviewed(pod: dict[str, Any]) -> tuple[AdmissionRequest, Outcome]:
    request = decode_review(review(pod))
    return request, decide.mutate(request, shipped())


def final(pod: dict[str, Any]) -> dict[str, Any]:
    request, outcome = reviewed(pod)
    assert request.object is not None
    return apply(request.object, outcome.patch)


@given(pods())
def test_with_the_floor_podberth_makes_the_same_pod_and_says_the_same(pod: dict[str, Any]) -> None:
    bare = known(pod)
    floored = FLOOR.on(bare)
    assert final(floored) == final(bare)
    ours, theirs = reviewed(floored)[1], reviewed(bare)[1]
    assert (ours.decisions, ours.warnings, ours.denial) == (theirs.decisions, theirs.warnings, theirs.denial)


@given(pods(), st.lists(st.sampled_from(["nvidia.com/gpu:NoSchedule", "gang", ":", "=", "a=b:c", "team:"])))
def test_whatever_the_annotation_says_it_takes_off_no_more_than_it_names(pod: dict[str, Any], words: list[str]) -> None:
    bare = known(pod)
    forged = {**bare, "metadata": {**bare["metadata"]}}
    annotations = forged["metadata"].get("annotations") or {}
    forged["metadata"]["annotations"] = {**annotations, "podberth.io/floor": " ".join(words)}
    made = final(forged)
    assert mark(made) is None
    if not words:
        assert made == final(bare)
