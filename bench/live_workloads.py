"""What claims and owners of gangs cost a webhook that follows a cluster, by number: start and memory.

A control plane of its own holds that many suspended Jobs of 10 KiB each (a pod template with a hundred variables), and
as many ResourceClaims that somebody has made by hand. Nothing else runs but etcd and the API server.

    python -m bench.live_workloads [--objects 0,1000,10000]
"""

import argparse
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from builders import container, job, pod
from controlplane.cluster import ControlPlane
from e2e.access import grant
from e2e.following import Following, cpu_seconds

from .figures import table

_PARALLEL = 8
_SPACE = "team"
_FOLLOWED = ("jobs.batch", "resourceclaims.resource.k8s.io")
_VARIABLES = [{"name": f"VARIABLE_{number:03}", "value": "x" * 60} for number in range(100)]
_ASKED = {"devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu.nvidia.com", "count": 8}}]}}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--objects", default="0,1000,10000")
    options = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder, ControlPlane.start(Path(folder, "plane")) as plane:
        grant(plane)
        plane.add_namespace(_SPACE)
        for name in ("nodes", "kube-scheduler", "kube-controller-manager"):
            plane.stop_component(name)
        made = 0
        for count in sorted(map(int, options.objects.split(","))):
            with ThreadPoolExecutor(_PARALLEL) as pool:
                list(pool.map(lambda number: _create(plane, number), range(made, count)))
            made = count
            rows.append(_row(plane, Path(folder, str(count)), count))
    print(table(("of each", "start, s", "CPU, s", "RSS, MiB", "peak, MiB"), rows))


def _create(plane: ControlPlane, number: int) -> None:
    name = f"train-{number:05}"
    made = job(pod(container(env=_VARIABLES)), name=name, indexed=True, parallelism=8)
    made["metadata"]["namespace"] = _SPACE
    made["spec"]["suspend"] = True
    plane.api.request("POST", f"/apis/batch/v1/namespaces/{_SPACE}/jobs", made)
    claim: dict[str, Any] = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": name},
        "spec": _ASKED,
    }
    plane.api.request("POST", f"/apis/resource.k8s.io/v1/namespaces/{_SPACE}/resourceclaims", claim)


def _row(plane: ControlPlane, folder: Path, count: int) -> tuple[str, ...]:
    folder.mkdir()
    following = Following(plane, folder)
    began = time.monotonic()
    with following:
        seconds = time.monotonic() - began
        known = {following.metric("watch_objects", resource=name) for name in _FOLLOWED}
        if known != {count}:
            raise RuntimeError(f"got {known} objects, want {count} of each kind")
        status = Path(f"/proc/{following.podberth.pid}/status").read_text()
        kib = {line.partition(":")[0]: line.split()[1] for line in status.splitlines() if line.startswith("Vm")}
        figures = (seconds, cpu_seconds(following.podberth.pid), int(kib["VmRSS"]) / 1024, int(kib["VmHWM"]) / 1024)
    return (str(count), *(f"{figure:.1f}" for figure in figures))


if __name__ == "__main__":
    main()
