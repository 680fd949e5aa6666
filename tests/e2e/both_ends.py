"""Both ends of the topology at once: a fleet that publishes it and a podberth that follows it, in one cluster."""

import json
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from itertools import cycle
from pathlib import Path
from random import Random
from typing import Any

from bench.fleet.churn import Machine, change, show
from bench.fleet.fleet import Fleet

from controlplane.cluster import ControlPlane
from controlplane.wait import PATIENCE_SECONDS, wait_for
from podberth.topology.heartbeats import is_stale
from podberth.topology.shapes import simulate

from .agent.running_fleet import CONFIG_MAPS, LEASES, agrees, by_name
from .following import RESOURCES, Following

Document = dict[str, Any]

# Of each of 200 nodes, and it counts for three times as long. All 200 have to be current at one moment, so the writes
# must be few for a busy machine: 10 a second. With 33 a second some of them were always late there.
HEARTBEAT_SECONDS = 20.0
# A document has to follow its machine within a second, and an answer the document within another: bench/agent.py and
# bench/live.py measure that on a free machine. Here both are waited for, on a machine under load.
DOCUMENT_SECONDS = ANSWER_SECONDS = PATIENCE_SECONDS
# A Node that is deleted, or made again: its agent hears of it by its next heartbeat, and asks again after another one;
# the garbage collector takes seconds.
MADE_AGAIN_SECONDS = PATIENCE_SECONDS + 10 * HEARTBEAT_SECONDS
# Until all of two hundred are current: as above, and after an outage an agent's next try may be a minute away
# (agent/pace.py), which takes an outage of half a minute: no free machine's.
SETTLES_SECONDS = 300.0

# A hundred times as often as a kubelet asks (periodSeconds is 10), and with as much patience as a busy machine needs.
_PROBE_SECONDS = 0.1
_PROBE_PATIENCE_SECONDS = PATIENCE_SECONDS
_CHANGES_A_SECOND = 25.0
_UNSCHEDULABLE = "node.kubernetes.io/unschedulable"


