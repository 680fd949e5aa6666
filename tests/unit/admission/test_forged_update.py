"""A record that podberth did not write on this pod has no power in an update, whichever object of the review has it.

Every row of ``RESTORING`` is a concern whose writes an update gets back; the rows of ``forgers.CASES`` are the others.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from builders import gpu_pod, review
from forgers import CASES, CLUSTER, ENDS, LIFETIME, TOLERATED, WEAK, affinity, forgeries, jupyter, known
from podberth.admission import decide
from podberth.admission.outcome import Outcome
from podberth.admission.review import AdmissionRequest, decode_review
from podberth.admission.rollout import rolled_out
from podberth.admission.snapshot import Snapshot
from podberth.kube.patch import apply
from podberth.mutation.pipeline import PIPELINE
from podberth.wellknown import GANG_LABEL
from records import annotation_of, arrived, with_annotation, with_record, without_record
from snapshots import policy, snapshot

JSON = dict[str, Any]
Decide = Callable[[AdmissionRequest, Snapshot], Outcome]


class Update(NamedTuple):
    """A pod, what an update makes of it, and claims that the pod holds."""

    old: JSON
    new: JSON
    claims: JSON


SLICE = "nvidia.com/mig-1g.5gb"
CLAIMED = gpu_pod(resourceClaims=[{"name": "pair", "resourceClaimTemplateName": "pair"}])
CLAIMED["spec"]["containers"][0]["resources"] = {"claims": [{"name": "pair"}]}
UNCLAIMED = gpu_pod(resourceClaims=[{"name": "pair", "resourceClaimTemplateName": "pair"}])
UNCLAIMED["spec"]["containers"][0]["resources"]["claims"] = [{"name": "pair"}]
RESTORING = {
    "tolerations": Update(gpu_pod(tolerations=TOLERATED), gpu_pod(), {"nobody": {"tolerations": TOLERATED}}),
    "nodeSelector": Update(gpu_pod(nodeSelector={"team": "b"}), gpu_pod(), {"nobody": {"nodeSelector": {"team": "b"}}}),
    "nodeAffinity": Update(
        gpu_pod(affinity=affinity(WEAK)), gpu_pod(), {"nobody": {"nodeAffinity": {"required": [WEAK]}}}
    ),
    "resources": Update(
        gpu_pod("1", resource=SLICE),
        gpu_pod(),
        {"nobody": {"resources": [{"container": "main", "from": "nvidia.com/gpu", "to": SLICE, "quantity": 1}]}},
    ),
    "resourceClaims": Update(
        CLAIMED,
        UNCLAIMED,
        {"nobody": {"resourceClaims": [{"name": "pair", "template": "pair", "instead": "nvidia.com/gpu"}]}},
    ),
}
RESTORING["schedulerName"] = Update(
    gpu_pod(schedulerName="packer"), gpu_pod(schedulerName="default-scheduler"), {"nobody": {"schedulerName": "packer"}}
)
LIFELONG = jupyter()
LIFELONG["spec"]["activeDeadlineSeconds"] = 12 * 3600
UPDATES = {
    **RESTORING,
    **{f"a write of {name}": Update(each.pod, gpu_pod(), each.claims) for name, each in CASES.items()},
    "a lifetime": Update(
        LIFELONG,
        jupyter(),
        {"nobody": {"jsonPatch": [{"op": "add", "path": "/spec/activeDeadlineSeconds", "value": 12 * 3600}]}},
    ),
}
POLICIES = [f"p{number}" for number in range(20)]
JUDGES = [
    policy(
        each,
        """
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], resources: [pods], operations: [UPDATE]}]}
  rollout: {percent: 50}
  validations: [{expression: 'false', message: judged}]
  validationActions: [Warn]
