"""A record that podberth did not write for this pod in this request has no power: each concern has its forger.

Every row is a pod with a value that an enforcing policy changes, and claims that would have kept the policy from it.
"""

import json
from dataclasses import replace
from typing import Any

import pytest

from builders import gpu_container, gpu_pod, pod, review
from forgers import CASES, CLUSTER, ENDS, LIFETIME, TOLERATED, Case, forgeries, jupyter, known
from podberth.admission import decide
from podberth.admission.decide import mutate
from podberth.admission.outcome import Outcome
from podberth.admission.review import decode_review
from podberth.admission.snapshot import Snapshot
from podberth.kube.patch import apply
from podberth.mutation import record
from records import annotation_of, arrived, claims_of, with_record, without_record
from snapshots import snapshot


def decided(document: dict[str, Any], of: Snapshot) -> Outcome:
    return decide.mutate(decode_review(review(document)), of)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("forgery", forgeries(gpu_pod(), {}))
def test_a_forged_record_changes_nothing_about_what_is_written_and_said(name: str, forgery: str) -> None:
    case = CASES[name]
    forged = arrived(forgeries(case.pod, case.claims)[forgery])
    plain, of = without_record(forged), known(case)
    want, got = decided(plain, of), decided(forged, of)
    assert decided(forged, of) == got == mutate(decode_review(review(forged)), replace(of))

    assert without_record(apply(forged, got.patch)) == without_record(apply(plain, want.patch))
    assert (got.decisions, got.warnings) == (want.decisions, want.warnings)


ENFORCED = [
    name
    for name in CASES
    if " " in name or name in ("applyConfiguration", "jsonPatch", "resources", "gang", "topology")
]


@pytest.mark.parametrize("name", ENFORCED)
def test_these_are_written_over_what_the_pod_has(name: str) -> None:
    """The others never write over a user's value; there a record only changed the warnings."""
    case = CASES[name]
    assert any(each.action == "mutate" for each in decided(arrived(case.pod), known(case)).decisions)


@pytest.mark.parametrize("name", CASES)
def test_the_same_claims_would_count_if_podberth_had_written_them_in_this_request(name: str) -> None:
    """So each case shows something; the API server names no annotation that a webhook adds."""
    case = CASES[name]
    recorded = with_record(arrived(case.pod), case.claims, CLUSTER)

    assert decided(recorded, known(case)).decisions != decided(arrived(case.pod), known(case)).decisions


@pytest.mark.parametrize("removed", ["/spec/activeDeadlineSeconds", "/spec/hostNetwork"])
def test_a_lifetime_is_written_whatever_a_record_says(removed: str) -> None:
    of = snapshot(LIFETIME, objects=[ENDS]).with_sealer(CLUSTER)
    claims = {"nobody": {"jsonPatch": [{"op": "remove", "path": removed}]}}
    for forged in map(arrived, forgeries(jupyter(), claims).values()):
        final = apply(forged, decided(forged, of).patch)
        assert final["spec"]["activeDeadlineSeconds"] == 12 * 3600


def test_a_pod_of_which_nobody_says_who_wrote_what_may_bear_a_record_that_was_sent() -> None:
    """An API server that cannot distinguish the fields of a pod leaves managedFields out."""
    case = CASES["applyConfiguration"]
    for fields in ({}, {"managedFields": None}, {"managedFields": [7]}, {"managedFields": [{"fieldsV1": "x"}]}):
        document = {**case.pod, "metadata": {**case.pod["metadata"], **fields}}
        replayed = with_record(document, case.claims, CLUSTER)
        final = apply(replayed, decided(replayed, known(case)).patch)
        assert final["spec"]["hostNetwork"] is False


def test_a_pod_that_is_made_again_from_what_was_read_of_it_has_no_record_where_nothing_is_left_to_write() -> None:
    of = known(Case({"labels": {"team": "'a'"}}, gpu_pod(), {}))
    first = apply(arrived(gpu_pod()), decided(arrived(gpu_pod()), of).patch)
    again = arrived(first)
    final = apply(again, decided(again, of).patch)

    assert without_record(final) == without_record(first)
    assert annotation_of(final) == ""
    assert decided(final, of).patch == []


def test_where_nobody_says_who_sent_a_record_what_the_pod_holds_is_kept_for_updates() -> None:
    of = known(Case({"tolerations": json.dumps(TOLERATED)}, gpu_pod(), {}))
    more = {"enforces": {"tolerations": [*TOLERATED, {"key": "gone"}]}, "other": {"labels": {"a": "b"}}}
    sent = with_record(gpu_pod(labels={"a": "b"}), more, CLUSTER)
    once = apply(sent, decided(sent, of).patch)

    assert claims_of(once) == {"enforces": {"tolerations": TOLERATED}, "other": {"labels": {"a": "b"}}}
    assert decided(once, of).patch == []


def test_a_record_that_would_not_be_read_again_is_not_written() -> None:
    of = known(Case({"env": {"A": "'1'"}}, gpu_pod(), {}))
    document = pod(gpu_container("c" * 20_000))
    final = apply(document, decided(document, of).patch)

    assert final["spec"]["containers"][0]["env"] == [{"name": "A", "value": "1"}]
    assert annotation_of(final) == ""


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("forgery", forgeries(gpu_pod(), {}))
def test_the_next_pass_of_the_request_in_which_a_record_was_sent_changes_nothing(name: str, forgery: str) -> None:
    """It finds podberth's record, of which managedFields says no more that it was sent."""
    case = CASES[name]
    of, sent = known(case), arrived(forgeries(case.pod, case.claims)[forgery])
    once = apply(sent, decided(sent, of).patch)

    assert not record.find(once, "default", CLUSTER).sent
    assert record.find(once, "default", CLUSTER).record == claims_of(once)
    assert decided(once, of).patch == []


def test_a_record_that_podberth_sealed_gives_back_what_the_old_pod_has() -> None:
    old = with_record(gpu_pod(tolerations=TOLERATED), {"nobody": {"tolerations": TOLERATED}}, CLUSTER)
    new = gpu_pod()
    outcome = decide.mutate(decode_review(review(new, "UPDATE", old=old)), snapshot().with_sealer(CLUSTER))

    assert apply(new, outcome.patch)["spec"] == old["spec"]
