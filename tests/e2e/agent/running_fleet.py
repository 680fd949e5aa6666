"""A fleet in a thread of the tests' own, and whether the cluster says about its machines what they are."""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from bench.fleet.churn import Machine, show
from bench.fleet.fleet import Fleet, Plan

from controlplane.cluster import ControlPlane
from podberth.agent.api import Api
from podberth.topology.codec import DATA_KEY, encode_topology, is_same_but_for_time
from podberth.wellknown import NAMESPACE

from .stage import PATIENCE_SECONDS

HEARTBEAT_SECONDS = 3.0
CONFIG_MAPS = f"/api/v1/namespaces/{NAMESPACE}/configmaps?labelSelector=podberth.io/topology%3Dv1"
LEASES = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases?labelSelector=podberth.io/topology%3Dv1"


@contextmanager
def running(
    api: Api, machines: Sequence[Machine], *, heartbeat_seconds: float = HEARTBEAT_SECONDS, **options: Any
) -> Iterator[Fleet]:
    """Run a fleet in a thread until the block ends."""
    plan = Plan(machines=machines, heartbeat_seconds=heartbeat_seconds, **options)
    fleet = Fleet(plan, api.send, workers=8)
    stop = threading.Event()
    faults: list[BaseException] = []

    def run() -> None:
        try:
            fleet.run(stop.is_set)
        except BaseException as error:  # noqa: BLE001 - raised below, in the test's own thread
            faults.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield fleet
    finally:
        stop.set()
        thread.join(PATIENCE_SECONDS)
    assert faults == []


def by_name(control_plane: ControlPlane, path: str) -> dict[str, dict[str, Any]]:
    """Return the objects at a path by name."""
    return {each["metadata"]["name"]: each for each in control_plane.api.read(path)["items"]}


def agrees(machine: Machine, config_map: dict[str, Any], node: dict[str, Any]) -> bool:
    """Return whether ConfigMap and Node both say what the machine is, and belong together."""
    sight = show(machine)
    text = encode_topology(machine.name, sight.topology)["data"][DATA_KEY]
    return (
        is_same_but_for_time(config_map["data"][DATA_KEY], text)
        and sight.labels.items() <= node["metadata"]["labels"].items()
        and all(node["status"]["allocatable"].get(name) == amount for name, amount in gpus(sight.allocatable).items())
        and config_map["metadata"]["ownerReferences"][0]["uid"] == node["metadata"]["uid"]
    )


def gpus(amounts: dict[str, str]) -> dict[str, str]:
    return {name: amount for name, amount in amounts.items() if name.startswith("nvidia.com/")}
