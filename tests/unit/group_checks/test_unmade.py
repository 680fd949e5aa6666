"""A gang that a policy puts into a PodGroup which nothing makes: its author gets one warning."""

from dataclasses import replace
from typing import Any

import pytest

from builders import gpu_pod, job, pod_group, review, workload_review
from podberth.admission import decide
from podberth.admission.review import decode_review
from podberth.admission.snapshot import Snapshot
from podberth.admission.workload import validate_workload
from podberth.check.run import CheckSettings
from podberth.check.sources import SourceFile, without_place
from podberth.checking.against import Gathered, LiveRequest, run_live
from podberth.checking.run import Policies
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


def ring(**template: Any) -> dict[str, Any]:
    """Return an Indexed Job of two whole machines."""
    pod = gpu_pod(8, annotations={"podberth.io/gang-size": "2"}, **template)
    made = job(pod, name="ring", indexed=True, parallelism=2)
    made["metadata"]["namespace"] = "ml"
    return made


def lines(by: Snapshot, **template: Any) -> list[str]:
    """Return what is said about the Job."""
    warnings = validate_workload(decode_review(workload_review(ring(**template), "jobs", namespace="ml")), by).warnings
    return [each for each in warnings if SAID in each]


def test_without_a_controller_the_author_of_a_gang_gets_one_warning() -> None:
    [line] = lines(known())
    assert line.startswith("podberth: spec.schedulingGroup.podGroupName: ")


def test_while_a_controller_runs_or_nobody_knows_nothing_is_said() -> None:
    assert lines(known(makerless=False)) == []


def test_a_group_that_the_author_names_is_the_authors() -> None:
    assert lines(known(), schedulingGroup={"podGroupName": "mine"}) == []


def test_a_group_of_the_same_name_that_the_author_names_is_the_authors_too() -> None:
    named: dict[str, Any] = {"labels": {"podberth.io/gang": "ring"}, "schedulingGroup": {"podGroupName": "ring"}}
    assert lines(known(), **named) == []
    pod = gpu_pod(8, annotations={"podberth.io/gang-size": "2"}, **named)
    pod["metadata"]["namespace"] = "ml"
    assert SAID not in str(decide.validate(decode_review(review(pod, namespace="ml")), known()).warnings)


def test_where_pod_groups_were_not_read_nothing_is_said() -> None:
    pod = gpu_pod(8, labels={"podberth.io/gang": "ring"}, annotations={"podberth.io/gang-size": "2"})
    pod["metadata"]["namespace"] = "ml"
    by = known()
    joined = apply(pod, decide.mutate(decode_review(review(pod, namespace="ml")), by).patch)
    unread = replace(by, facts=replace(by.facts, served=frozenset()))
    for snapshot_, said in ((by, True), (unread, False)):
        warnings = decide.validate(decode_review(review(joined, namespace="ml")), snapshot_).warnings
        assert (SAID in str(warnings)) is said


@pytest.mark.parametrize(("makerless", "objects", "said"), [(True, (), 1), (False, (), 0), (True, (GROUP,), 0)])
def test_a_bare_pod_gets_it_unless_its_group_is_there(*, makerless: bool, objects: tuple[Any, ...], said: int) -> None:
    pod = gpu_pod(8, labels={"podberth.io/gang": "ring"}, annotations={"podberth.io/gang-size": "2"})
    pod["metadata"]["namespace"] = "ml"
    by = known(*objects, makerless=makerless)
    joined = apply(pod, decide.mutate(decode_review(review(pod, namespace="ml")), by).patch)
    assert joined["spec"]["schedulingGroup"] == {"podGroupName": "ring"}
    warnings = decide.validate(decode_review(review(joined, namespace="ml")), by).warnings
    assert len([each for each in warnings if SAID in each]) == said


@pytest.mark.parametrize("makerless", [True, False])
def test_a_check_of_a_live_cluster_says_it_too(*, makerless: bool) -> None:
    served = {"apiVersion": "v1", "kind": "APIResourceList", "groupVersion": "scheduling.k8s.io/v1alpha2"}
    objects = [*cluster(hgx_h100_8=2), {**served, "resources": [{"name": "podgroups"}]}, ring()]
    sources = tuple(without_place("cluster", each) for each in objects)
    file = SourceFile(name="cluster", text="", documents=(), sources=sources, problems=())
    policies = Policies(texts=(("joins.yaml", JOINS),), problems=(), where="")
    request = LiveRequest(settings=CheckSettings(), objects=None)
    done = run_live(request, policies, Gathered(files=[file], is_makerless=makerless))
    found = [each.message for result in done.report.results for each in result.warnings]
    assert [SAID in each for each in found] == ([True] if makerless else [])
