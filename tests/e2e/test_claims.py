"""Claims on a real control plane: what policies declare is named by admission, made, allocated, and cleaned up.

The API server, the scheduler and the controllers are Kubernetes' own; there is no driver, only what one publishes.
"""

import json
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from builders import container, gpu_pod, job, pod
from controlplane.build import pod_groups_version
from controlplane.cluster import ControlPlane
from controlplane.kubelet import gpu_node
from controlplane.wait import wait_for
from crds import FOLDER, read
from podberth.kube.documents import load_documents
from podberth.policy.parse import parse_policies
from podberth.topology.claimed_devices import claimed_use
from snapshots import policy

from .access import grant
from .controller_process import Controller
from .dra import (
    CHANNEL_DRIVER,
    GPU_DRIVER,
    NIC_DRIVER,
    PCIE_ROOT,
    attributes,
    device_class,
    partitionable,
    resource_slice,
)
from .following import Following
from .podberth_process import ROOT, Endpoint
from .registration import pointed, shipped

Document = dict[str, Any]

SECONDS = 60.0
CRD = "nvidia-dra/resource.nvidia.com_computedomains.yaml"
TEMPLATES = "/apis/resource.k8s.io/v1/namespaces/{}/resourceclaimtemplates"
CLAIMS = "/apis/resource.k8s.io/v1/namespaces/{}/resourceclaims"
POLICIES = "/apis/podberth.io/v1alpha1/gpupolicies"
pytestmark = pytest.mark.shared("crds")

_PAIR = f"""
  matchConditions:
  - {{name: beside-a-nic, expression: "object.metadata.?labels[?'example.com/beside'].orValue('') == 'nic'"}}
  claimTemplates:
  - name: pair
    spec:
      spec:
        devices:
          requests:
          - {{name: gpu, exactly: {{deviceClassName: gpu.nvidia.com}}}}
          - {{name: nic, exactly: {{deviceClassName: rdma.example.com}}}}
          constraints:
          - {{requests: [gpu, nic], matchAttribute: {PCIE_ROOT}}}
  mutations:
  - resourceClaims: "[{{'name': 'pair', 'template': 'pair'}}]"
"""
_CLAIMED = policy(
    "claimed",
    """
  matchConditions:
  - {name: by-claim, expression: "object.metadata.?labels[?'example.com/by'].orValue('') == 'claim' && gpu.count == 1"}
  claimTemplates:
  - name: one-gpu
    spec: {spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu.nvidia.com}}]}}}
  mutations:
  - resourceClaims: "[{'name': 'gpu', 'template': 'one-gpu', 'instead': 'nvidia.com/gpu'}]"
""",
    order=1,
)
_SEEN = policy(
    "seen",
    """
  mutations:
  - annotations:
      seen.example/gpus: gpu.kind + ' ' + string(gpu.count)
      seen.example/claims: >-
        gpu.claims.map(c, c.name + ' ' + c.deviceClass + ' ' + string(c.count) + ' ' + c.kind
          + (c.shared ? ' shared' : '')).join(', ')
""",
)
_PAIRED = policy("paired", _PAIR)
_CUT = {"key": "example.com/cut", "value": "yes", "effect": "NoSchedule"}
"""The taint of the node whose GPU can be cut, so that only pods of its test come there."""
_PROFILES = {
    "1g.5gb": (4864, 1, tuple(range(7))),
    "2g.10gb": (9856, 2, (0, 2, 4)),
    "3g.20gb": (19968, 4, (0, 4)),
}
"""Slices of an A100 of 40 GiB: memory in MiB, memory slices, and where each may begin."""


