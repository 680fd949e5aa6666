"""Two replicas on hosts of their own behind the shipped Service, which the shipped configurations name: all unchanged.

The API server dials the Service's endpoints (`--enable-aggregator-routing`), for nothing here makes its ClusterIP lead
anywhere. Its EndpointSlices are the tests': there are no pods for a controller to make them of.
"""

import itertools
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from controlplane.cluster import ControlPlane
from controlplane.wait import wait_for
from podberth.wellknown import NAMESPACE

from ..access import enter
from ..balancer import Balancer
from ..load import Load
from ..podberth_process import ROOT
from ..registration import shipped
from ..replicas import SECONDS, SECRET, Group, Replica
from .hosts import Host
from .stage import FLAGS, Ground, Stage, ground, pace

Document = dict[str, Any]

SERVICE = ROOT / "manifests" / "base" / "service.yaml"
_MEANWHILE = 20
# How late the EndpointSlice says that a replica leaves, and how long it drains: 5 s as shipped, and twice that here,
# for on a busy machine the write of the EndpointSlice itself takes a second or two.
_LAG_SECONDS = 4.0
_DRAIN = ("--drain-seconds", "10")


class Place:
    """A host with a way to the API server, on which replicas run."""

    def __init__(self, plane: ControlPlane, host: Host, directory: Path, until: ExitStack) -> None:
        directory.mkdir()
        port = urlsplit(plane.url).port
        assert port
        relay = until.enter_context(closing(Balancer(lambda: [port], host.gateway)))
        kubeconfig = enter(plane, directory, f"https://{host.gateway}:{relay.port}")
        self.host = host
        self._flags = ("--kubeconfig", str(kubeconfig), "--ca-secret", SECRET, *FLAGS, *_DRAIN)
        self._directory = directory
        self._numbers = itertools.count()

    def replica(self) -> Replica:
        """Return another replica, on ports of its own; it does not run yet."""
        directory = self._directory / f"replica-{next(self._numbers)}"
        return Replica(directory, self._flags, host=self.host.address, prefix=self.host.prefix)


class Service(Stage):
    """`places` and the replicas of the group are in the same order."""

    def __init__(self, on: Ground, group: Group, places: list[Place]) -> None:
        super().__init__(on, group)
        self.places = places

    def lead_to(self, *replicas: Replica, leaving: Replica | None = None) -> None:
        """Have the Service's endpoints ready on these, and on no other."""
        known = {each.port: each for each in (*self.group.each, *replicas, leaving) if each}
        endpoints = [_endpoint_slice(each, ready=each in replicas) for each in known.values()]
        self.control_plane.apply(*endpoints)

    def forget(self, replica: Replica) -> None:
        """Take a replica's endpoint away, and end it for good."""
        self.control_plane.kubectl("delete", "endpointslice", "-n", NAMESPACE, _slice_name(replica))
        replica.close()


@contextmanager
def service(directory: Path) -> Iterator[Service]:
    """Yield two replicas that serve. Raises OSError or CalledProcessError where no host can be made."""
    with ground(directory, extra_apiserver_args=("--enable-aggregator-routing=true",)) as on, ExitStack() as until:
        plane = on.control_plane
        hosts = [until.enter_context(closing(Host(directory))) for _ in range(2)]
        places = [Place(plane, host, directory / f"host-{number}", until) for number, host in enumerate(hosts)]
        each = [place.replica() for place in places]
        group = until.enter_context(closing(Group(plane, each, shipped())))
        plane.kubectl("apply", "-f", str(SERVICE))
        group.register()
        stage = Service(on, group, places)
        stage.lead_to(*group.each)
        stage.prepare("Fail")
        yield stage


def host_cut_off(stage: Service, running: Load) -> None:
    """Cut off the host that is called; when creations have gone on, take it from the endpoints; then join it again."""
    busiest = stage.busiest(running)
    host, lost = stage.places[busiest].host, stage.group.each[busiest]
    [other] = [each for each in stage.group.each if each is not lost]
    host.cut()
    try:
        assert not lost.ready()
        running.more(_MEANWHILE)
        # As a cluster does when the node's heartbeats have failed to come for long enough.
        stage.lead_to(other)
        running.more(_MEANWHILE)
    finally:
        host.join()
    wait_for(lost.ready, timeout_seconds=SECONDS, what="the host to be reached again")
    stage.lead_to(lost, other)


def rollout(stage: Service, running: Load) -> int:
    """Replace each replica as a Deployment does: a new one is ready first, and endpoints hear late of who leaves.

    SIGTERM comes when the pod is deleted; who writes the EndpointSlice, and who routes by it, hears of that later.
    """
    for number, old in enumerate(list(stage.group.each)):
        new = stage.places[number].replica()
        stage.group.each.append(new)  # whose end is the group's then
        new.start()
        stage.lead_to(*stage.group.each)
        running.more(_MEANWHILE // 2)
        old.leave()
        # The API server goes on with it meanwhile.
        pace(_LAG_SECONDS)
        stage.group.each.remove(old)
        stage.group.each.remove(new)
        stage.group.each.insert(number, new)
        stage.lead_to(*stage.group.each, leaving=old)
        wait_for(old.gone, timeout_seconds=SECONDS, what="the old replica to have drained")
        running.more(_MEANWHILE // 2)
        stage.forget(old)
    return 0


def _slice_name(replica: Replica) -> str:
    return f"podberth-{replica.port}"


def _endpoint_slice(replica: Replica, *, ready: bool) -> Document:
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {
            "name": _slice_name(replica),
            "namespace": NAMESPACE,
            "labels": {
                "kubernetes.io/service-name": "podberth",
                "endpointslice.kubernetes.io/managed-by": "podberth-tests",
            },
        },
        "addressType": "IPv4",
        "ports": [{"name": "webhook", "port": replica.port, "protocol": "TCP"}],
        "endpoints": [{"addresses": [replica.host], "conditions": {"ready": ready}}],
    }
