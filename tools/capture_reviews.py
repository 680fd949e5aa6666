"""Record the AdmissionReviews that a real apiserver sends to podberth's webhooks, for tests that replay them.

    PYTHONPATH=tests .venv/bin/python tools/capture_reviews.py

It starts the test control plane, registers the shipped webhook configurations with a recorder in podberth's place,
applies the manifests below, each in a namespace of its own, and writes tests/captured/<name>.json: a list of {path,
review}. What differs from run to run (uids, times, random names) is replaced, so that a second run writes the same
bytes. It takes up to a minute, which is how long a CronJob may take to start its Job.
"""

import json
import re
import sys
import tempfile
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from builders import container, cron_job, gpu_container, gpu_pod, job, pod, stateful_set
from controlplane.cluster import ControlPlane
from controlplane.wait import wait_for
from e2e.manifest import EXAMPLES, read
from e2e.registration import pointed, shipped
from e2e.webhook_server import serving
from records import with_record

Document = dict[str, Any]

TARGET = Path(__file__).parents[1] / "tests" / "captured"

# A CronJob of "* * * * *" starts within a minute; the rest takes seconds.
_PATIENCE_SECONDS = 90.0
# Of a gang's members two are enough to compare.
_MEMBERS = ("0", "1")
_INDEX = "batch.kubernetes.io/job-completion-index"
_TOLERATION = {"effect": "NoSchedule", "key": "nvidia.com/gpu", "operator": "Exists"}

_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
# What the apiserver appends to a generateName (apimachinery pkg/util/rand); an ordinal is none.
_RANDOM = re.compile(r"[bcdfghjklmnpqrstvwxz2456789]{5}")
# What else is made up at each run, and what stands in its place.
_VOLATILE = (
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z"), "2026-01-01T00:00:00Z"),
    (re.compile(r"kube-api-access-[a-z0-9]{5}"), "kube-api-access-00000"),
    (re.compile(r'"resourceVersion": "\d+"'), '"resourceVersion": "1"'),
    (re.compile(r"\bnightly-\d{8}\b"), "nightly-00000000"),
)


@dataclass(frozen=True, slots=True)
class Scenario:
    """Manifests to apply, and how many reviews come of them at least. `then` goes on once those are here."""

    manifests: list[Document]
    reviews: int
    then: Callable[[ControlPlane, str], object] | None = None


def _apply_without_toleration(control_plane: ControlPlane, namespace: str) -> None:
    """Apply again what lacks podberth's toleration; without podberth to restore it the apiserver refuses."""
    # The scheduler, which finds no node, has written its condition by then.
    control_plane.kubectl("wait", "pod/reapplied", "-n", namespace, "--for=condition=PodScheduled=false")
    _apply(control_plane, namespace, [_recorded([])], check=False)


def _debug(control_plane: ControlPlane, namespace: str) -> None:
    flags = ("--image=busybox", "--container=look", "--attach=false")
    control_plane.kubectl("debug", "debugged", "-n", namespace, *flags)


def _recorded(tolerations: list[Document]) -> Document:
    own = {"key": "team", "operator": "Equal", "value": "vision", "effect": "NoSchedule"}
    recorded = gpu_pod(name="reapplied", tolerations=[own, *tolerations])
    return with_record(recorded, {"gpu-tolerations": {"tolerations": [_TOLERATION]}}, namespace="reapplied-pod")


def _sharded() -> Document:
    made = stateful_set(gpu_pod(2), replicas=2)
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    made["spec"]["volumeClaimTemplates"] = [{"metadata": {"name": "weights"}, "spec": claim}]
    return made


def _example(name: str) -> list[Document]:
    return read(EXAMPLES / f"{name}.yaml")


