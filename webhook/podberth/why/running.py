"""Finds the devices of a pod that runs, and whether they are unhealthy or in more than one link domain.

The kubelet reports the devices of device plugins in the pod's status (KEP-4680, on by default since Kubernetes 1.36).
The devices of claims are in the claims. The node's topology ConfigMap says which of the GPUs are linked. There
is no diagnosis about a GPU that none of these name.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

from ..devices.device_ids import DeviceName, parse_device_id
from ..errors import TopologyError
from ..kube.pod import labels
from ..kube.unchecked import list_at, text_at
from ..topology.claimed_devices import Device, allocated, uuids
from ..wellknown import FREE_LINKED_LABEL, NAMESPACE
from ..words import listed, named
from . import claims, placed
from .diagnosis import Diagnosis
from .picture import NotRead, Picture, Ref

_RUNS: Final = frozenset({"running", "not ready", "crash"})


class _Devices(NamedTuple):
    """The whole NVIDIA GPUs of a container."""

    container: str
    uuids: Sequence[str]


class _Links(NamedTuple):
    """The link domains of a node, and those in which the GPUs of a container are."""

    domains: Sequence[Sequence[int]]
    """The indexes of the node's GPUs in each link domain."""
    used: Sequence[Sequence[int]]
    """The indexes of the container's GPUs in each link domain; a GPU without links is alone."""


def needs(picture: Picture) -> Iterator[Ref]:
    """Yield references to the claims of a running pod, its node's ResourceSlices and its node's topology ConfigMap."""
    if not _is_running(picture):
        return
    found = list(claims.of_running(picture))
    yield from (ref for _, ref in found)
    if any(len(_claimed(picture, each, found)) > 1 for each in _containers(picture)):
        yield _slices(picture)
    if any(len(each.uuids) > 1 for each in _gpus(picture)):
        yield _topology(picture)


def not_pending(picture: Picture) -> Diagnosis | None:
    """Return the diagnosis about a pod that waits for no node, with what is wrong with its devices; else None."""
    found = placed.not_pending(picture)
    if found is None or found.cause not in _RUNS or not _is_running(picture):
        return found
    if bad := list(_unhealthy(picture)):
        node = text_at(picture.spec, "nodeName")
        do = f"have the devices of the node checked, and run the pod on another one: kubectl describe node {node}"
        if found.cause != "running":
            return replace(found, evidence=(*found.evidence, *bad), do=(*found.do, do))
        some = "a device of it is" if len(bad) == 1 else f"{len(bad)} of its devices are"
        return Diagnosis(
            cause="unhealthy device",
            title=f"it runs on node {node}, but {some} unhealthy",
            evidence=tuple(bad),
            do=(do,),
            waits=False,
        )
    return (_apart(picture) if found.cause == "running" else None) or found


def _is_running(picture: Picture) -> bool:
    return text_at(picture.status, "phase") == "Running" and not text_at(picture.pod, "metadata", "deletionTimestamp")


def _unhealthy(picture: Picture) -> Iterator[str]:
    """Yield a line for each device of the pod that its device plugin or DRA driver reports as unhealthy."""
    for status in list_at(picture.status, "containerStatuses"):
        for resource in list_at(status, "allocatedResourcesStatus"):
            for each in list_at(resource, "resources"):
                if text_at(each, "health") == "Unhealthy":
                    name, device = text_at(resource, "name"), text_at(each, "resourceID")
                    why = " ".join(text_at(each, "message").split())
                    yield (
                        f"unhealthy: {name} {device} of container {text_at(status, 'name')}{f': {why}' if why else ''}"
                    )


def _apart(picture: Picture) -> Diagnosis | None:
    """Return the diagnosis that the GPUs of one container are in more than one link domain; else None."""
    for container, gpus in _gpus(picture):
        links = _links(picture, gpus) if len(gpus) > 1 else None
        if links is not None and len(links.used) > 1:
            return _spread(picture, container, len(gpus), links)
    return None


