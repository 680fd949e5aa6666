"""The simulated nodes: one process that does for every Node what tests need of its kubelet.

It renews each node's Lease and takes back an "Unknown" Ready condition; it marks a bound pod Running, ends
one that asks for it (kubelet.RUN_SECONDS_ANNOTATION), and lets go of one that is being deleted. It runs
nothing, pulls nothing and probes nothing: readiness gates and DRA claims are not looked at.

Why not kwok: it is a second module to build (a minute and a half) and its stages to configure, for these
few rules. Why Python and not a sixth command of main.go: there a change would cost everyone a new link, and
the executables may be somebody else's (KUBEBUILDER_ASSETS). A pod is Running about 10 ms after it is bound.

Run as `python -m controlplane.nodes KUBECONFIG READY_FILE`; the file appears once all is being followed.
"""

import heapq
import ipaddress
import itertools
import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from . import kubelet
from .api import CONNECTION_ERRORS, Api, ApiError

_LOG = logging.getLogger(__name__)

# The kubelet's own: a lease lasts 40 s (nodeLeaseDurationSeconds) and is renewed every quarter of that.
_LEASE_SECONDS = 40
_RENEW_SECONDS = 10.0
# After a request that failed for another reason than that the object is gone; at most this often where the
# server is there and refuses (a conflict may pass, an object of the same name with another uid will not).
_RETRY_SECONDS = 0.25
_REFUSALS = 20
# The server ends a watch after this long; then the list is read again, which is cheap here.
_WATCH_SECONDS = 300
# More gain nothing: the API server, on the same cores, is what each waits for.
_WORKERS = 8
# Half of the private 10.0.0.0/8, clear of the Service range 10.96.0.0/16: 8 million pods.
_POD_NETWORK = ipaddress.ip_network("10.128.0.0/9")

_STRATEGIC = "application/strategic-merge-patch+json"
_APPLY = "application/apply-patch+yaml"
_GONE = 404


class Clock:
    """Calls made at a later time, all on the thread that runs `run`."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._due: list[tuple[float, int, Callable[[], None]]] = []
        self._order = itertools.count()

    def after(self, seconds: float, call: Callable[[], None]) -> None:
        """Have `call` called that many seconds from now."""
        with self._changed:
            heapq.heappush(self._due, (time.monotonic() + seconds, next(self._order), call))
            self._changed.notify()

    def run(self) -> None:
        """Make the calls, for ever."""
        while True:
            with self._changed:
                while not self._due or self._due[0][0] > time.monotonic():
                    self._changed.wait(self._due[0][0] - time.monotonic() if self._due else None)
                call = heapq.heappop(self._due)[2]
            call()


class Simulator:
    """The kubelets of all nodes of a cluster."""

    def __init__(self, api: Api, clock: Clock) -> None:
        """Remember the cluster; `node_event` and `pod_event` are to be fed its events."""
        self._api = api
        self._clock = clock
        self._workers = ThreadPoolExecutor(_WORKERS)
        self._lock = threading.Lock()
        self._nodes: dict[str, str] = {}
        # What has been asked for and is not to be asked twice, as (uid, step), until the pod is gone.
        self._asked: set[tuple[str, str]] = set()
        self._pod_ips = (str(address) for address in _POD_NETWORK.hosts())
        self._used_ips: set[str] = set()

    def node_event(self, verb: str, node: Mapping[str, Any]) -> None:
        """Start to renew a new node's lease; make a lost one Ready."""
        name, uid = node["metadata"]["name"], node["metadata"]["uid"]
        with self._lock:
            known = self._nodes.get(name) == uid
            if verb == "DELETED":
                self._nodes.pop(name, None)
                return
            self._nodes[name] = uid
        if not known:
            self._renew(name, uid)
        if kubelet.is_lost(node):
            condition = kubelet.ready_condition(datetime.now(UTC))
            self._submit(lambda: self._patch_status("/api/v1/nodes", node, {"conditions": [condition]}))

    def pod_event(self, verb: str, pod: Mapping[str, Any]) -> None:
        """Do the next step that a bound pod is due."""
        metadata, status = pod["metadata"], pod.get("status", {})
        uid, phase = metadata["uid"], status.get("phase")
        if pod_ip := status.get("podIP"):
            self._used_ips.add(pod_ip)
        if verb == "DELETED":
            with self._lock:
                self._asked -= {(uid, step) for step in ("delete", "run", "complete")}
        elif "deletionTimestamp" in metadata:
            # Grace 0 means that the kubelet (we) let go of it already, and a finalizer holds it.
            if metadata.get("deletionGracePeriodSeconds", 0) > 0:
                self._once(uid, "delete", lambda: self._delete(pod))
        elif phase == "Pending":
            self._once(uid, "run", lambda: self._run(pod))
        elif phase == "Running" and (left := kubelet.seconds_to_run(pod, datetime.now(UTC))) is not None:
            seconds = left
            self._once(uid, "complete", lambda: self._clock.after(seconds, lambda: self._complete(pod)))

    def _run(self, pod: Mapping[str, Any]) -> None:
        now = datetime.now(UTC)
        status = kubelet.running_status(pod, self._pod_ip(pod), now)
        running = {**pod, "status": status}
        # Counted from here, not from the event that the patch causes: startTime is in whole seconds.
        left = kubelet.seconds_to_run(running, datetime.fromisoformat(status["startTime"]))
        if left is not None:
            with self._lock:
                self._asked.add((pod["metadata"]["uid"], "complete"))
        self._patch_status(_pods(pod), pod, status)
        if left is not None:
            self._clock.after(left, lambda: self._complete(running))

    def _complete(self, pod: Mapping[str, Any]) -> None:
        status = kubelet.succeeded_status(pod, datetime.now(UTC))
        self._submit(lambda: self._patch_status(_pods(pod), pod, status))

    def _delete(self, pod: Mapping[str, Any]) -> None:
        metadata = pod["metadata"]
        options = {"gracePeriodSeconds": 0, "preconditions": {"uid": metadata["uid"]}}
        self._api.request("DELETE", f"{_pods(pod)}/{metadata['name']}", options)

    def _renew(self, name: str, uid: str) -> None:
        """Write the node's lease, now and from then on every ten seconds until the node is another or gone."""
        with self._lock:
            if self._nodes.get(name) != uid:
                return
        owner = {"apiVersion": "v1", "kind": "Node", "name": name, "uid": uid}
        lease = {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": name, "ownerReferences": [owner]},
            "spec": {
                "holderIdentity": name,
                "leaseDurationSeconds": _LEASE_SECONDS,
                "renewTime": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
            },
        }
        path = f"/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/{name}"
        self._submit(lambda: self._api.request("PATCH", f"{path}?fieldManager=kubelet&force=true", lease, _APPLY))
        self._clock.after(_RENEW_SECONDS, lambda: self._renew(name, uid))

    def _patch_status(self, path: str, thing: Mapping[str, Any], status: Mapping[str, Any]) -> None:
        # With its uid in the patch, the server refuses it for a namesake made since (409).
        name, uid = thing["metadata"]["name"], thing["metadata"]["uid"]
        patch = {"metadata": {"uid": uid}, "status": status}
        self._api.request("PATCH", f"{path}/{name}/status", patch, _STRATEGIC)

    def _once(self, uid: str, step: str, call: Callable[[], None]) -> None:
        with self._lock:
            if (uid, step) in self._asked:
                return
            self._asked.add((uid, step))
        self._submit(call)

    def _submit(self, call: Callable[[], object], refusals_left: int = _REFUSALS) -> None:
        self._workers.submit(_die_of_bugs(lambda: self._attempt(call, refusals_left)))

    def _attempt(self, call: Callable[[], object], refusals_left: int) -> None:
        """Make a request; try again later where that may help."""
        try:
            call()
        except ApiError as error:
            if error.status == _GONE:
                return
            _LOG.warning("%s", error)
            refusals_left -= 1
        except CONNECTION_ERRORS as error:
            _LOG.warning("%s", error)
        else:
            return
        if refusals_left:
            self._clock.after(_RETRY_SECONDS, lambda: self._submit(call, refusals_left))

    def _pod_ip(self, pod: Mapping[str, Any]) -> str:
        if pod["spec"].get("hostNetwork"):
            return "127.0.0.1"
        with self._lock:
            return next(address for address in self._pod_ips if address not in self._used_ips)


