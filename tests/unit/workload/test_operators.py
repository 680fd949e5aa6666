"""Gangs by operator: the pods of each as it makes them, by the source that its row names, and what is read of them."""

import re
from dataclasses import replace
from typing import Any

import pytest

from builders import gpu_pod, pod, review, workload
from named_owners import as_named, gang_of
from operator_pods import ALONE, CASES, Case
from operator_pods.batch import of_set, of_spark
from operator_pods.serving import GROVE_OWNERS, of_grove, of_kserve
from operator_pods.training import of_mpi, of_ray_submitter
from pages import ROOT
from podberth.admission import decide
from podberth.admission.review import decode_review
from podberth.admission.snapshot import Snapshot
from podberth.facts.cluster import collect
from podberth.kube.patch import apply
from podberth.wellknown import APPLIED_ANNOTATION, GANG_LABEL, GANG_SIZE_ANNOTATION
from podberth.workload.gangs import Gang
from podberth.workload.gpus import gpu_facts
from podberth.workload.memberships import LAST, MEMBERSHIPS, NOTES, OPERATORS, notes_of
from podberth.workload.systems import is_accounted
from shipped import shipped

JSON = dict[str, Any]
WORDS = {GANG_LABEL, GANG_SIZE_ANNOTATION, APPLIED_ANNOTATION}


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.maker}-{case.name}")
def test_the_pods_of_an_operator_are_one_gang(case: Case) -> None:
    for document, role, index in case.members:
        expected = Gang(
            known=True,
            name=case.name,
            size=case.size,
            index=index,
            role=role,
            source=case.source,
            system=case.system,
            staged=case.staged,
            accounted=is_accounted(case.system, document),
        )
        assert replace(gang_of(document, "default", case.owners), job=None) == expected
        alone = gang_of(document, "default", {})
        assert alone == replace(expected, size=case.alone, sized_by_owner=alone.sized_by_owner, by_role=alone.by_role)


OWN_ROWS = (*OPERATORS, *LAST)


def test_every_kind_of_every_row_has_a_case_and_every_case_a_kind() -> None:
    assert [row.name for row in OWN_ROWS if not notes_of(row)] == []
    assert {maker.name for row in OWN_ROWS for maker in notes_of(row)} == {case.maker for case in CASES}


def test_every_case_is_read_by_the_row_of_its_kind() -> None:
    row_of = {maker.name: row for row in OWN_ROWS for maker in notes_of(row)}
    for case in CASES:
        for document, _, _ in case.members:
            row, metadata = row_of[case.maker], document["metadata"]
            assert metadata.get("labels", {}).get(row.label) or metadata.get("annotations", {}).get(row.annotation)


# The template of a CronJob stands for its Job before there is one; no pod is of a CronJob.
CRON_JOB = workload("batch/v1", "CronJob", {})


def test_every_owner_that_is_read_is_known_from_a_snapshot() -> None:
    for case in CASES:
        documents = [
            {**document, "metadata": {**document["metadata"], "name": uid, "uid": uid}}
            for uid, document in case.owners.items()
            if document["kind"] != "Pod"  # of a Spark driver's a snapshot would be too large
        ]
        objects = collect([*documents, CRON_JOB], now=None)
        assert objects.problems == ()
        assert {each["metadata"]["uid"] for each in documents} <= objects.owners.keys()


def test_every_kind_that_is_asked_for_owns_a_pod_of_a_case() -> None:
    """So the test above forgets none: the kinds are those that the rows name in ``pod.owner``."""
    code = "".join(file.read_text() for file in (ROOT / "webhook/podberth/kinds").rglob("*.py"))
    asked = set(re.findall(r'pod\.owner\("(\w+)"\)', code))
    assert {"RoleBasedGroup", "SparkApplication", "PodCliqueSet"} <= asked
    assert asked <= {owner["kind"] for case in CASES for owner in (*case.owners.values(), CRON_JOB)}


CONDITIONS = ("base/mutating-webhook.yaml", "base/validating-webhook.yaml", "components/all-pods/kustomization.yaml")


@pytest.mark.parametrize("file", CONDITIONS)
def test_every_key_that_names_a_gang_sends_its_pods_to_podberth(file: str) -> None:
    """Rule 10. Pods of an Indexed Job are all alike, so those without a GPU have no one to belong to."""
    conditions = (ROOT / "manifests" / file).read_text().split(f"'{GANG_LABEL}'")[1:]
    assert conditions
    for labels, _, rest in (each.partition("metadata.annotations.exists") for each in conditions):
        annotations = rest.partition("]")[0]
        for row in MEMBERSHIPS:
            if row is not LAST[0]:
                assert not row.label or f"'{row.label}'" in labels
                assert not row.annotation or f"'{row.annotation}'" in annotations


# ---- what is no gang -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("maker", "document", "owners"), ALONE, ids=lambda each: each if isinstance(each, str) else "")
def test_a_pod_by_itself_is_in_no_gang(maker: str, document: JSON, owners: JSON) -> None:
    assert maker in {each.name for each in NOTES[""]}
    assert not gang_of(document, "default", owners).known


