"""Which ResourceClaimTemplates are made for pods that name them, and with whom they go."""

from typing import Any

import pytest

from builders import container, owned, pod
from podberth.workload.claim_templates import MANAGED_BY, MOST_OWNERS, Make, Own, Owner, plan, top_owner
from podberth.workload.owners import OWNER_KINDS, keep

JSON = dict[str, Any]

NAME = "pair-0a1b2c3d"
SPEC: JSON = {"spec": {"devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu.nvidia.com"}}]}}}
DECLARED = {NAME: SPEC, "other-00000000": SPEC}
JOB = Owner("batch/v1", "Job", "train", "job-uid")


def waiting(name: str = "p", uid: str = "", template: str = NAME, **spec: Any) -> JSON:
    claims = [{"name": "c", "resourceClaimTemplateName": template}]
    made = pod(container(claims=["c"]), name=name, resourceClaims=claims, **spec)
    made["metadata"]["uid"] = uid or f"uid-{name}"
    return made


def of_job(uid: str = "job-uid", name: str = "train") -> JSON:
    return owned(waiting(), "Job", name=name, uid=uid)


def template(*owners: Owner, name: str = NAME, **metadata: Any) -> JSON:
    references = [each.reference for each in owners]
    held = {"name": name, "namespace": "default", "uid": "t-uid", "labels": {**MANAGED_BY, "more": "x"}}
    return {"metadata": {**held, "ownerReferences": references, **metadata}, "spec": SPEC}


def test_what_is_missing_is_made_for_the_pods_owner() -> None:
    [step] = plan([of_job(), of_job()], DECLARED, [], {})
    assert step == Make(namespace="default", name=NAME, spec=SPEC, owners=(JOB,))
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


def test_it_is_made_in_the_namespace_of_each_pod_that_names_it() -> None:
    elsewhere = waiting("q")
    elsewhere["metadata"]["namespace"] = "team"
    steps = plan([elsewhere, waiting("p"), waiting("r", template="other-00000000")], DECLARED, [], {})
    assert [(each.namespace, each.name) for each in steps] == [
        ("default", "other-00000000"),
        ("default", NAME),
        ("team", NAME),
    ]


def test_a_second_gang_is_an_owner_too_and_a_known_one_is_not_added_again() -> None:
    other = Owner("batch/v1", "Job", "more", "uid-2")
    there = template(JOB)
    [step] = plan([of_job(), of_job("uid-2", "more")], DECLARED, [there], {})
    assert step == Own(namespace="default", name=NAME, uid="t-uid", owners=(other,))
    assert step.patch == {"metadata": {"uid": "t-uid", "ownerReferences": [other.reference]}}
    assert plan([of_job(), of_job("uid-2", "more")], DECLARED, [template(JOB, other)], {}) == []


def test_nothing_is_made_but_what_a_policy_declares() -> None:
    assert plan([waiting(template="pair"), waiting(template="mine")], DECLARED, [], {}) == []
    assert plan([waiting()], {}, [], {}) == []
    assert plan([pod(container())], DECLARED, [], {}) == []


@pytest.mark.parametrize(
    "document",
    [
        waiting(nodeName="n"),
        {**waiting(), "status": {"phase": "Succeeded"}},
        {**waiting(), "status": {"phase": "Failed"}},
        {**waiting(), "metadata": {**waiting()["metadata"], "deletionTimestamp": "2026-01-01T00:00:00Z"}},
    ],
)
def test_a_pod_that_is_scheduled_or_over_needs_none(document: JSON) -> None:
    assert plan([document], DECLARED, [], {}) == []


@pytest.mark.parametrize(
    "there",
    [template(labels={}), template(labels=None), template(deletionTimestamp="2026-01-01T00:00:00Z")],
    ids=["somebody else's", "without labels", "on its way out"],
)
def test_another_ones_template_and_one_that_goes_are_left_alone(there: JSON) -> None:
    assert plan([of_job()], DECLARED, [there], {}) == []


def test_the_owner_is_what_the_user_made_as_far_as_it_is_known() -> None:
    kind = next(each for each in OWNER_KINDS if each.kind == "Job")
    reference = {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "name": "set", "uid": "set-uid"}
    made = {"metadata": {"uid": "job-uid", "ownerReferences": [{**reference, "controller": True}]}, "spec": {}}
    kept = keep(kind, made)
    assert kept is not None
    assert top_owner(of_job(), {"job-uid": kept}) == Owner("jobset.x-k8s.io/v1alpha2", "JobSet", "set", "set-uid")
    assert top_owner(of_job(), {}) == JOB
    assert top_owner(waiting("alone"), {}) == Owner("v1", "Pod", "alone", "uid-alone")
    # Of an owner that is known by its uid alone there is no reference to be made.
    nameless = {"metadata": {"ownerReferences": [{"controller": True, "uid": "x"}]}}
    assert top_owner(of_job(), {"job-uid": nameless}) == JOB


def test_owners_that_lead_in_a_circle_are_left_after_three() -> None:
    circle = {"metadata": {"ownerReferences": [{**JOB.reference, "controller": True}]}}
    assert top_owner(of_job(), {"job-uid": circle}) == JOB


def test_pods_without_an_owner_are_owners_up_to_a_bound() -> None:
    pods = [waiting(f"p-{number:03}") for number in range(MOST_OWNERS + 5)]
    [made] = plan(pods, DECLARED, [], {})
    assert len(made.owners) == MOST_OWNERS
    assert made.owners[0] == Owner("v1", "Pod", "p-000", "uid-p-000")
    assert plan(pods, DECLARED, [template(*made.owners)], {}) == []
    [more] = plan(pods, DECLARED, [template(*made.owners[1:])], {})
    assert more.owners == (made.owners[0],)
