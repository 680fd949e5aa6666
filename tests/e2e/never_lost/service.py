"""Two replicas on hosts of their own behind the shipped Service, which the shipped configurations name: all unchanged.

The API server dials the Service's endpoints (`--enable-aggregator-routing`), for nothing here makes its ClusterIP lead
anywhere. Its EndpointSlices are the tests': there are no pods for a controller to make them of.
"""

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
from .stage import FLAGS, Ground, Stage, ground

Document = dict[str, Any]

SERVICE = ROOT / "manifests" / "base" / "service.yaml"
_MEANWHILE = 20


class Service(Stage):
    """`hosts` and the replicas of the group are in the same order."""

    def __init__(self, on: Ground, group: Group, hosts: list[Host]) -> None:
        super().__init__(on, group)
        self.hosts = hosts

    def lead_to(self, *replicas: Replica) -> None:
        """Have the Service's endpoints ready on these, and on no other."""
        endpoints = [_endpoint_slice(each, ready=each in replicas) for each in self.group.each]
        self.control_plane.apply(*endpoints)


@contextmanager
def service(directory: Path) -> Iterator[Service]:
    """Yield two replicas that serve. Raises OSError or CalledProcessError where no host can be made."""
    with ground(directory, extra_apiserver_args=("--enable-aggregator-routing=true",)) as on, ExitStack() as until:
        plane = on.control_plane
        hosts = [until.enter_context(closing(Host(directory))) for _ in range(2)]
        each = [_replica(plane, host, directory / f"host-{number}", until) for number, host in enumerate(hosts)]
        group = until.enter_context(closing(Group(plane, each, shipped())))
        plane.kubectl("apply", "-f", str(SERVICE))
        group.register()
        stage = Service(on, group, hosts)
        stage.lead_to(*group.each)
        stage.prepare("Fail")
        yield stage


def host_cut_off(stage: Service, running: Load) -> None:
    """Cut off the host that is called; when creations have gone on, take it from the endpoints; then join it again."""
    busiest = stage.busiest(running)
    host, lost = stage.hosts[busiest], stage.group.each[busiest]
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


def _replica(plane: ControlPlane, host: Host, directory: Path, until: ExitStack) -> Replica:
    directory.mkdir()
    port = urlsplit(plane.url).port
    assert port
    relay = until.enter_context(closing(Balancer(lambda: [port], host.gateway)))
    kubeconfig = enter(plane, directory, f"https://{host.gateway}:{relay.port}")
    flags = ("--kubeconfig", str(kubeconfig), "--ca-secret", SECRET, *FLAGS)
    return Replica(directory / "replica", flags, host=host.address, prefix=host.prefix)


def _endpoint_slice(replica: Replica, *, ready: bool) -> Document:
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {
            "name": f"podberth-{replica.port}",
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
