"""GPUPolicies over the policies of files: what replaces what, and that a broken one replaces nothing."""

from pathlib import Path
from typing import Any

import pytest

from exceptions import BEFORE, exception
from podberth.cel import compile_limits
from podberth.cel.compile_limits import MAX_ENTRIES
from podberth.cluster import layered_policies
from podberth.cluster.layered_policies import LayeredPolicies
from podberth.conventions import Conventions
from podberth.errors import PolicyError, Problem
from podberth.files.loading import PolicyFiles
from podberth.files.source import Loaded
from podberth.kube.documents import load_documents
from podberth.kube.schema import PodSchema
from snapshots import policy

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


def over(directory: Path | None) -> LayeredPolicies:
    """Return the source over the files of a directory, or over none."""
    return LayeredPolicies(PolicyFiles(directory) if directory else None, Conventions(), PodSchema.packaged())


GOOD = judging(["gpu.count < 9"], [])
BEYOND = {
    "too many parts": judging(
        ["variables.v59.size() > 0"] * MAX_ENTRIES, [_LONG, *(f"variables.v{at} + {_LONG}" for at in range(59))]
    ),
    "too many variables": judging(["true"], ["1", *(f"variables.v{at}" for at in range(999))]),
    "too long": judging(["'" + "a" * 600_000 + "' != ''"], []),
    "nested too deeply": nested(5_000),
}


def take(source: LayeredPolicies, *documents: dict[str, Any]) -> Loaded:
    source.take({each["metadata"]["name"]: each for each in documents})
    return source.load()


def loaded(source: LayeredPolicies, *documents: dict[str, Any]) -> dict[str, tuple[str, str]]:
    """Return what became of each policy: its state, and the first problem."""
    source.take({each["metadata"]["name"]: each for each in documents})
    return {each.name: (each.state, str((*each.problems, "")[0])) for each in source.load().verdicts}


@pytest.mark.parametrize("what", BEYOND)
def test_a_policy_that_was_stored_before_the_start_is_reported_and_the_others_are_in_force(what: str) -> None:
    source = over(None)
    found = loaded(source, stored("bad", 1, BEYOND[what]), stored("good", 1, GOOD))
    assert found["good"] == ("active", "")
    state, problem = found["bad"]
    assert state == "broken"
    assert problem.startswith("gpupolicy/bad:")
    assert [each.name for each in source.load().snapshot.policies] == ["good"]


@pytest.mark.parametrize("what", BEYOND)
def test_the_last_good_one_stays(what: str) -> None:
    source = over(None)
    loaded(source, stored("one", 1, GOOD))
    assert loaded(source, stored("one", 2, BEYOND[what]))["one"][0] == "outdated"
    assert [each.name for each in source.load().snapshot.policies] == ["one"]