@dataclass(frozen=True, slots=True)
class Stage:
    """A control plane with podberth registered, two nodes with devices, and the controller."""

    plane: ControlPlane
    following: Following

    def apply(self, namespace: str, *documents: Document) -> None:
        placed = [{**each, "metadata": {**each["metadata"], "namespace": namespace}} for each in documents]
        self.plane.apply(*placed)

    def items(self, path: str, namespace: str) -> list[Document]:
        found: list[Document] = self.plane.api.read(path.format(namespace))["items"]
        return found

    def templates(self, namespace: str) -> dict[str, Document]:
        return {each["metadata"]["name"]: each for each in self.items(TEMPLATES, namespace)}

    def wait_for_running(self, namespace: str, count: int = 1) -> list[Document]:
        def running() -> list[Document] | None:
            pods = self.items("/api/v1/namespaces/{}/pods", namespace)
            return pods if [each["status"].get("phase") for each in pods] == ["Running"] * count else None

        return wait_for(
            running,
            timeout_seconds=SECONDS,
            what=lambda: f"{count} to run; {self.items('/api/v1/namespaces/{}/pods', namespace)}",
        )

    def wait_until_gone(self, namespace: str) -> None:
        wait_for(lambda: not self.templates(namespace), timeout_seconds=SECONDS, what="the template to be gone")


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    directory = tmp_path_factory.mktemp("claims")
    with ControlPlane.start(directory / "plane", shared_claims=True) as plane:
        grant(plane, "controller")
        plane.apply(*read(FOLDER / CRD))
        plane.await_crds()
        plane.apply(
            device_class("gpu.nvidia.com", GPU_DRIVER, "gpu", extendedResourceName="example.com/gpu"),
            device_class("mig.nvidia.com", GPU_DRIVER, "mig"),
            device_class("rdma.example.com", NIC_DRIVER),
            device_class("compute-domain-default-channel.nvidia.com", CHANNEL_DRIVER),
        )
        plane.add_nodes([gpu_node(name, gpus=0) for name in ("a", "b", "c", "d")])
        plane.add_nodes([{**gpu_node("cut", gpus=0), "spec": {"taints": [_CUT]}}])
        # a and b have a GPU and a NIC; only on b they hang below one PCIe root. Of two GPUs, those of c share the
        # root and those of d the NUMA node, and those of b neither.
        plane.apply(
            *(resource_slice("a", GPU_DRIVER, "r1"), resource_slice("a", NIC_DRIVER, "r2")),
            *(resource_slice("b", GPU_DRIVER, "r1", "r2", numa=(0, 1)), resource_slice("b", NIC_DRIVER, "r2")),
            *(resource_slice("c", GPU_DRIVER, "r1", "r1"), resource_slice("d", GPU_DRIVER, "r1", "r2", numa=(1, 1))),
            *partitionable("cut", _PROFILES),
        )
        served = directory / "policies"
        served.mkdir()
        for name in ("aligned-devices", "slices-on-demand"):
            shutil.copy(ROOT / "optional-policies" / name / "policy.yaml", served / f"{name}.yaml")
        (served / "policies.yaml").write_text(f"{_PAIRED}---\n{_CLAIMED}---\n{_SEEN}")
        with (
            Following(plane, directory / "following", served=served) as following,
            Controller(plane, directory / "controller", policies=str(served)),
        ):
            _register(plane, following.podberth.endpoint)
            yield Stage(plane, following)
        plane.check()


def _register(plane: ControlPlane, endpoint: Endpoint) -> None:
    """Have every pod go through podberth, or not be made, from now on."""
    [configuration] = [pointed(each, endpoint) for each in shipped() if each["kind"].startswith("Mut")]
    for webhook in configuration["webhooks"]:
        webhook["failurePolicy"] = "Fail"
    plane.apply(configuration)
    plane.add_namespace("probe")
    probe = gpu_pod(1, name="probe")
    probe["metadata"]["namespace"] = "probe"
    wait_for(
        lambda: b"seen.example/gpus" in plane.raw("POST", "/api/v1/namespaces/probe/pods?dryRun=All", probe)[1],
        timeout_seconds=SECONDS,
        what="the webhook to be called",
    )


@pytest.fixture
def space(stage: Stage, request: pytest.FixtureRequest) -> str:
    """Return a namespace of the test's own."""
    name = re.sub(r"[^a-z0-9]+", "-", request.node.name.removeprefix("test_"))[-60:].strip("-")
    stage.plane.add_namespace(name)
    return str(name)


def written_name() -> str:
    [found] = parse_policies([("policy.yaml", _PAIRED)]).policies
    return found.policy.spec.claim_templates[0].written_name


def beside_nic(name: str = "train") -> Document:
    return pod(container(), name=name, labels={"example.com/beside": "nic", "podberth.io/gang": "g"})


