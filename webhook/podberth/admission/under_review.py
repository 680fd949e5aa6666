"""The state of one review: the pod with the writes so far, the pod's description, and the values of the CEL variables.

All steps of a decision share one ``PodUnderReview``; only ``writing`` modifies the object.
"""

from collections.abc import Mapping
from copy import copy
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ..cel.engine import Activation
from ..kinds.systems import NATIVE_GROUP
from ..kube.paths import Path
from ..kube.pod import repeated_names
from ..kube.pod_limits import DEVICES, GPUS, beyond
from ..kube.pruned import Tree, pruned
from ..mutation import record
from ..mutation.membership import GangFacts
from .description import Description, describe, describe_again, undescribed
from .review import AdmissionRequest
from .snapshot import Snapshot

if TYPE_CHECKING:
    from ..workload.gangs import Gang


class PodUnderReview:
    """The pod under review, with the writes so far.

    After a write, the pod's description is computed again at the next use.
    """

    def __init__(self, request: AdmissionRequest, snapshot: Snapshot) -> None:
        """Describe the pod of the checked review; a pod that exceeds the size bounds is not read."""
        pod = request.object or {}
        self.request = request
        self.snapshot = snapshot
        self.pod = pod
        """The pod with all writes of policies so far."""
        self.written: tuple[Path, ...] = ()
        """The paths at which ``pod`` differs from the pod in the request."""
        self.changed_facts: set[str] = set()
        """The CEL variables that a write changed: ``gpu``, ``gang``, both or none."""
        self.gangs_again: list[tuple[dict[str, Any], Gang]] = []
        """The gangs that were computed again after writes, each with the pod from which it was computed."""
        self.found = record.find(pod, request.namespace, snapshot.sealer)
        """The record annotation that was found on the pod in the request; empty if the pod exceeds the size bounds."""
        self.native_groups = snapshot.facts.native_groups.get(request.namespace, frozenset())
        """The names of the native PodGroups in the pod's namespace."""
        self._described = undescribed(snapshot) if request.excess else describe(pod, request.namespace, snapshot)
        gpu, gang = self._described.gpu, self._described.gang
        self.excess = request.excess or beyond(GPUS, len(gpu.requests)) or beyond(DEVICES, len(gpu.claims))
        """The reason why no expression is evaluated for this pod; empty if the pod is within the bounds
        (``kube.pod_limits``)."""
        self._sized_by_owner = gang.name if gang.sized_by_owner else ""
        self._undescribed: tuple[Path, ...] = ()
        self._activations: dict[int, Activation] = {}

    @cached_property
    def description(self) -> Description:
        """The description of the pod with the writes so far."""
        if self._undescribed:
            before, namespace = self._described, self.request.namespace
            self._described = now = describe_again(before, self.pod, self._undescribed, namespace, self.snapshot)
            self._undescribed = ()
            if now.gpu is not before.gpu:
                self.changed_facts.add("gpu")
            if now.gang is not before.gang:
                self.changed_facts.add("gang")
                self.gangs_again.append((self.pod, now.gang))
        return self._described

    @cached_property
    def repeats_a_name(self) -> bool:
        """Whether two containers of the pod have equal names; the API server refuses such a pod."""
        return bool(repeated_names(self.pod))

    @property
    def gang_facts(self) -> GangFacts:
        """The facts about the pod's gang with the writes so far, and about the groups that the pod may join."""
        gang, facts, namespace = self.description.gang, self.snapshot.facts, self.request.namespace
        return GangFacts(
            gang=gang,
            is_accelerated=self.description.gpu.kind != "none",
            namespace=namespace,
            native=self.native_groups,
            groups=facts.pod_groups,
            minimum=facts.group_size((NATIVE_GROUP, namespace, gang.name)),
            served=facts.served_groups,
            # As read from the pod in the request: after a write, the gang may be a group that states no size.
            sized_by_owner=self._sized_by_owner,
        )

    def wrote(self, pod: dict[str, Any], paths: tuple[Path, ...]) -> None:
        """Replace the pod by ``pod``, which differs from the present pod at ``paths``."""
        self.pod = pod
        self.written += paths
        self._undescribed += paths
        self.__dict__.pop("description", None)
        self._activations = {}

    def as_if(self, pod: dict[str, Any], paths: tuple[Path, ...]) -> "PodUnderReview":
        """Return a copy of this object for ``pod``, which differs from the present pod at ``paths``."""
        later = copy(self)
        later.wrote(pod, paths)
        return later

    def within(self, snapshot: Snapshot) -> "PodUnderReview":
        """Return a copy of this object with another snapshot, which has other policies and equal cluster facts."""
        other = self.as_if(self.pod, ())  # without the variables, which have what the other policies read
        other.snapshot = snapshot
        return other

    def activation(self, params: Mapping[str, Any] | None, read: Tree | None = None) -> Activation:
        """Return the values of the CEL variables for an evaluation with these params; cached for each params object.

        ``read`` has the paths of the pod that the expressions read. The variable ``object`` then has only these paths,
        because the CEL engine needs long to convert a whole pod. If ``read`` is None, ``object`` is the whole pod.
        """
        known = self._activations.get(id(params))
        if known is None:
            known = self._activations[id(params)] = self.activation_of(params, read)
        return known

    def activation_of(self, params: Mapping[str, Any] | None, read: Tree | None) -> Activation:
        """Return the values of the CEL variables for an evaluation with ``params``; nothing is cached.

        The variable ``object`` has the paths ``read`` of the pod; the whole pod if ``read`` is None.
        """
        description = self.description
        bindings = {
            "object": self.pod if read is None else pruned(self.pod, read),
            "gpu": description.gpu.as_cel(),
            "gang": description.gang.as_cel(),
            "oldObject": self.request.old_object,
            "request": self.request.envelope,
            "params": params,
            "namespaceObject": self.snapshot.facts.namespaces.get(self.request.namespace),
        }
        return self.snapshot.environment.activation(bindings, description.review)
