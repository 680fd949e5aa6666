"""The replay itself: pods go to a real API server in the order of their arrival, and the real scheduler has its say.

Machines are Nodes without kubelets. The scheduler takes pods of one priority in the order in which it hears of them
(its PrioritySort plugin), and one at a time, so that they need not wait for each other here. A pod with a claim from a
template is not heard of until Kubernetes' controller has made the claim, so the next pod waits for it. Nothing is
deleted meanwhile: what is refused stays refused.
"""

import json
import shutil
import sys
import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from http import HTTPStatus
from itertools import zip_longest
from pathlib import Path
from typing import Any, Literal, TypeAlias

from builders import gpu_pod, pod_group
from controlplane.cluster import ControlPlane
from controlplane.kubelet import complete_node
from controlplane.wait import wait_for
from e2e.access import grant
from e2e.controller_process import Controller
from e2e.dra import GPU_DRIVER, device_class
from e2e.podberth_process import POLICIES, ROOT, Podberth
from e2e.registration import Registration
from podberth.kube.quantity import parse_quantity
from podberth.policy.parse import parse_policies
from podberth.topology.free_links import bucket
from podberth.wellknown import FREE_LINKED_LABEL, NAMESPACE

from .accounts import Account, Ask
from .manifests import gang_of, manifest
from .outcome import Trial
from .overlay import WHOLE, Machine
from .trace import TracePod

JSON = dict[str, Any]

REQUIRED = ("gang-topology", "inference-roles", "multi-gpu-nvlink", "multi-node-nvlink", "product-affinity")
"""The shipped policies whose ConfigMap has a mode, each ``podberth-<name>`` (their policy.yaml)."""

ON_DEMAND = "slices-on-demand"
"""The optional policy that makes claims."""

GROUPS = "gang-system"
"""The optional policy by which gangs join PodGroups."""

DEVICE_CLASSES = (
    device_class("gpu.nvidia.com", GPU_DRIVER, "gpu", extendedResourceName=WHOLE),
    device_class("mig.nvidia.com", GPU_DRIVER, "mig"),
)
"""NVIDIA's. Pods that ask for ``nvidia.com/gpu`` get GPUs of either driver or device plugin."""

_NAMESPACE = "openb"
_PODS = f"/api/v1/namespaces/{_NAMESPACE}/pods"
_DRA = "/apis/resource.k8s.io/v1"
_CLAIMS, _TEMPLATES = (f"{_DRA}/namespaces/{_NAMESPACE}/resourceclaim{each}" for each in ("s", "templates"))
_POD_GROUPS = f"/apis/scheduling.k8s.io/v1alpha2/namespaces/{_NAMESPACE}/podgroups"
_SLICES, _CLASSES = f"{_DRA}/resourceslices", f"{_DRA}/deviceclasses"
# The pods' namespace, as gang-system reads it. That PodGroups are served, a PodGroup in the snapshot shows.
_CHOOSING = {
    "apiVersion": "v1",
    "kind": "Namespace",
    "metadata": {"name": _NAMESPACE, "labels": {"podberth.io/gang-system": "native"}},
}
_PARALLEL = 8
# The API server's own clients page so (client-go, tools/pager).
_PAGE = 500
_STEP = 500  # pods from one word of progress to the next
# For so many pods as a step has: for a scheduler that stands still, not one that is slow.
_STANDSTILL_SECONDS = 300.0
# The scheduler needs the processor more than whoever watches it.
_LOOK_SECONDS = 0.5
_MIB = 1 << 20


Cluster: TypeAlias = Literal["ruled", "whole", "planned", "claims"]
"""How GPUs are cut: by the overlay's rule, not at all, as ``podberth plan mig`` says, or as pods come, by claims."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mode:
    """One replay's cluster and what stands before it."""

    name: str
    podberth: bool = False
    required: bool = False
    by_hand: bool = False
    """Users look up the MIG profile that they need."""
    optional: tuple[str, ...] = ()
    """The optional policies that are served, too."""
    live: bool = False
    """Whether the machines' labels say how many linked GPUs are free; pods then come one after the other."""
    lag: int = 0
    """So many pods later than their placement the labels follow."""
    cluster: Cluster = "ruled"

    @property
    def groups(self) -> bool:
        """Whether gangs are placed as a whole: by native PodGroups, which `podberth controller` makes."""
        return GROUPS in self.optional

    def awaits(self, pod: TracePod, follower: TracePod | None) -> bool:
        """Return whether the next pod comes when this one has a node or a reason: labels follow it, its claim or gang.

        The pods of a group are placed when the last one is there.
        """
        if self.groups and pod.gang:
            return follower is None or follower.gang != pod.gang
        return self.live or (self.cluster == "claims" and pod.shares)