def test_policies_in_force_come_first_if_there_is_no_room_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    # A fiftieth of the bound; tests/unit/policy/test_bounds.py has the bound itself.
    monkeypatch.setattr(compile_limits, "MAX_SET_PARTS", compile_limits.MAX_SET_PARTS // 50)
    wide = judging(["[" + ", ".join(["1"] * 190) + "].size() > 0"], [])
    source = over(None)
    old = [stored(f"m{at}", 1, wide) for at in range(10)]
    assert {state for state, _ in loaded(source, *old).values()} == {"active"}
    new = [stored("a", 1, wide), stored("z", 1, wide)]
    found = loaded(source, *new, *old)
    assert {name for name, (state, _) in found.items() if state == "active"} == {f"m{at}" for at in range(10)}
    assert "all policies together grows beyond" in found["a"][1]


# ---- over files -----------------------------------------------------------------------------------------------------

BROKEN = judging(["gpu.cuont < 9"], [])


def marks(loaded: Loaded) -> dict[str, int]:
    """Return the policies in force, by name, each with its order."""
    return {each.name: each.source.spec.order for each in loaded.snapshot.policies}


def files(directory: Path, **orders: int) -> Path:
    for name, order in orders.items():
        (directory / f"{name}.yaml").write_text(policy(name, "  mutations: [{labels: {a: gang.name}}]", order=order))
    return directory


def test_nothing_decides_before_the_policies_of_the_cluster_are_known(tmp_path: Path) -> None:
    source = over(files(tmp_path, a=1))
    before = source.revision()
    assert not source.load().complete
    found = take(source)
    assert found.complete
    assert marks(found) == {"a": 1}
    assert source.revision() != before


def test_an_object_replaces_the_policy_of_its_name_until_it_is_deleted(tmp_path: Path) -> None:
    source = over(files(tmp_path, a=1, b=2))
    found = take(source, stored("a", 1, {**GOOD, "order": 7}), stored("c", 1, {**GOOD, "order": 9}))
    assert marks(found) == {"b": 2, "a": 7, "c": 9}
    assert {each.name: each.replaces for each in found.verdicts} == {"a": str(tmp_path / "a.yaml"), "c": ""}
    assert marks(take(source)) == {"a": 1, "b": 2}


@pytest.mark.parametrize("spec", [{"disabled": True}, {"disabled": True, **GOOD}, {"disabled": True, **BROKEN}])
def test_a_disabled_object_switches_off_the_policy_of_its_name(tmp_path: Path, spec: Any) -> None:
    source = over(files(tmp_path, a=1, b=2))
    found = take(source, stored("a", 1, spec))
    assert marks(found) == {"b": 2}
    assert [(each.state, each.problems) for each in found.verdicts] == [("disabled", ())]
    assert marks(take(source)) == {"a": 1, "b": 2}


def test_of_a_broken_object_the_last_good_one_decides_else_that_of_files(tmp_path: Path) -> None:
    good, broken = stored("a", 1, {**GOOD, "order": 7}), stored("a", 2, BROKEN)
    source = over(files(tmp_path, a=1))
    assert marks(take(source, good)) == {"a": 7}
    found = take(source, broken)
    assert (marks(found), found.verdicts[0].state) == ({"a": 7}, "outdated")
    # A replica that has just started has seen no good one.
    found = take(over(tmp_path), broken)
    assert (marks(found), found.verdicts[0].state) == ({"a": 1}, "outdated")
    # An object that is switched off stays so.
    source = over(tmp_path)
    take(source, stored("a", 1, {"disabled": True}))
    assert marks(take(source, broken)) == {}


def test_the_last_good_one_of_a_deleted_object_does_not_decide_for_one_made_again(tmp_path: Path) -> None:
    source = over(files(tmp_path, a=1))
    take(source, stored("a", 1, {"disabled": True}))
    again = stored("a", 1, BROKEN)
    again["metadata"]["uid"] = "made again"
    found = take(source, again)
    assert (marks(found), found.verdicts[0].state) == ({"a": 1}, "outdated")


def test_files_that_break_stay_as_they_were_and_objects_go_on(tmp_path: Path) -> None:
    source = over(files(tmp_path, a=1, b=2))
    take(source, stored("a", 1, GOOD))
    file = tmp_path / "a.yaml"
    sound = file.read_text()
    # It is replaced, and broken all the same: whether files can be used does not depend on objects.
    file.write_text(sound.replace("gang.name", "gang.nmae"))
    found = take(source, stored("a", 1, GOOD), stored("c", 1, {**GOOD, "order": 9}))
    assert [each.file for each in found.refused] == [str(file)]
    assert marks(found) == {"b": 2, "a": 1000, "c": 9}
    # Until they are good, whatever else is loaded.
    assert [each.file for each in take(source, stored("a", 1, GOOD)).refused] == [str(file)]
    assert marks(take(source)) == {"a": 1, "b": 2}
    file.write_text(sound)
    assert take(source).refused == ()
    file.write_text(sound.replace("order: 1", "order: 3"))
    assert marks(source.load()) == {"b": 2, "a": 3}


def test_a_load_whose_time_was_over_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = over(files(tmp_path, a=1))
    before = take(source)
    source.take({"b": stored("b", 1, GOOD)})
    seen = source.revision()
    late = Problem(str(tmp_path / "a.yaml"), 1, 1, "", "the time was over")
    monkeypatch.setattr(layered_policies, "load_working", lambda *_: (before.snapshot, (late,)))
    with pytest.raises(PolicyError, match="the time was over"):
        source.load()
    monkeypatch.undo()
    assert source.revision() != seen
    assert set(marks(source.load())) == {"a", "b"}


def test_files_that_are_broken_at_the_start_are_an_error(tmp_path: Path) -> None:
    files(tmp_path, a=1)
    (tmp_path / "a.yaml").write_text("kind: GPUPolicy")
    source = over(tmp_path)
    for _ in range(2):
        with pytest.raises(PolicyError, match=r"a\.yaml"):
            source.load()


def test_params_of_files_are_those_of_an_object_that_replaces_a_policy(tmp_path: Path) -> None:
    params = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: p, namespace: podberth-system}\ndata: {a: '1'}\n"
    (files(tmp_path, a=1) / "params.yaml").write_text(params)
    assert ("podberth-system", "p") in take(over(tmp_path), stored("a", 1, GOOD)).snapshot.facts.config_maps


