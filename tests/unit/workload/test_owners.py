"""What is kept of an owner says the same of its gang as the whole object."""

from typing import Any

import pytest

from builders import gpu_pod, job, job_pod
from named_owners import gang_of
from operator_pods import CASES, Case
from pages import ROOT
from podberth.kinds.dossier import OwnerKind
from podberth.kinds.members import Subject
from podberth.kinds.roles import Predicted
from podberth.kube.documents import load_documents
from podberth.workload.memberships import LAST, OPERATORS
from podberth.workload.owners import OWNER_KINDS, keep
from podberth.workload.templates import templates

JSON = dict[str, Any]
BY_KIND = {(kind.group, kind.kind): kind for kind in OWNER_KINDS}
SAMPLES = [
    document
    for file in sorted((ROOT / "tests" / "manifests").glob("*.yaml"))
    for document in [each.document for each in load_documents(file.read_text(), file.name)[0]]
    if (kind := BY_KIND.get((document["apiVersion"].rpartition("/")[0], document["kind"])))
    and kind.spec
    and document["apiVersion"] in kind.api_versions
]


def of(document: JSON) -> OwnerKind:
    return BY_KIND[document["apiVersion"].rpartition("/")[0], document["kind"]]


def test_there_is_a_sample_of_every_kind_that_counts() -> None:
    assert {(of(each).group, of(each).kind) for each in SAMPLES} == {key for key, kind in BY_KIND.items() if kind.spec}


LINEAGES = [case for case in CASES if len(case.owners) > 1 or case.maker.startswith("RoleBasedGroup")]
# Neither is followed: of both there are more in a cluster than of anything else that owns pods.
UNFOLLOWED = {"Pod", "StatefulSet"}


@pytest.mark.parametrize("case", LINEAGES, ids=lambda case: case.name)
def test_what_stands_between_a_pod_and_the_object_that_counts_is_followed(case: Case) -> None:
    kept: dict[str, Any] = {}
    for uid, owner in case.owners.items():
        if owner["kind"] not in UNFOLLOWED:
            kept[uid] = keep(of(owner), {**owner, "metadata": {**owner["metadata"], "uid": uid}})
    for document, _, _ in case.members:
        [controller] = document["metadata"]["ownerReferences"]
        known = case.owners.get(controller["uid"], {"kind": "StatefulSet"})
        expected = case.alone if known["kind"] in UNFOLLOWED else case.size
        assert gang_of(document, "default", kept).size == expected


@pytest.mark.parametrize("state", ["COMPLETED", "FAILED"])
def test_a_spark_application_that_is_over_makes_no_pods(state: str) -> None:
    for said, kept in ((state, False), ("RUNNING", True), ("PENDING_RERUN", True), (["x"], True)):
        document = {"metadata": {"uid": "s"}, "spec": {}, "status": {"applicationState": {"state": said}}}
        assert (keep(BY_KIND["sparkoperator.k8s.io", "SparkApplication"], document) is not None) is kept


@pytest.mark.parametrize("document", SAMPLES, ids=lambda each: f"{each['apiVersion']}-{each['kind']}")
def test_a_gang_is_as_large_by_what_is_kept_as_by_the_object(document: JSON) -> None:
    read = 0
    for template in templates(document, namespace="team"):
        kept: dict[str, Any] = dict(template.owners)
        for uid, owner in template.owners.items():
            if owner.get("kind") == document["kind"]:
                read_of = keep(of(document), {**owner, "metadata": {**owner.get("metadata", {}), "uid": uid}})
                assert read_of is not None
                # In the place of what stands between it and its pods, too.
                kept[uid] = Predicted(read_of)
                read += 1
        assert gang_of(template.pod, "team", kept) == gang_of(template.pod, "team", template.owners)
    assert read


def test_of_labels_those_are_kept_that_show_who_places_the_group() -> None:
    owner = job(gpu_pod(1), indexed=True, parallelism=4)
    owner["metadata"] |= {"uid": "job-uid", "labels": {"kueue.x-k8s.io/queue-name": "q", "secret": "s"}}
    kept = keep(BY_KIND["batch", "Job"], owner)
    assert kept is not None
    assert "secret" not in str(kept)
    assert gang_of(job_pod(), "team", {"job-uid": kept}).system == "kueue"


def test_whose_an_owner_is_stays_known() -> None:
    whose = {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "name": "set", "uid": "s", "controller": True}
    references = [{"uid": "a", "kind": "X"}, {**whose, "blockOwnerDeletion": True}]
    metadata = {"name": "job", "namespace": "team", "uid": "j"}
    document = {"metadata": {**metadata, "ownerReferences": references, "generation": 2}, "spec": None}
    assert keep(BY_KIND["batch", "Job"], document) == {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {**metadata, "ownerReferences": [whose]},
        "spec": None,
    }


@pytest.mark.parametrize("condition", ["Complete", "Failed"])
def test_what_is_finished_makes_no_pods(condition: str) -> None:
    for status, kept in (("True", False), ("False", True), (None, True)):
        conditions = [None, {"type": ["x"], "status": "True"}, {"type": condition, "status": status}]
        document = {"metadata": {"uid": "j"}, "spec": {}, "status": {"conditions": conditions}}
        assert (keep(BY_KIND["batch", "Job"], document) is not None) is kept


@pytest.mark.parametrize("rubbish", [None, 3, "x", [], {"uid": 3}, {"uid": ""}, {"uid": "u", "labels": 3}])
@pytest.mark.parametrize("kind", OWNER_KINDS, ids=lambda kind: kind.plural)
def test_rubbish_is_kept_as_nothing_or_as_rubbish_that_reads_alike(kind: OwnerKind, rubbish: Any) -> None:
    kept = keep(kind, {"metadata": rubbish, "spec": rubbish, "status": rubbish})
    if kept is not None:
        subject = Subject(
            namespace="team",
            name="",
            labels={row.label: "x" for row in (*OPERATORS, LAST[0]) if row.label},
            annotations={},
            spec={},
            controller=None,
            owners={"u": kept},
            size_of=lambda _: 0,
        )
        for row in (*OPERATORS, LAST[0]):
            row.read(subject)
