"""An update that merely fails to repeat what podberth wrote gets it back; any other change is left to the apiserver."""

import copy
from typing import Any

import pytest

from builders import gpu_pod, review
from podberth.admission import decide
from podberth.admission.review import decode_review
from podberth.admission.snapshot import Snapshot
from podberth.kube.patch import apply
from records import with_record
from snapshots import cluster, policy, snapshot

TOLERATIONS = policy("tol", "  mutations:\n  - tolerations: topology.nodes(gpu).tolerations", order=1)
REQUIRED = policy("aff", "  mutations:\n  - nodeAffinity: {required: topology.nodes(gpu).terms}", order=2)
PREFERRED = policy("pre", "  mutations:\n  - nodeAffinity: {preferred: topology.nodes(gpu).terms, weight: 5}", order=3)
RENAMED = policy(
    "mig",
    "  mutations:\n  - resources: >-\n      [{'container': 'main', 'from': 'nvidia.com/gpu',"
    " 'to': 'nvidia.com/mig-1g.10gb', 'quantity': 1}]",
    order=0,
)
OWN: dict[str, Any] = {
    "tolerations": [{"key": "team", "operator": "Equal", "value": "a", "effect": "NoSchedule"}],
    "affinity": {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [
                    {"matchExpressions": [{"key": "kubernetes.io/os", "operator": "In", "values": ["linux"]}]}
                ]
            }
        }
    },
}


SELECTED = "  mutations:\n  - nodeSelector: {nvidia.com/gpu.product: \"'NVIDIA-H100-80GB-HBM3'\"}"
BROAD = (
    "  mutations:\n  - nodeAffinity: {required: \"[{'matchExpressions': [{'key': 'nvidia.com/gpu.product',"
    " 'operator': 'In', 'values': ['NVIDIA-H100-80GB-HBM3', 'NVIDIA-L4']}]},"
    " {'matchExpressions': [{'key': 'nvidia.com/gpu.product', 'operator': 'NotIn',"
    " 'values': ['NVIDIA-H100-80GB-HBM3']}]},"
    " {'matchExpressions': [{'key': 'kubernetes.io/arch', 'operator': 'In', 'values': ['amd64']}]}]\"}"
)


@pytest.fixture(scope="module")
def known() -> Snapshot:
    return snapshot(TOLERATIONS, REQUIRED, PREFERRED, objects=cluster(hgx_h100_8=1, l4_1=1))


def created(document: dict[str, Any], known: Snapshot) -> dict[str, Any]:
    return apply(document, decide.mutate(decode_review(review(document)), known).patch)


def updated(new: dict[str, Any], old: dict[str, Any], known: Snapshot) -> dict[str, Any]:
    return apply(new, decide.mutate(decode_review(review(new, "UPDATE", old=old)), known).patch)


@pytest.mark.parametrize("own", [{}, OWN, {"tolerations": OWN["tolerations"]}])
def test_the_manifest_applied_again_ends_as_the_pod_that_is_there(own: dict[str, Any], known: Snapshot) -> None:
    manifest = gpu_pod(8, **copy.deepcopy(own))
    live = created(manifest, known)
    again = {**manifest, "metadata": live["metadata"]}

    assert live["spec"] != manifest["spec"]
    assert updated(again, live, known)["spec"] == live["spec"]


@pytest.mark.parametrize("own", [{}, OWN, {"nodeSelector": {"team": "a"}}])
def test_two_lists_of_terms_of_one_policy_come_again(own: dict[str, Any]) -> None:
    lists = "".join(
        '\n  - nodeAffinity: {required: "['
        + ", ".join(f"{{'matchExpressions': [{{'key': '{key}', 'operator': 'Exists'}}]}}" for key in keys)
        + ']"}'
        for keys in (("model", "class"), ("memory",))
    )
    known = snapshot(policy("twice", f"  mutations:{lists}"))
    manifest = gpu_pod(8, **copy.deepcopy(own))
    live = created(manifest, known)
    again = {**manifest, "metadata": live["metadata"]}

    assert live["spec"] != manifest["spec"]
    assert updated(again, live, known)["spec"] == live["spec"]


@pytest.mark.parametrize("own", [{}, OWN, {"nodeSelector": {"team": "a"}}])
@pytest.mark.parametrize("first", ["selector", "affinity"])
def test_node_labels_come_again_whether_written_before_the_terms_or_after_them(first: str, own: dict[str, Any]) -> None:
    orders = (1, 2) if first == "selector" else (2, 1)
    known = snapshot(policy("sel", SELECTED, order=orders[0]), policy("terms", BROAD, order=orders[1]))
    manifest = gpu_pod(8, **copy.deepcopy(own))
    live = created(manifest, known)
    again = {**manifest, "metadata": live["metadata"]}

    assert live["spec"]["nodeSelector"] == {
        **own.get("nodeSelector", {}),
        "nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3",
    }
    assert updated(again, live, known)["spec"] == live["spec"]