def test_a_verdict_is_about_the_object_that_was_loaded(tmp_path: Path) -> None:
    source = over(files(tmp_path, a=1))
    first, again = stored("b", 1, GOOD), stored("b", 1, GOOD)
    again["metadata"]["uid"] = "made again"
    take(source, first, stored("c", 1, GOOD))
    source.take({"b": again, "c": stored("c", 1, GOOD)})
    assert set(source.judged()) == {"c"}
    source.load()
    assert set(source.judged()) == {"b", "c"}


def excepting(name: str, *policies: str, generation: int = 1, **fields: Any) -> dict[str, Any]:
    [one], _ = load_documents(exception(name, *policies), "")
    document = one.document
    metadata = {**document["metadata"], "uid": name, "generation": generation}
    return {**document, "metadata": metadata, "spec": {**document["spec"], **fields}}


def in_force(source: LayeredPolicies, *documents: dict[str, Any]) -> list[str]:
    """Return what the exceptions in force except from, after these are the cluster's."""
    source.take_exceptions({each["metadata"]["name"]: each for each in documents})
    snapshot = source.load().snapshot.at(BEFORE)
    return [f"{each.name}: {','.join(each.policies)}" for each in snapshot.in_force.get("default", ())]


def test_an_exception_of_the_cluster_replaces_that_of_its_name_from_files_until_it_is_gone(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(policy("a", "  mutations: [{labels: {a: gang.name}}]"))
    (tmp_path / "e.yaml").write_text(exception("e", "a"))
    source = over(tmp_path)
    source.take({})
    assert in_force(source) == ["e: a"]
    before = source.revision()
    assert in_force(source, excepting("e", "b"), excepting("f", "a")) == ["e: b", "f: a"]
    assert source.revision() != before
    assert in_force(source) == ["e: a"]


def test_a_broken_exception_of_the_cluster_has_no_effect_and_breaks_nothing_else() -> None:
    source = over(None)
    broken = excepting("e", "good", expression="gpu.cuont == 1"), excepting("f", "good", expiresAt="soon")
    take(source, stored("good", 1, GOOD))
    assert in_force(source, *broken, excepting("g", "good")) == ["g: good"]
    made = source.load()
    assert [each.state for each in made.verdicts] == ["active"]
    assert sorted({each.file for each in made.snapshot.notes}) == ["gpupolicyexception/e", "gpupolicyexception/f"]


def test_exceptions_of_the_cluster_take_no_room_from_those_of_files(tmp_path: Path) -> None:
    costly = "object.spec.containers.all(c, c.env.all(e, e.name.startsWith('a') || e.value.size() > 3))"
    (tmp_path / "a.yaml").write_text(policy("a", "  mutations: [{labels: {a: gang.name}}]"))
    (tmp_path / "z.yaml").write_text(exception("z", "a", more=f"  expression: {costly}\n"))
    source = over(tmp_path)
    many = [excepting(f"e{at:03}", "a", expression=costly) for at in range(300)]
    source.take_exceptions({each["metadata"]["name"]: each for each in many})
    snapshot = source.load().snapshot
    names = [each.name for each in snapshot.exceptions]
    assert 1 < len(names) < 300
    assert names[-1] == "z"
    assert {each.file for each in snapshot.notes} <= {f"gpupolicyexception/e{at:03}" for at in range(300)}


def test_a_change_of_an_exception_that_keeps_its_generation_loads_nothing() -> None:
    source = over(None)
    source.take_exceptions({"e": excepting("e", "a")})
    before = source.revision()
    source.take_exceptions({"e": {**excepting("e", "a"), "extra": 1}})
    assert source.revision() == before
    source.take_exceptions({"e": excepting("e", "b", generation=2)})
    assert source.revision() != before
