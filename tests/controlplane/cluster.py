"""One control plane of our own: its processes, its simulated nodes, and the way to them."""

import atexit
import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime
from http import HTTPStatus
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from . import kubelet
from .api import Api
from .build import assets, minor
from .client import Cluster
from .components import ORDER, PORTS, Plan, launches
from .credentials import issue
from .ports import Ports
from .process import Component, Guard, PortTakenError
from .wait import PATIENCE_SECONDS, wait_for

# All is ready after 3 to 6 s here; the bound is for a CI machine under load.
_READY_SECONDS = 90.0
# With ports reserved among us, only a stranger can take one in the moment before the bind.
_START_TRIES = 3
_POD_GROUPS_SINCE = 36
_NOT_READY_TAINT = "node.kubernetes.io/not-ready"
# As many requests as the API server answers at once on two cores.
_PARALLEL_REQUESTS = 8


class ControlPlane(Cluster):
    """A running control plane; a context manager that stops it.

    Attributes: `url`, `ca_file` and `admin_token` reach the API server as a member of system:masters;
    `kubeconfig` holds the same; `directory` has `logs/<component>.log`, and stays when all is stopped;
    `api` sends requests without kubectl; `pids` maps each running component to its process.
    """

    def __init__(self, plan: Plan, ports: Ports) -> None:
        """Prepare; `ControlPlane.start` is what callers use."""
        super().__init__(plan.assets / "kubectl", plan.credentials.kubeconfig("admin", plan.url), plan.directory)
        self.url = plan.url
        self.ca_file = plan.credentials.ca_file
        self.admin_token = plan.credentials.tokens["admin"]
        self.api = Api(self.url, self.admin_token, self.ca_file)
        self._launches = launches(plan)
        self._ports = ports
        self._guard = Guard()
        self._running: dict[str, Component] = {}
        atexit.register(self.stop)

    @classmethod
    def start(
        cls,
        directory: Path,
        *,
        extra_apiserver_args: Sequence[str] = (),
        extra_controller_args: Sequence[str] = (),
        pod_groups: bool = True,
        job_gangs: bool = False,
        shared_claims: bool = False,
    ) -> Self:
        """Start a control plane that keeps all its files below `directory`, and return it when it is ready.

        What an earlier one has left there is removed: each start is a new cluster.
        `pod_groups` turns native gang scheduling on where the release has it, from 1.36 on; Kubernetes' default is off.
        `job_gangs` turns on WorkloadWithJob: the Job controller then makes a PodGroup for an Indexed Job whose
        parallelism is its completions. `shared_claims` turns on DRAWorkloadResourceClaims.
        Raises BuildError where the executables can't be had, ComponentError where a component doesn't
        start; nothing is left running then.
        """
        executables = assets()
        _clear(directory)
        credentials = issue(directory / "credentials")
        tries_left = _START_TRIES
        while True:
            tries_left -= 1
            ports = Ports()
            plan = Plan(
                assets=executables,
                directory=directory,
                credentials=credentials,
                ports={name: ports.take() for name in PORTS},
                pod_groups=pod_groups and minor() >= _POD_GROUPS_SINCE,
                job_gangs=job_gangs,
                shared_claims=shared_claims,
                extra_apiserver_args=tuple(extra_apiserver_args),
                extra_controller_args=tuple(extra_controller_args),
            )
            control_plane = cls(plan, ports)
            try:
                control_plane._start_all()
            except BaseException as error:
                control_plane.stop()
                if not (tries_left and isinstance(error, PortTakenError)):
                    raise
            else:
                return control_plane

    def stop(self) -> None:
        """End what was started, last first; again is nothing."""
        atexit.unregister(self.stop)
        try:
            for name in reversed(ORDER):
                self.stop_component(name)
        finally:
            self._guard.close()
            self.api.close()
            self._ports.release()

    def __enter__(self) -> Self:
        """Return itself: it runs already."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop it."""
        self.stop()

    @property
    def pids(self) -> dict[str, int]:
        """The process of each running component, and of the guard that ends them if this process is killed."""
        return {"guard": self._guard.pid, **{name: each.pid for name, each in self._running.items()}}

    def start_component(self, name: str) -> None:
        """Start one of etcd, kube-apiserver, kube-controller-manager, kube-scheduler, nodes; wait until it works."""
        self._spawn(name)
        self._running[name].wait_ready(_READY_SECONDS)

    def stop_component(self, name: str, *, crash: bool = False) -> None:
        """End one component, if it runs; `crash` gives it no time to say goodbye."""
        if component := self._running.pop(name, None):
            component.stop(crash=crash)

    @contextmanager
    def paused(self, name: str) -> Iterator[None]:
        """Hold one component still until the block ends."""
        with self._running[name].paused():
            yield

    def check(self) -> None:
        """Raise ComponentError, with the tail of its log, where a component has ended by itself."""
        for component in self._running.values():
            component.check()

    def raw(
        self,
        method: str,
        path: str,
        body: bytes | Mapping[str, Any] | list[Any] | None = None,
        content_type: str = "application/json",
    ) -> tuple[int, bytes]:
        """Send a request as administrator over a kept-alive connection; return status and body."""
        return self.api.raw(method, path, body, content_type)

    def add_nodes(self, nodes: Sequence[Mapping[str, Any]], *, timeout_seconds: float = PATIENCE_SECONDS) -> None:
        """Create simulated nodes from Node manifests and return once the scheduler may use them all.

        Labels, `spec.taints`, and `status.capacity` or `status.allocatable` are taken as given; what a kubelet
        would add to them is added (see kubelet.complete_node).
        """
        now = datetime.now(UTC)
        manifests = [kubelet.complete_node(node, now) for node in nodes]
        with ThreadPoolExecutor(_PARALLEL_REQUESTS) as pool:
            # On creation, and only then, a Node's status is taken with it: that is how a kubelet registers.
            list(pool.map(lambda manifest: self.api.request("POST", "/api/v1/nodes", manifest), manifests))
        unusable = {manifest["metadata"]["name"] for manifest in manifests}

        def all_usable() -> bool:
            # Admission taints every new node; the node-lifecycle controller takes that back.
            for node in self.api.read("/api/v1/nodes")["items"]:
                taints = node["spec"].get("taints", ())
                if all(taint["key"] != _NOT_READY_TAINT for taint in taints):
                    unusable.discard(node["metadata"]["name"])
            return not unusable

        wait_for(all_usable, timeout_seconds=timeout_seconds, what=lambda: f"nodes {sorted(unusable)} to be usable")

    def add_namespace(self, name: str, labels: Mapping[str, str] | None = None) -> None:
        """Create a namespace and return once pods can be made in it."""
        manifest = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": dict(labels or {})}}
        self.api.request("POST", "/api/v1/namespaces", manifest)
        self._wait_for_service_account(name)

    def _start_all(self) -> None:
        for name in ("etcd", "kube-apiserver"):
            self.start_component(name)
        others = [name for name in ORDER if name not in self._running]
        for name in others:
            self._spawn(name)
        for name in others:
            self._running[name].wait_ready(_READY_SECONDS)
        self._wait_for_service_account("default")

    def _spawn(self, name: str) -> None:
        if name not in self._running:
            self._running[name] = Component(self._launches[name], self._guard)

    def _read(self, path: str) -> Any:
        """Return the document at a path of the API, without kubectl; None where the server refuses."""
        status, content = self.raw("GET", path)
        return json.loads(content) if status == HTTPStatus.OK else None

    def _wait_for_service_account(self, namespace: str) -> None:
        """Wait for the controller that makes it: without it admission refuses every pod."""
        path = f"/api/v1/namespaces/{namespace}/serviceaccounts/default"
        wait_for(
            lambda: self.raw("GET", path)[0] == HTTPStatus.OK,
            timeout_seconds=_READY_SECONDS,
            what=f"the default service account of {namespace}",
        )


def _clear(directory: Path) -> None:
    for name in ("etcd", "logs", "certificates"):
        shutil.rmtree(directory / name, ignore_errors=True)
    for name in ("logs", "certificates"):
        (directory / name).mkdir(parents=True)
