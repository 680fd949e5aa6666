"""GPUPolicies over the policies of files, as `podberth check --cluster` judges by both."""

from podberth.checking.run import Policies
from podberth.facts.cluster import ClusterFacts
from snapshots import policy

SPEC = "  mutations: [{labels: {a: gang.name}}]"


def judging(*objects: str) -> tuple[dict[str, int], list[str], list[str]]:
    """Return the policies in force with their orders, those that the report lists, and the problems."""
    files = [(f"{name}.yaml", policy(name, SPEC, order=1)) for name in "ab"]
    texts = [(f"gpupolicy/{number}", text) for number, text in enumerate(objects)]
    policies = Policies(texts=files, problems=(), where="", objects=texts)
    snapshot, parsed, problems = policies.load(ClusterFacts(), (), None)
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


def test_an_object_that_cannot_be_parsed_replaces_nothing_and_is_reported() -> None:
    assert judging(policy("a", "  mutatoins: []")) == ({"a": 1, "b": 1}, ["a", "b"], ["gpupolicy/0"])
