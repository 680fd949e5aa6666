"""A stored policy beyond a bound affects no other policy, and does not replace the last good one."""

from typing import Any

import pytest

from podberth.api.protocol import POLICIES
from podberth.cel import bounds
from podberth.cel.bounds import MAX_ENTRIES
from podberth.cluster.policy_objects import PolicyObjects
from podberth.conventions import Conventions
from podberth.kube.schema import PodSchema

_LONG = "[" + ", ".join(["1"] * 150) + "]"


def stored(name: str, generation: int, spec: Any) -> dict[str, Any]:
    metadata = {"name": name, "uid": name, "generation": generation}
    return {"apiVersion": "podberth.io/v1alpha1", "kind": "GPUPolicy", "metadata": metadata, "spec": spec}


def judging(expressions: list[str], variables: list[str]) -> dict[str, Any]:
    return {
        "variables": [{"name": f"v{at}", "expression": each} for at, each in enumerate(variables)],
        "validations": [{"expression": each, "message": "m"} for each in expressions],
        "validationActions": ["Warn"],
    }


def nested(depth: int) -> Any:
    deep: Any = {}
    for _ in range(depth):
        deep = {"a": deep}
    return deep


GOOD = judging(["gpu.count < 9"], [])
BEYOND = {
    "too many parts": judging(
        ["variables.v59.size() > 0"] * MAX_ENTRIES, [_LONG, *(f"variables.v{at} + {_LONG}" for at in range(59))]
    ),
    "too many variables": judging(["true"], ["1", *(f"variables.v{at}" for at in range(999))]),
    "too long": judging(["'" + "a" * 600_000 + "' != ''"], []),
    "nested too deeply": nested(5_000),
}


def loaded(source: PolicyObjects, *documents: dict[str, Any]) -> dict[str, tuple[str, str]]:
    """Return what became of each policy: its state, and the first problem."""
    source.take({POLICIES: {each["metadata"]["name"]: each for each in documents}})
    return {each.name: (each.state, str((*each.problems, "")[0])) for each in source.load().verdicts}


@pytest.mark.parametrize("what", BEYOND)
def test_a_policy_that_was_stored_before_the_start_is_reported_and_the_others_are_in_force(what: str) -> None:
    source = PolicyObjects(Conventions(), PodSchema.packaged())
    found = loaded(source, stored("bad", 1, BEYOND[what]), stored("good", 1, GOOD))
    assert found["good"] == ("active", "")
    state, problem = found["bad"]
    assert state == "broken"
    assert problem.startswith("gpupolicy/bad:")
    assert [each.name for each in source.load().snapshot.policies] == ["good"]


@pytest.mark.parametrize("what", BEYOND)
def test_the_last_good_one_stays(what: str) -> None:
    source = PolicyObjects(Conventions(), PodSchema.packaged())
    loaded(source, stored("one", 1, GOOD))
    assert loaded(source, stored("one", 2, BEYOND[what]))["one"][0] == "outdated"
    assert [each.name for each in source.load().snapshot.policies] == ["one"]


def test_policies_in_force_come_first_if_there_is_no_room_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    # A fiftieth of the bound; tests/unit/policy/test_bounds.py has the bound itself.
    monkeypatch.setattr(bounds, "MAX_SET_PARTS", bounds.MAX_SET_PARTS // 50)
    wide = judging(["[" + ", ".join(["1"] * 190) + "].size() > 0"], [])
    source = PolicyObjects(Conventions(), PodSchema.packaged())
    old = [stored(f"m{at}", 1, wide) for at in range(10)]
    assert {state for state, _ in loaded(source, *old).values()} == {"active"}
    new = [stored("a", 1, wide), stored("z", 1, wide)]
    found = loaded(source, *new, *old)
    assert {name for name, (state, _) in found.items() if state == "active"} == {f"m{at}" for at in range(10)}
    assert "all policies together grows beyond" in found["a"][1]
