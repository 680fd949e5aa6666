"""How long the largest pods hold a worker: ``python -m bench.hostile``.

Pods at the bounds of ``kube.pod_limits`` are made from its table (``bench.genome``): each list at its bound, of every
kind of entries, then each two lists of a kind at theirs. Beside them stand the pods that the bounds are named after
(1.5 MiB, names that need escaping in JSON and in JSON pointers), and the slowest that ``bench.hostile_search`` has
found.

The time is processor time of one worker for one review: the body read and decoded, the decision, the answer written;
the engine keeps the interpreter lock, so nobody else is answered meanwhile. It is the least of several tries, each with
a pod that was not seen before, and is given at one pace (``figures.SteadyClock``), for the pace of a shared machine
changes by the minute. The pods that take longest are printed.

All policies of ``policies/`` are asked, in a namespace with as many exceptions from them as it may have
(``bench.excepted``). The pods that have a name are also given to those of ``optional-policies/`` beside them, and to
the shipped ones with params that require what they prefer, and to those of a namespace that has as many policies of
its own as it may have (``bench.full_namespace``).

What came near the goal is measured once more at the end, and the least of both counts: on a shared machine, caches
belong to somebody else for minutes.

Dense texts (``bench.dense``) have as many values as their bytes allow, or as are parsed at most.

The last tables are of /validate-workload, with workloads made from the same table (``bench.roles``): each list at its
bound in one role or shared out among several, roles that differ in one thing, and many roles of each kind of object.
"""

import argparse
import gc
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import combinations
from typing import Any

import orjson

from podberth.admission import decide
from podberth.admission.outcome import Outcome
from podberth.admission.review import AdmissionRequest
from podberth.admission.review_text import read_review
from podberth.admission.snapshot import Snapshot
from podberth.admission.workload import validate_workload
from podberth.kube.patch import apply
from podberth.kube.pod_limits import CONTAINERS, ENTRIES, GPU_REQUESTS, MAX_BYTES, TERMS
from podberth.kube.review_limits import excess_of_text
from podberth.wellknown import FLOOR_KEY, FLOOR_VALUE
from podberth.workload.extent import MOST_TEMPLATES

from . import ROOT, clusters, decisions, dense, excepted, full_namespace, genome, many_roles, roles
from .figures import SteadyClock, pace, table
from .found import FOUND, WORKLOADS

GOAL_MILLISECONDS = 100
OPTIONAL_POLICIES = ROOT / "optional-policies"
_ENV = 7_400
_TOLERATIONS = 900
_COMMAS = 260_000
# What policies write has to fit in too: a pod that they make too large is refused by /validate.
_ROOM = 16_384
_ROLES = (10, MOST_TEMPLATES)
_ODD = '~1/"\\é\n'
_MOST_PRINTED = 10
# Nobody tries once more what is far from being the slowest.
_WORTH_ANOTHER_TRY = 0.4
_NEAR = 0.85
_CLOCK = SteadyClock()
_Pod = dict[str, Any]
_Make = Callable[[int], _Pod]
_Decider = Callable[[AdmissionRequest, Snapshot], Outcome]


@dataclass(frozen=True, slots=True)
class Times:
    """Milliseconds of the reviews of one pod: its creation, what is made of it, and an update that takes it back."""

    mutate: float
    validate: float
    update: float
    validate_update: float
    verdicts: str

    @property
    def slowest(self) -> float:
        """The longest of the four."""
        return max(self.mutate, self.validate, self.update, self.validate_update)

    def least(self, other: "Times") -> "Times":
        """Return the shorter time of each."""
        return Times(
            min(self.mutate, other.mutate),
            min(self.validate, other.validate),
            min(self.update, other.update),
            min(self.validate_update, other.validate_update),
            self.verdicts,
        )

    def row(self, name: str) -> tuple[str, ...]:
        """Return the cells of a table."""
        times = (self.mutate, self.validate, self.update, self.validate_update)
        return (name, *(f"{each:.0f}" for each in times), self.verdicts)


