"""How long the largest pods hold a worker: ``python -m bench.hostile``.

Each is a pod at the bounds of ``kube.budget`` (1.5 MiB, 200 containers, 9,000 environment entries, 5,000 tolerations)
whose names need escaping in JSON and in JSON pointers. The time is that of one worker for one review, all shipped
policies asked: the body read and decoded, the decision, the answer written; the engine keeps the interpreter lock, so
nobody else is answered meanwhile. The least of several tries, each with a pod that was not seen before.

A second table is of /validate-workload and workloads of many roles: it judges the first 64 of them.
"""

import argparse
import time
from collections.abc import Callable, Mapping
from typing import Any

import orjson

from podberth.admission import decide
from podberth.admission.outcome import Outcome
from podberth.admission.review import AdmissionRequest, decode_review
from podberth.admission.snapshot import Snapshot
from podberth.kube.budget import CONTAINERS, MAX_BYTES
from podberth.kube.patch import apply

from . import clusters, decisions, many_roles
from .figures import table

GOAL_MILLISECONDS = 100
_ENV = 9_000
_TOLERATIONS = 5_000
# What policies write has to fit in too: a pod that they make too large is refused by /validate.
_ROOM = 16_384
_ROLES = (10, 100, 1_000)
_ODD = '~1/"\\é\n'
_Pod = dict[str, Any]


def main() -> int:
    """Measure and print; 1 where a review took longer than the goal."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tries", type=int, default=7)
    options = parser.parse_args()
    rows: list[tuple[str, ...]] = []
    slowest = 0.0
    for nodes, classes in ((1_000, 50), (10_000, 500)):
        snapshot = decisions.snapshot(clusters.documents(nodes, classes), library=True)
        for name, make in HOSTILE.items():
            took = [_times(make(number), snapshot) for number in range(options.tries)]
            best = [min(each) for each in zip(*(times for times, _ in took), strict=True)]
            slowest = max(slowest, *best)
            verdict = took[-1][1]
            rows.append((name, f"{nodes:,} in {classes}", *(f"{each:.0f}" for each in best), verdict))
    print(table(("pod", "nodes in classes", "/mutate ms", "/validate ms", "verdict"), rows))
    print(f"\nslowest: {slowest:.0f} ms, goal: {GOAL_MILLISECONDS} ms or less\n")
    of_many = _of_many_roles(options.tries)
    print(f"\nslowest: {of_many:.0f} ms, goal: {GOAL_MILLISECONDS} ms or less")
    return int(slowest > GOAL_MILLISECONDS or of_many > GOAL_MILLISECONDS)


def _of_many_roles(tries: int) -> float:
    """Print what workloads of many roles take; return the slowest's milliseconds."""
    snapshot = decisions.snapshot(clusters.documents(1_000, 50), library=True)
    rows: list[tuple[str, ...]] = []
    slowest = 0.0
    for alike in (True, False):
        shapes = [many_roles.workloads(roles, alike=alike) for roles in _ROLES]
        for name in shapes[0]:
            took = [min(_reviewed(each[name], snapshot) for _ in range(tries)) for each in shapes]
            slowest = max(slowest, *took)
            rows.append((f"{name}, {'alike' if alike else 'different'}", *(f"{each:.0f}" for each in took)))
    print(table(("roles", *(f"{roles:,}: ms" for roles in _ROLES)), rows))
    return slowest


def _times(pod: _Pod, snapshot: Snapshot) -> tuple[tuple[float, float], str]:
    """Return the milliseconds of /mutate and, for what came out of it, of /validate, and the verdicts."""
    mutated, request, first = _timed(pod, decide.mutate, snapshot)
    final = apply(request.object, mutated.patch) if request.object is not None else pod
    validated, _, second = _timed(final, decide.validate, snapshot)
    return (first, second), f"{mutated.verdict}, {validated.verdict}"


def _timed(
    pod: _Pod, decider: Callable[[AdmissionRequest, Snapshot], Outcome], snapshot: Snapshot
) -> tuple[Outcome, AdmissionRequest, float]:
    body = orjson.dumps(review(pod))
    began = time.perf_counter_ns()
    request = decode_review(orjson.loads(body), len(body))
    outcome = decider(request, snapshot)
    orjson.dumps(outcome.response)
    took = (time.perf_counter_ns() - began) / 1e6
    return outcome, request, took