""",
    )
    for each in POLICIES
]


def of_update(name: str) -> Snapshot:
    """Return the policy of a row, and policies that judge the update of half of the pods each."""
    if name == "a lifetime":
        return snapshot(LIFETIME, *JUDGES, objects=[ENDS]).with_sealer(CLUSTER)
    case = CASES.get(name.removeprefix("a write of "))
    return snapshot(*JUDGES).with_sealer(CLUSTER) if case is None or name in RESTORING else known(case, *JUDGES)


def updated(by: Decide, new: JSON, old: JSON, of: Snapshot) -> Outcome:
    return by(decode_review(review(new, "UPDATE", old=old)), of)


def test_every_concern_that_restores_has_its_forger() -> None:
    assert RESTORING.keys() == {each.name for each in PIPELINE if each.restore is not None}


@pytest.mark.parametrize("where", ["old", "new", "both"])
@pytest.mark.parametrize("forgery", forgeries(gpu_pod(), {}))
@pytest.mark.parametrize("name", UPDATES)
def test_a_forged_record_changes_nothing_about_an_update(name: str, forgery: str, where: str) -> None:
    """The API server notes whoever changes an annotation of a pod."""
    old, new, claims = UPDATES[name]
    of = of_update(name)
    forged = {
        kind: arrived(forgeries(each, claims)[forgery] if where in (kind, "both") else each)
        for kind, each in (("old", old), ("new", new))
    }
    for by in (decide.mutate, decide.validate):
        want = updated(by, arrived(new), arrived(old), of)
        got = updated(by, forged["new"], forged["old"], of)
        assert (got.patch, got.decisions, got.warnings) == (want.patch, want.decisions, want.warnings)
        assert updated(by, forged["new"], forged["old"], of) == got


@pytest.mark.parametrize("forgery", sorted({*forgeries(gpu_pod(), {})} - {"replayed"}))
@pytest.mark.parametrize("name", UPDATES)
def test_a_record_without_the_seal_of_this_pod_gives_nothing_back_whoever_wrote_it(name: str, forgery: str) -> None:
    old, new, claims = UPDATES[name]
    assert updated(decide.mutate, new, forgeries(old, claims)[forgery], of_update(name)).patch == []


@pytest.mark.parametrize("name", RESTORING)
def test_the_same_claims_would_be_given_back_if_podberth_had_written_them(name: str) -> None:
    """So each row shows something; the API server names no annotation that a webhook adds."""
    old, new, claims = RESTORING[name]
    outcome = updated(decide.mutate, arrived(new), with_record(arrived(old), claims, CLUSTER), of_update(name))
    assert apply(new, outcome.patch)["spec"] == old["spec"]


def test_the_same_gang_would_count_for_a_rollout_if_podberth_had_written_it() -> None:
    pod = arrived(gpu_pod(labels={GANG_LABEL: "theirs"}))
    claims = {each: {"gang": {"label": "theirs"}} for each in POLICIES}
    of = snapshot(*JUDGES).with_sealer(CLUSTER)
    judged = {
        key: {each.policy for each in updated(decide.validate, new, pod, of).decisions}
        for key, new in (("gang/default/theirs", pod), ("pod/default/pod", with_record(pod, claims, CLUSTER)))
    }
    assert judged == {key: {each for each in POLICIES if rolled_out(50, each, key)} for key in judged}
    sent = arrived(with_record(pod, claims, CLUSTER))
    assert {each.policy for each in updated(decide.validate, sent, pod, of).decisions} == judged["gang/default/theirs"]


def sibling(name: str, **fields: Any) -> JSON:
    document = gpu_pod(name=name, **fields)
    return {**document, "metadata": {**document["metadata"], "generateName": "train-"}}


OF_SIBLING = annotation_of(with_record(sibling("train-a"), {"tolerates": {"tolerations": TOLERATED}}, CLUSTER))


def test_a_record_that_was_copied_from_a_sibling_gives_nothing_back() -> None:
    """The seal holds for all pods of one generateName, and managedFields name who put the record there."""
    old = arrived(with_annotation(sibling("train-b", tolerations=TOLERATED), OF_SIBLING))
    new = without_record(old)
    del new["spec"]["tolerations"]

    assert updated(decide.mutate, new, old, snapshot().with_sealer(CLUSTER)).patch == []


@pytest.mark.parametrize("noted", [None, [], [{"fieldsV1": {"f:spec": {}}}]])
def test_who_edits_managed_fields_too_gets_from_a_siblings_record_what_the_pod_has_and_no_more(noted: Any) -> None:
    """The API server refuses an update that drops a toleration: all that is won is that this one is not refused."""
    held, other = TOLERATED[0], {"key": "another", "operator": "Exists"}
    of = snapshot().with_sealer(CLUSTER)
    for tolerations in ([held], [other], [held, other]):
        old = with_annotation(sibling("train-b", tolerations=tolerations), OF_SIBLING)
        old["metadata"]["managedFields"] = noted
        new = sibling("train-b")
        got = apply(new, updated(decide.mutate, new, old, of).patch)["spec"].get("tolerations", [])
        assert got == ([held] if held in tolerations else [])