@dataclass(slots=True)
class _Near:
    """What came near the goal, to be measured once more at the end."""

    tries: int
    found: list[tuple[str, float, Callable[[], float]]] = field(default_factory=list)

    def note(self, name: str, took: float, measure: Callable[[], float]) -> None:
        """Keep what took ``took`` milliseconds, and how it is measured, if it came near the goal."""
        if took > GOAL_MILLISECONDS * _NEAR:
            self.found.append((name, took, measure))

    def again(self) -> float:
        """Print both times of what came near the goal; return the slowest's, of each the least."""
        rows, slowest = [], 0.0
        for name, before, measure in sorted(self.found, key=lambda each: -each[1]):
            after = measure()
            rows.append((name, f"{before:.0f}", f"{after:.0f}"))
            slowest = max(slowest, min(before, after))
        print(table((f"near the goal: {len(rows)}", "ms", "at the end: ms"), rows))
        print(f"\nslowest: {slowest:.0f} ms, goal: {GOAL_MILLISECONDS} ms or less")
        return slowest


COLUMNS = ("/mutate ms", "/validate ms", "/mutate update ms", "/validate update ms", "verdicts")


def main() -> int:
    """Measure and print; 1 where a review took longer than the goal."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tries", type=int, default=7)
    parser.add_argument("--named", action="store_true", help="only pods that have a name, none of the table")
    options = parser.parse_args()
    print(f"{pace()}; milliseconds are of one where it takes {SteadyClock.ADDITION_NANOSECONDS} ns\n")
    snapshot, near = at_scale(), _Near(options.tries)
    for what, pods in _groups(named=options.named):
        _of_pods(what, pods, snapshot, near)
    named = _named()
    _of_pods("named, with optional-policies", named, at_scale(optional=True), near)
    _of_pods("named, requiring", named, at_scale(requiring=True), near)
    for what, full in full_namespace.snapshots(snapshot):
        _of_pods(f"named, with {what}", named, full, near)
    _of_dense(snapshot, near)
    shapes = [*roles.plain(), *map(roles.within, WORKLOADS), *(() if options.named else roles.of_lists())]
    _of_shapes(shapes, snapshot, near)
    _of_many_roles(snapshot, near)
    return int(near.again() > GOAL_MILLISECONDS)


def at_scale(*, optional: bool = False, requiring: bool = False) -> Snapshot:
    """Return the shipped policies, or the optional ones too, with exceptions, over 10,000 nodes in 500 classes."""
    folders = [decisions.POLICIES, *([OPTIONAL_POLICIES] if optional else [])]
    cluster = clusters.documents(10_000, 500)
    snapshot = excepted.with_exceptions(decisions.snapshot_of(folders, cluster, requiring=requiring))
    # As the server does with whatever lives as long as a snapshot.
    gc.collect()
    gc.freeze()
    times_of(genome.build(genome.Genome(), 0), snapshot)
    return snapshot


def _of_pods(what: str, pods: Iterable[tuple[str, _Make]], snapshot: Snapshot, near: _Near) -> None:
    """Print which pods take longest."""
    found = [(name, make, _times(make, snapshot, near.tries)) for name, make in pods]
    found.sort(key=lambda each: -each[2].slowest)
    for name, make, times in found:
        near.note(f"{what}: {name}", times.slowest, partial(_slowest, make, snapshot, near.tries))
    rows = [times.row(name) for name, _, times in found[:_MOST_PRINTED]]
    print(table((f"{what}: {len(found)} pods", *COLUMNS), rows))
    print(f"\nslowest: {found[0][2].slowest:.0f} ms\n")


def _named() -> list[tuple[str, _Make]]:
    return [*HOSTILE.items(), *((name, _maker(each)) for name, each in FOUND.items())]


def _groups(*, named: bool) -> Iterator[tuple[str, list[tuple[str, _Make]]]]:
    yield "named", _named()
    if named:
        return
    yield "each row at its bound", _made(each for row in genome.ROWS for each in genome.alone(row))
    yield "two rows at their bounds", _made(genome.together(*two) for two in combinations(genome.families(), 2))


def _made(genomes: Iterable[genome.Genome]) -> list[tuple[str, _Make]]:
    return [(each.name, _maker(each)) for each in genomes]


def _maker(each: genome.Genome) -> _Make:
    return lambda number: genome.build(each, number)


def _of_shapes(shapes: Iterable[roles.Shape], snapshot: Snapshot, near: _Near) -> None:
    """Print which workloads take longest."""
    found = [(workload_time(each, snapshot, near.tries), each) for each in shapes]
    found.sort(key=lambda each: -each[0])
    for took, shape in found:
        near.note(shape.name, took, partial(workload_time, shape, snapshot, near.tries))
    rows = [(shape.name, f"{took:.0f}") for took, shape in found[:_MOST_PRINTED]]
    print(table((f"workloads: {len(found)}", "/validate-workload ms"), rows))
    print(f"\nslowest: {found[0][0]:.0f} ms\n")


def workload_time(shape: roles.Shape, snapshot: Snapshot, tries: int) -> float:
    """Return the milliseconds of a workload's review: the least of several tries, of one that comes near the goal."""
    took = milliseconds_of_workload(roles.build(shape, 0), snapshot)
    for number in range(1, tries):
        if took < GOAL_MILLISECONDS * _WORTH_ANOTHER_TRY:
            break
        took = min(took, milliseconds_of_workload(roles.build(shape, number), snapshot))
    return took