def test_a_gpu_beside_a_nic_is_claimed_made_allocated_and_cleaned_up(stage: Stage, space: str) -> None:
    stage.apply(space, job(beside_nic(), parallelism=1))
    [made] = stage.wait_for_running(space)
    assert made["spec"]["resourceClaims"] == [{"name": "pair", "resourceClaimTemplateName": written_name()}]
    assert made["spec"]["nodeName"] == "b"
    [claim] = stage.items(CLAIMS, space)
    results = claim["status"]["allocation"]["devices"]["results"]
    assert [(each["request"], each["device"]) for each in results] == [("gpu", "gpu-1"), ("nic", "rdma-0")]
    template = stage.templates(space)[written_name()]
    assert template["metadata"]["labels"] == {"app.kubernetes.io/managed-by": "podberth"}
    [owner] = template["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["name"], owner["controller"]) == ("Job", "train", False)

    stage.plane.kubectl("delete", "job", "train", "-n", space)
    stage.wait_until_gone(space)
    wait_for(lambda: not stage.items(CLAIMS, space), timeout_seconds=SECONDS, what="the claim to be gone")


def test_two_gangs_share_a_template_that_goes_with_the_last(stage: Stage, space: str) -> None:
    suspended = [job(beside_nic(), name=name, parallelism=1) for name in ("one", "two")]
    stage.apply(space, *suspended)

    def owners() -> set[str]:
        made = stage.templates(space).get(written_name(), {"metadata": {}})
        return {each["name"] for each in made["metadata"].get("ownerReferences") or ()}

    wait_for(lambda: owners() == {"one", "two"}, timeout_seconds=SECONDS, what=lambda: f"two owners; {owners()}")
    stage.plane.kubectl("delete", "job", "one", "-n", space)
    wait_for(lambda: owners() == {"two"}, timeout_seconds=SECONDS, what=lambda: f"one owner; {owners()}")
    stage.plane.kubectl("delete", "job", "two", "-n", space)
    stage.wait_until_gone(space)


def test_a_gpu_that_no_device_plugin_has_is_claimed_instead_and_the_manifest_can_be_applied_again(
    stage: Stage, space: str
) -> None:
    """Nodes here have no nvidia.com/gpu, as where NVIDIA's DRA driver is alone: the pod's words are those of before."""
    document = gpu_pod(1, name="old-words", labels={"example.com/by": "claim"})
    document["metadata"]["namespace"] = space
    file = stage.following.directory / f"{space}.json"
    file.write_text(json.dumps(document))
    stage.plane.kubectl("apply", "-f", str(file))
    [made] = stage.wait_for_running(space)
    [made_container] = made["spec"]["containers"]
    assert "nvidia.com/gpu" not in str(made_container["resources"])
    assert made_container["resources"]["claims"] == [{"name": "gpu"}]
    assert made["metadata"]["annotations"]["seen.example/gpus"] == "claim 0"
    assert made["metadata"]["annotations"]["seen.example/claims"] == "gpu gpu.nvidia.com 1 whole"
    [claim] = stage.items(CLAIMS, space)
    assert claim["status"]["allocation"]["devices"]["results"][0]["driver"] == GPU_DRIVER
    stage.plane.kubectl("apply", "-f", str(file))
    stage.plane.kubectl("delete", "pod", "old-words", "-n", space)
    stage.wait_until_gone(space)


@pytest.mark.parametrize(("what", "gpus", "node"), [("pcie-root", 2, "c"), ("numa-node", 2, "d"), ("nic", 1, "b")])
def test_aligned_devices_are_found_on_the_node_that_has_them(
    stage: Stage, space: str, what: str, gpus: int, node: str
) -> None:
    """The optional policy, as it is shipped."""
    stage.apply(space, gpu_pod(gpus, name="train", annotations={"podberth.io/align": what}))
    [made] = stage.wait_for_running(space)
    assert made["spec"]["nodeName"] == node
    [claim] = stage.items(CLAIMS, space)
    [constraint] = claim["spec"]["devices"]["constraints"]
    slices = stage.plane.api.read("/apis/resource.k8s.io/v1/resourceslices")["items"]
    found = attributes(slices, node, constraint["matchAttribute"])
    results = claim["status"]["allocation"]["devices"]["results"]
    assert len(results) == gpus + (what == "nic")
    values = [found[each["device"], each["driver"]] for each in results]
    assert values[0] is not None
    assert all(value == values[0] for value in values)
    stage.plane.kubectl("delete", "pod", "train", "-n", space)
    wait_for(lambda: not stage.items(CLAIMS, space), timeout_seconds=SECONDS, what="the claim to be gone")


def test_a_gpu_is_cut_as_pods_come_and_the_last_gets_a_whole_one(stage: Stage, space: str) -> None:
    """The optional policy slices-on-demand, as it is shipped, over devices that share the counters of a GPU."""
    given: dict[str, str] = {}
    tolerations = [{"key": "example.com/cut", "operator": "Exists"}]
    needs = {"large": "18Gi", "small-0": "4Gi", "small-1": "4Gi", "small-2": "4Gi", "late": "4Gi"}
    for count, (name, need) in enumerate(needs.items(), start=1):
        stage.apply(space, gpu_pod(1, name=name, annotations={"podberth.io/gpu-memory": need}, tolerations=tolerations))
        stage.wait_for_running(space, count)
        for claim in stage.items(CLAIMS, space):
            [result] = claim["status"]["allocation"]["devices"]["results"]
            [owner] = claim["metadata"]["ownerReferences"]
            given[owner["name"]] = f"{result['request']} {result['device']}"
    assert given["large"].startswith("gpu/smallest gpu-0-mig-3g20gb-")
    small = [given[f"small-{number}"] for number in range(3)]
    assert len(set(small)) == len(small)
    assert all(each.startswith("gpu/smallest gpu-0-mig-1g5gb-") for each in small)
    assert given["late"] == "gpu/whole gpu-1"
    slices = stage.plane.get("resourceslices")["items"]
    use = {each.resource: (each.held, each.free) for each in claimed_use(slices, stage.items(CLAIMS, space))["cut"]}
    # The first GPU has one memory slice left, of eight. An instance may begin there if 3g.20gb has the last four.
    left = int("-4" in given["large"].removeprefix("gpu/smallest"))
    slices_of = {"1g.5gb": (3, left), "2g.10gb": (0, 0), "3g.20gb": (1, 0)}
    assert use == {GPU_DRIVER: (1, 0), **{f"{GPU_DRIVER} {name}": each for name, each in slices_of.items()}}
    for name in needs:
        stage.plane.kubectl("delete", "pod", name, "-n", space, "--wait=false", "--grace-period=0", "--force")
    wait_for(lambda: not stage.items(CLAIMS, space), timeout_seconds=SECONDS, what="the claims to be gone")


def test_devices_that_no_node_has_aligned_are_waited_for(stage: Stage, space: str) -> None:
    stage.apply(space, gpu_pod(4, name="train", annotations={"podberth.io/align": "numa-node"}))

    def noted() -> bool:
        [made] = stage.items("/api/v1/namespaces/{}/pods", space)
        conditions = made.get("status", {}).get("conditions") or ()
        return any("cannot allocate" in (each.get("message") or "") for each in conditions)

    wait_for(noted, timeout_seconds=SECONDS, what=lambda: str(stage.items("/api/v1/namespaces/{}/pods", space)))
    stage.plane.kubectl("delete", "pod", "train", "-n", space)


def test_a_template_that_somebody_else_has_made_stays_as_it_is(stage: Stage, space: str) -> None:
    own = {"devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu.nvidia.com"}}]}}
    template = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": written_name()},
        "spec": {"spec": own},
    }
    stage.apply(space, template)
    stage.apply(space, beside_nic())
    stage.wait_for_running(space)
    found = stage.templates(space)[written_name()]
    assert "ownerReferences" not in found["metadata"]
    stage.plane.kubectl("delete", "pod", "train", "-n", space)


