"""podberth following a cluster of the test's own: asked by real reviews, compared with a snapshot of that moment."""

import base64
import http.client
import json
import os
import shutil
import ssl
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Self

from builders import gpu_pod, review
from controlplane.cluster import ControlPlane
from controlplane.wait import wait_for
from podberth.admission import decide
from podberth.admission.review import decode_review
from podberth.admission.snapshot import Snapshot, load_snapshot
from podberth.api.protocol import HEARTBEATS, NAMESPACES, NODES, TOPOLOGIES
from podberth.conventions import Conventions
from podberth.facts.cluster import ClusterFacts, collect
from podberth.files.loading import read_objects, read_policy_texts
from podberth.policy.parse import parse_policies
from podberth.topology.index import TopologyIndex
from podberth.topology.shapes import simulate
from podberth.wellknown import NAMESPACE, TOPOLOGY_LABEL
from records import without_seals
from snapshots import environment, policy

from .access import write_kubeconfig, write_token
from .podberth_process import ANSWER_SECONDS, POLICIES, Podberth, logged

Document = dict[str, Any]

# What the topology of the nodes comes from.
RESOURCES = (NODES, TOPOLOGIES, HEARTBEATS)
# How long an answer is waited for that follows an event. It takes a fifth of a second (bench.live), on a free machine.
FOLLOWS_SECONDS = 60.0
# Kubernetes' own part: the node controller's taint of a cordoned node, which takes milliseconds on a free machine.
CLUSTER_SECONDS = 60.0
# After an outage the next try comes within the longest wait, and the cluster itself has to come back.
RECOVERS_SECONDS = 120.0

# Beside the shipped policies: says in numbers what the topology is, so that no change of it goes unseen.
_SEEN = policy(
    "seen",
    """
  mutations:
  - annotations:
      seen.example/nodes: >-
        string(topology.nodes(gpu).count) + ' of ' + string(topology.known) + ', linked '
        + string(topology.nodes(gpu).withLinkDomain(4).count) + ', exist ' + string(topology.nodes(gpu).exist)
        + ', ' + topology.nodes(gpu).narrowestLevel(3)
""",
    order=1,
)
_PODS = (
    gpu_pod(1),
    gpu_pod(4),
    gpu_pod(8),
    gpu_pod(1, resource="nvidia.com/mig-1g.5gb"),
    gpu_pod(1, annotations={"podberth.io/gpu-memory": "10Gi"}),
)