_MIXED = pod(
    gpu_container(),
    container("proxy", ports=[{"containerPort": 80}]),
    name="mixed",
    init=[container("fetch", env=[{"name": "NODE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}])],
    volumes=[{"name": "scratch"}, {"name": "settings", "configMap": {"name": "settings"}}],
)
# A pod is reviewed at /mutate and /validate; its workload at /validate-workload.
SCENARIOS = {
    "cron-job": Scenario([cron_job(gpu_pod(), schedule="* * * * *")], 4),
    "cuda-pod": Scenario(_example("cuda-pod"), 2),
    "debugged-pod": Scenario([gpu_pod(name="debugged")], 2, _debug),
    "deployment": Scenario(_example("llm-deployment"), 3),
    "indexed-job": Scenario(_example("training-indexed-job"), 5),
    "job": Scenario([job(_MIXED)], 3),
    "launcher-and-workers": Scenario(_example("launcher-and-workers"), 7),
    "native-group": Scenario([gpu_pod(8, schedulingGroup={"podGroupName": "group"})], 2),
    "notebook-memory": Scenario(_example("notebook-memory"), 2),
    "own-affinity": Scenario(_example("own-affinity"), 2),
    "reapplied-pod": Scenario([_recorded([_TOLERATION])], 2, _apply_without_toleration),
    "stateful-set": Scenario([_sharded()], 3),
    "unknown-mig-profile": Scenario(_example("unknown-mig-profile"), 2),
}


class Recorder:
    """The requests to podberth so far, by namespace; it lets everything be as it is."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self._lock = threading.Lock()
        self._seen: dict[str, dict[tuple[str, ...], Document]] = {}

    def answer(self, path: str, review: Document) -> list[Document]:
        """Keep a review, the first of each kind."""
        request = review["request"]
        if request["object"]["metadata"].get("labels", {}).get(_INDEX, "0") in _MEMBERS:
            with self._lock:
                self._seen.setdefault(request["namespace"], {}).setdefault(_kind_of(path, request), review)
        return []

    def of(self, namespace: str) -> list[Document]:
        """Return the reviews of a namespace as {path, review}, in an order that is always the same."""
        with self._lock:
            seen = sorted(self._seen.get(namespace, {}).items())
        return [{"path": key[0], "review": review} for key, review in seen]


def _kind_of(path: str, request: Document) -> tuple[str, ...]:
    """Return what distinguishes one review from another in every run: not the random end of a name."""
    metadata = request["object"]["metadata"]
    name = metadata.get("generateName") or metadata["name"]
    return path, request["operation"], request["resource"]["resource"], request.get("subResource", ""), name


def normalised(captured: list[Document]) -> list[Document]:
    """Return the reviews with a placeholder for all that differs from run to run; the same uid is the same again."""
    for metadata in _metadata(captured):
        # Two managers that wrote in the same second stand in the order of chance.
        metadata.get("managedFields", []).sort(key=lambda entry: (entry["manager"], entry.get("subresource", "")))
    text = json.dumps(captured)
    for metadata in _metadata(captured):
        prefix, name = metadata.get("generateName"), metadata.get("name")
        if prefix and name and _RANDOM.fullmatch(name.removeprefix(prefix)):
            text = text.replace(name, f"{prefix}00000")
    for pattern, placeholder in _VOLATILE:
        text = pattern.sub(placeholder, text)
    uids = {
        uid: f"00000000-0000-4000-8000-{number:012}" for number, uid in enumerate(dict.fromkeys(_UUID.findall(text)))
    }
    result: list[Document] = json.loads(_UUID.sub(lambda found: uids[found[0]], text))
    return result


def _metadata(captured: list[Document]) -> list[Document]:
    requests = [each["review"]["request"] for each in captured]
    return [request[key]["metadata"] for request in requests for key in ("object", "oldObject") if request.get(key)]


def _apply(control_plane: ControlPlane, namespace: str, manifests: list[Document], *, check: bool = True) -> None:
    items = [{**each, "metadata": {**each["metadata"], "namespace": namespace}} for each in manifests]
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": items})
    control_plane.kubectl("apply", "-n", namespace, "-f", "-", input=text, check=check)


def capture(control_plane: ControlPlane, recorder: Recorder) -> dict[str, list[Document]]:
    """Play all scenarios and return what was recorded, by their names."""
    for name, scenario in SCENARIOS.items():
        control_plane.add_namespace(name)
        _apply(control_plane, name, scenario.manifests)
    for name, scenario in SCENARIOS.items():
        _wait(recorder, name, scenario.reviews)
        if scenario.then:
            scenario.then(control_plane, name)
            _wait(recorder, name, scenario.reviews + 1)
    return {name: normalised(recorder.of(name)) for name in SCENARIOS}


def _wait(recorder: Recorder, name: str, count: int) -> None:
    wait_for(
        lambda: len(recorder.of(name)) >= count,
        timeout_seconds=_PATIENCE_SECONDS,
        what=lambda: f"{count} reviews of {name}; got {[each['path'] for each in recorder.of(name)]}",
    )


def main() -> int:
    """Capture and write."""
    recorder = Recorder()
    with (
        tempfile.TemporaryDirectory(prefix="podberth-capture-") as folder,
        ControlPlane.start(Path(folder)) as control_plane,
        serving(control_plane, recorder.answer) as endpoint,
    ):
        control_plane.apply(*(pointed(configuration, endpoint) for configuration in shipped()))
        _await_registration(control_plane, recorder)
        captured = capture(control_plane, recorder)
    TARGET.mkdir(exist_ok=True)
    for name, reviews in captured.items():
        (TARGET / f"{name}.json").write_text(json.dumps(reviews, indent=1, sort_keys=True) + "\n")
    sys.stdout.write(f"{len(captured)} files in {TARGET}\n")
    return 0


def _await_registration(control_plane: ControlPlane, recorder: Recorder) -> None:
    """Return once every webhook is called, which a first probe of each kind shows."""
    control_plane.add_namespace("probe")

    def called() -> bool:
        for manifest in (gpu_pod(), job(gpu_pod())):
            plural = (
                "/api/v1/namespaces/probe/pods" if manifest["kind"] == "Pod" else "/apis/batch/v1/namespaces/probe/jobs"
            )
            body = {**manifest, "metadata": {**manifest["metadata"], "namespace": "probe"}}
            control_plane.api.request("POST", f"{plural}?dryRun=All", body)
        return {each["path"] for each in recorder.of("probe")} == {"/mutate", "/validate", "/validate-workload"}

    wait_for(called, timeout_seconds=_PATIENCE_SECONDS, what="the recorder to be called")


if __name__ == "__main__":
    sys.exit(main())
