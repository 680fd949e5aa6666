"""What is kept of a pod by whoever keeps thousands says the same of its gang as the whole pod."""

import inspect
import re
from collections.abc import Iterator
from dataclasses import replace
from types import ModuleType
from typing import Any

import pytest

from builders import gpu_pod, job_pod, owned
from named_owners import gang_of
from operator_pods import CASES, Case
from podberth.kinds import dossiers
from podberth.workload.gang_keys import GANG_KEYS, with_gang_keys
from podberth.workload.memberships import LAST, OPERATORS
from podberth.workload.owners import LOOKED_UP, OWNER_KINDS
from podberth.workload.stages import STAGES

JSON = dict[str, Any]
ROWS = (*OPERATORS, *LAST)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.source}-{case.name}")
def test_what_is_kept_of_a_pod_says_the_same_of_its_gang(case: Case) -> None:
    for document, _, _ in case.members:
        for owners in (case.owners, {}):
            # Who schedules it is said in its spec, and so is how many pods a model of KServe's has.
            whole = replace(gang_of(document, "default", owners), system="plain", accounted=False)
            kept = gang_of(with_gang_keys(document), "default", owners)
            size = 0 if case.source == "InferenceService" else whole.size
            assert replace(kept, system="plain", accounted=False, role=whole.role) == replace(whole, size=size)


def test_of_a_pod_nothing_else_is_kept() -> None:
    document = owned(
        gpu_pod(8, labels={"app": "x", "ray.io/cluster": "r"}, annotations={"note": "long"}), "Job", uid="j"
    )
    reference = {"apiVersion": "batch/v1", "kind": "Job", "name": document["metadata"]["ownerReferences"][0]["name"]}
    assert with_gang_keys(document) == {
        "metadata": {
            "name": document["metadata"].get("name"),
            "labels": {"ray.io/cluster": "r"},
            "annotations": {},
            "ownerReferences": [{**reference, "uid": "j", "controller": True}],
        }
    }


@pytest.mark.parametrize("key", ["volcano.sh/job-name", "podberth.io/gang-size"])
def test_a_value_that_is_longer_than_a_name_is_unknown(key: str) -> None:
    def kept(value: str) -> JSON:
        made: JSON = with_gang_keys(gpu_pod(8, annotations={key: value}))["metadata"]["annotations"]
        return made

    assert kept("x" * 253) == {key: "x" * 253}
    assert kept("x" * 254) == {}


def test_every_key_of_a_row_is_kept() -> None:
    named = {key for row in ROWS for key in (row.label, row.annotation, row.role) if key}
    assert named <= GANG_KEYS


def test_every_key_that_their_readers_ask_a_pod_for_is_kept() -> None:
    """The keys of an operator show its pods. If a pod of any kind names a group, the group says the size."""
    modules = [each for each in vars(dossiers).values() if isinstance(each, ModuleType) and hasattr(each, "DOSSIER")]
    readers = "".join(inspect.getsource(each) for each in modules if not each.DOSSIER.groups)
    asked = set(re.findall(r'pod\.(?:labels|annotations)(?:\.get\(|\[)\s*"([^"]+)"', readers))
    assert len(asked) > 20
    assert asked <= GANG_KEYS


# ---- whose size is an owner's to say --------------------------------------------------------------------------------


def _members() -> Iterator[tuple[Case, JSON]]:
    for case in CASES:
        for document, _, _ in case.members:
            yield case, document


def _controller(document: JSON) -> tuple[str, str]:
    references = document["metadata"].get("ownerReferences") or [{"apiVersion": "", "kind": ""}]
    return references[0]["apiVersion"], references[0]["kind"]


def test_a_member_whose_size_an_owner_says_is_known_as_such_until_that_owner_is_known() -> None:
    awaiting = set()
    for case, document in _members():
        alone = gang_of(document, "default", {})
        if alone.sized_by_owner:
            awaiting.add(case.source)
            assert alone.size == 0
            assert _controller(document) in LOOKED_UP
            assert not gang_of(document, "default", case.owners).sized_by_owner
    assert awaiting == {
        "Job",
        "JobSet",
        "PyTorchJob",
        "TFJob",
        "XGBoostJob",
        "PaddleJob",
        "JAXJob",
        "MPIJob",
        "VolcanoJob",
        "RayCluster",
        "PodCliqueSet",
        "RoleBasedGroup",
        "ModelServing",
        "RoleSet",
        "StatefulSet",
        "AscendJob",
    }


def test_every_kind_that_says_a_size_can_be_looked_up() -> None:
    kinds = {each.kind for each in OWNER_KINDS}
    # Before a CronJob has made its first Job, its template stands for it.
    assert {kind for row in ROWS for kind in row.sized_by} - kinds == {"CronJob"}


def test_every_kind_that_has_stages_can_be_looked_up() -> None:
    assert STAGES.keys() <= {each.kind for each in OWNER_KINDS}


@pytest.mark.parametrize("annotations", [{"podberth.io/gang-size": "4"}, {"podberth.io/gang-size": "many"}])
def test_who_says_a_size_needs_no_owner(annotations: JSON) -> None:
    found = gang_of(job_pod(0, annotations=annotations), "default", {})
    assert found.sized_by_owner == (found.size == 0)


def test_a_size_is_no_owners_where_the_label_names_another_group_or_nobody_can_look_the_owner_up() -> None:
    document = job_pod(0)
    assert gang_of(document, "default", {}).sized_by_owner
    name = gang_of(document, "default", {}).name
    document["metadata"]["labels"]["podberth.io/gang"] = name
    assert gang_of(document, "default", {}).sized_by_owner
    document["metadata"]["labels"]["podberth.io/gang"] = "mine"
    assert not gang_of(document, "default", {}).sized_by_owner
    strange = job_pod(0)
    strange["metadata"]["ownerReferences"][0]["apiVersion"] = "batch/v9"
    assert not gang_of(strange, "default", {}).sized_by_owner