def _spread(picture: Picture, container: str, gpus: int, links: _Links) -> Diagnosis:
    node, largest = text_at(picture.spec, "nodeName"), max(map(len, links.domains))
    free = list(_free_linked(picture, gpus))
    pod = f"{text_at(picture.pod, 'metadata', 'name')} -n {picture.namespace}"
    again = (
        f"make the pod again {'now' if free else f'when {gpus} linked GPUs are free'}: kubectl delete pod {pod}",
        "podberth's policy free-linked prefers nodes with enough free linked GPUs: optional-policies/free-linked",
    )
    fewer = f"ask for {largest} GPUs in each container at most: the largest link domain of {node} has {largest}"
    return Diagnosis(
        cause="unlinked",
        title=f"it runs on node {node}, but the {gpus} GPUs of container {container} are in {len(links.used)} link "
        f"domains: {listed([_indexes(each) for each in links.used])}",
        evidence=(
            f"link domains of {node}: {'; '.join(_indexes(each) for each in links.domains)}",
            *([f"{gpus} linked GPUs or more are free on {named(free)} ({FREE_LINKED_LABEL})"] if free else ()),
        ),
        do=again if free or gpus <= largest else (fewer,),
        waits=False,
    )


def _indexes(gpus: Sequence[int]) -> str:
    return f"GPU {', '.join(map(str, gpus))}"


def _free_linked(picture: Picture, gpus: int) -> Iterator[str]:
    """Yield the other nodes whose label says that so many linked GPUs are free, sorted."""
    nodes = () if isinstance(picture.nodes, NotRead) else picture.nodes
    for name, said in sorted(
        (text_at(each, "metadata", "name"), labels(each).get(FREE_LINKED_LABEL)) for each in nodes
    ):
        if name != text_at(picture.spec, "nodeName") and said and said.isdecimal() and int(said) >= gpus:
            yield name


def _links(picture: Picture, gpus: Sequence[str]) -> _Links | None:
    """Return the link domains of the GPUs with these UUIDs; None if the topology of one is unknown, or it has no links.

    A node without links has no domains; its GPUs are not spread over any.
    """
    from ..topology.codec import decode_topology  # noqa: PLC0415 - most pods need no topology

    document = picture.one(_topology(picture))
    try:
        topology = decode_topology(document) if document is not None else None
    except TopologyError:
        return None
    index = {gpu.uuid: gpu.index for gpu in topology.gpus if not gpu.mig_enabled} if topology is not None else {}
    if topology is None or not topology.links.domains or not index.keys() >= set(gpus):
        return None
    own, domains = {index[each] for each in gpus}, topology.links.domains
    alone = [(each,) for each in own - {each for domain in domains for each in domain}]
    inside = (tuple(sorted(own.intersection(domain))) for domain in domains)
    return _Links(domains, sorted([*filter(None, inside), *alone]))


def _gpus(picture: Picture) -> Iterator[_Devices]:
    """Yield the whole NVIDIA GPUs of each container; a container with a device of another form has none."""
    found = list(claims.of_running(picture))
    known = uuids(picture.listed(_slices(picture)))
    for container in _containers(picture):
        devices = [*_plugged(picture, text_at(container, "name"))]
        devices += [known.get(each, "") for each in _claimed(picture, container, found)]
        if all(parse_device_id(each) == DeviceName(gpu_uuid=each) for each in devices):
            yield _Devices(text_at(container, "name"), devices)


def _containers(picture: Picture) -> list[Any]:
    return list_at(picture.spec, "containers")


def _plugged(picture: Picture, container: str) -> Iterator[str]:
    """Yield the ids of the NVIDIA devices that device plugins have given to a container."""
    for status in list_at(picture.status, "containerStatuses"):
        for resource in list_at(status, "allocatedResourcesStatus") if text_at(status, "name") == container else ():
            if text_at(resource, "name").startswith("nvidia.com/"):
                yield from (text_at(each, "resourceID") for each in list_at(resource, "resources"))


def _claimed(picture: Picture, container: Any, found: Sequence[tuple[str, Ref]]) -> list[Device]:
    """Return the devices of NVIDIA's driver that the claims of a container have; ``found`` are the pod's claims."""
    refs = dict(found)
    devices: list[Device] = []
    for used in list_at(container, "resources", "claims"):
        ref, request = refs.get(text_at(used, "name")), text_at(used, "request")
        for device, of in allocated(picture.one(ref) or {}) if ref is not None else ():
            # A request with alternatives has the name of the alternative behind its own.
            if device.driver == "gpu.nvidia.com" and request in ("", of, of.partition("/")[0]):
                devices.append(device)
    return devices


def _slices(picture: Picture) -> Ref:
    return claims.slices_of(text_at(picture.spec, "nodeName"))


def _topology(picture: Picture) -> Ref:
    return Ref("", ("v1",), "configmaps", NAMESPACE, text_at(picture.spec, "nodeName"))
