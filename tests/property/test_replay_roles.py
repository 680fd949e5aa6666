"""A decision that is remembered is the decision that would be made, and of one gang all have one level.

Over gangs whose owners say different things of their roles, and members of each role.
"""

from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest

from builders import gpu_container, owned, pod, review, template, workload
from podberth.admission.decide import mutate
from podberth.admission.replay import KeptDecision
from podberth.admission.review import decode_review
from podberth.admission.snapshot import Snapshot
from podberth.kube.patch import apply
from podberth.wellknown import GANG_ACCELERATED_ANNOTATION, GANG_LEVEL_ANNOTATION, GANG_SIZE_ANNOTATION
from replays import assert_decided_right
from snapshots import cluster, policy, snapshot

JSON = dict[str, Any]

RACK, ZONE = "backend.coreweave.cloud/leafgroup", "topology.kubernetes.io/zone"
ROLES = {"launcher": 0, "one": 1, "four": 4, "eight": 8}
# How many of each a gang has: which are known, and what a level has to hold, differs by the owner alone.
GANGS: dict[str, dict[str, int]] = {
    "launched": {"launcher": 1, "eight": 2},
    "alike": {"eight": 3},
    "headed": {"one": 1, "eight": 2},
    "two-headed": {"one": 2, "eight": 1},
    "mixed": {"one": 2, "four": 1, "eight": 1},
    "mixed-more": {"one": 2, "four": 1, "eight": 3},
    "idle": {"launcher": 3},
}
UNKNOWN, MISSING = "unknown", "missing"
SYSTEMS = ("", "'native'")
_SERVED = {
    "apiVersion": "v1",
    "kind": "APIResourceList",
    "groupVersion": "scheduling.k8s.io/v1beta1",
    "resources": [{"name": "podgroups", "kind": "PodGroup"}],
}


def made(role: str) -> JSON:
    return pod(gpu_container("main", ROLES[role])) if ROLES[role] else pod()


def owner(uid: str, counts: dict[str, int], *, known: bool = True) -> JSON:
    roles = {
        role: {"replicas": count, "template": template(made(role)) if known else {}} for role, count in counts.items()
    }
    document = workload("kubeflow.org/v1", "PyTorchJob", {"pytorchReplicaSpecs": roles}, name=uid)
    document["metadata"]["uid"] = uid
    return document


def member(uid: str, role: str, **annotations: str) -> JSON:
    document = made(role)
    labels = {"training.kubeflow.org/job-name": uid, "training.kubeflow.org/replica-type": role}
    document["metadata"] |= {"labels": labels, "annotations": annotations}
    return owned(document, "PyTorchJob", api_version="kubeflow.org/v1", name=uid, uid=uid)


OWNERS = [*(owner(uid, counts) for uid, counts in GANGS.items()), owner(UNKNOWN, GANGS["launched"], known=False)]


# The gang's own, and one that is the own of some.
NAMES = ("gang.name", "'pytorchjob-launched'")


def rules(system: str, mode: str, name: str) -> list[str]:
    level = "topology.narrowestSafeLevel(gang)" if mode == "required" else "topology.narrowestLevel(gang)"
    leaves = (
        f"name: {chr(34)}{name}{chr(34)}, size: gang.size{f', system: {chr(34)}{system}{chr(34)}' if system else ''}"
    )
    body = f"""
  matchConditions: [{{name: member, expression: "gang.known"}}]
  mutations:
  - gang: {{{leaves}}}
  - {{when: gpu.count > 0, topology: {{level: {level}, mode: {mode}}}}}
"""
    return [policy("draws", body, order=400)]


def known(system: str, mode: str, name: str = NAMES[0]) -> Snapshot:
    nodes = cluster(hgx_h100_8=4)
    racks = iter("aabb")
    for each in nodes:
        if each["kind"] == "Node":
            each["metadata"]["labels"] |= {RACK: next(racks), ZONE: "z"}
    return snapshot(*rules(system, mode, name), objects=[*nodes, *OWNERS, _SERVED])


def members() -> Iterator[JSON]:
    sizes: tuple[dict[str, str], ...] = (
        {},
        {GANG_SIZE_ANNOTATION: "3"},
        {GANG_SIZE_ANNOTATION: "4"},
        {GANG_SIZE_ANNOTATION: "3", GANG_ACCELERATED_ANNOTATION: "2"},
    )
    for uid, role, size in product((*GANGS, UNKNOWN, MISSING), ROLES, sizes):
        yield member(uid, role, **size)


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("mode", ["preferred", "required"])
@pytest.mark.parametrize("name", NAMES)
def test_what_was_decided_for_a_member_is_right_for_the_next(system: str, mode: str, name: str) -> None:
    warm = known(system, mode, name)
    requests = [decode_review(review(document)) for document in members()]
    assert_decided_right(warm, (*requests, *reversed(requests)))
    # Any group may have a name that a policy says, so the decision about a pod that joins a group is not remembered.
    kept = any(isinstance(answer, KeptDecision) for answer in warm.recall._kept.values())
    assert kept is not (name != NAMES[0] and bool(system))


def level_of(document: JSON) -> str:
    """Return the level that a pod prefers, or that it wants for its group."""
    affinity = document["spec"].get("affinity", {}).get("podAffinity", {})
    terms = [
        *affinity.get("requiredDuringSchedulingIgnoredDuringExecution", ()),
        *(each["podAffinityTerm"] for each in affinity.get("preferredDuringSchedulingIgnoredDuringExecution", ())),
    ]
    said = document["metadata"].get("annotations", {}).get(GANG_LEVEL_ANNOTATION)
    return str(terms[0]["topologyKey"] if terms else said or "")


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("mode", ["preferred", "required"])
@pytest.mark.parametrize("uid", GANGS)
def test_all_members_of_a_gang_say_the_same_of_it(system: str, mode: str, uid: str) -> None:
    warm = known(system, mode)
    finals = {
        role: apply(document := member(uid, role), mutate(decode_review(review(document)), warm).patch)
        for role in GANGS[uid]
    }
    said = {
        tuple(final["metadata"]["annotations"].get(key) for key in (GANG_SIZE_ANNOTATION, GANG_ACCELERATED_ANNOTATION))
        for final in finals.values()
    }
    assert len(said) == 1
    with_gpus = sum(count for role, count in GANGS[uid].items() if ROLES[role])
    [(size, accelerated)] = said
    assert int(accelerated or size or 0) == (with_gpus or sum(GANGS[uid].values()))
    assert len({level_of(final) for role, final in finals.items() if ROLES[role]}) <= 1
    for role, final in finals.items():
        # Of a gang where no template asks for GPUs all join: its size counts them.
        assert ("schedulingGroup" in final["spec"]) == bool(system and (ROLES[role] or not with_gpus))
        # Once more, with what is written: nothing is left to write.
        again = mutate(decode_review(review(final)), warm)
        assert apply(final, again.patch)["spec"] == final["spec"]


def test_the_levels_are_those_that_hold_all_members_at_once() -> None:
    warm = known("", "preferred")
    found = {
        uid: level_of(apply(document := member(uid, "eight"), mutate(decode_review(review(document)), warm).patch))
        for uid in GANGS
        if "eight" in GANGS[uid]
    }
    assert found == {
        "launched": RACK,
        "alike": ZONE,
        "headed": ZONE,
        "two-headed": RACK,
        "mixed": RACK,
        "mixed-more": ZONE,
    }
