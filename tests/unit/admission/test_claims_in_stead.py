"""A claim that stands for what a container asked for is that container's, whichever mutation or policy adds a use."""

import json
from dataclasses import replace
from typing import Any

import pytest

from builders import container, pod, review
from podberth.admission import decide
from podberth.admission.outcome import Outcome
from podberth.admission.review import decode_review
from podberth.admission.snapshot import Snapshot
from podberth.kube.patch import apply
from snapshots import cluster as nodes
from snapshots import policy, snapshot

JSON = dict[str, Any]

GPU = "nvidia.com/gpu"
TEMPLATE: JSON = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "ResourceClaimTemplate",
    "metadata": {"name": "two", "namespace": "default"},
    "spec": {
        "spec": {
            "devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu.nvidia.com", "count": 2}}]}
        }
    },
}
SHARES = "[{'name': 'a', 'template': 'two', 'containers': ['side']}]"
STANDS = f"[{{'name': 'a', 'template': 'two', 'containers': ['main'], 'instead': '{GPU}'}}]"
BOTH = {"stands": STANDS, "shares": SHARES}


def mutation(claims: str) -> str:
    return f"  - resourceClaims: {json.dumps(claims)}\n"


def joined(*claims: str) -> str:
    return "[" + ", ".join(each.strip("[]") for each in claims) + "]"


def decided(document: JSON, known: Snapshot) -> Outcome:
    return decide.mutate(decode_review(review(document)), known)


def known(form: str, first: str, second: str) -> Snapshot:
    lists = [joined(BOTH[first], BOTH[second])] if form == "one list" else [BOTH[first], BOTH[second]]
    written = list(map(mutation, lists))
    bodies = written if form == "two policies" else ["".join(written)]
    policies = [policy(f"p{at}", f"  mutations:\n{body}", order=at + 1) for at, body in enumerate(bodies)]
    return snapshot(*policies, objects=[TEMPLATE])


def document() -> JSON:
    return pod(container("main", limits={GPU: 2}), container("side"))


def uses(final: JSON) -> dict[str, list[str]]:
    return {
        each["name"]: [use["name"] for use in each.get("resources", {}).get("claims", [])]
        for each in final["spec"]["containers"]
    }


NODE_TOLERATIONS = """
  mutations:
  - when: topology.nodes(gpu).exist
    tolerations: topology.nodes(gpu).tolerations
"""
IMPLICIT = "deviceclass.resource.kubernetes.io/gpu.nvidia.com"
OWN_NAME = "example.com/gpu"
DEVICE_CLASS: JSON = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "DeviceClass",
    "metadata": {"name": "gpu.nvidia.com"},
    "spec": {
        "extendedResourceName": OWN_NAME,
        "selectors": [{"cel": {"expression": "device.driver == 'gpu.nvidia.com'"}}],
    },
}


@pytest.mark.parametrize(
    ("resource", "objects"),
    [(IMPLICIT, []), (IMPLICIT, [DEVICE_CLASS]), (OWN_NAME, [DEVICE_CLASS])],
    ids=["implicit name", "implicit name of a known class", "the class's own name"],
)
def test_nodes_of_what_device_classes_serve_are_those_of_the_claim_that_is_written_in_its_stead(
    resource: str, objects: list[JSON]
) -> None:
    """Else a second pass, which sees the claim, finds nodes and writes what the first did not."""
    stands = policy("claims", f"  mutations:\n{mutation(STANDS.replace(GPU, resource))}", order=2)
    cluster = snapshot(
        policy("tolerations", NODE_TOLERATIONS, order=1),
        stands,
        objects=[TEMPLATE, *objects, *nodes(hgx_h100_8=1)],
    )
    asking = pod(container("main", limits={resource: 2}))
    final = apply(asking, decided(asking, cluster).patch)

    assert [each["key"] for each in final["spec"]["tolerations"]] == [GPU]
    assert uses(final) == {"main": ["a"]}
    assert decided(final, cluster).patch == []