def test_a_name_that_no_policy_declares_is_nobodys(stage: Stage, space: str) -> None:
    claims = [{"name": "c", "resourceClaimTemplateName": "pair-00000000"}]
    stage.apply(space, pod(container(claims=["c"]), name="lost", resourceClaims=claims), beside_nic("found"))
    wait_for(lambda: stage.templates(space), timeout_seconds=SECONDS, what="a template")
    assert set(stage.templates(space)) == {written_name()}


def test_a_pod_whose_template_no_policy_declares_any_more_gets_an_event(stage: Stage, space: str) -> None:
    """The controller was started again after the policy had changed, for example."""
    claims = [{"name": "c", "resourceClaimTemplateName": "pair-00000000"}]
    stage.apply(space, pod(container(claims=["c"]), name="lost", resourceClaims=claims))

    def noted() -> list[str]:
        events = stage.items("/api/v1/namespaces/{}/events", space)
        return [each["message"] for each in events if each["reason"] == "ResourceClaimTemplateMissing"]

    [message] = wait_for(noted, timeout_seconds=SECONDS, what="an Event of the pod")
    assert message.startswith(f"ResourceClaimTemplate {space}/pair-00000000: got none after 1 s, and a claim of this")
    assert "no policy in force declares it" in message
    stage.plane.kubectl("delete", "pod", "lost", "-n", space)