class BothEnds:
    """A running fleet and a running podberth, and what else is done to the fleet's Nodes."""

    def __init__(self, control_plane: ControlPlane, fleet: Fleet, following: Following) -> None:
        self.control_plane = control_plane
        self.fleet = fleet
        self.following = following
        self.gone: set[str] = set()
        self.probed: Counter[tuple[int, str]] = Counter()
        """What podberth said about its readiness."""
        self._failures: Counter[str] = Counter()
        self._turns = self._in_turn()

    # ---- what happens -----------------------------------------------------------------------------------------------

    @contextmanager
    def churning(self) -> Iterator[None]:
        """Let something happen to the machines, one after the other, until the block ends and all layouts are done."""

        def churn() -> None:
            name, draw = next(self._turns)
            self.fleet.let(name, partial(change, draw=draw))

        with _repeating(churn, 1 / _CHANGES_A_SECOND):
            yield
        for machine in self.fleet.machines:
            self.fleet.let(machine.name, _finished)

    def _in_turn(self) -> Iterator[tuple[str, Random]]:
        """Yield machines: each as often as any other, for what changes too often is written later."""
        draw = Random(20261121)  # noqa: S311 - a history that can be repeated
        names = [machine.name for machine in self.fleet.machines]
        draw.shuffle(names)
        for name in cycle(names):
            yield name, Random(draw.random())  # noqa: S311 - as above

    def cordon(self, *names: str, cordoned: bool = True) -> None:
        """Cordon nodes, or take that back."""
        for name in names:
            self.following.patch(name, {"spec": {"unschedulable": cordoned}})

    def delete(self, *names: str) -> None:
        """Delete Nodes; the garbage collector does the rest."""
        for name in names:
            self.gone.add(name)
            self.control_plane.api.request("DELETE", f"/api/v1/nodes/{name}")

    def make_again(self, *names: str) -> None:
        """Make Nodes again, as a kubelet and those who label its node would."""
        machines = [machine for machine in self.fleet.machines if machine.name in names]
        self.control_plane.add_nodes([registered(machine) for machine in machines])
        self.gone.difference_update(names)

    @contextmanager
    def without_etcd(self) -> Iterator[None]:
        """Hold etcd still until the block ends, and wait until the API server has noticed."""
        with self.control_plane.paused("etcd"):
            wait_for(
                lambda: self.control_plane.raw("GET", "/readyz/etcd")[0] != 200,
                timeout_seconds=SETTLES_SECONDS,
                what="the API server to miss etcd",
            )
            yield

    # ---- what has to follow -----------------------------------------------------------------------------------------

    def behind(self, only: str = "") -> list[str]:
        """Say which machines' objects are not what they should be, and how; of one machine, or of all."""
        config_maps, leases, nodes = self._objects(only)
        now, found = datetime.now(UTC), []
        for machine in self.fleet.machines:
            name = machine.name
            if only not in {"", name}:
                continue
            if name in self.gone:
                found += [f"{name}: still there" for each in (config_maps, leases, nodes) if name in each]
            elif not {name} <= config_maps.keys() & leases.keys() & nodes.keys():
                found.append(f"{name}: not there")
            elif not agrees(machine, config_maps[name], nodes[name]):
                found.append(f"{name}: is {machine}")
            elif is_stale(leases[name], now) or _owner(leases[name]) != nodes[name]["metadata"]["uid"]:
                found.append(f"{name}: no heartbeat")
            elif not _tainted(nodes[name]):
                found.append(f"{name}: has not the taints that it should have")
        return found

    def _objects(self, only: str) -> list[dict[str, Document]]:
        """Return ConfigMaps, Leases and Nodes by name."""
        paths = (CONFIG_MAPS, LEASES, "/api/v1/nodes")
        if not only:
            return [by_name(self.control_plane, path) for path in paths]
        answers = [self.control_plane.raw("GET", f"{path.partition('?')[0]}/{only}") for path in paths]
        assert {status for status, _ in answers} <= {200, 404}
        return [{only: json.loads(content)} if status == 200 else {} for status, content in answers]

    def settled(self) -> list[Document]:
        """Wait until every machine's objects are current and podberth answers as by a snapshot; return the answers."""
        seen: list[str] = []

        def current() -> bool:
            # What they are is known first: until then their objects may agree with what they were.
            seen[:] = [name for name in self.fleet.behind if name not in self.gone] or self.behind()
            return not seen

        wait_for(current, timeout_seconds=SETTLES_SECONDS, what=lambda: f"these to be current: {seen[:5]}")
        expected = self.following.by_kubectl()
        wait_for(
            lambda: self.following.answers() == expected,
            timeout_seconds=ANSWER_SECONDS,
            what=lambda: f"the answers to be as by a snapshot: {_difference(expected, self.following.answers())}",
        )
        wait_for(lambda: not self._faults(), timeout_seconds=ANSWER_SECONDS, what=lambda: f"no {self._faults()}")
        assert self.following.lines("topology") == []
        wait_for(lambda: self.probed, what="a probe to be answered")
        assert self.probed.keys() == {(200, "ok\n")}
        return expected

    def _faults(self) -> dict[str, float]:
        """Return what podberth has left out of what it follows, and its own faults."""
        metrics = self.following.podberth.metrics()
        wanted = ("podberth_watch_left_out{", 'podberth_watch_restarts_total{reason="bug"')
        found = {key: value for key, value in metrics.items() if key.startswith(wanted)}
        assert len(found) > len(RESOURCES)
        return {key: value for key, value in found.items() if value}

    def follows(
        self, name: str, event: Callable[[], None], *, timeout_seconds: float = DOCUMENT_SECONDS
    ) -> list[Document]:
        """Have one thing happen to a node; wait for what is written of it, then for answers other than before."""
        before = self.following.answers()
        event()
        wait_for(
            lambda: (name in self.gone or name not in self.fleet.behind) and not self.behind(name),
            timeout_seconds=timeout_seconds,
            what=lambda: f"all to be written: {self.behind(name)}",
        )
        wait_for(lambda: self.following.answers() != before, timeout_seconds=ANSWER_SECONDS, what="another answer")
        return self.settled()

    def failures(self) -> set[str]:
        """Return what of the fleet's requests has failed since this was asked last: purpose and status."""
        now = self.fleet.tally.failures.copy()
        before, self._failures = self._failures, now
        return set(now - before)

    @contextmanager
    def probing(self) -> Iterator[None]:
        """Note whether podberth calls itself ready, again and again until the block ends."""

        def probe() -> None:
            self.probed[self.following.podberth.probe(_PROBE_PATIENCE_SECONDS)] += 1

        with _repeating(probe, _PROBE_SECONDS):
            yield


@contextmanager
def _repeating(action: Callable[[], None], pause_seconds: float) -> Iterator[None]:
    """Do something again and again, in a thread, until the block ends."""
    stop = threading.Event()

    def run() -> None:
        while not stop.wait(pause_seconds):
            action()

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def registered(machine: Machine) -> Document:
    """Return the Node of a machine as it is now."""
    sight, manifest = show(machine), simulate(machine.shape, machine.name)[0]
    del manifest["metadata"]["uid"]
    metadata = {**manifest["metadata"], "labels": dict(sight.labels)}
    status = {**manifest["status"], "allocatable": sight.allocatable, "capacity": sight.capacity}
    return {**manifest, "metadata": metadata, "status": status}


def _finished(machine: Machine) -> Machine:
    """Return the machine with its layout done, if one is under way."""
    return replace(machine, shape=machine.target, target="") if machine.target else machine


def _difference(expected: list[Document], answers: list[Document]) -> str:
    pairs = [(one, other) for one, other in zip(expected, answers, strict=True) if one != other]
    return "; ".join(f"want {one['warnings']}, got {other['warnings']}" for one, other in pairs)


def _owner(dependent: Document) -> str:
    return str(dependent["metadata"]["ownerReferences"][0]["uid"])


def _tainted(node: Document) -> bool:
    """Return whether the controllers are done with a node: what is cordoned is tainted, and no Node is new."""
    keys = {taint["key"] for taint in node["spec"].get("taints", ())}
    lifecycle = {key for key in keys if key.startswith("node.kubernetes.io/")}
    return lifecycle == ({_UNSCHEDULABLE} if node["spec"].get("unschedulable") else set())


def token_file(control_plane: ControlPlane, directory: Path) -> Path:
    """Write down the administrator's token: a fleet changes Nodes too."""
    file = directory / "admin-token"
    file.write_text(control_plane.admin_token)
    return file
