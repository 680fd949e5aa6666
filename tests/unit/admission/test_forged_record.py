"""A record that podberth did not write for this pod in this request has no power: each concern has its forger.

Every row is a pod with a value that an enforcing policy changes, and claims that would have kept the policy from it.
"""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from builders import gpu_container, gpu_pod, pod, review
from podberth.admission import decide
from podberth.admission.decide import mutate
from podberth.admission.outcome import Outcome
from podberth.admission.review import decode_review
from podberth.admission.snapshot import Snapshot
from podberth.kube.patch import apply
from podberth.mutation import record
from podberth.mutation.seal import OFFLINE, Sealer
from podberth.wellknown import GANG_LABEL, GANG_LEVEL_ANNOTATION
from records import annotation_of, arrived, claims_of, with_annotation, with_record, without_record
from snapshots import cluster, policy, snapshot

ROOT = Path(__file__).parents[3]
LIFETIME = (ROOT / "optional-policies" / "idle-lifetime" / "policy.yaml").read_text()
ENDS = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "podberth-idle-lifetime", "namespace": "podberth-system"},
    "data": {"maxLifetime": "12h"},
}
CLUSTER, ANOTHER = Sealer.of(b"this cluster's key"), Sealer.of(b"another cluster's key")
WEAK = {"matchExpressions": [{"key": "kubernetes.io/os", "operator": "In", "values": ["linux"]}]}
TOLERATED = [{"key": "team", "operator": "Exists"}]
FOR_LONG = {"key": "a", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 9000}


class Case(NamedTuple):
    """An enforcing policy, a pod, and claims that the pod holds."""

    spec: dict[str, Any]
    pod: dict[str, Any]
    claims: dict[str, Any]


def affinity(term: dict[str, Any]) -> dict[str, Any]:
    terms = {"nodeSelectorTerms": [term]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}


def jupyter() -> dict[str, Any]:
    document = pod(gpu_container())
    document["spec"]["containers"][0]["image"] = "jupyter/base"
    return document


REMOVED = {"op": "remove", "path": "/spec/hostNetwork"}
ON = {"op": "add", "path": "/spec/hostNetwork", "value": True}
CASES = {
    "required node affinity": Case(
        {"nodeAffinity": {"required": "topology.nodes(gpu).terms"}},
        gpu_pod(8, affinity=affinity(WEAK)),
        {"enforces": {"nodeAffinity": {"required": [WEAK]}}},
    ),
    "nodeSelector": Case(
        {"nodeSelector": {"team": "'a'", "zone": "'b'"}},
        gpu_pod(8, nodeSelector={"team": "b"}),
        {"nobody": {"nodeSelector": {"team": "b"}}, "enforces": {"nodeSelector": {"team": "b"}}},
    ),
    "preferred node affinity": Case(
        {"nodeAffinity": {"preferred": "topology.nodes(gpu).terms", "weight": 5}},
        gpu_pod(8, affinity=affinity(WEAK)),
        {"enforces": {"nodeAffinity": {"required": [WEAK]}}},
    ),
    "topology": Case(
        {"topology": {"level": "'rack'", "mode": "required"}},
        gpu_pod(8, labels={GANG_LABEL: "g"}, annotations={GANG_LEVEL_ANNOTATION: "zone"}),
        {"enforces": {"topology": {"level": "zone", "mode": "preferred"}}},
    ),
    "applyConfiguration": Case(
        {"applyConfiguration": "{'spec': {'hostNetwork': false}}"},
        gpu_pod(hostNetwork=True),
        {"nobody": {"jsonPatch": [ON]}},
    ),
    "applyConfiguration of what another took away": Case(
        {"applyConfiguration": "{'spec': {'hostNetwork': false}}"},
        gpu_pod(),
        {"nobody": {"jsonPatch": [REMOVED]}},
    ),
    "jsonPatch": Case(
        {"jsonPatch": "[{'op': 'add', 'path': '/spec/hostNetwork', 'value': false}]"},
        gpu_pod(hostNetwork=True),
        {"nobody": {"applyConfiguration": [ON]}},
    ),
    "what a removal revives": Case(
        {"labels": {"team": "'a'"}},
        gpu_pod(),
        {"nobody": {"jsonPatch": [{"op": "remove", "path": "/metadata/labels"}]}},
    ),
    "labels": Case({"labels": {"team": "'a'"}}, gpu_pod(labels={"team": "b"}), {"nobody": {"labels": {"team": "b"}}}),
    "schedulerName": Case(
        {"schedulerName": "'bins'"}, gpu_pod(schedulerName="own"), {"nobody": {"schedulerName": "own"}}
    ),
    "priorityClassName": Case(
        {"priorityClassName": "'low'"},
        gpu_pod(priorityClassName="high"),
        {"nobody": {"priorityClassName": "high"}},
    ),
    "env": Case(
        {"env": {"A": "'1'"}},
        pod(gpu_container(env=[{"name": "A", "value": "2"}])),
        {"nobody": {"env": {"main": {"A": "2"}}}},
    ),
    "tolerationSeconds": Case(
        {"tolerations": json.dumps([{**FOR_LONG, "tolerationSeconds": 60}])},
        gpu_pod(tolerations=[FOR_LONG]),
        {"nobody": {"tolerations": [FOR_LONG]}},
    ),
    "resources": Case(
        {
            "resources": "[{'container': 'main', 'from': 'nvidia.com/gpu', 'to': 'nvidia.com/mig-1g.5gb',"
            " 'quantity': 1}]"
        },
        gpu_pod(),
        {
            "nobody": {
                "resources": [{"container": "main", "from": "cpu", "to": "nvidia.com/gpu", "quantity": 1}],
            }
        },
    ),
    "gang": Case(
        {"gang": {"name": "'ours'", "size": "4"}},
        gpu_pod(labels={GANG_LABEL: "theirs"}),
        {"nobody": {"gang": {"label": "theirs"}}},
    ),
}


