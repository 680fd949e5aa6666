"""The suites of the shipped policies, with every expression evaluated by both engines."""

from pathlib import Path

import pytest

from podberth.files.loading import SuiteFiles, find_suites
from podberth.kube.schema import PodSchema
from podberth.policy.parse import parse_policies
from podberth.suite.case_file import parse_suite
from podberth.suite.runner import SuiteSettings, run_suite
from second_engine import ComparingEnvironment

ROOT = Path(__file__).parents[2]
SUITES = [suite for folder in ("policies", "optional-policies") for suite in find_suites(ROOT / folder)]


@pytest.fixture(scope="module")
def comparing() -> ComparingEnvironment:
    return ComparingEnvironment(PodSchema.packaged())


@pytest.mark.parametrize("files", SUITES, ids=lambda files: Path(files.suite[0]).parent.name)
def test_both_engines_agree_on_every_expression_of_a_shipped_policy(
    files: SuiteFiles, comparing: ComparingEnvironment
) -> None:
    file, text = files.suite
    suite, problems = parse_suite(text, file)
    assert suite is not None, problems
    goldens = SuiteSettings(goldens={Path(name).name: golden for name, golden in files.goldens})
    before = comparing.agreed
    comparing.differences.clear()
    assert run_suite(suite, parse_policies(files.policies), comparing, goldens).violations == ()
    assert list(comparing.differences) == []
    assert comparing.agreed > before


def test_only_libraries_that_the_second_engine_lacks_are_left_to_an_explanation(
    comparing: ComparingEnvironment,
) -> None:
    assert comparing.explained.keys() <= {"libraries"}  # sort() of vendor-names
