"""Calls the kubelet's PodResources API, which lists the devices of each container. Only this module imports ``grpc``.

https://kubernetes.io/docs/concepts/extend-kubernetes/compute-storage-net/device-plugins/#monitoring-device-plugin-resources

Only the message fields that podberth reads are declared, with the field numbers of k8s.io/kubelet
pkg/apis/podresources/v1/api.proto (v0.36). A decoder skips all other fields, including those that a later kubelet adds.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import grpc
from google.protobuf.message import DecodeError

from ..devices.device_ids import parse_claimed_device, parse_device_id
from ..kube.protobuf import message_classes
from ..topology.usage import Grant
from .kubelet import KubeletUnavailable

_LIST = "/v1.PodResourcesLister/List"
# A kubelet answers from memory, in milliseconds. A scrape waits 10 s by default, for this and other calls.
_DEADLINE_SECONDS = 2.0
# The default of gRPC, stated here because podberth relies on it: enough for 500 pods, the most of one node, of 8 KiB.
_LARGEST_BYTES = 4 << 20
# The kubelet knows the deadline of the call, too. If it notices first that the deadline passed, it cancels the call.
_TOO_LATE = (grpc.StatusCode.DEADLINE_EXCEEDED, grpc.StatusCode.CANCELLED)
_OPTIONS = (
    ("grpc.max_receive_message_length", _LARGEST_BYTES),
    # By default, the channels of a process share connections, and the pause after a connection broke. With this
    # option, the next call after a restart of the kubelet connects at once.
    ("grpc.use_local_subchannel_pool", 1),
)

_FIELDS: Mapping[str, str] = {
    "ListPodResourcesRequest": "",
    "ListPodResourcesResponse": "repeated PodResources pod_resources = 1",
    "PodResources": "string name = 1; string namespace = 2; repeated ContainerResources containers = 3",
    "ContainerResources": (
        "string name = 1; repeated ContainerDevices devices = 2; repeated DynamicResource dynamic_resources = 5"
    ),
    "ContainerDevices": "string resource_name = 1; repeated string device_ids = 2",
    "DynamicResource": "repeated ClaimResource claim_resources = 4",
    "ClaimResource": "string driver_name = 2; string device_name = 4",
}
"""The declared fields of each protobuf message of the API, as api.proto writes them."""


_MESSAGES = message_classes(_FIELDS, "v1")


def list_grants(socket: Path) -> tuple[Grant, ...]:
    """Return the devices of all containers on the node, as the kubelet lists them.

    Each call makes a new connection, so a call succeeds after a restart of the kubelet, and when the socket appears.

    Raises:
        KubeletUnavailable: there is no socket, access to the socket is denied, or no valid answer came in time.
    """
    request = _MESSAGES["ListPodResourcesRequest"]()
    with grpc.insecure_channel(f"unix:{socket}", options=_OPTIONS) as channel:
        call = channel.unary_unary(
            _LIST,
            request_serializer=type(request).SerializeToString,
            response_deserializer=None,  # gRPC would log a traceback for a message that cannot be decoded
        )
        try:
            answer = _MESSAGES["ListPodResourcesResponse"].FromString(call(request, timeout=_DEADLINE_SECONDS))
        except grpc.RpcError as error:
            raise KubeletUnavailable(_reason(socket, error)) from error
        except DecodeError as error:
            raise KubeletUnavailable(f"{socket}: no kubelet; got no valid ListPodResourcesResponse") from error
    return tuple(_grants(answer))


def _reason(socket: Path, error: Any) -> str:
    try:
        socket.stat()
    except FileNotFoundError:
        return f"{socket}: no kubelet; got no such socket; mount its directory"
    except OSError as denied:
        return f"{socket}: no kubelet; got: {denied.strerror}"
    if error.code() in _TOO_LATE:
        return f"{socket}: no kubelet; got no answer within {_DEADLINE_SECONDS:g} s"
    details = " ".join(str(error.details()).split())
    return f"{socket}: no kubelet; got {error.code().name}: {details[:200]}"


def _grants(answer: Any) -> Iterator[Grant]:
    for pod in answer.pod_resources:
        for container in pod.containers:
            who = {"namespace": pod.namespace, "pod": pod.name, "container": container.name}
            for devices in container.devices:
                for device_id in devices.device_ids:
                    yield Grant(resource=devices.resource_name, device=parse_device_id(device_id), **who)
            for claim in container.dynamic_resources:
                for each in claim.claim_resources:
                    device = parse_claimed_device(each.driver_name, each.device_name)
                    yield Grant(resource=each.driver_name, device=device, **who)
