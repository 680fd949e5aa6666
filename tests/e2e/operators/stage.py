"""The cluster of the scenario, and one play on it: all gangs created at once, in turn without podberth and with it.

The scheduler is Kubernetes' own, and so is everything but the machines. What a play counts is what the API server says
when nothing moves any more: as many machines held as can be, and every other pod refused by the scheduler.
"""

import itertools
import re
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path

from controlplane.build import pod_groups_version
from controlplane.cluster import ControlPlane
from controlplane.kubelet import gpu_node
from controlplane.wait import wait_for
from podberth.wellknown import NAMESPACE, TOPOLOGY_LABEL
from snapshots import policy

from ..access import enter, grant
from ..controller_process import Controller
from ..podberth_process import POLICIES, Podberth
from ..registration import Registration
from .gangs import GANGS, MEMBERS, POOLS, Document, Gang, machines
from .makers import Maker
from .outcome import Outcome, refused, runs, wants_gpus, work_out
from .pods_as_made import Made

# Seconds here; the bound is for a CI machine under load.
_SECONDS = 120.0
_LIFE_SECONDS = 24 * 3600  # of a heartbeat: no play is longer
_GROUPS = f"/apis/{pod_groups_version()}/namespaces/{{}}/podgroups"
_COUNTER = itertools.count()

# Members wait for their gang's PodGroup, which the controller makes. Before gang-topology: that is for plain gangs.
NATIVE_GROUPS = policy(
    "native-groups",
    """
  description: Plain gangs are placed as a whole, by Kubernetes' own PodGroups.
  matchConditions:
  - name: plain-gang
    expression: gang.known && gang.system == 'plain'
  variables:
  - name: level
    expression: "gpu.count > 0 ? topology.narrowestLevel(gang) : ''"
  mutations:
  - gang: {name: gang.name, size: gang.size, system: "'native'"}
  - when: variables.level != ''
    topology: {level: variables.level, mode: required}
""",
    order=350,
)


class Mode(StrEnum):
    """What stands between the user and the scheduler."""

    WITHOUT = "without"
    SHIPPED = "with its policies as shipped"
    NATIVE = "with a policy that joins PodGroups, and the controller that makes them"


class Stage:
    """A cluster with the machines, and podberth, which is in force where a play asks for it."""

    def __init__(self, plane: ControlPlane, directory: Path) -> None:
        """Add the machines, their agents' documents and heartbeats, and podberth's rights."""
        self.plane = plane
        made = list(machines())
        # Launchers and heads without GPUs tolerate no taint of the others.
        plane.add_nodes([*(node for node, _ in made), gpu_node("cpu", gpus=0)])
        self._nodes = {node["metadata"]["name"]: node["metadata"]["labels"] for node, _ in made}
        grant(plane, "controller")
        plane.apply(*(config_map for _, config_map in made), *map(_heartbeat, self._nodes))
        self._registration = Registration(plane)
        self._in_force = Mode.WITHOUT
        self._podberths = {mode: _podberth(plane, directory / mode.name.lower(), mode) for mode in list(Mode)[1:]}
        self._controller = Controller(plane, directory / "controller")

    def play(self, maker: Maker | Made, mode: Mode, *, grouped: bool = False, gangs: Sequence[Gang] = GANGS) -> Outcome:
        """Create gangs at once, wait until nothing moves, count, and take them away again.

        ``grouped``: the workload's own controller makes native PodGroups.
        """
        self._put(mode)
        slug = re.sub(r"[^a-z0-9]+", "-", maker.title.lower())[:40].strip("-")
        namespace = f"{slug}-{next(_COUNTER)}"
        self.plane.add_namespace(namespace)
        wanted = list(self._wanted(maker, gangs, namespace))
        began = time.monotonic()
        for path, document in wanted:
            self._post(path, document)
        held = _machines_held(gangs, whole=grouped or mode is Mode.NATIVE)
        self._wait(namespace, pods=len(gangs) * maker.size, held=held)
        took = time.monotonic() - began
        self._wait_until_still(namespace)
        outcome = replace(work_out(self._pods(namespace), self._nodes, maker.size), seconds=took)
        self._remove(maker, namespace)
        return outcome

    def _put(self, mode: Mode) -> None:
        """Have this mode in force."""
        if self._in_force is mode:
            return
        if self._in_force is not Mode.WITHOUT:
            self._registration.remove()
        if mode is not Mode.WITHOUT:
            self._podberths[mode].start()
            if mode is Mode.NATIVE:
                self._controller.start()
                wait_for(self._controller.leads, timeout_seconds=_SECONDS, what="the controller to lead")
            self._registration.put(self._podberths[mode].endpoint)
        self._in_force = mode

    def _wanted(self, maker: Maker | Made, gangs: Sequence[Gang], namespace: str) -> Iterator[tuple[str, Document]]:
        """Yield where to create what; owners of pods that the tests make are created here.

        Of such pods the first of each gang comes first, then the second of each, and so on.
        """
        if isinstance(maker, Maker):
            yield from ((_path(maker.plural, namespace), maker.workload(gang)) for gang in gangs)
            return
        pods = []
        for gang in gangs:
            owner: list[Document] = []
            for document in maker.owners(gang):
                plural = f"{document['apiVersion']}/{document['kind'].lower()}s"
                made = self._post(_path(plural, namespace), _owned(document, owner))
                owner = [_reference(made)]
            pods.append([_owned(pod, owner) for pod in maker.pods(gang)])
        for pod in itertools.chain.from_iterable(zip(*pods, strict=True)):
            yield _path("v1/pods", namespace), pod

    def _wait(self, namespace: str, *, pods: int, held: int) -> None:
        """Return once that many pods are there, and that many machines are held."""

        def reached() -> bool:
            found = self._pods(namespace)
            return len(found) == pods and sum(map(_holds, found)) == held

        def what() -> str:
            return f"{held} machines to be held; {self._seen(namespace)}"

        wait_for(reached, timeout_seconds=_SECONDS, what=what)

    def _wait_until_still(self, namespace: str) -> None:
        """Return once every pod runs or was refused."""
        wait_for(
            lambda: all(runs(pod) or refused(pod) for pod in self._pods(namespace)),
            timeout_seconds=_SECONDS,
            what=lambda: f"every pod to run or to be refused; {self._seen(namespace)}",
        )

    def _remove(self, maker: Maker | Made, namespace: str) -> None:
        """Delete the workloads, and return once no pod is left and the scheduler knows of none.

        It is another scheduler then: one of 1.36 that was about to bind a gang whose pods are deleted meanwhile keeps
        what it had assumed of them for ever (its log: "Pod group state not found for forget").
        """
        plural = maker.plural if isinstance(maker, Maker) else "v1/pods"
        query = "?propagationPolicy=Background&gracePeriodSeconds=0"
        self.plane.stop_component("kube-scheduler")
        self.plane.api.request("DELETE", _path(plural, namespace) + query)
        wait_for(lambda: not self._pods(namespace), timeout_seconds=_SECONDS, what=lambda: self._seen(namespace))
        self.plane.api.request("DELETE", _GROUPS.format(namespace))
        self.plane.api.request("DELETE", f"/api/v1/namespaces/{namespace}")
        self.plane.start_component("kube-scheduler")

    def _post(self, path: str, document: Document) -> Document:
        made: Document = self.plane.api.request("POST", path, document)
        return made

    def _pods(self, namespace: str) -> list[Document]:
        return list(self.plane.api.read(_path("v1/pods", namespace))["items"])

    def _seen(self, namespace: str) -> str:
        pods = [(pod["metadata"]["name"], pod["spec"].get("nodeName"), pod["status"]) for pod in self._pods(namespace)]
        events = self.plane.api.read(f"/api/v1/namespaces/{namespace}/events")["items"]
        return f"pods: {pods}; events: {[each.get('message') for each in events]}"

    def close(self) -> None:
        """End podberth."""
        for each in self._podberths.values():
            each.close()
        self._controller.close()


