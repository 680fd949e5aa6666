"""GPUPolicies over the policies of files, as `podberth check --cluster` judges by both."""

import pytest

from exceptions import BEFORE as NOW
from podberth.check.run import CheckSettings
from podberth.checking.against import Gathered, LiveRequest, run_live
from podberth.checking.run import Policies
from podberth.facts.cluster import ClusterFacts
from podberth.files.cluster_files import ClusterFiles
from snapshots import policy

SPEC = "  mutations: [{labels: {a: gang.name}}]"


def judging(*objects: str) -> tuple[dict[str, int], list[str], list[str]]:
    """Return the policies in force with their orders, those that the report lists, and the problems."""
    files = [(f"{name}.yaml", policy(name, SPEC, order=1)) for name in "ab"]
    texts = [(f"gpupolicy/{number}", text) for number, text in enumerate(objects)]
    policies = Policies(texts=files, problems=(), where="", objects=texts)
    snapshot, parsed, problems = policies.load(ClusterFacts(), (), ClusterFiles(), NOW)
    in_force = {each.name: each.source.spec.order for each in snapshot.policies}
    return in_force, sorted(each.policy.name for each in parsed.policies), [each.file for each in problems]


def test_an_object_replaces_the_policy_of_its_name_and_a_disabled_one_switches_it_off() -> None:
    assert judging() == ({"a": 1, "b": 1}, ["a", "b"], [])
    assert judging(policy("a", SPEC, order=7), policy("c", SPEC, order=8)) == (
        {"b": 1, "a": 7, "c": 8},
        ["a", "b", "c"],
        [],
    )
    assert judging(policy("a", "  disabled: true")) == ({"b": 1}, ["b"], [])


@pytest.mark.parametrize("spec", ["  mutatoins: []", "  mutations: [{labels: {a: gang.nmae}}]"])
def test_an_object_that_does_not_compile_replaces_nothing_and_is_reported(spec: str) -> None:
    good = policy("b", SPEC, order=7)
    assert judging(policy("a", spec), good) == ({"a": 1, "b": 7}, ["a", "b"], ["gpupolicy/0"])
    assert judging(policy("c", spec), good) == ({"a": 1, "b": 7}, ["a", "b"], ["gpupolicy/0"])


@pytest.mark.parametrize(("file", "broken"), [("gpupolicy/a", False), ("a.yaml", True)])
def test_a_broken_object_is_said_and_does_not_break_the_check(file: str, broken: bool) -> None:
    texts = {file: policy("a", "  mutations: [{labels: {a: gang.nmae}}]"), "b.yaml": policy("b", SPEC)}
    objects = [each for each in texts.items() if each[0].startswith("gpupolicy/")]
    files = [each for each in texts.items() if each not in objects]
    request = LiveRequest(settings=CheckSettings(), objects=None, as_if=())
    policies = Policies(texts=files, problems=(), where="", objects=objects)
    done = run_live(request, policies, Gathered(files=[]))
    assert any(file in line and "nmae" in line for line in done.talk)
    assert done.broken_policies == broken