def _reviewed(workload: _Pod, snapshot: Snapshot) -> float:
    """Return the milliseconds of /validate-workload."""
    group, _, version = workload["apiVersion"].rpartition("/")
    kind = {"group": group, "version": version, "kind": workload["kind"]}
    asked = review(workload)
    asked["request"] |= {"kind": kind, "resource": {"group": group, "version": version, "resource": "many"}}
    body = orjson.dumps(asked)
    began = time.perf_counter_ns()
    outcome = decide.validate_workload(decode_review(orjson.loads(body), len(body)), snapshot)
    orjson.dumps(outcome.response)
    return (time.perf_counter_ns() - began) / 1e6


def review(pod: _Pod) -> _Pod:
    """Return the review of a pod's creation."""
    request = {
        "uid": "00000000-0000-0000-0000-000000000000",
        "kind": {"group": "", "version": "v1", "kind": "Pod"},
        "resource": {"group": "", "version": "v1", "resource": "pods"},
        "operation": "CREATE",
        "namespace": "default",
        "name": pod["metadata"]["name"],
        "userInfo": {"username": "somebody"},
        "object": pod,
    }
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}


# ---- the pods -------------------------------------------------------------------------------------------------------


def largest(number: int, *, gpu_containers: int = CONTAINERS, **metadata: Mapping[str, str]) -> _Pod:
    """Return the pod that the bounds are named after; filled up to 1.5 MiB by the values of its environment."""
    containers = [
        {
            "name": f"c{at}{_ODD}",
            "image": f"image{_ODD}",
            "env": [{"name": f"V{at}_{each}{_ODD}", "value": ""} for each in range(_ENV // CONTAINERS)],
            "resources": {"limits": {"nvidia.com/gpu": "1"} if at < gpu_containers else {f"odd.example/{_ODD}": "1"}},
        }
        for at in range(CONTAINERS)
    ]
    tolerations = [
        {"key": f"k{at}{_ODD}", "operator": "Equal", "value": f"v{at}", "effect": "NoSchedule"}
        for at in range(_TOLERATIONS)
    ]
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": f"hostile-{number}", "namespace": "default", **metadata},
        "spec": {"containers": containers, "tolerations": tolerations},
    }
    return _filled(pod)


def _wanting_everything(number: int) -> _Pod:
    """Return one that every policy has something to say about and that fits on nodes: it is rewritten."""
    labels = {"podberth.io/gang": f"gang-{number}"} | {f"l{each}/{_ODD}": _ODD for each in range(900)}
    annotations = {"podberth.io/gang-size": "4", "podberth.io/gpu-memory": "4Gi"}
    return largest(number, gpu_containers=1, labels=labels, annotations=annotations)


def _many_gpus(number: int) -> _Pod:
    """Return one of two containers' worth of GPUs in one: several of a container, in a gang."""
    pod = largest(number, gpu_containers=1, labels={"podberth.io/gang": f"gang-{number}"})
    pod["spec"]["containers"][0]["resources"]["limits"] = {"nvidia.com/gpu": "4"}
    return pod


def _mig_names(number: int) -> _Pod:
    """Return one that asks for profiles that nobody has, two in each container."""
    pod = largest(number)
    for at, container in enumerate(pod["spec"]["containers"]):
        container["resources"]["limits"] = {f"nvidia.com/mig-{at % 8}g.{each}{at}gb": "1" for each in (1, 2)}
    return pod


def _choosy(number: int) -> _Pod:
    """Return one whose node affinity is most of it, where the environment is elsewhere."""
    pod = largest(number, gpu_containers=1)
    for container in pod["spec"]["containers"]:
        del container["env"]
    expression = {"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64"]}
    fill = {"key": f"absent{_ODD}", "operator": "NotIn", "values": [f"v{each}" for each in range(100)]}
    terms = [{"matchExpressions": [expression, fill, fill]} for _ in range(400)]
    pod["spec"]["affinity"] = {
        "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    }
    return pod


def _too_large(number: int) -> _Pod:
    """Return one that is larger than it may be: its policies are errors, and nothing is asked."""
    pod = largest(number)
    pod["spec"]["containers"][0]["env"][0]["value"] += "x" * (_ROOM + _ENV)
    return pod


def _filled(pod: _Pod) -> _Pod:
    """Lengthen the values of the environment until the pod is as large as it may be."""
    entries = [each for container in pod["spec"]["containers"] for each in container["env"]]
    each = (MAX_BYTES - _ROOM - len(orjson.dumps(pod))) // len(entries)
    for entry in entries:
        entry["value"] = "v" * each
    return pod


HOSTILE: Mapping[str, Callable[[int], _Pod]] = {
    "the largest": largest,
    "that all policies apply to": _wanting_everything,
    "of several GPUs, in a gang": _many_gpus,
    "of 400 MIG profiles": _mig_names,
    "of 400 affinity terms": _choosy,
    "a little larger": _too_large,
}


if __name__ == "__main__":
    raise SystemExit(main())
