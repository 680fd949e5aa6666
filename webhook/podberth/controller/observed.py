"""The controller's knowledge of a cluster: the waiting pods, and the objects of the kinds that the controller makes."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from ..api.protocol import WAITING_PODS, Document
from ..api.reflector import ClusterAccess
from ..cluster.live_nodes import Documents
from ..cluster.required import Follower, Required
from ..cluster.served import ServedKinds
from ..cluster.workloads import Filed
from ..facts.object_kinds import Kind, of_role
from ..kube.pod import OwnerReference
from .plan.intake import made, waiting_pod
from .plan.world import Made, Owned, WaitingPod, World


def _seen(kind: Kind) -> Kind:
    """Return a copy of a kind whose function ``read`` returns a ``Made``, the facts that the controller needs."""

    def read(document: Document) -> Made:
        # A PodGroup without a minimum lets its pods start one by one.
        return made(document, kind.read(document).size or 1) if kind.role == "pod group" else made(document)

    # Policies write specs of v1; v1beta2 has the same, v1beta1 has no `exactly` (kubernetes/api resource).
    versions = tuple(each for each in kind.versions if each != "v1beta1") if kind.role == "template" else kind.versions
    return replace(kind, versions=versions, read=read, keys=None)


SEEN_KINDS: Final[tuple[Kind, ...]] = tuple(_seen(kind) for kind in of_role("pod group", "template"))
"""The kinds that the controller makes, and the kinds that pods may wait for."""


class ObservedCluster:
    """Keeps the objects of a cluster that the controller needs, which ``followers`` follow.

    ``notify`` is called after each change.
    """

    def __init__(self, access: ClusterAccess, notify: Callable[[], None]) -> None:
        """Create the object without knowledge of the cluster; ``run`` of each follower starts to follow the cluster."""
        self.pods: dict[str, WaitingPod] = {}
        """The waiting pods that name a group or a claim template, by ``namespace/name``."""
        self.declared: Mapping[str, Mapping[str, Any]] | None = None
        """The claim templates that policies declare, by name; None if not known yet."""
        self._notify = notify
        sink = Documents(WAITING_PODS.name, self._put, self._drop, lambda: None, access.log)
        self._waiting = Required({WAITING_PODS: sink}, access)
        self._served = ServedKinds({kind: Filed(kind, notify, access.log) for kind in SEEN_KINDS}, access)
        self.followers: tuple[Follower, ...] = (self._waiting, self._served)

    async def listed(self) -> None:
        """Wait until the waiting pods, and all served kinds that podberth can read, have been listed."""
        await self._waiting.listed()
        await self._served.settled.wait()

    def world(self) -> World:
        """Return the facts about the followed objects; the caller adds the facts from the answers to its requests."""
        states = self._served.states()
        served = {kind: version for kind in SEEN_KINDS if (version := self._served.version(kind))}
        known = {kind.name: self._served.sinks[kind].table().facts for kind in served}
        return World(
            pods=dict(self.pods),
            known=known,
            served={kind.name: version for kind, version in served.items()},
            absent=frozenset(name for name, state in states.items() if state == "not served"),
            declared=self.declared,
        )

    def declare(self, templates: Mapping[str, Mapping[str, Any]]) -> None:
        """Receive the claim templates that policies declare, by name, in place of earlier templates."""
        self.declared = templates
        self._notify()

    def in_groups(self) -> int:
        """Return the number of waiting pods that name a group; pods that name only a claim template do not count."""
        return sum(bool(pod.groups) for pod in self.pods.values())

    def _put(self, name: str, document: Document) -> None:
        pod = waiting_pod(document)
        if pod is None:
            self._drop(name)
        elif self.pods.get(name) != pod:
            self.pods[name] = pod
            self._notify()

    def _drop(self, name: str) -> None:
        if self.pods.pop(name, None) is not None:
            self._notify()


def owners_of(pods: Sequence[WaitingPod], owners: Mapping[Owned, OwnerReference | None]) -> set[Owned]:
    """Return the known owners of ``pods``: owners, owners of owners, and so on."""
    found: set[Owned] = set()
    for pod in pods:
        owner = pod.owner
        while owner is not None and (pod.namespace, owner) not in found:
            found.add((pod.namespace, owner))
            owner = owners.get((pod.namespace, owner))
    return found
