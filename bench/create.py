"""Pod create on a real API server: with podberth against native admission policies that do the same.

One pod at a time over one kept-alive connection, in turn into five namespaces: one without admission, one under a
mutating and a validating policy of the API server's own, one under the same that are never reinvoked, one under
podberth's webhooks as shipped, one under the same webhooks with nothing behind them but aiohttp, which gives every pod
the same toleration and label. Only the API server and etcd run beside; every pod is deleted again.

Afterwards the same pods once more, kind by kind, to ask the API server's own metrics what its admission took.

With --library into three: without admission, under six mutating and nine validating policies of the API server's own
that say what podberth's library says, and under podberth with all of the library. Twice: with pods on which five of the
six that mutate write, and with ordinary ones, on which one or two do. With --at-once so many clients create pods side
by side, one mode after the other.

With --floor into four: without admission and under podberth with all of the library, each without and with the native
policies of manifests/components/floor.

    python -m bench.create [--library | --floor] [--rounds 5] [--pods 100] [--at-once 1]
"""

import argparse
import base64
import re
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from http import HTTPStatus
from itertools import islice
from pathlib import Path
from typing import Any

import orjson

from controlplane.cluster import ControlPlane
from controlplane.credentials import issue
from controlplane.wait import wait_for
from podberth.kube.documents import load_documents
from podberth.wellknown import FLOOR_KEY, FLOOR_PARAMS, GPU_MEMORY_ANNOTATION, JOB_COMPLETION_INDEX, NAMESPACE

from . import ROOT, api_server_metrics, clusters, native, native_library
from .api_server_metrics import Spent, spent
from .decisions import POLICIES, four_policies
from .figures import RATIO_HEADER, Ratio, percentile, table
from .reviews import distinct, numbered
from .servers import Servers

JSON = dict[str, Any]

_LABEL = "podberth.test/bench"
_NOTHING, _NATIVE, _ONCE, _PODBERTH, _STATIC = MODES = (
    "nothing",
    "native policies",
    "native, never reinvoked",
    "podberth",
    "aiohttp, static",
)
_FIFTEEN, _LIBRARY = "6 + 9 native policies", "podberth, library"
LIBRARY_MODES = (_NOTHING, _FIFTEEN, _LIBRARY)
_FLOOR_ALONE, _BOTH = "the floor alone", "podberth, library and floor"
FLOOR_MODES = (_NOTHING, _FLOOR_ALONE, _LIBRARY, _BOTH)
_FLOOR_DATA = {"nodes": "known", "nvidia.com_gpu": "whole nvidia.com/gpu:NoSchedule"}
_SETTLE_SECONDS = 30.0
# A webhook's denial without a code of its own is 400 or 403, a policy's is 422.
_REFUSED = (HTTPStatus.BAD_REQUEST, HTTPStatus.FORBIDDEN, HTTPStatus.UNPROCESSABLE_ENTITY)
_TOLERATION = "nvidia.com/gpu"
_SPOT = "cloud.google.com/gke-spot"
# A Job's pod without its Job would be deleted by the garbage collector in the midst of the run.
_IDLE_COMPONENTS = ("nodes", "kube-scheduler", "kube-controller-manager")
# Goals of the issue.
_P50, _P99 = 1.25, 1.5
_LIBRARY_P50 = 0.5
_FLOOR_P50 = 1.1