def _of_many_roles(snapshot: Snapshot, near: _Near) -> None:
    """Print what workloads of many roles take, by their kind."""
    rows: list[tuple[str, ...]] = []
    for alike in (True, False):
        shapes = [many_roles.workloads(number, alike=alike) for number in _ROLES]
        for name in shapes[0]:
            what = f"{name}, {'alike' if alike else 'different'}"
            measures = [partial(_least_of_workload, each[name], snapshot, near.tries) for each in shapes]
            took = [measure() for measure in measures]
            for number, milliseconds, measure in zip(_ROLES, took, measures, strict=True):
                near.note(f"{number:,} roles of a {what}", milliseconds, measure)
            rows.append((what, *(f"{each:.0f}" for each in took)))
    print(table(("roles", *(f"{number:,}: ms" for number in _ROLES)), rows))
    print()


def _least_of_workload(workload: _Pod, snapshot: Snapshot, tries: int) -> float:
    return min(milliseconds_of_workload(workload, snapshot) for _ in range(tries))


def _of_dense(snapshot: Snapshot, near: _Near) -> None:
    """Print how long dense texts take, parsed or not."""
    found = []
    for name, decider, body in dense.reviews():
        measure = partial(_least_of_text, body, decider, snapshot, near.tries)
        least, read_as = measure(), "not parsed" if excess_of_text(body) else "parsed"
        near.note(name, least, measure)
        verdict = timed(body, decider, snapshot)[0].verdict
        found.append((least, (name, f"{len(body) / 1e6:.1f}", read_as, f"{least:.0f}", verdict)))
    found.sort(reverse=True)
    print(table((f"dense texts: {len(found)}", "MB", "text", "ms", "verdict"), [row for _, row in found]))
    print(f"\nslowest: {found[0][0]:.0f} ms\n")


def _least_of_text(body: bytes, decider: _Decider, snapshot: Snapshot, tries: int) -> float:
    return min(timed(body, decider, snapshot)[1] for _ in range(tries))


def _slowest(make: _Make, snapshot: Snapshot, tries: int) -> float:
    return _times(make, snapshot, tries).slowest


def _times(make: _Make, snapshot: Snapshot, tries: int) -> Times:
    """Return the least of several tries, of one that comes near the goal; else of one."""
    found = times_of(make(0), snapshot)
    for number in range(1, tries):
        if found.slowest < GOAL_MILLISECONDS * _WORTH_ANOTHER_TRY:
            break
        found = found.least(times_of(make(number), snapshot))
    return found


def times_of(pod: _Pod, snapshot: Snapshot) -> Times:
    """Return the milliseconds of a pod's reviews."""
    created, took = _timed(review(pod), decide.mutate, snapshot)
    final = apply(pod, created.patch)
    judged, judging = _timed(review(final), decide.validate, snapshot)
    repeated = review(pod)
    repeated["request"] |= {"operation": "UPDATE", "oldObject": final}
    updated, updating = _timed(repeated, decide.mutate, snapshot)
    repeated["request"] |= {"object": apply(pod, updated.patch)}
    final_again, judging_again = _timed(repeated, decide.validate, snapshot)
    verdicts = (each.verdict for each in (created, judged, updated, final_again))
    return Times(took, judging, updating, judging_again, ", ".join(verdicts))


