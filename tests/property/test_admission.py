"""What holds of every decision, whatever the pod: docs/rules.md as properties, with the shipped policies."""

import copy
from typing import Any

import jsonpatch
from hypothesis import given
from hypothesis import strategies as st

from builders import gpu_pod, job_pod, owned, review
from podberth.admission import decide
from podberth.admission.outcome import Outcome
from podberth.admission.review import decode_review
from podberth.admission.snapshot import Snapshot
from podberth.kube.patch import apply
from shipped import NODES, pods, shipped
from snapshots import forgetful, policy, snapshot


def mutate(document: dict[str, Any], known: Snapshot, **fields: Any) -> Outcome:
    return decide.mutate(decode_review(review(document, **fields)), known)


@given(pods())
def test_mutation_is_idempotent(document: dict[str, Any]) -> None:
    once = apply(document, mutate(document, shipped()).patch)

    assert mutate(once, shipped()).patch == []


@given(pods())
def test_the_patch_applies_and_unknown_fields_and_the_users_values_survive(document: dict[str, Any]) -> None:
    before = copy.deepcopy(document)
    result = jsonpatch.JsonPatch(mutate(document, shipped()).patch).apply(copy.deepcopy(document))

    assert document == before
    assert result["spec"]["x-unknown"] == before["spec"]["x-unknown"]
    assert result["spec"].get("nodeSelector") == before["spec"].get("nodeSelector")
    kept = before["spec"].get("tolerations") or []
    assert (result["spec"].get("tolerations") or [])[: len(kept)] == kept


@given(pods())
def test_no_generated_term_names_a_host(document: dict[str, Any]) -> None:
    result = apply(document, mutate(document, shipped()).patch)

    assert "kubernetes.io/hostname" not in str(result["spec"].get("affinity", {}).get("nodeAffinity", ""))
    assert "nodeName" not in result["spec"]


@given(pods())
def test_what_is_remembered_is_what_would_be_answered(document: dict[str, Any]) -> None:
    warm = shipped()
    cold = forgetful(warm)
    assert len(cold.recall) == 0
    assert mutate(document, warm).response == mutate(document, cold).response


@given(pods(), st.sampled_from(["Warn", "Deny"]))
def test_adding_a_policy_without_mutations_never_turns_a_denial_into_admission(
    document: dict[str, Any], action: str
) -> None:
    deny = policy("deny", "  validations:\n  - {expression: gpu.count < 4, message: many}\n  validationActions: [Deny]")
    more = policy(
        "more", f"  validations:\n  - {{expression: gpu.count < 2, message: some}}\n  validationActions: [{action}]"
    )
    request = decode_review(review(document))
    few, all_of_them = (decide.validate(request, snapshot(*texts)) for texts in ((deny,), (deny, more)))

    assert few.verdict != "denied" or all_of_them.verdict == "denied"


@given(st.integers(0, 7), st.integers(0, 7), st.sampled_from(["8", "16", "0"]))
def test_members_of_one_role_come_out_equal_whatever_the_index(one: int, other: int, size: str) -> None:
    def member(index: int) -> list[dict[str, Any]]:
        document = job_pod(index, annotations={"podberth.io/gang-size": size})
        document["spec"] = gpu_pod(8)["spec"]
        return mutate(document, shipped(), name=f"train-{index}").patch

    spec = [
        [operation for operation in member(index) if operation["path"].startswith("/spec")] for index in (one, other)
    ]
    assert spec[0] == spec[1]


@given(st.sampled_from([{"kueue.x-k8s.io/queue-name": "q"}]), st.sampled_from([1, 2, 4, 8]))
def test_pods_that_a_system_has_accounted_depend_on_the_snapshot_for_tolerations_alone(
    labels: dict[str, str], gpus: int
) -> None:
    document = owned(gpu_pod(gpus, labels=labels), "Job")
    some, more = (apply(document, mutate(document, shipped(number)).patch)["spec"] for number in (2, len(NODES)))

    assert {**some, "tolerations": []} == {**more, "tolerations": []}
