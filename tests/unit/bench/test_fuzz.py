"""A slice of the fuzz (``python -m bench.fuzz``), and proof that each of its checks can fail."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from math import inf
from random import Random
from typing import Any, get_args

import orjson
import pytest
from bench.fuzz import pods
from bench.fuzz.batches import Part, results, run, total
from bench.fuzz.material import material
from bench.fuzz.stories import features
from bench.fuzz.tally import Check, Tally
from bench.fuzz.values import with_raw
from bench.fuzz.worlds import WORLDS

from podberth.admission import decide, response
from podberth.admission.outcome import Outcome
from podberth.admission.review import AdmissionRequest
from podberth.admission.snapshot import Snapshot
from podberth.server.state import Decider

SEED = 7
CASES = 80
# Few, for each takes as long as a hundred others.
LARGE = {"a list at its bound", "a large text"}


@cache
def slice_of_each_world() -> Tally:
    whole = Tally()
    for number in range(len(set(WORLDS)) + 1):  # a world is repeated before the last has come
        whole.add(run(SEED, number, Part(cases=CASES)))
    return whole


@pytest.mark.parametrize("check", sorted(get_args(Check)))
def test_nothing_is_violated(check: Check) -> None:
    tally = slice_of_each_world()
    assert tally.checked[check] > 100
    assert tally.first.get(check, []) == []


def test_every_feature_and_every_verdict_is_among_the_cases() -> None:
    tally = slice_of_each_world()
    assert set(tally.features) >= features() - LARGE
    seen = {(row.path, row.operation, row.verdict) for row in tally.reviews}
    for path, operation, verdicts in (
        ("/mutate", "CREATE", ("allowed", "mutated", "denied", "error")),
        ("/mutate", "UPDATE", ("allowed", "mutated", "error")),
        ("/validate", "CREATE", ("allowed", "denied", "error")),
        ("/validate", "UPDATE", ("allowed", "error")),
        ("/validate-workload", "CREATE", ("allowed", "error")),
        ("/validate-workload", "UPDATE", ("allowed", "error")),
        ("/validate-policy", "CREATE", ("allowed", "denied", "error")),
    ):
        assert {(path, operation, verdict) for verdict in verdicts} <= seen
    mutated = sum(count for row, count in tally.reviews.items() if row.verdict == "mutated")
    assert mutated > tally.asked / 10
    assert tally.over_tls > 10
    assert tally.remembered > tally.asked


def test_the_same_seed_gives_the_same_counts_in_any_number_of_processes() -> None:
    one, two = (total(results(SEED, 0, jobs, Part(cases=30)), 500, inf, lambda *_: None) for jobs in (1, 2))
    assert one == two
    assert one.asked >= 500


@pytest.mark.parametrize("name", sorted(pods.CHANGES))
def test_a_change_changes_real_pods_in_several_ways(name: str) -> None:
    chance, ways = Random(name), set()  # noqa: S311 - the same in every run
    for text in material().pods[:60]:
        pod = orjson.loads(text)
        pods.CHANGES[name](chance, pod)
        ways.add(with_raw(orjson.dumps(pod)))
    assert len(ways.difference(material().pods)) > 20


@pytest.mark.parametrize("change", [pods.list_at_its_bound, pods.large_text])
def test_what_is_large_is_large(change: pods.Change) -> None:
    chance = Random(1)  # noqa: S311
    sizes = []
    for text in material().pods[:30]:
        pod = orjson.loads(text)
        change(chance, pod)
        sizes.append(len(orjson.dumps(pod)) - len(text))
    assert max(sizes) > 30_000
    assert sum(size > 2_000 for size in sizes) > 15


# ---- each check can fail ---------------------------------------------------------------------------------------------


def violated(deciders: Mapping[str, Decider]) -> set[Check]:
    return set(run(SEED, 0, Part(cases=30, deciders=deciders)).violated)


def as_ever(change: Callable[[Outcome], Outcome]) -> Decider:
    return lambda request, snapshot: change(decide.mutate(request, snapshot))


def patched(operation: dict[str, Any], *warnings: str) -> Decider:
    def decider(request: AdmissionRequest, _: Snapshot) -> Outcome:
        patch = [operation]
        return Outcome(response=response.patched(request.uid, patch, warnings), verdict="mutated", patch=patch)

    return decider


def broken(request: AdmissionRequest, _: Snapshot) -> Outcome:
    raise KeyError(request.uid)


def changing(request: AdmissionRequest, snapshot: Snapshot) -> Outcome:
    outcome = decide.mutate(request, snapshot)
    if request.object:
        request.object["spec"] = {}
    return outcome


def of_another(outcome: Outcome) -> Outcome:
    return replace(outcome, response=response.allowed("another"))


def refusing(request: AdmissionRequest, snapshot: Snapshot) -> Outcome:
    metadata = (request.object or {}).get("metadata")
    record = isinstance(metadata, dict) and "podberth.io/applied" in (metadata.get("annotations") or {})
    outcome = decide.validate(request, snapshot)
    return replace(outcome, response=response.denied(request.uid, "no")) if record else outcome


NOWHERE = {"op": "replace", "path": "/spec/nowhere/at/all", "value": 1}
AGAIN = {"op": "add", "path": "/spec/hostname", "value": "h"}


@pytest.mark.parametrize(
    ("path", "decider", "check"),
    [
        ("/mutate", broken, "an answer, and no 5xx"),
        ("/validate", broken, "no traceback or error in the log"),
        ("/mutate", as_ever(of_another), "answers are AdmissionReviews of the review's uid, or Statuses"),
        ("/mutate", changing, "the review is not changed"),
        ("/mutate", patched(AGAIN, "x" * 257), "warnings are within the limits"),
        ("/mutate", patched(NOWHERE), "the patch applies (jsonpatch), and as kube.patch applies it"),
        ("/mutate", patched(AGAIN), "a second pass patches nothing"),
        ("/validate", refusing, "not refused after podberth's own patch"),
        ("/mutate", patched(AGAIN), "from memory as afresh"),
        ("/validate", refusing, "a forged record changes nothing"),
    ],
)
def test_what_is_wrong_is_found(path: str, decider: Decider, check: Check) -> None:
    assert check in violated({path: decider})


def test_without_any_of_that_nothing_is() -> None:
    assert violated({}) == set()
