"""The ResourceClaimTemplates that are made for pods which name them, and their owners."""

from collections.abc import Mapping
from typing import Any

import pytest

from builders import container, owned, pod
from podberth.controller.plan.claim_templates import KIND, plan
from podberth.controller.plan.intake import made, waiting_pod
from podberth.controller.plan.lineage import MOST_OWNERS
from podberth.controller.plan.world import ActionPlan, Create, GroupChange, LookUp, Made, WaitingPod, World
from podberth.kube.object_names import NamespacedName
from podberth.kube.pod import OwnerReference

JSON = dict[str, Any]

NAME, PLACE = "pair-0a1b2c3d", ("default", "pair-0a1b2c3d")
SPEC: JSON = {"spec": {"devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu.nvidia.com"}}]}}}
JOB = OwnerReference("batch/v1", "Job", "train", "job-uid")
MORE = OwnerReference("batch/v1", "Job", "more", "more-uid")
SET = OwnerReference("jobset.x-k8s.io/v1alpha2", "JobSet", "set", "set-uid")


def document(name: str = "p", *, of: OwnerReference | None = JOB, template: str = NAME, **spec: Any) -> JSON:
    claims = [{"name": "c", "resourceClaimTemplateName": template}]
    made = pod(container(claims=["c"]), name=name, resourceClaims=claims, **spec)
    made["metadata"]["uid"] = f"uid-{name}"
    return made if of is None else owned(made, of.kind, api_version=of.api_version, name=of.name, uid=of.uid)


def waiting(*documents: JSON) -> dict[str, WaitingPod]:
    read = [waiting_pod(each) for each in documents]
    return {f"{each.namespace}/{each.name}": each for each in read if each is not None}


def world(*documents: JSON, made: Mapping[NamespacedName, Made] | None = None, **fields: Any) -> World:
    known: dict[str, Any] = {
        "pods": waiting(*documents),
        "known": {KIND: made or {}},
        "served": {KIND: "resource.k8s.io/v1"},
        "absent": frozenset(),
        "owners": {(space, each): None for space in ("default", "team") for each in (JOB, MORE, SET)},
        "gone": frozenset(),
        "fixed": {},
        "patience_seconds": 60.0,
        "declared": {NAME: SPEC, "other-00000000": SPEC},
    }
    return World(**{**known, **fields})


def asked(*documents: JSON, **fields: Any) -> ActionPlan:
    return plan(world(*documents, **fields), 0.0)


def there(*owners: OwnerReference, ours: bool = True, deleting: bool = False) -> dict[NamespacedName, Made]:
    return {PLACE: Made(uid="t-uid", version="7", ours=ours, deleting=deleting, owners=owners)}


def test_a_missing_template_is_made_and_owned_by_the_owners_of_the_pods() -> None:
    [step] = asked(document("p"), document("q")).actions
    assert isinstance(step, Create)
    assert (step.kind, step.place) == (KIND, PLACE)
    assert step.document == {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {
            "name": NAME,
            "namespace": "default",
            "labels": {"app.kubernetes.io/managed-by": "podberth"},
            "ownerReferences": [
                {
                    "apiVersion": "batch/v1",
                    "kind": "Job",
                    "name": "train",
                    "uid": "job-uid",
                    "controller": False,
                    "blockOwnerDeletion": False,
                }
            ],
        },
        "spec": SPEC,
    }
    assert (step.about.kind, step.about.name) == ("Job", "train")


def test_it_is_made_in_the_version_that_is_served() -> None:
    [step] = asked(document(), served={KIND: "resource.k8s.io/v1beta2"}).actions
    assert isinstance(step, Create)
    assert step.document["apiVersion"] == "resource.k8s.io/v1beta2"


def test_it_is_made_in_the_namespace_of_each_pod_that_names_it() -> None:
    elsewhere = document("q")
    elsewhere["metadata"]["namespace"] = "team"
    steps = asked(elsewhere, document("p"), document("r", template="other-00000000")).actions
    assert [each.place for each in steps if isinstance(each, Create)] == [
        ("default", "other-00000000"),
        PLACE,
        ("team", NAME),
    ]