@contextmanager
def staged(directory: Path, *, job_gangs: bool = False) -> Iterator[Stage]:
    """Have a cluster of the scenario until the block ends."""
    with ExitStack() as stack:
        plane = stack.enter_context(ControlPlane.start(directory / "plane", job_gangs=job_gangs))
        stage = Stage(plane, directory)
        stack.callback(stage.close)
        yield stage
        plane.check()


def _podberth(plane: ControlPlane, directory: Path, mode: Mode) -> Podberth:
    policies = directory / "policies"
    shutil.copytree(POLICIES, policies)
    if mode is Mode.NATIVE:
        (policies / "native-groups.yaml").write_text(NATIVE_GROUPS)
    return Podberth(directory, None, policies, kubeconfig=enter(plane, directory))


def _machines_held(gangs: Sequence[Gang], *, whole: bool) -> int:
    """Return how many machines are held in the end: all that are asked for, as far as there are any.

    ``whole``: only those of one gang in each domain.
    """
    held = 0
    for pool in POOLS:
        wanted = sum(gang.pool == pool for gang in gangs)
        started = min(wanted, len(pool.domains)) if whole else wanted
        held += min(started * MEMBERS, pool.machines)
    return held


def _holds(pod: Document) -> bool:
    return runs(pod) and wants_gpus(pod)


def _heartbeat(node: str) -> Document:
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    spec = {"holderIdentity": node, "leaseDurationSeconds": _LIFE_SECONDS, "renewTime": now}
    metadata = {"name": node, "namespace": NAMESPACE, "labels": {TOPOLOGY_LABEL: "v1"}}
    return {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": spec}


def _path(plural: str, namespace: str) -> str:
    """Return the path of a kind, given with version and group as a Maker has it."""
    version, _, name = plural.rpartition("/")
    return f"/{'apis' if '/' in version else 'api'}/{version}/namespaces/{namespace}/{name}"


def _owned(document: Document, owner: Sequence[Document]) -> Document:
    return {**document, "metadata": {**document["metadata"], "ownerReferences": list(owner)}}


def _reference(made: Document) -> Document:
    metadata = made["metadata"]
    return {
        "apiVersion": made["apiVersion"],
        "kind": made["kind"],
        "name": metadata["name"],
        "uid": metadata["uid"],
        "controller": True,
    }
