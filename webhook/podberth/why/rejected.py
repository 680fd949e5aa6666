"""Finds why the kubelet of a node refused a pod that was placed on the node.

Such a pod is Failed, and the kubelet never tries it again. The reasons are those of kubernetes pkg/kubelet/lifecycle/
predicate.go and pkg/kubelet/cm/topologymanager/scope.go. The messages of UnexpectedAdmissionError are those of pkg/
kubelet/cm/devicemanager/manager.go and of NVIDIA/k8s-device-plugin internal/plugin/server.go.
"""

import re
from dataclasses import replace
from typing import Final

from ..kube.unchecked import list_at, text_at
from .diagnosis import Diagnosis
from .picture import Picture
from .shares import ONE_EACH

_ALIGNMENT: Final = "TopologyAffinityError"
_UNEXPECTED: Final = "UnexpectedAdmissionError"
_SELECTION: Final = "NodeAffinity"
_SHORT: Final = "OutOf"
# What stands before the reason of the refusal: kubelet.go and topologymanager/scope.go.
_BEFORE: Final = re.compile(r"^(Pod was rejected: )?((Allocate|Update plugin resources) failed due to )?")
_PLUGIN: Final[tuple[tuple[re.Pattern[str], str, str], ...]] = (
    (
        re.compile(r"request for '(\S+): \d+' too large: maximum request size for shared resources is 1"),
        "its {0} is shared (time-slicing or MPS), and a container may ask for 1",
        ONE_EACH,
    ),
    (
        re.compile(r"no healthy devices present; cannot allocate unhealthy devices ([^\s,]+)"),
        "none of its {0} is healthy",
        "see the node's capacity and allocatable, and the log of its device plugin: kubectl describe node {node}",
    ),
    (
        re.compile(r"previously allocated devices are no longer healthy; cannot allocate unhealthy devices ([^\s,]+)"),
        "the {0} that the pod had before are no longer healthy",
        "see the node's capacity and allocatable, and the log of its device plugin: kubectl describe node {node}",
    ),
    (
        re.compile(r"cannot allocate unregistered device ([^\s,]+)"),
        "no device plugin has registered {0} since the kubelet started",
        "see whether the device plugin runs there: kubectl get pods -A --field-selector spec.nodeName={node}",
    ),
    (
        re.compile(r"requested number of devices unavailable for ([^\s,]+)\. Requested: (\d+), Available: (\d+)"),
        "it has {2} of {1} {0} free",
        "see which pods hold them: kubectl get pods -A --field-selector spec.nodeName={node}",
    ),
)
"""(message, the rest of the title, what to do): the groups of the message fill the texts."""


def rejected(picture: Picture) -> Diagnosis | None:
    """Return the diagnosis that the kubelet of its node refused a Failed pod; None if the kubelet did not refuse it."""
    reason = text_at(picture.status, "reason")
    message = " ".join(text_at(picture.status, "message").split())
    node = text_at(picture.spec, "nodeName")
    if not node:
        return None
    if reason == _ALIGNMENT:
        what = "its Topology Manager finds no NUMA nodes that have free together what the pod asks for"
        do = "ask for fewer devices and CPUs in each container, so that one NUMA node holds them, or choose other nodes"
    elif reason == _UNEXPECTED:
        what, do = _of_plugin(message, node)
    elif reason == _SELECTION:
        what = "its labels do not meet the pod's nodeSelector or node affinity"
        do = f"compare them, and take spec.nodeName out of the template if it has one: kubectl describe node {node}"
    elif reason.startswith(_SHORT) and len(reason) > len(_SHORT):
        what = f"too little {reason.removeprefix(_SHORT)} is free there"
        do = "take spec.nodeName out of the template if it has one: the scheduler counts what is free, and may be late"
    else:
        return None
    found = Diagnosis(
        cause="rejected",
        title=f"the kubelet of node {node} refused it: {what}",
        evidence=(f"{reason}: {message}" if message else reason,),
        do=(do, _again(picture)),
        waits=False,
    )
    return replace(found, cause="alignment") if reason == _ALIGNMENT else found


def _of_plugin(message: str, node: str) -> tuple[str, str]:
    """Return (the rest of the title, what to do) for a message about devices, or about anything unexpected."""
    for pattern, what, do in _PLUGIN:
        if found := pattern.search(message):
            return what.format(*found.groups()), do.format(*found.groups(), node=node)
    said = _BEFORE.sub("", message).removesuffix(".").removesuffix(", which is unexpected")
    return said or "it does not say why", f"see the node and the log of its kubelet: kubectl describe node {node}"


def _again(picture: Picture) -> str:
    """Return the line about a further try: the kubelet never tries again a pod that it refused."""
    owners = list_at(picture.pod, "metadata", "ownerReferences")
    if owner := next((each for each in owners if each.get("controller")), None):
        by = f"{text_at(owner, 'kind')} {text_at(owner, 'name')}"
        return f"{by} may make a new pod, which may be refused again; the kubelet does not try this one again"
    return "delete the pod and create it again: the kubelet does not try it again"
