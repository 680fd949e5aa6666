"""The policies that podberth ships: they compile, and the tests beside them pass."""

from pathlib import Path

import pytest

from podberth.cel.engine import Environment
from podberth.kube.schema import PodSchema
from podberth.policy.parse import ParsedPolicies, parse_policies
from podberth.suite.model import parse_suite
from podberth.suite.runner import run_suite

POLICIES = Path(__file__).parents[2] / "policies"
FOLDERS = tuple(sorted(path for path in POLICIES.iterdir() if path.is_dir()))
SUITE = "tests.yaml"


@pytest.fixture(scope="module")
def environment() -> Environment:
    return Environment(PodSchema.packaged())


def parsed(*folders: Path) -> ParsedPolicies:
    files = [path for folder in folders for path in sorted(folder.glob("*.yaml")) if path.name != SUITE]
    return parse_policies((str(path.relative_to(POLICIES)), path.read_text(encoding="utf-8")) for path in files)


def test_the_four_of_them_are_there() -> None:
    names = ["gang-topology", "gpu-tolerations", "mig-right-size", "multi-gpu-nvlink"]
    assert [folder.name for folder in FOLDERS] == names
    for folder in FOLDERS:
        assert folder.name in [each.policy.name for each in parsed(folder).policies]


def test_together_they_have_no_problem_and_run_in_this_order() -> None:
    everything = parsed(*FOLDERS)
    assert everything.problems == ()
    names = [each.policy.name for each in sorted(everything.policies, key=lambda each: each.policy.sort_key)]
    assert names == ["mig-right-size", "mig-not-offered", "gpu-tolerations", "multi-gpu-nvlink", "gang-topology"]


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: str(folder.name))
def test_the_tests_beside_a_policy_pass(folder: Path, environment: Environment) -> None:
    suite, problems = parse_suite((folder / SUITE).read_text(encoding="utf-8"), f"{folder.name}/{SUITE}")
    assert problems == ()
    assert suite is not None
    result = run_suite(suite, parsed(folder), environment)
    assert "\n".join(str(violation) for violation in result.violations) == ""


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: str(folder.name))
def test_a_suite_has_cases_that_change_and_cases_that_do_not(folder: Path, environment: Environment) -> None:
    suite, _ = parse_suite((folder / SUITE).read_text(encoding="utf-8"), SUITE)
    assert suite is not None
    verdicts = {case.verdict for case in run_suite(suite, parsed(folder), environment).cases}
    assert {"mutated", "unchanged"} <= verdicts


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: str(folder.name))
def test_a_policys_params_start_as_preferred_and_required_is_one_value_away(folder: Path) -> None:
    policies = parsed(folder)
    for each in policies.policies:
        reference = each.policy.spec.param_ref
        if reference is not None:
            assert reference.name == f"podberth-{each.policy.name}"
            assert policies.params["podberth-system", reference.name]["data"] == {"mode": "preferred"}
