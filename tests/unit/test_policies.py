"""The policies that podberth ships: they compile, and the tests beside them pass."""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TypeAlias

import pytest

from builders import gpu_pod, pod, review
from podberth.admission.decide import mutate, validate
from podberth.admission.review import decode_review
from podberth.admission.snapshot import load_snapshot, load_working
from podberth.cel.cost import MAX_MICROSECONDS
from podberth.cel.engine import Environment
from podberth.conventions import Conventions
from podberth.facts.cluster import collect
from podberth.kube.schema import PodSchema
from podberth.policy.compile import compile_policies
from podberth.policy.parse import ParsedPolicies, parse_policies
from podberth.suite.case_file import parse_suite
from podberth.suite.runner import SuiteResult, run_suite
from snapshots import cluster

ROOT = Path(__file__).parents[2]
ON, OFF = (
    tuple(sorted(path for path in (ROOT / name).iterdir() if path.is_dir()))
    for name in ("policies", "optional-policies")
)
FOLDERS = (*ON, *OFF)
SUITE = "tests.yaml"

Tested: TypeAlias = Callable[[Path], SuiteResult]


@pytest.fixture(scope="module")
def environment() -> Environment:
    return Environment(PodSchema.packaged())


@pytest.fixture(scope="module")
def tested(environment: Environment) -> Tested:
    """Return what runs the suite of a folder, once for all tests."""

    @cache
    def run(folder: Path) -> SuiteResult:
        suite, problems = parse_suite((folder / SUITE).read_text(encoding="utf-8"), f"{folder.name}/{SUITE}")
        assert problems == ()
        assert suite is not None
        return run_suite(suite, parsed(folder), environment)

    return run


def parsed(*folders: Path) -> ParsedPolicies:
    files = [path for folder in folders for path in sorted(folder.glob("*.yaml")) if path.name != SUITE]
    return parse_policies((str(path.relative_to(ROOT)), path.read_text(encoding="utf-8")) for path in files)


def test_each_folder_is_named_after_its_policy_and_says_what_it_is_for_and_why() -> None:
    for folder in FOLDERS:
        policies = {each.policy.name: each.policy for each in parsed(folder).policies}
        assert folder.name in policies
        assert all(policy.spec.description for policy in policies.values())
        assert (folder / "policy.yaml").read_text(encoding="utf-8").startswith("# ")


def test_together_they_have_no_problem_and_run_in_this_order() -> None:
    assert parsed(*FOLDERS).problems == ()
    names = [each.policy.name for each in sorted(parsed(*ON).policies, key=lambda each: each.policy.sort_key)]
    assert names == [
        "mig-right-size",
        "mig-not-offered",
        "spot-and-priority",
        "arm64-gpu-nodes",
        "gpu-tolerations",
        "product-affinity",
        "inference-roles",
        "multi-gpu-nvlink",
        "multi-node-nvlink",
        "gang-topology",
        "requests-equal-limits",
        "shared-gpu-count",
        "shared-gpu-count-by-label",
        "shm-and-limits",
        "vendor-names",
        "vendor-name-not-offered",
        "vendor-name-unserved",
        "whole-gpu-not-offered",
        "product-never-written",
        "idle-guard",
        "model-fits-memory",
        "node-health",
    ]


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_none_is_near_the_most_that_a_policy_may_cost(folder: Path, environment: Environment) -> None:
    # Prices that are measured on another day or machine differ, and must not refuse what is shipped.
    policies, problems = compile_policies(parsed(folder).policies, environment)
    assert problems == ()
    for policy in policies:
        assert policy.cost_microseconds <= MAX_MICROSECONDS * 0.7


def test_what_is_about_every_pod_is_off_unless_it_speaks_of_devices() -> None:
    about_all = {each.policy.name for each in parsed(*ON).policies if each.policy.spec.scope == "All"}
    assert about_all == {"vendor-names", "vendor-name-unserved"}