class Following:
    """A `podberth serve --topology cluster` and the control plane that it follows."""

    def __init__(
        self,
        control_plane: ControlPlane,
        directory: Path,
        pods: Sequence[Document] = _PODS,
        *,
        served: Path | None = None,
    ) -> None:
        """Prepare; nothing runs yet but the control plane, in which podberth has its namespace and its rights.

        `pods` are what it is asked about. It serves `served` or, without that, the directory `policies`.
        """
        self.pods = pods
        self.control_plane = control_plane
        self.directory = directory
        self.token_file = directory / "token"
        policies = directory / "policies"
        shutil.copytree(POLICIES, policies)
        self.policy_file = policies / "seen.yaml"
        self.policies = policies
        self.write_policy(_SEEN)
        self.renew_token()
        self.podberth = Podberth(
            directory / "serve", None, served or policies, kubeconfig=self.kubeconfig(), reload_seconds=0.1
        )
        self._connection: http.client.HTTPSConnection | None = None
        self._policies: tuple[list[tuple[str, str]], Snapshot] | None = None

    def kubeconfig(self, server: str = "") -> Path:
        """Write a kubeconfig that names the file of the token."""
        return write_kubeconfig(self.control_plane, self.token_file, server)

    def renew_token(self, duration: str = "1h") -> None:
        """Put a new token of podberth's own ServiceAccount into its file."""
        write_token(self.control_plane, self.token_file, duration)

    # ---- the cluster ------------------------------------------------------------------------------------------------

    def add(self, shape: str, name: str, **options: Any) -> Document:
        """Make a machine: its Node, the topology document about it, and a heartbeat; return the document."""
        node, config_map = simulate(shape, name, **options)
        self.control_plane.add_nodes([node])
        self.publish(config_map)
        self.beat(name)
        return config_map

    def publish(self, config_map: Document) -> None:
        """Write a ConfigMap, as an agent does: whole, under a field manager of its own."""
        name = config_map["metadata"]["name"]
        path = f"/api/v1/namespaces/{NAMESPACE}/configmaps/{name}?fieldManager=agent&force=true"
        self.control_plane.api.request("PATCH", path, config_map, "application/apply-patch+yaml")

    def beat(self, name: str, *, seconds: int = 3600, ago: float = 0.0) -> None:
        """Renew a node's heartbeat."""
        renewed = datetime.now(UTC) - timedelta(seconds=ago)
        lease = {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": name, "labels": {TOPOLOGY_LABEL: "v1"}},
            "spec": {
                "holderIdentity": name,
                "leaseDurationSeconds": seconds,
                "renewTime": renewed.strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
            },
        }
        path = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases/{name}?fieldManager=agent&force=true"
        self.control_plane.api.request("PATCH", path, lease, "application/apply-patch+yaml")

    def patch(self, name: str, patch: Mapping[str, Any], *, status: bool = False) -> None:
        """Change a Node."""
        path = f"/api/v1/nodes/{name}" + ("/status" if status else "")
        self.control_plane.api.request("PATCH", path, patch, "application/strategic-merge-patch+json")

    def delete(self, name: str) -> None:
        """Delete a Node, its document and its heartbeat, as garbage collection would."""
        for resource in RESOURCES:
            self.control_plane.raw("DELETE", f"{resource.path}/{name}")

    def write_policy(self, text: str) -> None:
        """Exchange the policy in one step: whoever reads meanwhile must not find it cut off, or empty."""
        new = self.directory / "seen.new"
        new.write_text(text)
        new.replace(self.policy_file)

    # ---- the answers ------------------------------------------------------------------------------------------------

    def ask(self, pod: Document, path: str = "/mutate", *, namespace: str = "default") -> Document:
        """Have podberth decide on a pod of a namespace; return the response without its uid."""
        return self.post(path, review(pod, namespace=namespace))

    def post(self, path: str, asked: Document) -> Document:
        """Have podberth answer a review; return the response without its uid."""
        body = json.dumps(asked).encode()
        for fresh in (False, True):
            connection = self._connect(fresh=fresh)
            try:
                connection.request("POST", path, body, {"Content-Type": "application/json"})
                answer = connection.getresponse()
                document = json.loads(answer.read())
            except (OSError, http.client.HTTPException):
                if fresh:
                    raise
                continue
            assert answer.status == 200, document
            return _readable(document["response"])
        raise AssertionError("unreachable")

    def answers(self) -> list[Document]:
        """Return what podberth says about every kind of pod."""
        return [{**self.ask(pod), "validation": self.ask(pod, "/validate")} for pod in self.pods]

    def built(self) -> list[Document]:
        """Return what it would say by a snapshot made of all objects as they are now."""
        return self._decided(self.snapshot())

    def by_kubectl(self) -> list[Document]:
        """Return what it would say by the file that a user makes of the cluster with kubectl."""
        file = self.directory / "snapshot.json"
        file.write_text(self.control_plane.kubectl("get", "nodes,configmaps", "-A", "-o", "json").stdout)
        objects = read_objects(file)
        assert objects.problems == ()
        return self._decided(self._compiled().with_topology(TopologyIndex.build(objects.nodes)))

    def _decided(self, snapshot: Snapshot) -> list[Document]:
        decided = []
        for request in (decode_review(review(pod)) for pod in self.pods):
            one, other = (decide_on(request, snapshot) for decide_on in (decide.mutate, decide.validate))
            validation = _readable(other.response["response"])
            decided.append({**_readable(one.response["response"]), "validation": validation})
        return decided

    def snapshot(self) -> Snapshot:
        """Return a snapshot of all objects as they are now."""
        kinds = ("Node", "ConfigMap", "Lease", "Namespace")
        documents = []
        for resource, kind in zip((*RESOURCES, NAMESPACES), kinds, strict=True):
            found = self.control_plane.api.read(resource.path)
            documents += [{"apiVersion": found["apiVersion"], "kind": kind, **item} for item in found["items"]]
        objects = collect(documents, now=datetime.now(UTC))
        compiled = self._compiled().with_topology(TopologyIndex.build(objects.nodes))
        return compiled.with_objects(objects.namespaces, objects.config_maps)

    def settled(self, timeout_seconds: float = FOLLOWS_SECONDS) -> list[Document]:
        """Wait until podberth answers as a snapshot of that moment would; return the answers."""
        seen: list[list[Document]] = []

        def equal() -> bool:
            seen[:] = [self.built(), self.answers()]
            return seen[0] == seen[1]

        wait_for(equal, timeout_seconds=timeout_seconds, what=lambda: f"{seen[0]}; got {seen[1]}")
        return seen[0]

    def changed(self, before: list[Document], timeout_seconds: float = FOLLOWS_SECONDS) -> list[Document]:
        """Wait until the cluster is one that calls for other answers than before, and then as `settled`."""
        wait_for(lambda: self.built() != before, timeout_seconds=CLUSTER_SECONDS, what="the cluster to be another")
        answers = self.settled(timeout_seconds)
        assert answers != before
        return answers

    def returned(self, before: list[Document], timeout_seconds: float = FOLLOWS_SECONDS) -> None:
        """Wait until the cluster calls for these answers again, and then as `settled`."""
        wait_for(lambda: self.built() == before, timeout_seconds=CLUSTER_SECONDS, what="the cluster to be as it was")
        assert self.settled(timeout_seconds) == before

    def _compiled(self) -> Snapshot:
        """Return the policies as they are on disk; compiled again only where they have changed."""
        texts, problems = read_policy_texts(self.policies)
        assert not problems
        if self._policies is None or self._policies[0] != texts:
            loaded = load_snapshot(parse_policies(texts), ClusterFacts(), environment(), Conventions())
            self._policies = (texts, loaded)
        return self._policies[1]

    # ---- what it says about itself ----------------------------------------------------------------------------------

    def metric(self, name: str, **labels: str) -> float:
        """Return a metric of podberth's."""
        text = ",".join(f'{key}="{value}"' for key, value in labels.items())
        return self.podberth.metrics()[f"podberth_{name}{{{text}}}" if text else f"podberth_{name}"]

    def lines(self, message: str) -> list[Document]:
        """Return the lines of the log whose message begins so."""
        return logged(self.directory / "serve" / "podberth.log", message)

    def reported(self, message: str) -> list[Document]:
        """Return the lines of the log whose message begins so, once there is one."""
        return wait_for(lambda: self.lines(message), what=f"the log to say: {message}")

    def __enter__(self) -> Self:
        """Start podberth."""
        self.podberth.start()
        return self

    def __exit__(self, *_: object) -> None:
        """End it for good."""
        if self._connection is not None:
            self._connection.close()
        self.podberth.close()

    def _connect(self, *, fresh: bool) -> http.client.HTTPSConnection:
        if fresh and self._connection is not None:
            self._connection.close()
            self._connection = None
        if self._connection is None:
            host = self.podberth.endpoint.url.removeprefix("https://")
            tls = ssl.create_default_context(cafile=str(self.directory / "serve" / "ca.crt"))
            self._connection = http.client.HTTPSConnection(host, context=tls, timeout=ANSWER_SECONDS)
        return self._connection


def cpu_seconds(pid: int) -> float:
    """Return the CPU time that a process has used (proc_pid_stat(5): utime and stime)."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _readable(response: Mapping[str, Any]) -> Document:
    """Return a response whose records have no seal: the process that is asked has a key of its own."""
    patch = response.get("patch")
    decoded = json.loads(base64.b64decode(patch)) if patch else []
    return {
        "allowed": response["allowed"],
        "message": response.get("status", {}).get("message", ""),
        "patch": without_seals(decoded),
        "warnings": response.get("warnings", []),
    }