class Stage:
    """A control plane for one replay after the other."""

    def __init__(self, control_plane: ControlPlane, folder: Path) -> None:
        """Stop the simulated kubelets: nobody would be kubelet for a real pod."""
        self._plane = control_plane
        self._folder = folder
        control_plane.add_namespace(_NAMESPACE)
        grant(control_plane, "controller")
        self._registration = Registration(control_plane)
        control_plane.stop_component("nodes")

    def replay(self, mode: Mode, machines: Sequence[Machine], pods: Sequence[TracePod]) -> list[Trial]:
        """Empty the cluster, fill it with these machines, and let the pods come."""
        self._clear()
        with ThreadPoolExecutor(_PARALLEL) as pool:
            list(pool.map(self._add, machines))
        if mode.cluster == "claims":
            self._offer_claims()
        labels = LiveLabels(self._plane, machines, mode.lag) if mode.live else None
        with self._podberth(mode, machines), self._controller(mode):
            for number, (pod, follower) in enumerate(zip_longest(pods, pods[1:])):
                if number % _STEP == 0:
                    say(f"{mode.name}: {number} of {len(pods)} pods sent")
                self._send(manifest(pod, by_hand=mode.by_hand))
                if mode.awaits(pod, follower):
                    self._wait_for(pod)
                if labels is not None:
                    labels.follow(trial(pod, self._plane.api.read(f"{_PODS}/{pod.name}")))
            if labels is not None:
                say(f"{mode.name}: {labels.writes} label writes")
            self._wait(pods, mode.name)
        found = {each["metadata"]["name"]: each for each in self._list()}
        devices = allocated(self._plane.api.read(_CLAIMS)["items"])
        return [trial(pod, found[pod.name], devices.get(pod.name, ())) for pod in pods]

    def _clear(self) -> None:
        # One of 1.36 may keep for ever what it has assumed of a gang whose pods are deleted (e2e/operators/stage.py).
        self._plane.stop_component("kube-scheduler")
        for path in (_PODS, _POD_GROUPS, _CLAIMS, _TEMPLATES, _SLICES, _CLASSES, "/api/v1/nodes"):
            # All at once would take longer than the API server gives a request.
            while self._plane.api.read(f"{path}?limit=1")["items"]:
                self._plane.api.request("DELETE", f"{path}?gracePeriodSeconds=0&limit={_PAGE}")
        self._plane.start_component("kube-scheduler")

    def _add(self, machine: Machine) -> None:
        self._plane.api.request("POST", "/api/v1/nodes", complete_node(machine.node, datetime.now(UTC)))
        # Admission taints a new node, and the controller that would take that back does not run.
        taints = {"spec": {"taints": machine.node["spec"]["taints"]}}
        path = f"/api/v1/nodes/{machine.name}"
        self._plane.api.request("PATCH", path, taints, "application/merge-patch+json")
        for each in machine.resource_slices:
            self._plane.api.request("POST", _SLICES, each)

    def _offer_claims(self) -> None:
        """Make the classes of NVIDIA's driver, and the templates that `podberth controller` would make."""
        for each in DEVICE_CLASSES:
            self._plane.api.request("POST", _CLASSES, each)
        found = parse_policies([("policy.yaml", (ROOT / "optional-policies" / ON_DEMAND / "policy.yaml").read_text())])
        for template in found.policies[0].policy.spec.claim_templates:
            document = {
                "apiVersion": "resource.k8s.io/v1",
                "kind": "ResourceClaimTemplate",
                "metadata": {"name": template.written_name},
                "spec": template.document,
            }
            self._plane.api.request("POST", _TEMPLATES, document)

    @contextmanager
    def _podberth(self, mode: Mode, machines: Sequence[Machine]) -> Iterator[None]:
        """Have podberth called, with the shipped policies and what is known of the machines, if the mode has it."""
        if not mode.podberth:
            yield
            return
        folder = self._folder / mode.name.replace(" ", "-")
        folder.mkdir()
        snapshot = folder / "cluster.json"
        items = [each for machine in machines for each in (machine.node, machine.config_map)]
        items += list(map(_parameters, REQUIRED)) if mode.required else []
        items += [_CHOOSING, pod_group("any", 1)] if mode.groups else []
        snapshot.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
        policies = shutil.copytree(POLICIES, folder / "policies")
        for name in mode.optional:
            shutil.copytree(ROOT / "optional-policies" / name, policies / name)
        with Podberth(folder, snapshot, policies=policies) as podberth:
            self._registration.put(podberth.endpoint)
            self._check(mode)
            yield
            self._registration.remove()

    @contextmanager
    def _controller(self, mode: Mode) -> Iterator[None]:
        """Have PodGroups made for gangs, if the mode has them."""
        if not mode.groups:
            yield
            return
        with Controller(self._plane, self._folder / mode.name.replace(" ", "-") / "controller") as controller:
            wait_for(controller.leads, timeout_seconds=_STANDSTILL_SECONDS, what="the controller to lead")
            yield

    def _check(self, mode: Mode) -> None:
        """See for oneself that a pod of four GPUs is sent to linked ones, and one of a gang joins, as the mode says."""
        _, pod = self._registration.dry_run(gpu_pod(4))
        required = "requiredDuringSchedulingIgnoredDuringExecution"
        preferred = "preferredDuringSchedulingIgnoredDuringExecution"
        affinity = pod["spec"].get("affinity", {}).get("nodeAffinity", {})
        if not affinity.get(required if mode.required else preferred):
            raise SystemExit(f"bench: {mode.name}: a pod of 4 GPUs got {affinity}, want a node affinity of that mode")
        if mode.groups:
            member = {**gpu_pod(4), "metadata": {"name": "probe", **gang_of("probe")}}
            pod = self._plane.api.request("POST", f"{_PODS}?dryRun=All", member)
            if not pod["spec"].get("schedulingGroup"):
                raise SystemExit(f"bench: {mode.name}: a pod of a gang got no schedulingGroup, want its PodGroup's")

    def _send(self, pod: JSON) -> None:
        status, body = self._plane.raw("POST", _PODS, pod)
        if status != HTTPStatus.CREATED:
            raise SystemExit(f"bench: {pod['metadata']['name']}: status {status}: {body.decode()[:1000]}")

    def _wait(self, pods: Sequence[TracePod], name: str) -> None:
        """Wait until the scheduler has decided on every pod. It decides in order: the last pod of a step is enough."""
        for number in (*range(_STEP, len(pods), _STEP), len(pods)):
            deadline = time.monotonic() + _STANDSTILL_SECONDS
            while not self._decided(pods[number - 1]):
                if time.monotonic() > deadline:
                    raise SystemExit(f"bench: {name}: the scheduler stands still before pod {number} of {len(pods)}")
                time.sleep(_LOOK_SECONDS)
            say(f"{name}: {number} of {len(pods)} pods tried")
        # A decision is written down while the next is made.
        wait_for(
            lambda: all(map(_tried, self._list("&fieldSelector=spec.nodeName="))),
            timeout_seconds=_STANDSTILL_SECONDS,
            what=f"{name}: every pod to have a node or a reason",
        )

    def _wait_for(self, pod: TracePod) -> None:
        wait_for(
            lambda: self._decided(pod),
            timeout_seconds=_STANDSTILL_SECONDS,
            what=f"{pod.name} to have a node or a reason",
        )

    def _decided(self, pod: TracePod) -> bool:
        return _tried(self._plane.api.read(f"{_PODS}/{pod.name}"))

    def _list(self, query: str = "") -> Iterator[JSON]:
        page = ""
        while True:
            found = self._plane.api.read(f"{_PODS}?limit={_PAGE}{query}{page}")
            yield from found["items"]
            if not (token := found["metadata"].get("continue")):
                return
            page = f"&continue={token}"