def _timed(document: _Pod, decider: _Decider, snapshot: Snapshot) -> tuple[Outcome, float]:
    return timed(orjson.dumps(document), decider, snapshot)


def timed(body: bytes, decider: _Decider, snapshot: Snapshot) -> tuple[Outcome, float]:
    """Return the outcome and the milliseconds of a review: read, as the server does, decided, answered and freed."""
    began = time.thread_time_ns()
    outcome = decider(read_review(body), snapshot)
    orjson.dumps(outcome.response)
    return outcome, _CLOCK.milliseconds(time.thread_time_ns() - began)


def milliseconds_of_workload(workload: _Pod, snapshot: Snapshot) -> float:
    """Return the milliseconds of a workload's review by /validate-workload."""
    group, _, version = workload["apiVersion"].rpartition("/")
    kind = {"group": group, "version": version, "kind": workload["kind"]}
    asked = review(workload)
    asked["request"] |= {"kind": kind, "resource": {"group": group, "version": version, "resource": "many"}}
    return timed(orjson.dumps(asked), validate_workload, snapshot)[1]


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
    """Return one that asks for profiles that nobody has, as many as it may ask for."""
    pod = largest(number)
    for at, container in zip(range(GPU_REQUESTS), pod["spec"]["containers"], strict=True):
        container["resources"]["limits"] = {f"nvidia.com/mig-{at % 8}g.1{at}gb": "1"}
    return pod


def _choosy(number: int) -> _Pod:
    """Return one whose node affinity is most of it, where the environment is elsewhere."""
    pod = largest(number, gpu_containers=1)
    for container in pod["spec"]["containers"]:
        del container["env"]
    expression = {"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64"]}
    fill = {"key": f"absent{_ODD}", "operator": "NotIn", "values": [f"v{each}" for each in range(20)]}
    terms = [{"matchExpressions": [expression, fill]} for _ in range(TERMS)]
    pod["spec"]["affinity"] = {
        "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    }
    return pod


def _wanting_models(number: int) -> _Pod:
    """Return one that names every GPU model, with node affinity terms that say nothing about models."""
    pod = _choosy(number)
    names = "A10,A16,A2,A30,A40,A100,B200,B300,GB200,GH200,H100,H200,L4,L40,L40S,T4,V100"
    pod["metadata"]["annotations"] = {
        "podberth.io/gpu-product": names,
        "podberth.io/gpu-compute": "9.1",
        "podberth.io/gpu-memory": "20Gi",
    }
    pod["spec"]["nodeSelector"] = {f"l{each}": "v" for each in range(ENTRIES)}
    return pod


def _listing_models(number: int) -> _Pod:
    """Return one that names GPU models in a text of commas: a search for a name begins at each of them."""
    annotations = {"podberth.io/gpu-product": "," * _COMMAS + str(number)}
    return largest(number, gpu_containers=1, annotations=annotations)


def _floored(number: int) -> _Pod:
    """Return one of which the floor says that it wrote as many tolerations as its annotation may name."""
    pod = largest(number, gpu_containers=1, labels={FLOOR_KEY: FLOOR_VALUE}, annotations={FLOOR_KEY: ""})
    keys = [f"k{at}" for at in range(_TOLERATIONS)]
    pod["spec"]["tolerations"] = [{"key": key, "operator": "Exists", "effect": "NoSchedule"} for key in keys]
    pod["metadata"]["annotations"][FLOOR_KEY] = " ".join(f"{key}:NoSchedule" for key in keys)
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


HOSTILE: Mapping[str, _Make] = {
    "the largest": largest,
    "that all policies apply to": _wanting_everything,
    "of several GPUs, in a gang": _many_gpus,
    "of 200 MIG profiles": _mig_names,
    f"of {TERMS} affinity terms": _choosy,
    "of all GPU models": _wanting_models,
    "of a list of commas": _listing_models,
    "of the floor": _floored,
    "a little larger": _too_large,
}


if __name__ == "__main__":
    raise SystemExit(main())