def test_policies_of_the_cluster_are_read_with_the_controllers_own_rights(stage: Stage, tmp_path: Path) -> None:
    crd = ROOT / "manifests" / "base" / "gpupolicy-crd.yaml"
    stage.plane.apply(*(each.document for each in load_documents(crd.read_text(), crd.name)[0]))
    stage.plane.await_crds()
    stage.plane.apply(*(each.document for each in load_documents(_PAIRED, "policy.yaml")[0]))
    # Ready once the policies are loaded. It stands by: the other replica leads.
    with Controller(stage.plane, tmp_path / "by-cluster") as standby:
        wait_for(
            lambda: written_name() in standby.log.read_text(),
            timeout_seconds=SECONDS,
            what=lambda: f"the template to be known; {standby.log.read_text()}",
        )


def test_an_extended_resource_that_a_class_serves_is_a_gpu_and_the_scheduler_allocates_it(
    stage: Stage, space: str
) -> None:
    """DRAExtendedResource: no claim is written, the scheduler makes one."""
    implicit = "deviceclass.resource.kubernetes.io/gpu.nvidia.com"
    seen = (("example.com/gpu", "explicit", ""), (implicit, "implicit", " gpu.nvidia.com 1 whole"))
    for resource, name, claims in seen:
        stage.apply(space, gpu_pod(1, resource=resource, name=name))
        [made] = [each for each in stage.wait_for_running(space) if each["metadata"]["name"] == name]
        noted = made["metadata"]["annotations"]
        assert noted["seen.example/gpus"] == "whole 1"
        assert noted["seen.example/claims"] == claims
        assert made["status"]["extendedResourceClaimStatus"]["resourceClaimName"].startswith(name)
        stage.plane.kubectl("delete", "pod", name, "-n", space)


def test_a_claim_of_the_podgroup_is_one_for_all_its_pods_and_left_alone(stage: Stage, space: str) -> None:
    """DRAWorkloadResourceClaims, alpha in 1.36: the group and its pods list the same name and template."""
    gpu = {"devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu.nvidia.com"}}]}}
    template = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": "for-the-group"},
        "spec": {"spec": gpu},
    }
    claims = [{"name": "ring", "resourceClaimTemplateName": "for-the-group"}]
    group = {
        "apiVersion": pod_groups_version(),
        "kind": "PodGroup",
        "metadata": {"name": "ring"},
        "spec": {"schedulingPolicy": {"gang": {"minCount": 2}}, "resourceClaims": claims},
    }
    stage.apply(space, template, group)
    member = pod(container(claims=["ring"]), resourceClaims=claims, schedulingGroup={"podGroupName": "ring"})
    known = "ring gpu.nvidia.com 1 whole shared"
    wait_for(
        lambda: known in str(stage.following.ask(member, namespace=space)),
        timeout_seconds=SECONDS,
        what="the group's claims to be known",
    )
    stage.apply(space, *({**member, "metadata": {**member["metadata"], "name": name}} for name in ("one", "two")))
    for made in stage.wait_for_running(space, 2):
        assert made["spec"]["resourceClaims"] == claims
        assert made["metadata"]["annotations"]["seen.example/claims"] == known
    [claim] = stage.items(CLAIMS, space)
    [owner] = claim["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["name"]) == ("PodGroup", "ring")


def test_channels_and_nics_are_no_gpus_and_a_domain_names_its_channel(stage: Stage, space: str) -> None:
    domain = {
        "apiVersion": "resource.nvidia.com/v1beta1",
        "kind": "ComputeDomain",
        "metadata": {"name": "ring"},
        "spec": {"numNodes": 0, "channel": {"resourceClaimTemplate": {"name": "mine"}}},
    }
    nic = {"devices": {"requests": [{"name": "nic", "exactly": {"deviceClassName": "rdma.example.com"}}]}}
    claim = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": "shared"},
        "spec": nic,
    }
    entries = [
        {"name": "channel", "resourceClaimTemplateName": "mine"},
        {"name": "nic", "resourceClaimName": "shared"},
    ]
    labels = {"podberth.io/gang": "g"}
    document = pod(container(claims=["channel", "nic"]), labels=labels, resourceClaims=entries)
    stage.apply(space, domain, claim)

    def seen() -> str:
        answer = stage.following.ask(document, namespace=space)
        return str(answer["patch"])

    wait_for(lambda: "'none 0'" in seen(), timeout_seconds=SECONDS, what=seen)
    wanted = "channel compute-domain-default-channel.nvidia.com 1 none, nic rdma.example.com 1 none shared"
    assert wanted in seen()