def test_every_kind_whose_pods_are_each_by_itself_has_one() -> None:
    assert {each.name for each in NOTES[""]} == {maker for maker, _, _ in ALONE}


def test_the_pod_that_submits_a_ray_job_is_no_member() -> None:
    assert not gang_of(of_ray_submitter(), "default", {}).known


def test_half_of_a_multi_node_service_and_a_connect_server_are_replicas() -> None:
    assert not gang_of(pod(labels={"isvc.generation": "1"}), "default", {}).known
    server = {"spark-app-selector": "spark-1", "spark-role": "connect-server"}
    assert not gang_of(pod(labels=server), "default", {}).known


@pytest.mark.parametrize("env", [None, {}, "x", 3, [None, 3, "x", [], {}, {"name": "RAY_NODE_COUNT", "value": 3}]])
def test_an_environment_of_any_shape_causes_no_fault(env: Any) -> None:
    document = of_kserve("kserve-container")
    document["spec"]["containers"][0]["env"] = env
    assert gang_of(document, "default", {}).size == 0


def test_a_size_without_a_set_or_that_is_none_declares_no_gang() -> None:
    document = of_set(0)
    assert gang_of(document, "default", {}).known
    document["metadata"]["annotations"][GANG_SIZE_ANNOTATION] = "many"
    assert not gang_of(document, "default", {}).known
    assert not gang_of(gpu_pod(8, annotations={GANG_SIZE_ANNOTATION: "4"}), "default", {}).known


# ---- sizes that nobody knows ---------------------------------------------------------------------------------------


def test_what_scales_has_no_size() -> None:
    scaling: JSON = {"u": workload("sparkoperator.k8s.io/v1beta2", "SparkApplication", {"executor": {"instances": 3}})}
    scaling["u"]["spec"]["dynamicAllocation"] = {"enabled": True}
    assert gang_of(of_spark("driver"), "default", scaling).size == 0
    cliques = workload("grove.io/v1alpha1", "PodCliqueSet", {"template": {"cliques": [{"spec": {}}]}})
    cliques["spec"]["template"]["cliques"][0]["spec"]["autoScalingConfig"] = {}
    assert gang_of(of_grove("frontend", 0, 0), "default", {**GROVE_OWNERS, "u": cliques}).size == 0


# ---- the label says it, the role stays ------------------------------------------------------------------------------


def test_a_gang_by_hand_keeps_what_the_operator_says_about_the_pod() -> None:
    document = of_mpi("worker", 1)
    document["metadata"]["labels"][GANG_LABEL] = "ring"
    found = gang_of(document, "default", {})
    assert (found.name, found.role, found.index, found.source) == ("ring", "worker", 1, "label")
    by_hand = of_set(3)
    by_hand["metadata"]["labels"][GANG_LABEL] = "ring"
    assert gang_of(by_hand, "default", {}).index == 3


# ---- launchers, heads and frontends without a GPU -------------------------------------------------------------------

MIXED = [
    case
    for case in CASES
    if {gpu_facts(document).count > 0 for document, _, _ in case.members} == {True, False}
    and case.system == "plain"
    and case.size
]


def written(document: JSON, known: Snapshot) -> JSON:
    outcome = decide.mutate(decode_review(review(document)), known)
    assert outcome.verdict == "mutated"
    return apply(document, outcome.patch)


@pytest.mark.parametrize("case", MIXED, ids=lambda case: f"{case.maker}-{case.name}")
def test_members_without_gpus_get_what_is_equal_on_all_and_nothing_else(case: Case) -> None:
    """Rule 10, with all policies that are on by default: the gang's name and size, and the record of them."""
    words = []
    for document, _, _ in case.members:
        after = written(document, shipped().with_owners(as_named(document, case.owners, "default")))
        both = {**after["metadata"].get("labels", {}), **after["metadata"].get("annotations", {})}
        words.append((both[GANG_LABEL], both[GANG_SIZE_ANNOTATION]))
        if gpu_facts(document).count:
            continue
        assert after["spec"] == document["spec"]
        before = {**document["metadata"].get("labels", {}), **document["metadata"].get("annotations", {})}
        assert both.keys() - before.keys() == WORDS
    assert words == [(case.name, str(case.size))] * len(case.members)


def test_the_mixed_gangs_are_those_of_the_field() -> None:
    """tests/real-manifests.md 13: MPIJobs' launchers, Ray's heads, LeaderWorkerSets' leaders, Dynamo's frontends."""
    sources = {case.source for case in MIXED}
    assert {"MPIJob", "RayCluster", "LeaderWorkerSet", "PodCliqueSet", "JobSet", "RoleBasedGroup", "Spark"} <= sources
    assert {"TFJob", "RayJob", "DynamoGraphDeployment, with Grove"} <= {case.maker for case in MIXED}