def test_a_second_gang_is_an_owner_too_and_one_that_is_known_is_not_added_again() -> None:
    pods = document("p"), document("q", of=MORE)
    [step] = asked(*pods, made=there(JOB)).actions
    assert isinstance(step, GroupChange)
    metadata = step.patch["metadata"]
    assert (metadata["uid"], metadata["resourceVersion"]) == ("t-uid", "7")
    assert [each["name"] for each in metadata["ownerReferences"]] == ["train", "more"]
    assert asked(*pods, made=there(JOB, MORE)).actions == []


def test_the_owner_on_top_is_asked_for_first() -> None:
    assert asked(document(), owners={}).actions == [LookUp("default", JOB)]
    [step] = asked(document(), owners={("default", JOB): SET, ("default", SET): None}).actions
    assert isinstance(step, Create)
    assert [each["kind"] for each in step.document["metadata"]["ownerReferences"]] == ["JobSet"]


def test_an_owner_that_is_not_known_yet_holds_up_no_other_gang() -> None:
    lookup, step = asked(document("p"), document("q", of=MORE), owners={("default", JOB): None}).actions
    assert lookup == LookUp("default", MORE)
    assert isinstance(step, Create)
    assert [each["name"] for each in step.document["metadata"]["ownerReferences"]] == ["train"]


def test_pods_whose_owner_is_gone_are_about_to_go_too() -> None:
    assert asked(document(), gone=frozenset({("default", JOB)})).actions == []


@pytest.mark.parametrize("declared", [{}, {"pair": SPEC}, {"pair-00000000": SPEC}])
def test_only_declared_templates_are_made(declared: JSON) -> None:
    assert asked(document(), declared=declared).actions == []


def test_nothing_is_made_where_templates_are_not_served_or_not_listed_yet() -> None:
    assert asked(document(), served={}, known={}).actions == []


@pytest.mark.parametrize(
    "made",
    [there(ours=False), there(JOB, deleting=True), there(MORE, deleting=True)],
    ids=["somebody else's", "on its way out", "on its way out with another"],
)
def test_another_ones_template_and_one_that_goes_are_left_alone(made: dict[NamespacedName, Made]) -> None:
    assert asked(document(), made=made).actions == []


@pytest.mark.parametrize(
    "over",
    [
        document(nodeName="n"),
        {**document(), "status": {"phase": "Succeeded"}},
        {**document(), "metadata": {**document()["metadata"], "deletionTimestamp": "2026-01-01T00:00:00Z"}},
        pod(container()),
        pod(container(), resourceClaims=[{"name": "c", "resourceClaimName": "x"}]),
    ],
)
def test_a_pod_that_is_scheduled_or_over_or_names_none_is_not_kept(over: JSON) -> None:
    assert waiting(over) == {}


def test_pods_without_an_owner_are_owners_themselves_up_to_a_bound() -> None:
    pods = [document(f"p-{number:03}", of=None) for number in range(MOST_OWNERS + 5)]
    [step] = asked(*pods).actions
    assert isinstance(step, Create)
    owners = step.document["metadata"]["ownerReferences"]
    assert len(owners) == MOST_OWNERS
    assert (owners[0]["kind"], owners[0]["name"], owners[0]["uid"]) == ("Pod", "p-000", "uid-p-000")
    full = tuple(OwnerReference("v1", "Pod", each["name"], each["uid"]) for each in owners)
    assert asked(*pods, made=there(*full)).actions == []


def test_the_owners_and_the_manager_of_an_existing_template_are_kept() -> None:
    found = asked(document())
    [step] = found.actions
    assert isinstance(step, Create)
    stored = {**step.document, "metadata": {**step.document["metadata"], "uid": "t-uid", "resourceVersion": "7"}}
    assert made(stored) == there(JOB)[PLACE]
    assert not made({"metadata": {"name": "x", "labels": {"app.kubernetes.io/managed-by": "helm"}}}).ours