def test_a_wrong_name_is_the_same_with_and_without_known_nodes() -> None:
    policies = {each.policy.name: each.policy.spec for each in parsed(ROOT / "policies/vendor-names").policies}
    names = {
        each: next(entry.expression for entry in policies[each].variables if entry.name == "right")
        for each in ("vendor-names", "vendor-name-unserved")
    }
    assert names["vendor-names"] == names["vendor-name-unserved"]


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: str(folder.name))
def test_the_tests_beside_a_policy_pass(folder: Path, tested: Tested) -> None:
    assert "\n".join(str(violation) for violation in tested(folder).violations) == ""


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: str(folder.name))
def test_a_suite_has_cases_of_everything_that_the_policies_do_and_of_pods_left_alone(
    folder: Path, tested: Tested
) -> None:
    cases = tested(folder).cases
    done = {("Deny" if case.verdict == "denied" else "") for case in cases}
    done |= {"Warn" for case in cases if case.verdict == "unchanged" and case.warnings}
    done |= {"mutations" for case in cases if case.verdict == "mutated"}
    for each in parsed(folder).policies:
        assert {*each.policy.spec.validation_actions, *(["mutations"] if each.policy.spec.mutations else [])} <= done
    assert any(case.verdict == "unchanged" and not case.warnings for case in cases)


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: str(folder.name))
def test_a_policys_params_stand_beside_it_and_choose_the_mild_mode(folder: Path) -> None:
    policies = parsed(folder)
    for each in policies.policies:
        reference = each.policy.spec.param_ref
        if reference is not None:
            assert reference.name == f"podberth-{each.policy.name}"
            data = policies.params["podberth-system", reference.name]["data"]
            assert data.get("mode", "preferred") == "preferred"


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: str(folder.name))
def test_params_are_read_behind_the_conditions(folder: Path) -> None:
    """A condition that reads params cannot be asked with the others, nor remembered (docs/adr/0005-recall.md)."""
    conditions = [each for policy in parsed(folder).policies for each in policy.policy.spec.match_conditions]
    assert conditions
    assert not any("params" in each.expression for each in conditions)


def test_of_policies_that_were_tested_a_review_compiles_what_it_needs(environment: Environment) -> None:
    snapshot, problems = load_working(parsed(*ON), collect([], now=None), environment, Conventions(), checked=True)
    assert problems == ()
    request = decode_review(review(gpu_pod(1)))
    mutate(request, snapshot)
    validate(request, snapshot)
    assert not all(each.is_compiled for each in snapshot.policies)


@pytest.mark.parametrize("order", [1, -1])
def test_a_container_that_autopilot_completes_hides_no_other(environment: Environment, order: int) -> None:
    one = {"name": "a", "resources": {"requests": {"nvidia.com/gpu": "1"}}}
    other = {"name": "b", "resources": {"requests": {"nvidia.com/gpu": "1"}, "limits": {"nvidia.com/gpu": "2"}}}
    document = pod(*[one, other][::order], nodeSelector={"cloud.google.com/gke-accelerator": "nvidia-l4"})
    policies = parsed(ROOT / "policies" / "requests-equal-limits")
    snapshot = load_snapshot(policies, collect([], now=None), environment, Conventions())
    outcome = validate(decode_review(review(document)), snapshot)
    assert outcome.verdict == "denied"
    assert "container b" in outcome.decisions[0].message


def test_a_clique_that_one_policy_has_drawn_a_gang_to_is_no_conflict_with_the_other(environment: Environment) -> None:
    folders = [ROOT / "policies" / name for name in ("multi-node-nvlink", "gang-topology")]
    nodes = cluster(gb200_tray=4, hgx_h100_8=2)
    known = load_snapshot(parsed(*folders), collect(nodes, now=None), environment, Conventions())
    channel = "compute-domain-channel"
    document = gpu_pod(
        4,
        tolerations=[{"operator": "Exists"}],
        resourceClaims=[{"name": channel, "resourceClaimTemplateName": channel}],
        labels={"podberth.io/gang": "ring"},
        annotations={"podberth.io/gang-size": "2"},
    )
    document["spec"]["containers"][0]["resources"]["claims"] = [{"name": channel}]
    outcome = mutate(decode_review(review(document)), known)

    assert [line for line in outcome.warnings if "conflict" in line] == []
    assert "nvidia.com/gpu.clique" in str(outcome.patch)
