"""How long `podberth why` takes at 1,000 nodes and 10,000 pods: the whole process, and how many requests it sends.

A control plane of its own holds the nodes and pods, of 8 KiB each; but for the asked pod, all have their nodes. Nothing
else runs but etcd and the API server, on the same cores. `kubectl get pods -A`, which reads the same pods, is timed
beside it.

    python -m bench.why [--nodes 1000] [--pods 10000] [--rounds 5]
"""

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from builders import gpu_container, pod
from controlplane.cluster import ControlPlane
from controlplane.kubelet import gpu_node

from .figures import table

_PARALLEL = 8
_SPACE = "team"
_GPUS = 8
_VARIABLES = [{"name": f"VARIABLE_{number:02}", "value": "x" * 60} for number in range(40)]
# The answer about the first needs all nodes and no pod, that about the second all pods.
_ASKED = {"too-large": (16, "the largest has 8"), "busy": (1, "are held")}
_SAID = "0/1000 nodes are available: 1000 Insufficient nvidia.com/gpu."


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--pods", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, ControlPlane.start(Path(folder, "plane")) as plane:
        plane.add_namespace(_SPACE)
        for name in ("nodes", "kube-scheduler", "kube-controller-manager"):
            plane.stop_component(name)
        with ThreadPoolExecutor(_PARALLEL) as pool:
            list(pool.map(lambda number: _node(plane, number), range(options.nodes)))
            list(pool.map(lambda number: _pod(plane, number, options.nodes), range(options.pods)))
        _waits(plane)
        rows = []
        for _ in range(options.rounds):
            rows += [(f"why {name}", *_timed(_why(plane, name), says)) for name, (_, says) in _ASKED.items()]
            rows.append(("kubectl get pods -A", *_timed(_kubectl(plane), f"pod-{options.pods - 1:05}")))
    size = f"{options.nodes:,} nodes, {options.pods:,} pods"
    print(table((size, "seconds", "CPU of the command, s"), rows))


def _node(plane: ControlPlane, number: int) -> None:
    made = gpu_node(f"node-{number:04}", gpus=_GPUS, labels={"example.com/rack": f"rack-{number % 50}"})
    made["status"]["capacity"] |= {"cpu": "192", "memory": "2Ti", "pods": "110"}
    made["status"]["allocatable"] = made["status"]["capacity"]
    plane.api.request("POST", "/api/v1/nodes", made)
    # Admission taints every new node, and the controller that takes it back does not run.
    path = f"/api/v1/nodes/node-{number:04}"
    plane.api.request("PATCH", path, {"spec": {"taints": None}}, "application/merge-patch+json")


def _pod(plane: ControlPlane, number: int, nodes: int) -> None:
    # The first of a node's pods hold all its GPUs.
    gpus = _GPUS if number < nodes else 0
    main = gpu_container("main", gpus, env=_VARIABLES)
    _create(plane, pod(main, name=f"pod-{number:05}", nodeName=f"node-{number % nodes:04}"))


def _create(plane: ControlPlane, made: dict[str, Any]) -> None:
    made["metadata"]["namespace"] = _SPACE
    plane.api.request("POST", f"/api/v1/namespaces/{_SPACE}/pods", made)


def _waits(plane: ControlPlane) -> None:
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": _SAID}
    for name, (gpus, _) in _ASKED.items():
        _create(plane, pod(gpu_container("main", gpus), name=name))
        path = f"/api/v1/namespaces/{_SPACE}/pods/{name}/status"
        plane.api.request("PATCH", path, {"status": {"conditions": [condition]}}, "application/merge-patch+json")


def _why(plane: ControlPlane, name: str) -> list[str]:
    return [sys.executable, "-m", "podberth", "why", name, "-n", _SPACE, "--kubeconfig", str(plane.kubeconfig)]


def _kubectl(plane: ControlPlane) -> list[str]:
    return [str(plane.kubectl_path), "--kubeconfig", str(plane.kubeconfig), "get", "pods", "--all-namespaces"]


def _timed(command: list[str], says: str) -> tuple[str, str]:
    began, used = time.monotonic(), _children()
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    if says not in done.stdout:
        raise RuntimeError(f"got {done.stdout!r}, want {says!r}")
    return f"{time.monotonic() - began:.2f}", f"{_children() - used:.2f}"


def _children() -> float:
    """Return the CPU seconds of the processes that this one has started and waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
