"""What is done for a workload grows with its roles and no faster; what is beyond a bound is said. Nothing is timed."""

import json
from functools import partial
from typing import Any

import pytest
from bench import roles as roles_of_bench
from bench.genome import Genome
from bench.many_roles import workloads

from builders import gpu_pod, owned, template, workload, workload_review
from calls import calls
from checking import checked
from named_owners import gang_of
from podberth.admission.outcome import Outcome
from podberth.admission.review import decode_review
from podberth.admission.workload import MOST_ACCELERATED, MOST_CHOICES, decide_on, validate_workload
from podberth.check.report.difference import difference
from podberth.check.report.excerpt import excerpts
from podberth.check.report.results import operations
from podberth.check.report.text import lines
from podberth.check.result import Report, Result
from podberth.group_checks import levels
from podberth.group_checks.case import MOST_ROLES
from podberth.group_checks.least_pods import start_of
from podberth.kinds import roles
from podberth.kinds.roles import MOST_KINDS, MOST_PARTS
from podberth.kube import yaml_text
from podberth.kube.json_patch import edit
from podberth.kube.selector import LabelSets
from podberth.topology.need import pods_per_node
from podberth.topology.node_sets import select
from podberth.topology.room import lacks
from podberth.workload import templates
from podberth.workload.extent import MOST_TEMPLATES
from podberth.workload.gangs import Gang
from podberth.workload.owners import OWNER_KINDS, keep
from snapshots import cluster, policy, snapshot

JSON = dict[str, Any]
SHAPES = tuple(workloads(1))
WRITES = policy("writes", "  mutations:\n  - tolerations: \"[{'key': 'nvidia.com/gpu', 'operator': 'Exists'}]\"")


def review(document: JSON) -> Outcome:
    by = snapshot(WRITES, objects=cluster(hgx_h100_8=3))
    return validate_workload(decode_review(workload_review(document, "many")), by)


def patched(result: Result) -> tuple[JSON, JSON]:
    """Return the whole document before and after the changes."""
    assert result.source is not None
    before = edit(result.source.document, operations(result.earlier), lambda _path, _value: None)
    return before, edit(before, operations(result.changes), lambda _path, _value: None)


def check(document: JSON) -> Report:
    found = checked(json.dumps(document), by=snapshot(WRITES))
    list(lines(found))
    return found


def test_a_workload_of_more_roles_is_not_judged_at_all() -> None:
    for kind, document in workloads(MOST_TEMPLATES + 1).items():
        [warning] = review(document).warnings
        assert f"too many pod templates to be judged: got more than {MOST_TEMPLATES}" in warning, kind


@pytest.mark.parametrize("alike", [True, False], ids=["alike", "different"])
def test_a_review_judges_no_more_of_many_roles(*, alike: bool) -> None:
    for document in workloads(MOST_TEMPLATES, alike=alike).values():
        counted = calls(partial(review, document))
        assert counted[decide_on.__code__] == MOST_ROLES
        assert counted[templates._present.__code__] == MOST_ROLES + 1
        assert counted[roles.asks_in.__code__] <= 300


def shape(**fields: Any) -> JSON:
    return roles_of_bench.build(roles_of_bench.Shape(Genome(gpus="8"), **fields), 0)


@pytest.mark.parametrize("differing", ["devices", "memory", "choice"])
def test_a_review_judges_no_more_ways_to_choose_nodes_than_there_is_time_for(differing: str) -> None:
    document = shape(roles=64, differing=differing)
    counted = calls(partial(review, document))
    assert counted[decide_on.__code__] == MOST_ACCELERATED
    # One more is read, which says that there are more.
    assert counted[templates._present.__code__] == MOST_ACCELERATED + 1
    assert counted[select.__code__] <= 2 * MOST_ACCELERATED
    ways = f"{MOST_CHOICES} choices of nodes in the pod templates, or {MOST_ACCELERATED} with accelerators"
    said = f"got more than {ways}: only the first {MOST_ACCELERATED} are"
    assert said in review(document).warnings[0]


def test_a_term_of_pod_affinity_is_not_compared_with_each_role() -> None:
    few, many = (calls(partial(review, shape(roles=number, company=8))) for number in (4, MOST_ROLES))
    times = MOST_ROLES // 4
    for code in (LabelSets.selected.__code__, levels._Roles.selected.__code__, pods_per_node.__code__):
        assert 0 < many[code] <= times * few[code]
    # What is wanted is the same of all roles, and of each level it is asked once.
    for code in (start_of.__code__, lacks.__code__):
        assert 0 < many[code] == few[code]