Times = Mapping[str, list[list[float]]]
"""By mode, for each round, milliseconds of each create."""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    one = parser.add_mutually_exclusive_group()
    one.add_argument("--library", action="store_true", help="all policies, against as many of the API server's")
    one.add_argument("--floor", action="store_true", help="with the floor's native policies, against without")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--pods", type=int, default=100, help="created a round in each mode")
    parser.add_argument("--at-once", type=int, default=1, help="clients that create side by side")
    options = parser.parse_args()
    measure = partial(_measure, rounds=options.rounds, at_once=options.at_once)
    with tempfile.TemporaryDirectory(prefix="podberth-bench-") as name:
        folder = Path(name)
        with (
            Servers(folder, issue(folder / "credentials")) as servers,
            ControlPlane.start(folder / "cluster") as control_plane,
        ):
            modes = FLOOR_MODES if options.floor else LIBRARY_MODES if options.library else MODES
            _make_namespaces(control_plane, modes)
            set_up = _set_up_floor if options.floor else _set_up_library if options.library else _set_up
            set_up(control_plane, servers, folder)
            pods = _pods(options.rounds * options.pods, of_jobs=not options.library)
            if options.library:
                busy = [_wanting(pod) for pod in _pods(options.rounds * options.pods)]
                print("Pods on which five of the six policies write\n")
                times = measure(control_plane, busy, modes)
                _print(times, _library_ratios(times, goal=_LIBRARY_P50))
                print("\nOrdinary pods\n")
            times = measure(control_plane, pods, modes)
            ratios = _floor_ratios if options.floor else _library_ratios if options.library else _ratios
            _print(times, ratios(times))
            print("\nBy the API server's own metrics\n")
            print(api_server_metrics.as_table(_spent(control_plane, pods[: options.pods], modes)))


def _measure(
    control_plane: ControlPlane, pods: list[JSON], modes: Sequence[str], *, rounds: int, at_once: int
) -> Times:
    times: dict[str, list[list[float]]] = {mode: [] for mode in modes}
    for number in range(rounds):
        _round(control_plane, pods[number::rounds], times, at_once)
    return times


def _spent(control_plane: ControlPlane, pods: list[JSON], modes: Sequence[str]) -> Iterator[tuple[str, Spent]]:
    def read() -> str:
        return control_plane.raw("GET", "/metrics")[1].decode()

    for mode in modes:
        yield mode, spent(read, [partial(_create, control_plane, mode, pod) for pod in pods])
    _delete_all(control_plane, modes)


def _make_namespaces(control_plane: ControlPlane, modes: Sequence[str]) -> None:
    for mode in modes:
        control_plane.add_namespace(_namespace(mode), {_LABEL: _namespace(mode)})
    for component in _IDLE_COMPONENTS:
        control_plane.stop_component(component)


def _set_up_library(control_plane: ControlPlane, servers: Servers, folder: Path) -> None:
    topology = clusters.write(folder / "snapshot.json", 1000, 50, labels={_SPOT: "true"})
    podberth = servers.podberth("podberth", policies=POLICIES, topology=topology, core=None)
    control_plane.apply(
        *native_library.policies(_selector(_FIFTEEN)),
        *native.webhooks(
            _shipped(),
            f"https://127.0.0.1:{podberth.port}",
            _base64(servers.certificates("podberth") / "ca.crt"),
            _selector(_LIBRARY),
        ),
    )
    for probe in native_library.probes():
        for mode in (_FIFTEEN, _LIBRARY):
            _await_probe(control_plane, mode, probe)


def _await_probe(control_plane: ControlPlane, mode: str, probe: native_library.Probe) -> None:
    """Wait until a policy is seen at work on the pod that was made for it."""
    said = []

    def at_work() -> bool:
        said.append(_said(control_plane, mode, probe.pod))
        return probe.at_work(said[-1])

    wait_for(
        at_work,
        timeout_seconds=_SETTLE_SECONDS,
        what=lambda: f"{probe.name} to be at work under {mode}; last heard: {said[-1].heard}",
    )


def _said(control_plane: ControlPlane, mode: str, pod: JSON) -> native_library.Said:
    """Return what kubectl hears of a pod that is tried and not created."""
    command = ("create", "--dry-run=server", "--output=json", "--filename=-", "--namespace", _namespace(mode))
    done = control_plane.kubectl(*command, input=orjson.dumps(pod).decode(), check=False)
    refused = done.returncode != 0
    return native_library.Said(refused, done.stderr, {} if refused else orjson.loads(done.stdout))