class LiveLabels:
    """Keeps the label of each machine as its agent would, so many pods later than the placement."""

    def __init__(self, control_plane: ControlPlane, machines: Sequence[Machine], lag: int) -> None:
        """Label all machines, with all GPUs free."""
        self._plane, self._lag = control_plane, lag
        self._accounts = {machine.name: Account(machine) for machine in machines}
        self._said: dict[str, int] = {}
        self._late: deque[tuple[str, int]] = deque()
        self.writes = 0
        """The labels that were written since the first ones."""
        for name, account in self._accounts.items():
            self._write(name, bucket(account.free_linked()))
        self.writes = 0

    def follow(self, placed: Trial) -> None:
        """Take what the pod got off its machine; write the label of the machine whose turn it is."""
        free = 0
        if placed.node:
            account = self._accounts[placed.node]
            account.place(placed.ask)
            free = bucket(account.free_linked())
        self._late.append((placed.node, free))
        if len(self._late) > self._lag:
            name, value = self._late.popleft()
            if name and self._said[name] != value:
                self._write(name, value)

    def _write(self, name: str, value: int) -> None:
        labels = {"metadata": {"labels": {FREE_LINKED_LABEL: str(value)}}}
        self._plane.api.request("PATCH", f"/api/v1/nodes/{name}", labels, "application/merge-patch+json")
        self._said[name] = value
        self.writes += 1


