"""What is known of claims, groups and owners decides with them, and nothing is denied for want of it."""

from typing import Any

import pytest

from builders import container, gpu_pod, job, job_pod, pod, review
from podberth.admission.decide import mutate, validate
from podberth.admission.review import decode_review
from podberth.admission.snapshot import Snapshot
from podberth.facts.cluster import ClusterFacts, collect
from podberth.kube.patch import apply
from shipped import POLICIES
from snapshots import cluster, policy, snapshot

JSON = dict[str, Any]

SEEN = policy(
    "seen",
    """
  mutations:
  - annotations:
      example.com/gang: string(gang.size)
      example.com/gpus: string(gpu.count)
  - annotations:
      example.com/claims: "gpu.claims.map(c, c.deviceClass + ':' + string(c.count)).join(',')"
""",
)


def thing(version: str, kind: str, name: str, spec: JSON, **metadata: Any) -> JSON:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name, **metadata}, "spec": spec}


ASKED = {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "gpu.nvidia.com", "count": 2}}]}}
OBJECTS = [
    thing("resource.k8s.io/v1", "ResourceClaimTemplate", "two", {"spec": ASKED}, namespace="default"),
    thing("scheduling.volcano.sh/v1beta1", "PodGroup", "ring", {"minMember": 3}, namespace="default"),
    {**job(gpu_pod(), indexed=True, parallelism=4), "metadata": {"name": "train", "uid": "job-uid"}},
    thing(
        "resource.k8s.io/v1",
        "DeviceClass",
        "own",
        {
            "extendedResourceName": "example.com/gpu",
            "selectors": [{"cel": {"expression": "device.driver == 'gpu.nvidia.com'"}}],
        },
    ),
]
CLAIMING = pod(container(claims=["gpu"]), resourceClaims=[{"name": "gpu", "resourceClaimTemplateName": "two"}])
PODS = [
    CLAIMING,
    job_pod(),
    gpu_pod(2, resource="example.com/gpu"),
    gpu_pod(8, annotations={"scheduling.k8s.io/group-name": "ring"}),
]


def seen(document: JSON, known: Snapshot) -> dict[str, str]:
    made = apply(document, mutate(decode_review(review(document)), known).patch)
    annotations = made["metadata"].get("annotations", {})
    return {key.partition("/")[2]: value for key, value in annotations.items() if key.startswith("example.com/")}


def known() -> ClusterFacts:
    return collect(OBJECTS, now=None)


def test_claims_are_resolved_and_sizes_are_those_of_owners() -> None:
    of = snapshot(SEEN, objects=OBJECTS)
    assert seen(CLAIMING, of) == {"gang": "0", "gpus": "0", "claims": "gpu.nvidia.com:2"}
    assert seen(job_pod(), of) == {"gang": "4", "gpus": "1", "claims": ""}
    assert seen(gpu_pod(2, resource="example.com/gpu"), of) == {"gang": "0", "gpus": "2", "claims": ""}


def test_what_becomes_known_decides_the_next_review_and_what_was_remembered_is_not_mixed_up() -> None:
    before = snapshot(SEEN)
    after = before.with_workloads(known())
    for _ in range(2):
        assert seen(CLAIMING, before)["claims"] == ":0"
        assert seen(CLAIMING, after)["claims"] == "gpu.nvidia.com:2"
        assert seen(job_pod(), before)["gang"] == "0"
        assert seen(job_pod(), after)["gang"] == "4"
        assert seen(PODS[2], before) == {}
        assert seen(PODS[2], after)["gpus"] == "2"


def test_answers_are_kept_while_nothing_changes_but_the_facts_that_distinguish_pods() -> None:
    first = snapshot(SEEN).with_workloads(collect(OBJECTS[-1:], now=None))
    seen(job_pod(), first)
    more = first.with_workloads(known())
    assert more.recall is first.recall
    assert more.plans is first.plans
    fewer = more.with_workloads(ClusterFacts())
    assert fewer.recall is not more.recall
    assert fewer.plans is more.plans


def test_owners_of_one_workload_lie_over_those_of_the_cluster() -> None:
    of = snapshot(SEEN, objects=OBJECTS)
    layered = of.with_owners({"other": {"kind": "Job"}}).with_owners({"third": {"kind": "Job"}})
    assert set(layered.owners) == {"job-uid", "other", "third"}
    assert set(of.owners) == {"job-uid"}
    assert seen(job_pod(), layered)["gang"] == "4"


def test_where_pods_are_accounted_nothing_depends_on_what_is_known_of_claims() -> None:
    """Rule 3: also with two snapshots two members come out equal."""
    document = {**CLAIMING, "metadata": {**CLAIMING["metadata"], "labels": {"kueue.x-k8s.io/queue-name": "q"}}}
    assert seen(document, snapshot(SEEN)) == seen(document, snapshot(SEEN, objects=OBJECTS)) == {}


def test_a_policy_that_hands_the_pod_to_such_a_system_is_followed_by_those_that_ask_for_its_kind() -> None:
    """A claim for a NIC is no claim for a GPU, but under Kueue any claim counts: at once, not at a second pass."""
    hands_over = policy(
        "hands-over", "  scope: All\n  mutations:\n  - labels: {kueue.x-k8s.io/queue-name: \"'q'\"}", order=1
    )
    asks = "  scope: All\n  matchConditions: [{name: c, expression: \"gpu.kind == 'claim'\"}]\n"
    says = policy("says", asks + "  mutations:\n  - labels: {example.com/kind: gpu.kind}", order=2)
    nic = thing(
        "resource.k8s.io/v1", "DeviceClass", "nic", {"selectors": [{"cel": {"expression": "device.driver == 'n'"}}]}
    )
    asked = {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "nic"}}]}}
    two = thing("resource.k8s.io/v1", "ResourceClaimTemplate", "two", {"spec": asked}, namespace="default")
    of = snapshot(hands_over, says, objects=[nic, two])
    once = apply(CLAIMING, mutate(decode_review(review(CLAIMING)), of).patch)
    assert once["metadata"]["labels"] == {"kueue.x-k8s.io/queue-name": "q", "example.com/kind": "claim"}
    assert mutate(decode_review(review(once)), of).patch == []


@pytest.mark.parametrize("document", PODS)
@pytest.mark.parametrize("objects", [[], OBJECTS])
def test_the_shipped_policies_deny_nothing_for_want_of_a_claim_a_group_or_an_owner(
    document: JSON, objects: list[JSON]
) -> None:
    shipped = [file.read_text() for file in sorted(POLICIES.glob("*/policy.yaml"))]
    of = snapshot(*shipped, objects=[*cluster(hgx_h100_8=1), *objects])
    made = mutate(decode_review(review(document)), of)
    assert made.verdict != "denied"
    final = apply(document, made.patch)
    assert validate(decode_review(review(final)), of).verdict == "allowed"
