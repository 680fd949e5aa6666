"""podberth among others that change pods: somebody's sidecar injector, and the apiserver's own mutation policies."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from builders import container, gpu_container, gpu_pod
from controlplane.wait import wait_for

from .fleet import H100
from .manifest import preferred_products, record, tolerations
from .space import SECONDS, Space
from .webhook_server import serving

Document = dict[str, Any]

TEAM = {"key": "team", "operator": "Exists", "effect": "NoSchedule"}


@contextmanager
def injecting(space: Space, sidecar: Document) -> Iterator[None]:
    """Have a webhook, called after podberth, add a container to the pods of this namespace."""

    def inject(_: str, review: Document) -> list[Document]:
        names = {each["name"] for each in review["request"]["object"]["spec"]["containers"]}
        absent = sidecar["name"] not in names
        return [{"op": "add", "path": "/spec/containers/-", "value": sidecar}] if absent else []

    control_plane = space.control_plane
    # In the order of names, which is the order of calls, it comes after "podberth".
    name = f"zz-{space.name}"
    with serving(control_plane, inject) as endpoint:
        rule = {"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}
        webhook = {
            "name": "sidecar.injector.test",
            "admissionReviewVersions": ["v1"],
            "clientConfig": {"url": f"{endpoint.url}/inject", "caBundle": endpoint.ca_bundle},
            "rules": [rule],
            "sideEffects": "None",
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": space.name}},
        }
        kind = "MutatingWebhookConfiguration"
        metadata = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": {"name": name}}
        control_plane.apply({**metadata, "webhooks": [webhook]})
        try:
            wait_for(
                lambda: len(space.dry_run(gpu_pod())["spec"]["containers"]) == 2,
                timeout_seconds=SECONDS,
                what="the injector to be called",
            )
            yield
        finally:
            control_plane.kubectl("delete", kind, name)


def test_a_sidecar_added_afterwards_leaves_podberths_work_as_it_is(space: Space) -> None:
    alone = space.dry_run(gpu_pod(4))
    with injecting(space, container("proxy")):
        said = space.must_apply(gpu_pod(4))
        [pod] = space.wait_for_pods(1, "Running")
    assert [each["name"] for each in pod["spec"]["containers"]] == ["main", "proxy"]
    assert tolerations(pod) == tolerations(alone)
    assert pod["spec"]["affinity"] == alone["spec"]["affinity"]
    assert record(pod) == record(alone)
    assert len(said.ours) == len(set(said.ours)) == 1  # two changes are one line, and the second call adds none


def test_a_sidecar_that_wants_gpus_itself_is_seen_on_the_second_call(space: Space) -> None:
    alone = space.dry_run(gpu_pod(1))
    assert preferred_products(alone) == []
    with injecting(space, gpu_container("trainer", 3)):
        space.must_apply(gpu_pod(1))
        [pod] = space.wait_for_pods(1, "Running")
    assert H100 in preferred_products(pod)
    assert tolerations(pod) == tolerations(alone)
    assert "gpu-tolerations" in record(pod)
    assert "multi-gpu-nvlink" in record(pod)


def mutation_policy(space: Space) -> list[Document]:
    """Return a native policy, with its binding, that labels this namespace's pods and lets them tolerate a taint."""
    kind = "MutatingAdmissionPolicy"
    head = {"apiVersion": "admissionregistration.k8s.io/v1", "metadata": {"name": space.name}}
    rule = {"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}
    label = 'Object{metadata: Object.metadata{labels: {"team": "vision"}}}'
    tolerate = (
        '[JSONPatch{op: "add", path: "/spec/tolerations/-", value: Object.spec.tolerations{'
        'key: "team", operator: "Exists", effect: "NoSchedule"}}]'
    )
    spec = {
        "matchConstraints": {"resourceRules": [rule]},
        "failurePolicy": "Fail",
        "reinvocationPolicy": "Never",
        "mutations": [
            {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": label}},
            {"patchType": "JSONPatch", "jsonPatch": {"expression": tolerate}},
        ],
    }
    selector = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": space.name}}}
    binding = {"policyName": space.name, "matchResources": selector}
    return [{**head, "kind": kind, "spec": spec}, {**head, "kind": f"{kind}Binding", "spec": binding}]


def test_a_native_mutation_policy_and_podberth_both_have_their_say(space: Space) -> None:
    alone = space.dry_run(gpu_pod())
    policies = mutation_policy(space)
    space.control_plane.apply(*policies)
    try:
        wait_for(
            lambda: space.dry_run(gpu_pod())["metadata"].get("labels", {}).get("team") == "vision",
            timeout_seconds=SECONDS,
            what="the native policy to apply",
        )
        space.must_apply(gpu_pod(name="both"))
        [pod] = space.wait_for_pods(1, "Running")
        again = space.must_apply(gpu_pod(name="both"))
    finally:
        for policy in policies:
            space.control_plane.kubectl("delete", policy["kind"], space.name)
    assert pod["metadata"]["labels"]["team"] == "vision"
    assert [each for each in tolerations(pod) if each["key"] != "team"] == tolerations(alone)
    assert TEAM in tolerations(pod)
    # The record names what podberth wrote, and nothing of what the other did.
    assert record(pod) == record(alone)
    assert again.warnings == ()
    assert space.pod("both")["spec"]["tolerations"] == pod["spec"]["tolerations"]
