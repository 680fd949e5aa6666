"""The simulated machines' node agents, by podberth's own code, and what happens to the machines themselves.

An agent is ``agent.publisher`` with the token of a pod of the installed DaemonSet, which names the pod's node: it may
do what manifests/base/agent.yaml lets it do, and no more. All of them share this process, so that they start at once.
What kubelets, device plugins, GPU feature discovery and mig-manager write to a Node, the administrator writes here.
"""

import random
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from http import HTTPStatus
from pathlib import Path
from typing import Any

from bench.fleet.churn import Machine, Sight, node_patch, show

from controlplane.cluster import ControlPlane
from controlplane.wait import wait_for
from e2e.access import token_of
from podberth.agent.api import Access, Api
from podberth.agent.api_requests import ask_node, read_config_map
from podberth.agent.publish import pump
from podberth.agent.publisher import Publisher
from podberth.topology.codec import encode_topology

# Milliseconds here; the bound is for a machine under load.
_PATIENCE_SECONDS = 60.0
# As many requests as the API server answers at once on two cores (controlplane.cluster).
_AT_ONCE = 8


@dataclass(slots=True)
class _Agent:
    machine: Machine
    publisher: Publisher
    api: Api

    def publish(self, sight: Sight) -> None:
        """Say what the machine shows, and return when the cluster has it."""
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        self.publisher.offer(encode_topology(self.machine.name, replace(sight.topology, observed=now)), None)

        def settled() -> bool:
            pump(self.publisher, self.api.send)
            return self.publisher.settled

        wait_for(settled, timeout_seconds=_PATIENCE_SECONDS, what=lambda: f"agents: {self.publisher.troubles}")


class Agents:
    """The agents of one cluster."""

    def __init__(self, control_plane: ControlPlane, directory: Path) -> None:
        """Prepare; there are none yet. Their tokens go to ``directory``."""
        self._control_plane, self._directory = control_plane, directory
        self._agents: dict[str, _Agent] = {}
        directory.mkdir()

    def start(self, machines: Sequence[Machine], pods: Sequence[Mapping[str, Any]]) -> None:
        """Start the agents of these machines, each in the pod on its node; return when all have published."""
        pod_on = {pod["spec"]["nodeName"]: pod for pod in pods}
        self._agents |= {machine.name: self._agent(machine, pod_on[machine.name]) for machine in machines}
        self._wait_for_rights(next(iter(self._agents)))
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            list(pool.map(lambda agent: agent.publish(show(agent.machine)), self._agents.values()))

    def become(self, machine: Machine) -> None:
        """Have a machine be like this from now on: its labels, its allocatable and its ConfigMap."""
        agent = self._agents[machine.name]
        before, agent.machine = show(agent.machine), machine
        after = show(machine)
        for path, patch in zip(("", "/status"), node_patch(before, after), strict=True):
            if patch:
                where = f"/api/v1/nodes/{machine.name}{path}"
                self._control_plane.api.request("PATCH", where, patch, "application/merge-patch+json")
        agent.publish(after)

    def close(self) -> None:
        """Close the connections."""
        for agent in self._agents.values():
            agent.api.close()

    def _agent(self, machine: Machine, pod: Mapping[str, Any]) -> _Agent:
        token_file = self._directory / machine.name
        token_file.write_text(token_of(self._control_plane, pod))
        api = Api(Access(self._control_plane.url, token_file, self._control_plane.ca_file))
        return _Agent(machine, Publisher(machine.name, draw=random.random), api)

    def _wait_for_rights(self, name: str) -> None:
        """Wait until the API server's authorizer knows of them: an agent that is refused waits long."""
        send = self._agents[name].api.send
        known = {HTTPStatus.OK, HTTPStatus.NOT_FOUND}
        wait_for(
            lambda: all(send(request).status in known for request in (ask_node(name), read_config_map(name))),
            timeout_seconds=_PATIENCE_SECONDS,
            what="the agents' rights to be in force",
        )