def _set_up(control_plane: ControlPlane, servers: Servers, folder: Path) -> None:
    topology = clusters.write(folder / "snapshot.json", 1000, 50)
    podberth = servers.podberth("podberth", policies=four_policies(folder / "four"), topology=topology, core=None)
    bare = servers.bare_aiohttp(orjson.dumps(native.STATIC_PATCH).decode(), core=None)
    configurations = _shipped()
    # The API server learns of them in this order: once podberth's are in force, aiohttp's are.
    control_plane.apply(
        *native.policies("bench", _selector(_NATIVE), "IfNeeded"),
        *native.policies("bench-once", _selector(_ONCE), "Never"),
        *_renamed(
            native.webhooks(
                configurations,
                f"https://127.0.0.1:{bare.port}",
                _base64(folder / "credentials" / "ca.crt"),
                _selector(_STATIC),
            )
        ),
        *native.webhooks(
            configurations,
            f"https://127.0.0.1:{podberth.port}",
            _base64(servers.certificates("podberth") / "ca.crt"),
            _selector(_PODBERTH),
        ),
    )
    _await_admission(control_plane)


def _set_up_floor(control_plane: ControlPlane, servers: Servers, folder: Path) -> None:
    topology = clusters.write(folder / "snapshot.json", 1000, 50)
    podberth = servers.podberth("podberth", policies=POLICIES, topology=topology, core=None)
    metadata = {"name": FLOOR_PARAMS, "namespace": NAMESPACE}
    control_plane.apply(
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}},
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": _FLOOR_DATA},
        *_floor(_among(_FLOOR_ALONE, _BOTH)),
        *native.webhooks(
            _shipped(),
            f"https://127.0.0.1:{podberth.port}",
            _base64(servers.certificates("podberth") / "ca.crt"),
            _among(_LIBRARY, _BOTH),
        ),
    )
    pod = _pods(1)[0]

    def in_force() -> bool:
        made = {mode: _post(control_plane, mode, pod)[1] for mode in FLOOR_MODES if mode != _NOTHING}
        marked = [mode for mode, each in made.items() if FLOOR_KEY in each.get("metadata", {}).get("annotations", {})]
        _delete_all(control_plane, FLOOR_MODES)
        return all(map(_tolerates, made.values())) and marked == [_FLOOR_ALONE]

    wait_for(in_force, timeout_seconds=_SETTLE_SECONDS, what="the floor and podberth to be in force")


def _floor(namespaces: JSON) -> list[JSON]:
    """Return the floor's policies and bindings, for some namespaces."""
    text = (ROOT / "manifests/components/floor/policies.yaml").read_text(encoding="utf-8")
    found = [each.document for each in load_documents(text, "policies.yaml")[0]]
    for each in found:
        if "matchConstraints" in each["spec"]:
            each["spec"]["matchConstraints"]["namespaceSelector"] = namespaces
    return found


def _among(*modes: str) -> JSON:
    return {"matchExpressions": [{"key": _LABEL, "operator": "In", "values": [_namespace(mode) for mode in modes]}]}


def _shipped() -> list[JSON]:
    """Read podberth's webhook configurations; a creation that podberth does not answer is an error, and no fast one."""
    found = []
    for path in sorted((ROOT / "manifests" / "base").glob("*webhook*.yaml")):
        documents, problems = load_documents(path.read_text(), str(path))
        if problems:
            raise SystemExit("\n".join(map(str, problems)))
        found += [each.document for each in documents]
    configurations = [each for each in found if each["kind"].endswith("WebhookConfiguration")]
    for hook in (hook for each in configurations for hook in each["webhooks"]):
        if hook["name"].startswith("pods."):
            hook["failurePolicy"] = "Fail"
    return configurations


def _renamed(configurations: list[JSON]) -> list[JSON]:
    return [{**each, "metadata": {"name": "aiohttp"}} for each in configurations]


def _namespace(mode: str) -> str:
    return "bench-" + re.sub("[^a-z0-9]+", "-", mode)