def follow(api: Api, path: str, event: Callable[[str, Any], None], listed: threading.Event) -> None:
    """Feed `event` with all objects at `path` and then with their changes, for ever."""
    joint = "&" if "?" in path else "?"
    known: dict[str, Any] = {}
    while True:
        try:
            found = api.read(path)
            before, known = known, {item["metadata"]["uid"]: item for item in found["items"]}
            for uid in before.keys() - known.keys():
                event("DELETED", before[uid])
            for item in found["items"]:
                event("ADDED", item)
            listed.set()
            since = found["metadata"]["resourceVersion"]
            for change in api.watch(f"{path}{joint}watch=1&resourceVersion={since}", timeout_seconds=_WATCH_SECONDS):
                if change["type"] == "ERROR":
                    break
                known[change["object"]["metadata"]["uid"]] = change["object"]
                event(change["type"], change["object"])
        except (ApiError, *CONNECTION_ERRORS) as error:
            _LOG.warning("%s: %s", path, error)
            time.sleep(_RETRY_SECONDS)


def main() -> None:
    """Simulate the nodes of the kubeconfig in the first argument, until killed."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    kubeconfig, ready_file = Path(sys.argv[1]), Path(sys.argv[2])
    api, clock = Api.from_kubeconfig(kubeconfig), Clock()
    simulator = Simulator(api, clock)
    nodes, pods = threading.Event(), threading.Event()
    for path, event, listed in (
        ("/api/v1/nodes", simulator.node_event, nodes),
        ("/api/v1/pods?fieldSelector=spec.nodeName%21%3D", simulator.pod_event, pods),
    ):
        threading.Thread(target=_die_of_bugs(follow), args=(api, path, event, listed), daemon=True).start()
    nodes.wait()
    pods.wait()
    ready_file.touch()
    _LOG.info("following the nodes and pods of %s", kubeconfig)
    clock.run()


def _die_of_bugs(call: Callable[..., None]) -> Callable[..., None]:
    """Let an exception in a thread end the process, so that it is seen, instead of one part standing still."""

    def run(*arguments: Any) -> None:
        try:
            call(*arguments)
        except Exception:  # noqa: BLE001 - whatever it is, it is reported and ends the process
            _LOG.exception("bug")
            os._exit(1)

    return run


def _pods(pod: Mapping[str, Any]) -> str:
    return f"/api/v1/namespaces/{pod['metadata']['namespace']}/pods"


if __name__ == "__main__":
    main()