@pytest.mark.parametrize("shape", ["JobSet", "PodCliqueSet", "MPIJob", "AppWrapper"])
def test_a_check_does_for_twice_the_roles_twice_as_much(shape: str) -> None:
    # The report compares a document of up to 64 roles as a whole.
    few, many = (calls(partial(check, workloads(number)[shape])) for number in (65, 130))
    for each in (templates._present, roles.asks_in, yaml_text.entry):
        assert many[each.__code__] <= 2.2 * few[each.__code__]


@pytest.mark.parametrize("shape", [each for each in SHAPES if each != "AppWrapper"])
def test_an_owner_is_read_once_for_all_its_roles(shape: str) -> None:
    counted = calls(lambda: checked(json.dumps(workloads(20)[shape]), by=snapshot()))
    assert counted[roles.asks_in.__code__] == 20


def test_a_review_says_that_it_has_not_judged_all() -> None:
    line = (
        f"podberth: got more than {MOST_ROLES} pod templates: only the first {MOST_ROLES} are judged, and groups and "
        "queues not at all; for all of them: podberth check"
    )
    assert review(workloads(MOST_ROLES + 1)["JobSet"]).warnings[0] == line
    assert line not in review(workloads(MOST_ROLES)["JobSet"]).warnings


def test_a_check_judges_all_and_says_that_it_has_not_compared_them() -> None:
    found = check(workloads(MOST_ROLES + 1)["JobSet"])
    assert found.count("mutated") == MOST_ROLES + 1
    said = f"got {MOST_ROLES + 1} pod templates, want {MOST_ROLES} at most to be compared: its groups are not checked"
    assert [each.message for result in found.results for each in result.warnings] == [said]
    assert not any(result.warnings for result in check(workloads(MOST_ROLES)["JobSet"]).results)


def test_of_a_long_document_the_difference_is_what_it_would_be_of_the_whole() -> None:
    for shape in ("JobSet", "MPIJob"):
        found = [each for each in check(workloads(70)[shape]).results if each.changes]
        assert len(found) == 70
        for each in (found[0], found[-1]):
            whole, part = patched(each), excerpts(each)
            assert part is not None
            assert difference(*part) == difference(*whole)
            assert len(json.dumps(part)) < len(json.dumps(whole)) / 10


# ---- the pods' own reviews ------------------------------------------------------------------------------------------
def of_jobs(*made: JSON) -> Gang:
    jobs = [{"name": f"a{number}", "template": {"spec": {"template": each}}} for number, each in enumerate(made)]
    owner = workload("jobset.x-k8s.io/v1alpha2", "JobSet", {"replicatedJobs": jobs})
    labels = {"jobset.sigs.k8s.io/jobset-name": "work"}
    member = owned(gpu_pod(8, labels=labels), "JobSet", api_version="jobset.x-k8s.io/v1alpha2", uid="u")
    return gang_of(member, "default", {"u": owner})


def asking(number: int) -> JSON:
    made: JSON = template(gpu_pod(8))
    made["spec"]["containers"][0]["resources"]["limits"]["example.com/other"] = str(number + 1)
    return made


def test_of_roles_beyond_the_bounds_the_gang_says_so_and_keeps_its_size() -> None:
    assert len(of_jobs(*map(asking, range(MOST_KINDS))).roles) == MOST_KINDS
    assert not of_jobs(*map(asking, range(MOST_KINDS))).problems

    kinds = of_jobs(*map(asking, range(MOST_KINDS + 1)))
    assert (kinds.size, kinds.roles) == (MOST_KINDS + 1, ())
    [problem] = kinds.problems
    assert problem.startswith("roles: got 17 that ask for different things, want 16 at most: levels are chosen as if")
    parts = of_jobs(*[template(gpu_pod(8))] * (MOST_PARTS + 1))
    assert (parts.size, parts.roles) == (MOST_PARTS + 1, ())
    assert parts.problems == ("roles: got 257 of its owner, want 256 at most: what they ask is not read",)


def test_of_an_owner_nothing_is_kept_where_its_parts_have_too_many_parts() -> None:
    [kind] = [each for each in OWNER_KINDS if each.kind == "RoleBasedGroup"]

    def group(components: int) -> JSON:
        pattern = {"components": [{"size": 1, "template": template(gpu_pod(8))}] * components}
        found = workload(
            "workloads.x-k8s.io/v1alpha2", "RoleBasedGroup", {"roles": [{"customComponentsPattern": pattern}] * 8}
        )
        found["metadata"]["uid"] = "u"
        return found

    assert keep(kind, group(MOST_PARTS // 2 - 1)) is not None
    with pytest.raises(ValueError, match=r"^got 1,032 parts of parts, want 1,024 at most$"):
        keep(kind, group(MOST_PARTS // 2))
