"""Which pods were let through: those that ask for accelerators, have no record, and that policies would act on now."""

from datetime import timedelta
from typing import Any

import pytest

from builders import gpu_pod
from podberth.checking.let_through import let_through
from podberth.installation.observation import LetThrough, ObservedList, Unread
from podberth.topology.shapes import simulate
from snapshots import policy
from status_scenes import NOW, gpu_policy, observed, workload
from tenants import at_most

RULES = [{"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}]
SELECTOR = {"matchExpressions": [{"key": "podberth.io/exempt", "operator": "DoesNotExist"}]}
REGISTERED = {
    "metadata": {"name": "podberth", "creationTimestamp": (NOW - timedelta(days=1)).isoformat()},
    "webhooks": [{"name": "pods.mutate.podberth.io", "rules": RULES, "namespaceSelector": SELECTOR}],
}
LABELS = policy("labels", "  mutations:\n  - labels: {a.example/b: \"'c'\"}")
DENIES = policy(
    "denies", "  validationActions: [Deny]\n  validations:\n  - {expression: gpu.count > 9, message: too few}"
)


def pod(name: str, namespace: str = "team-a", age: timedelta = timedelta(hours=1), **fields: Any) -> Any:
    """Return a live pod."""
    document = gpu_pod(**fields)
    created = (NOW - age).isoformat()
    document["metadata"] = {"name": name, "namespace": namespace, "uid": name, "creationTimestamp": created}
    document["status"] = {"phase": "Pending"}
    return document


def serving(policies: str | None, topology: str = "cluster") -> Any:
    """Return the webhook's Deployment with this directory of policies."""
    deployment = workload()
    [container] = deployment["spec"]["template"]["spec"]["containers"]
    container["env"] = [{"name": "PODBERTH_TOPOLOGY", "value": topology}]
    if policies is not None:
        container["env"].append({"name": "PODBERTH_POLICIES", "value": policies})
    return deployment


def found(*pods: Any, texts: str = LABELS, **changes: Any) -> Any:
    """Return what is found among pods, with the team's own policies alone."""
    deployment = serving("/etc/podberth/policies/own")
    own = {"metadata": {"name": "podberth-policies", "namespace": "podberth-system"}, "data": {"own.yaml": texts}}
    namespaces = (
        {"metadata": {"name": "team-a"}},
        {"metadata": {"name": "infra", "labels": {"podberth.io/exempt": ""}}},
    )
    state: dict[str, Any] = {
        "configurations": {"MutatingWebhookConfiguration": REGISTERED},
        "deployment": deployment,
        "params": (own,),
        "namespaces": namespaces,
        "unrecorded": ObservedList(tuple(pods)),
    }
    return let_through(observed(**(state | changes)))


def test_a_pod_that_a_policy_would_write_on_was_let_through() -> None:
    result = found(pod("a"), pod("b"))
    assert (result.changed, result.denied, result.policies) == (("team-a/a", "team-a/b"), (), ("labels",))


def test_a_pod_that_a_policy_would_deny_was_let_through() -> None:
    result = found(pod("a"), texts=DENIES)
    assert (result.changed, result.denied, result.policies) == ((), ("team-a/a",), ("denies",))


def test_a_pod_that_nothing_would_be_written_on_was_not() -> None:
    mine = pod("mine")
    mine["metadata"]["labels"] = {"a.example/b": "c"}
    assert found(mine).changed == ()


@pytest.mark.parametrize("left", [pod("a", "infra"), pod("a", age=timedelta(days=2))], ids=["exempt", "from before"])
def test_pods_that_podberth_was_never_to_see_are_left_out(left: Any) -> None:
    assert found(left) == LetThrough(since=NOW - timedelta(days=1))


def test_a_policy_of_the_cluster_decides_beside_files_and_in_place_of_the_one_of_its_name() -> None:
    spec = {"mutations": [{"labels": {"d.example/e": "'f'"}}]}
    served = {**gpu_policy("objects"), "apiVersion": "podberth.io/v1alpha1", "kind": "GPUPolicy", "spec": spec}
    assert found(pod("a"), policies=(served,)).policies == ("labels", "objects")
    off = {**served, "metadata": {**served["metadata"], "name": "labels"}, "spec": {"disabled": True}}
    assert found(pod("a"), policies=(off,)).changed == ()


def test_the_shipped_policies_are_those_of_this_release() -> None:
    assert found(pod("a"), deployment=serving("/etc/podberth/policies"), params=()).changed == ("team-a/a",)


OBJECT = {
    **gpu_policy("objects"),
    "apiVersion": "podberth.io/v1alpha1",
    "kind": "GPUPolicy",
    "spec": {"mutations": [{"labels": {"d.example/e": "'f'"}}]},
}


def test_without_a_directory_the_policies_of_the_cluster_decide_alone() -> None:
    assert found(pod("a"), deployment=serving(None), policies=(OBJECT,)).policies == ("objects",)
    assert found(pod("a"), deployment=serving(None), policies=()).policies == ()


def test_replicas_that_follow_no_cluster_read_none_of_its_policies() -> None:
    deployment = serving("/etc/podberth/policies/own", "/etc/podberth/nodes.yaml")
    assert found(pod("a"), deployment=deployment, policies=(OBJECT,)).policies == ("labels",)


@pytest.mark.parametrize("deployment", [serving("/opt/mine"), serving("/opt/own"), None])
def test_policies_that_only_the_replicas_have_are_not_known(deployment: Any) -> None:
    assert isinstance(found(pod("a"), deployment=deployment), Unread)


@pytest.mark.parametrize("part", ["unrecorded", "namespaces", "deployment", "params", "policies"])
def test_what_could_not_be_read_is_said(part: str) -> None:
    unread = Unread("forbidden", "list it")
    changes: dict[str, Any] = {part: unread}
    assert found(pod("a"), **changes) == unread


def test_without_a_registration_nothing_is_said() -> None:
    assert found(pod("a"), configurations={"MutatingWebhookConfiguration": None}) is None


def test_nothing_is_said_about_a_policy_that_looks_for_params_of_tenants_because_these_are_not_read() -> None:
    result = found(pod("a"), texts=f"{at_most()}---\n{LABELS}")
    assert (result.changed, result.denied) == (("team-a/a",), ())


TOLERATES = policy("tolerates", "  mutations: [{tolerations: topology.nodes(gpu).tolerations}]")
NAMES = "tolerableTaints: [{key: example.com/accelerated}]\n"


def named(data: dict[str, str]) -> Any:
    """Return what is found with conventions in a ConfigMap of a generated name, on nodes with a taint of their own."""
    deployment = serving("/etc/podberth/policies/own")
    spec = deployment["spec"]["template"]["spec"]
    spec["containers"][0]["env"].append({"name": "PODBERTH_CONVENTIONS", "value": "/etc/podberth/conventions/a.yaml"})
    spec["volumes"] = [{"name": "conventions", "configMap": {"name": "podberth-conventions-1a2b"}}]
    own = {"metadata": {"name": "podberth-policies"}, "data": {"own.yaml": TOLERATES}}
    [node, *_] = simulate("l4-1", "a")
    node["spec"] = {"taints": [{"key": "example.com/accelerated", "effect": "NoSchedule"}]}
    conventions = {"metadata": {"name": "podberth-conventions-1a2b"}, "data": data}
    return found(pod("a"), deployment=deployment, params=(own, conventions), nodes=(node,))


def test_the_conventions_of_the_replicas_decide() -> None:
    assert named({"a.yaml": NAMES}).changed == ("team-a/a",)
    assert named({"a.yaml": "nodeGroupsGrow: false\n"}).changed == ()


@pytest.mark.parametrize(
    ("data", "why"),
    [
        ({}, "the conventions are in /etc/podberth/conventions/a.yaml of the replicas"),
        ({"a.yaml": "a: 1\n"}, "configmap/podberth-conventions-1a2b:1:1 a: unknown field 'a'"),
    ],
)
def test_conventions_that_are_not_known_or_broken_are_said(data: dict[str, str], why: str) -> None:
    read = named(data)
    assert isinstance(read, Unread)
    assert read.why.startswith(why)
