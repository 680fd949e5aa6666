"""A gang that a policy puts into a PodGroup which nothing makes: its author gets one warning."""

from dataclasses import replace
from typing import Any

import pytest

from builders import gpu_pod, pod_group, review, workload_review
from podberth.admission import decide
from podberth.admission.review import decode_review
from podberth.admission.snapshot import Snapshot
from podberth.admission.workload import validate_workload
from podberth.kube.patch import apply
from snapshots import cluster, policy, snapshot

JOINS = policy(
    "joins",
    "  matchConditions: [{name: member, expression: gang.known}]\n"
    "  mutations:\n  - gang: {name: gang.name, size: gang.size, system: \"'native'\"}",
)
GROUP = pod_group("ring", 2)
GROUP["metadata"]["namespace"] = "ml"
SAID = "the pods wait for a PodGroup that nothing makes, for no podberth controller runs"


def known(*objects: dict[str, Any], makerless: bool = True) -> Snapshot:
    """Return a cluster that serves native PodGroups, and a policy that has each gang join one."""
    found = snapshot(JOINS, objects=[*cluster(hgx_h100_8=2), *objects])
    served = frozenset({"scheduling.k8s.io"})
    return replace(found, facts=replace(found.facts, listed=True, served=served, is_makerless=makerless))


def lines(by: Snapshot, gang: str = "ring", **template: Any) -> list[str]:
    """Return what is said about an Indexed Job of two whole machines."""
    pod = gpu_pod(8, annotations={"podberth.io/gang-size": "2"}, subdomain=gang, restartPolicy="Never", **template)
    spec = {"completionMode": "Indexed", "parallelism": 2, "completions": 2, "template": pod}
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": gang, "namespace": "ml"}, "spec": spec}
    warnings = validate_workload(decode_review(workload_review(job, "jobs", namespace="ml")), by).warnings
    return [each for each in warnings if SAID in each]


def test_without_a_controller_the_author_of_a_gang_gets_one_warning() -> None:
    [line] = lines(known())
    assert line.startswith("podberth: spec.schedulingGroup.podGroupName: ")


def test_while_a_controller_runs_or_nobody_knows_nothing_is_said() -> None:
    assert lines(known(makerless=False)) == []


def test_a_group_that_the_author_names_is_the_authors() -> None:
    assert lines(known(), schedulingGroup={"podGroupName": "mine"}) == []


@pytest.mark.parametrize(("makerless", "objects", "said"), [(True, (), 1), (False, (), 0), (True, (GROUP,), 0)])
def test_a_bare_pod_gets_it_unless_its_group_is_there(*, makerless: bool, objects: tuple[Any, ...], said: int) -> None:
    pod = gpu_pod(8, labels={"podberth.io/gang": "ring"}, annotations={"podberth.io/gang-size": "2"})
    pod["metadata"]["namespace"] = "ml"
    by = known(*objects, makerless=makerless)
    joined = apply(pod, decide.mutate(decode_review(review(pod, namespace="ml")), by).patch)
    assert joined["spec"]["schedulingGroup"] == {"podGroupName": "ring"}
    warnings = decide.validate(decode_review(review(joined, namespace="ml")), by).warnings
    assert len([each for each in warnings if SAID in each]) == said