def known(case: Case) -> Snapshot:
    text = policy("enforces", f"  mutations: [{json.dumps(case.spec)}]")
    return snapshot(text, objects=cluster(hgx_h100_8=1, l4_1=1)).with_sealer(CLUSTER)


def decided(document: dict[str, Any], of: Snapshot) -> Outcome:
    return decide.mutate(decode_review(review(document)), of)


def forgeries(document: dict[str, Any], claims: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the pod with these claims, by how its bearer came by them."""
    namesake = {**document, "metadata": {**document["metadata"], "name": "another"}}
    generated = {**document, "metadata": {**document["metadata"], "generateName": "pod-"}}
    sealed = annotation_of(with_record(document, {"nobody": {"labels": {"a": "b"}}}, CLUSTER))
    return {
        "written by hand": with_annotation(document, json.dumps(claims)),
        "with a seal of nothing": with_annotation(
            document, json.dumps({**claims, "=": "A" * 22}, separators=(",", ":"))
        ),
        "another cluster's": with_record(document, claims, ANOTHER),
        "made offline": with_record(document, claims, OFFLINE),
        "copied from another pod": with_annotation(document, annotation_of(with_record(namesake, claims, CLUSTER))),
        "copied from a generated one": with_annotation(
            document, annotation_of(with_record(generated, claims, CLUSTER))
        ),
        "copied from another namespace": with_record(document, claims, CLUSTER, namespace="elsewhere"),
        "edited": with_annotation(document, json.dumps(claims, separators=(",", ":"))[:-1] + sealed[-31:]),
        "replayed": with_record(document, claims, CLUSTER),
    }


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


@pytest.mark.parametrize("forgery", sorted({*forgeries(gpu_pod(), {})} - {"replayed"}))
def test_a_forged_record_in_the_old_pod_gives_nothing_back(forgery: str) -> None:
    claims = {"nobody": {"tolerations": TOLERATED}}
    old = forgeries(gpu_pod(tolerations=TOLERATED), claims)[forgery]
    new = gpu_pod()

    outcome = decide.mutate(decode_review(review(new, "UPDATE", old=old)), snapshot().with_sealer(CLUSTER))
    assert outcome.patch == []


def test_a_record_that_podberth_sealed_gives_back_what_the_old_pod_has() -> None:
    old = with_record(gpu_pod(tolerations=TOLERATED), {"nobody": {"tolerations": TOLERATED}}, CLUSTER)
    new = gpu_pod()
    outcome = decide.mutate(decode_review(review(new, "UPDATE", old=old)), snapshot().with_sealer(CLUSTER))

    assert apply(new, outcome.patch)["spec"] == old["spec"]
