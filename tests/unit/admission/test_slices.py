"""Every so many members of a gang in one domain: what their pods get, and who is left as it is."""

import json
from typing import Any

import pytest

from builders import gpu_pod, job, job_pod, owned, review
from podberth.admission import decide
from podberth.admission.outcome import Outcome
from podberth.admission.review import decode_review
from podberth.admission.snapshot import Snapshot
from podberth.kube.patch import apply
from podberth.wellknown import APPLIED_ANNOTATION
from snapshots import policy, snapshot

JSON = dict[str, Any]

SLICE = "podberth.io/gang-slice"
OWNER = {**job(gpu_pod(8), indexed=True, parallelism=4), "metadata": {"name": "train", "uid": "job-uid"}}
MEMBER = {"name": "gang.name", "size": "gang.size"}


def draws(*topologies: JSON, name: str = "near", order: int = 400) -> str:
    mutations = [{"gang": MEMBER}, *({"topology": each} for each in topologies)]
    condition = '  matchConditions: [{name: member, expression: "gang.known"}]\n'
    return policy(name, f"{condition}  mutations: {json.dumps(mutations)}", order=order)


def level(key: str, mode: str = "required", every: str = "") -> JSON:
    return {"level": f"'{key}'", "mode": mode, **({"slice": every} if every else {})}


def mutate(document: JSON, known: Snapshot) -> Outcome:
    return decide.mutate(decode_review(review(document)), known)


def made(document: JSON, known: Snapshot) -> JSON:
    return apply(document, mutate(document, known).patch)


def term(key: str, *, slices: bool) -> JSON:
    selector = {"matchLabels": {"podberth.io/colocated": "job-job-uid"}}
    return {"labelSelector": selector, "topologyKey": key, **({"matchLabelKeys": [SLICE]} if slices else {})}


KNOWN = snapshot(draws(level("rack", every="2")), objects=[OWNER])


def test_members_have_one_spec_and_the_label_of_their_slice() -> None:
    finals = [made(job_pod(index), KNOWN) for index in range(5)]

    assert [each["metadata"]["labels"][SLICE] for each in finals] == ["0", "0", "1", "1", "2"]
    assert all(each["spec"] == finals[0]["spec"] for each in finals)
    affinity = finals[0]["spec"]["affinity"]["podAffinity"]
    assert affinity == {"requiredDuringSchedulingIgnoredDuringExecution": [term("rack", slices=True)]}


def test_a_slice_is_explained_recorded_and_not_written_twice() -> None:
    outcome = mutate(job_pod(), KNOWN)
    final = apply(job_pod(), outcome.patch)

    record = json.loads(final["metadata"]["annotations"][APPLIED_ANNOTATION])["near"]["topology"]
    assert record == {"slice": "2", "sliceLevel": "rack", "sliceMode": "required"}
    assert any("every 2 of the gang required in one domain of rack" in line for line in outcome.warnings)
    assert mutate(final, KNOWN).patch == []
    del final["metadata"]["annotations"][APPLIED_ANNOTATION]
    again = made(final, KNOWN)
    assert again["spec"] == final["spec"]
    assert again["metadata"]["labels"] == final["metadata"]["labels"]