def _selector(mode: str) -> JSON:
    return {"matchLabels": {_LABEL: _namespace(mode)}}


def _base64(path: Path) -> str:
    return base64.b64encode(path.read_bytes()).decode()


def _await_admission(control_plane: ControlPlane) -> None:
    """Wait until what was configured is in force: a pod gets what it should, and a MIG profile of nobody is refused."""
    pod = _pods(1)[0]
    wrong = orjson.loads(orjson.dumps(pod).replace(b'"nvidia.com/gpu"', b'"nvidia.com/mig-9g.99gb"'))

    def in_force() -> bool:
        return all(_tolerates(_post(control_plane, mode, pod)[1]) for mode in MODES if mode != _NOTHING) and all(
            _post(control_plane, mode, wrong)[0] in _REFUSED for mode in (_NATIVE, _ONCE, _PODBERTH)
        )

    wait_for(in_force, timeout_seconds=_SETTLE_SECONDS, what="policies and webhooks to be in force")
    if _tolerates(_post(control_plane, _NOTHING, pod)[1]):
        raise SystemExit("bench: a pod was mutated in the namespace without admission")
    _delete_all(control_plane, MODES)


def _pods(count: int, *, of_jobs: bool = True) -> list[JSON]:
    """Return pods as their controllers send them: what the built-in plugins add is taken off again.

    With ``of_jobs`` those of Indexed Jobs, one of ten.
    """
    reviews = (numbered(review, number) for number, review in enumerate(distinct(count * 20, members=2)))
    pods = (orjson.loads(review)["request"]["object"] for review in reviews)
    asking = (pod for pod in pods if _TOLERATION in pod["spec"]["containers"][0]["resources"]["limits"])
    found = (_submitted(pod) for pod in asking if not of_jobs or JOB_COMPLETION_INDEX in pod["metadata"]["labels"])
    return list(islice(found, count))


def _wanting(pod: JSON) -> JSON:
    """Return a gang's pod that wants four GPUs of a model on spot nodes."""
    metadata, spec = pod["metadata"], {key: value for key, value in pod["spec"].items() if key != "nodeSelector"}
    annotations = {key: value for key, value in metadata.get("annotations", {}).items() if key != GPU_MEMORY_ANNOTATION}
    main, *others = spec["containers"]
    amounts = {**main["resources"]["limits"], _TOLERATION: "4"}
    return {
        **pod,
        "metadata": {**metadata, "annotations": {**annotations, "podberth.io/gpu-product": "H100"}},
        "spec": {
            **spec,
            "nodeSelector": {_SPOT: "true"},
            "containers": [{**main, "resources": {"limits": amounts, "requests": amounts}}, *others],
        },
    }


def _submitted(pod: JSON) -> JSON:
    metadata = {key: value for key, value in pod["metadata"].items() if key not in ("managedFields", "namespace")}
    dropped = ("tolerations", "priority", "preemptionPolicy", "serviceAccount", "serviceAccountName", "volumes")
    spec = {key: value for key, value in pod["spec"].items() if key not in dropped}
    spec["volumes"] = [each for each in pod["spec"]["volumes"] if "projected" not in each]
    spec["containers"] = [
        {**each, "volumeMounts": [one for one in each["volumeMounts"] if not one["name"].startswith("kube-api-access")]}
        for each in spec["containers"]
    ]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def _create(control_plane: ControlPlane, mode: str, pod: JSON) -> float:
    """Create a pod and return the milliseconds it took."""
    body = orjson.dumps(pod)
    started = time.perf_counter()
    status, answer = control_plane.raw("POST", _path(mode), body)
    took = (time.perf_counter() - started) * 1e3
    if status != HTTPStatus.CREATED:
        raise SystemExit(f"bench: create with {mode}: status {status}: {answer.decode()[:1000]}")
    return took


def _post(control_plane: ControlPlane, mode: str, pod: JSON) -> tuple[int, JSON]:
    status, answer = control_plane.raw("POST", _path(mode), pod)
    return status, orjson.loads(answer)