def allocated(claims: Iterable[JSON]) -> dict[str, tuple[str, ...]]:
    """Return the names of the devices that the claims of each pod have."""
    return {
        owner["name"]: tuple(result["device"] for result in claim["status"]["allocation"]["devices"]["results"])
        for claim in claims
        if claim.get("status", {}).get("allocation")
        for owner in claim["metadata"]["ownerReferences"]
    }


def trial(pod: TracePod, document: JSON, devices: Sequence[str] = ()) -> Trial:
    """Read what became of a pod off the document that the API server has of it."""
    node = document["spec"].get("nodeName", "")
    reason = "" if node else _refusal(document)
    return Trial(pod=pod, ask=ask_of(document), node=node, devices=tuple(devices) if node else (), reason=reason)


def ask_of(document: JSON) -> Ask:
    """Read what a pod of one container wants of its node."""
    spec = document["spec"]
    requests = spec["containers"][0]["resources"]["requests"]
    devices = {name: int(amount) for name, amount in requests.items() if "/" in name}
    if len(devices) > 1:
        raise ValueError(f"{document['metadata']['name']}: resources: got {devices}, want one kind of device")
    # slices-on-demand calls its templates memory-<MiB>, and the digest follows.
    claims = [int(each["resourceClaimTemplateName"].split("-")[1]) for each in spec.get("resourceClaims", ())]
    affinity = spec.get("affinity", {}).get("nodeAffinity", {})
    terms = affinity.get("requiredDuringSchedulingIgnoredDuringExecution", {}).get("nodeSelectorTerms", [])
    return Ask(
        cpu_milli=int(parse_quantity(requests["cpu"]) * 1000),
        memory_mib=int(parse_quantity(requests["memory"]) / _MIB),
        resource=next(iter(devices), ""),
        count=sum(devices.values()) + len(claims),
        claim_mib=sum(claims),
        terms=json.dumps(terms, sort_keys=True) if terms else "",
    )


def say(what: str) -> None:
    """Report the progress: stdout is for the tables."""
    print(f"{datetime.now(UTC):%H:%M:%S} {what}", file=sys.stderr, flush=True)


def _tried(pod: JSON) -> bool:
    return bool(pod["spec"].get("nodeName") or _refusal(pod))


def _refusal(pod: JSON) -> str:
    """Return the scheduler's message about a pod that it could not place; empty while it has said nothing."""
    said = (each for each in pod.get("status", {}).get("conditions", ()) if each["type"] == "PodScheduled")
    return next((each.get("message", "") for each in said if each.get("reason") == "Unschedulable"), "")


def _parameters(policy: str) -> JSON:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": f"podberth-{policy}", "namespace": NAMESPACE},
        "data": {"mode": "required"},
    }