def test_as_the_api_server_leaves_it_nothing_is_added() -> None:
    """It has merged the slice into the selector by then (kubernetes pkg/registry/core/pod/strategy.go)."""
    final = made(job_pod(), KNOWN)
    [stored] = final["spec"]["affinity"]["podAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    stored["labelSelector"]["matchExpressions"] = [{"key": SLICE, "operator": "In", "values": ["0"]}]
    assert mutate(final, KNOWN).patch == []


@pytest.mark.parametrize("slices_first", [True, False])
def test_slices_at_a_narrow_level_and_the_gang_at_a_wider_one(*, slices_first: bool) -> None:
    both = [level("rack", every="2"), level("zone", "preferred")]
    known = snapshot(draws(*(both if slices_first else reversed(both))), objects=[OWNER])
    final = made(job_pod(3), known)

    affinity = final["spec"]["affinity"]["podAffinity"]
    assert affinity["requiredDuringSchedulingIgnoredDuringExecution"] == [term("rack", slices=True)]
    [preferred] = affinity["preferredDuringSchedulingIgnoredDuringExecution"]
    assert preferred["podAffinityTerm"] == term("zone", slices=False)
    record = json.loads(final["metadata"]["annotations"][APPLIED_ANNOTATION])["near"]["topology"]
    assert record.keys() == {"slice", "sliceLevel", "sliceMode", "level", "mode"}
    assert mutate(final, known).patch == []


@pytest.mark.parametrize("every", ["0", "1", "gang.known ? optional.none() : optional.of(2)"])
def test_no_number_of_members_is_the_whole_gang(every: str) -> None:
    final = made(job_pod(), snapshot(draws(level("rack", every=every)), objects=[OWNER]))

    assert SLICE not in final["metadata"]["labels"]
    affinity = final["spec"]["affinity"]["podAffinity"]
    assert affinity == {"requiredDuringSchedulingIgnoredDuringExecution": [term("rack", slices=False)]}


def test_a_member_of_unknown_number_is_in_no_slice_and_it_is_said() -> None:
    document = gpu_pod(8, name="main", labels={"podberth.io/gang": "g"}, annotations={"podberth.io/gang-size": "4"})
    outcome = mutate(document, KNOWN)

    assert "affinity" not in apply(document, outcome.patch)["spec"]
    said = "topology left as it is: the pod's number in its gang is unknown, and so is its slice"
    assert f"podberth near: {said}" in outcome.warnings


def test_who_says_its_slice_itself_needs_no_number() -> None:
    labels = {"podberth.io/gang": "g", SLICE: "left"}
    final = made(gpu_pod(8, name="main", labels=labels, annotations={"podberth.io/gang-size": "4"}), KNOWN)

    assert final["metadata"]["labels"][SLICE] == "left"
    assert final["spec"]["affinity"]["podAffinity"]


def test_numbers_begin_again_with_each_role() -> None:
    def replica(role: str, index: int) -> str:
        labels = {"training.kubeflow.org/job-name": "ring", "training.kubeflow.org/replica-type": role}
        labels["training.kubeflow.org/replica-index"] = str(index)
        pod = owned(gpu_pod(8, labels=labels), "PyTorchJob", api_version="kubeflow.org/v1", name="ring", uid="u")
        return str(made(pod, KNOWN)["metadata"]["labels"][SLICE])

    assert [replica("master", 0), *(replica("worker", each) for each in range(3))] == [
        "master-0",
        "worker-0",
        "worker-0",
        "worker-1",
    ]


def test_a_number_below_none_is_the_policys_fault() -> None:
    outcome = mutate(job_pod(), snapshot(draws(level("rack", every="-1")), objects=[OWNER]))
    assert "topology.slice: got -1, want a number of pods" in outcome.response["response"]["status"]["message"]


def test_other_slices_of_a_later_policy_conflict_and_the_gang_at_a_wider_level_does_not() -> None:
    first = draws(level("rack", every="2"))
    for later, conflicts in (
        (level("block", every="2"), True),
        (level("rack", every="4"), True),
        (level("rack", every="2"), False),
        (level("rack", "preferred", every="2"), False),
        (level("zone", "preferred"), False),
    ):
        outcome = mutate(job_pod(), snapshot(first, draws(later, name="later", order=500), objects=[OWNER]))
        assert any("conflict with policy near" in line for line in outcome.warnings) == conflicts


def test_slices_of_kueues_group_are_left_to_it_without_a_word() -> None:
    document = gpu_pod(8, labels={"kueue.x-k8s.io/queue-name": "q"})
    for topology in (level("rack", every="2"), level("rack")):
        outcome = mutate(document, snapshot(policy("near", f"  mutations: [{json.dumps({'topology': topology})}]")))
        assert (outcome.patch, outcome.warnings) == ([], ())