def _path(mode: str) -> str:
    return f"/api/v1/namespaces/{_namespace(mode)}/pods"


def _tolerates(pod: JSON) -> bool:
    return any(each.get("key") == _TOLERATION for each in pod.get("spec", {}).get("tolerations", ()))


def _round(control_plane: ControlPlane, pods: list[JSON], times: Mapping[str, list[list[float]]], at_once: int) -> None:
    for rounds in times.values():
        rounds.append([])
    if at_once == 1:  # in turn, so that all modes meet the same machine
        for pod in pods:
            for mode, rounds in times.items():
                rounds[-1].append(_create(control_plane, mode, pod))
    else:
        for mode, rounds in times.items():
            with ThreadPoolExecutor(at_once) as clients:
                rounds[-1] += clients.map(partial(_create, control_plane, mode), pods)
    _delete_all(control_plane, times)


def _delete_all(control_plane: ControlPlane, modes: Iterable[str]) -> None:
    for mode in modes:
        control_plane.api.request("DELETE", f"{_path(mode)}?gracePeriodSeconds=0")


def _print(times: Times, ratios: Iterable[Ratio]) -> None:
    def row(mode: str) -> tuple[str, ...]:
        together = [each for one in times[mode] for each in one]
        return (mode, str(len(together)), f"{percentile(together, 50):.1f}", f"{percentile(together, 99):.1f}")

    print(table(("admission", "pods", "p50 ms", "p99 ms"), map(row, times)))
    print()
    print(table(RATIO_HEADER, (ratio.row() for ratio in ratios)))


def _pairs(times: Times, percent: int, one: str, other: str) -> tuple[float, ...]:
    both = zip(times[one], times[other], strict=True)
    return tuple(percentile(ours, percent) / percentile(theirs, percent) for ours, theirs in both)


def _library_ratios(times: Times, *, goal: float | None = None) -> list[Ratio]:
    pairs = partial(_pairs, times)
    return [
        Ratio(name="library / 6 + 9 native, p50", each=pairs(50, _LIBRARY, _FIFTEEN), most=goal),
        Ratio(name="library / 6 + 9 native, p99", each=pairs(99, _LIBRARY, _FIFTEEN)),
        Ratio(name="library / nothing, p50", each=pairs(50, _LIBRARY, _NOTHING)),
        Ratio(name="6 + 9 native / nothing, p50", each=pairs(50, _FIFTEEN, _NOTHING)),
    ]


def _floor_ratios(times: Times) -> list[Ratio]:
    pairs = partial(_pairs, times)
    return [
        Ratio(name="podberth with the floor / without, p50", each=pairs(50, _BOTH, _LIBRARY), most=_FLOOR_P50),
        Ratio(name="podberth with the floor / without, p99", each=pairs(99, _BOTH, _LIBRARY)),
        Ratio(name="the floor alone / nothing, p50", each=pairs(50, _FLOOR_ALONE, _NOTHING)),
    ]


def _ratios(times: Times) -> list[Ratio]:
    pairs = partial(_pairs, times)
    return [
        Ratio(name="podberth / native, p50", each=pairs(50, _PODBERTH, _NATIVE), most=_P50),
        Ratio(name="podberth / native, p99", each=pairs(99, _PODBERTH, _NATIVE), most=_P99),
        Ratio(name="podberth / native once, p50", each=pairs(50, _PODBERTH, _ONCE)),
        Ratio(name="podberth / native once, p99", each=pairs(99, _PODBERTH, _ONCE)),
        Ratio(name="podberth / aiohttp static, p50", each=pairs(50, _PODBERTH, _STATIC)),
        Ratio(name="aiohttp static / native, p50", each=pairs(50, _STATIC, _NATIVE)),
        Ratio(name="podberth / nothing, p50", each=pairs(50, _PODBERTH, _NOTHING)),
    ]


if __name__ == "__main__":
    main()