def test_what_nodes_have_is_counted_though_a_device_class_serves_it_too() -> None:
    also = {**DEVICE_CLASS, "spec": {**DEVICE_CLASS["spec"], "extendedResourceName": GPU}}
    rule = policy("p", "  mutations:\n  - labels: {nodes: string(topology.nodes(gpu).count)}\n")
    cluster = snapshot(rule, objects=[also, *nodes(hgx_h100_8=2, l4_1=1)])
    asking = pod(container("main", limits={GPU: 8}))
    assert apply(asking, decided(asking, cluster).patch)["metadata"]["labels"]["nodes"] == "2"


FACTS = """
  variables:
  - {name: found, expression: topology.nodes(gpu)}
  - {name: linked, expression: variables.found.withLinkDomain(8)}
  mutations:
  - labels:
      nodes: string(variables.found.count)
      linked: string(variables.linked.count)
      keys: variables.found.tolerations.map(each, each.key).join('.').replace('/', '-')
"""


@pytest.mark.parametrize(
    ("served", "labels"),
    [
        ([], {"nodes": "1", "linked": "1", "keys": "nvidia.com-gpu"}),
        ([GPU], {"nodes": "3", "linked": "3", "keys": "nvidia.com-gpu"}),
    ],
)
def test_nodes_without_device_plugin_fit_if_a_device_class_serves_the_resource(
    served: list[str], labels: dict[str, str]
) -> None:
    """A fleet that moves to DRA node by node has both; the L4 keeps its plugin and has too few."""
    classes = [{**DEVICE_CLASS, "spec": {**DEVICE_CLASS["spec"], "extendedResourceName": each}} for each in served]
    plugins, moved = nodes(hgx_h200_8=1, l4_1=1), nodes(hgx_h100_8=2)
    for each in moved:
        for field in ("allocatable", "capacity"):
            each.get("status", {}).get(field, {}).pop(GPU, None)
    cluster = snapshot(policy("p", FACTS), objects=[*classes, *plugins, *moved])
    asking = pod(container("main", limits={GPU: 8}))
    assert apply(asking, decided(asking, cluster).patch)["metadata"]["labels"] == labels


def test_a_container_keeps_its_gpus_where_the_api_server_serves_no_claims() -> None:
    """The API server drops claims that it does not know, and the pod would start without a GPU."""
    served = snapshot(policy("p", f"  mutations:\n{mutation(STANDS)}"), objects=[TEMPLATE])
    claimless = served.with_workloads(replace(served.facts, is_claimless=True))
    assert uses(apply(document(), decided(document(), served).patch))["main"] == ["a"]
    outcome = decided(document(), claimless)
    assert outcome.patch == []
    [warning] = outcome.warnings
    assert warning.endswith(
        "resourceClaims left as it is: the API server serves no resourceclaimtemplates.resource.k8s.io of v1, v1beta2 "
        "or v1beta1"
    )


FORMS = ("one list", "two mutations", "two policies")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("order", [("stands", "shares"), ("shares", "stands")], ids=" then ".join)
def test_no_other_container_shares_it(form: str, order: tuple[str, str]) -> None:
    cluster = known(form, *order)
    outcome = decided(document(), cluster)
    final = apply(document(), outcome.patch)

    [warning] = [each for each in outcome.warnings if "left as it is" in each]
    if order[0] == "stands":
        assert f"claim a stands for {GPU} of container main, and container side would share it" in warning
    else:
        assert f"claim a is used by container side already, and container main asks for {GPU} besides" in warning
    # Of a list all is done or nothing, else what came first.
    first = {"stands": {"main": ["a"], "side": []}, "shares": {"main": [], "side": ["a"]}}[order[0]]
    assert uses(final) == ({"main": [], "side": []} if form == "one list" else first)
    assert (GPU in str(final["spec"])) == (form == "one list" or order[0] == "shares")
    # A reinvocation knows of the earlier pass by the record alone.
    assert decided(final, cluster).patch == []


def test_the_container_that_it_stands_for_may_be_named_again() -> None:
    again = SHARES.replace("side", "main")
    cluster = snapshot(policy("p", f"  mutations:\n{mutation(STANDS)}{mutation(again)}"), objects=[TEMPLATE])
    outcome = decided(document(), cluster)
    assert uses(apply(document(), outcome.patch)) == {"main": ["a"], "side": []}
    assert not [each for each in outcome.warnings if "left as it is" in each]