def test_a_node_label_that_the_user_means_to_change_is_left_to_the_apiserver() -> None:
    known = snapshot(policy("sel", SELECTED))
    live = created(gpu_pod(8), known)
    new = {**gpu_pod(8, nodeSelector={"nvidia.com/gpu.product": "NVIDIA-L4"}), "metadata": live["metadata"]}

    assert updated(new, live, known) == new


def test_a_scheduler_comes_again_where_the_manifest_names_the_default_one() -> None:
    known = snapshot(policy("packs", "  mutations:\n  - schedulerName: \"'packer'\""))
    manifest = gpu_pod(schedulerName="default-scheduler")
    live = created(manifest, known)
    again = {**manifest, "metadata": live["metadata"]}

    assert live["spec"]["schedulerName"] == "packer"
    assert updated(again, live, known)["spec"] == live["spec"]
    other = {**gpu_pod(schedulerName="mine"), "metadata": live["metadata"]}
    assert updated(other, live, known) == other


def test_a_rewritten_resource_that_comes_back_is_rewritten_again() -> None:
    known = snapshot(RENAMED)
    manifest = gpu_pod()
    live = created(manifest, known)
    again = copy.deepcopy({**manifest, "metadata": live["metadata"]})
    # What a client-side apply sends: its three-way merge adds the old key to the live map.
    again["spec"]["containers"][0]["resources"]["limits"]["nvidia.com/mig-1g.10gb"] = "1"

    assert updated(again, live, known)["spec"] == live["spec"]


def test_a_toleration_that_the_user_adds_stays(known: Snapshot) -> None:
    live = created(gpu_pod(8), known)
    new = copy.deepcopy(live)
    new["spec"]["tolerations"] = [{"key": "more", "operator": "Exists"}]

    assert updated(new, live, known)["spec"]["tolerations"] == [
        *live["spec"]["tolerations"],
        {"key": "more", "operator": "Exists"},
    ]


def test_affinity_that_the_user_means_to_change_is_left_to_the_apiserver(known: Snapshot) -> None:
    live = created(gpu_pod(8), known)
    new = copy.deepcopy(live)
    new["spec"]["affinity"] = {"nodeAffinity": {}, "podAffinity": {}}
    new["spec"]["affinity"]["nodeAffinity"] = copy.deepcopy(OWN["affinity"]["nodeAffinity"])

    assert updated(new, live, known)["spec"]["affinity"] == new["spec"]["affinity"]


def test_names_that_no_policy_has_are_not_repeated(known: Snapshot) -> None:
    own = [{"key": "own", "operator": "Exists"}]
    old = with_record(gpu_pod(8, tolerations=own), {"invented": {"tolerations": own}})
    outcome = decide.mutate(decode_review(review(gpu_pod(8), "UPDATE", old=old)), known)

    assert outcome.verdict == "mutated"
    assert outcome.decisions == ()


def test_a_record_in_the_request_is_not_believed(known: Snapshot) -> None:
    old = gpu_pod(8)
    new = with_record(gpu_pod(8), {"x": {"tolerations": [{"key": "evil", "operator": "Exists"}]}})

    assert updated(new, old, known) == new


def test_a_record_in_the_old_pod_brings_back_only_what_that_pod_holds(known: Snapshot) -> None:
    claims = {"x": {"tolerations": [{"key": "evil", "operator": "Exists"}], "labels": {"a": "b"}}}
    old = with_record(gpu_pod(8), claims)
    new = gpu_pod(8)

    assert updated(new, old, known) == new


CLAIMED = policy(
    "claims",
    """
  claimTemplates:
  - {name: pair, spec: {spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu.nvidia.com}}]}}}}
  mutations:
  - resourceClaims: "[{'name': 'pair', 'template': 'pair', 'instead': 'nvidia.com/gpu'}]"
""",
)


def test_a_resource_that_a_claim_stands_for_goes_again() -> None:
    known = snapshot(CLAIMED)
    manifest = gpu_pod(1)
    live = created(manifest, known)
    assert "nvidia.com/gpu" not in str(live["spec"])
    # kubectl's merge brings the resource back, and leaves the claims that it never had.
    live["spec"]["containers"][0]["resources"] = {"claims": [{"name": "pair"}]}  # as the API server stores it
    again = copy.deepcopy(live)
    again["spec"]["containers"][0]["resources"] |= {side: {"nvidia.com/gpu": "1"} for side in ("limits", "requests")}

    assert updated(again, live, known)["spec"] == live["spec"]
