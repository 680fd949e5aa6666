"""A cluster with policies, machines and two replicas of podberth in front of it; and one scenario played on it."""

import itertools
import json
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from builders import gpu_pod
from controlplane.api import CONNECTION_ERRORS
from controlplane.cluster import ControlPlane
from controlplane.wait import wait_for
from snapshots import policy

from ..access import grant
from ..following import Following
from ..load import Failure, Load, Verdict, load
from ..podberth_process import POLICIES, ROOT, empty
from ..registration import FailurePolicy
from ..replicas import SECONDS, Group
from .judge import MARK, PODS, Judge, is_current

Document = dict[str, Any]

FLAGS = (
    *("--topology", "cluster"),
    # Longer than any outage here, so that a rotation is what is forced and nothing else.
    *("--ca-life", "1h", "--leaf-life", "10m", "--ca-trust-seconds", "2", "--reload-seconds", "1"),
    # As shipped but for the length: the Service of these tests needs no time to learn who is not ready.
    *("--drain-seconds", "2"),
)
_MACHINES = (
    ("hgx-h100-8", "hgx-0"),
    ("hgx-h100-8", "hgx-1"),
    ("a100-pcie-4", "pcie-0"),
    ("dgx-a100-8-mig-mixed", "mig-0"),
    ("l4-1", "l4-0"),
)
_CHANGING = "hgx-1"
"""The machine that changes."""
_PRODUCT = "nvidia.com/gpu.product"
_PRODUCTS = ("NVIDIA-H100-80GB-HBM3", "NVIDIA-H200")
_POLICY_PATH = "/apis/podberth.io/v1alpha1/gpupolicies/mark?fieldManager=tests&force=true"
_COUNTER = itertools.count()
# Creations before a disturbance, that it meets a load, and after it, that what comes late is seen.
_AROUND = 10
_REVIEWS = 'admission_duration_seconds_count{path="/mutate"}'


class Ground:
    """A cluster and what is right in it; podberth is not there yet."""

    def __init__(self, control_plane: ControlPlane, following: Following) -> None:
        self.control_plane = control_plane
        self.following = following
        self.judge = Judge(following)
        self._marks = itertools.count(1)
        self._products = itertools.cycle(reversed(_PRODUCTS))

    def change_policy(self) -> None:
        """Have the policy `mark` write another value."""
        mark = f"v{next(self._marks)}"
        # Right from the moment at which podberth may hear of it.
        self.judge.marks.append(mark)
        text = policy("mark", f"  mutations:\n  - labels: {{{MARK}: \"'{mark}'\"}}")
        status, said = self.control_plane.raw("PATCH", _POLICY_PATH, text.encode(), "application/apply-patch+yaml")
        assert status in {200, 201}, said

    def change_node(self) -> None:
        """Have one machine's GPUs be of another product, which policies name."""
        self.following.patch(_CHANGING, {"metadata": {"labels": {_PRODUCT: next(self._products)}}})


@contextmanager
def ground(directory: Path, *, extra_apiserver_args: Sequence[str] = ()) -> Iterator[Ground]:
    """Yield a cluster with machines, the shipped policies as objects, and podberth's rights."""
    with ControlPlane.start(directory / "plane", extra_apiserver_args=extra_apiserver_args) as plane:
        grant(plane, "shared-ca")
        plane.kubectl("apply", "-f", str(ROOT / "manifests" / "base" / "gpupolicy-crd.yaml"))
        plane.await_crds()
        files = [("-f", str(file)) for file in sorted(POLICIES.glob("*/p*.yaml"))]  # policies and their params
        plane.kubectl("apply", *itertools.chain.from_iterable(files))
        (directory / "judge").mkdir()
        # It is never started: what it knows is what podberth would say by a snapshot.
        following = Following(plane, directory / "judge", PODS, served=empty(directory))
        following.policy_file.unlink()
        try:
            for shape, name in _MACHINES:
                following.add(shape, name)
            # What is created stays as it was created.
            plane.stop_component("kube-scheduler")
            made = Ground(plane, following)
            made.change_policy()
            # Both of the states between which a machine changes, and they are not the same to the policies.
            before = made.judge.learn()
            made.change_node()
            assert made.judge.learn() != before
            yield made
        finally:
            following.podberth.close()
        plane.check()


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of the creations of one scenario.

    `most` is how many the disturbance itself allows to suffer, as counted while it lasted; None: as many as began
    while it did. `late` are failures of creations that began when it was over.
    """

    counts: Counter[Verdict]
    most: int | None
    late: Sequence[Failure]
    said: Sequence[str]
    """What the API server said, each once, and the first of the stored pods that are not right."""
    seconds: float
    rounds: int


class Stage:
    """Two replicas in a cluster. `group` is started here, and is the caller's to close."""

    def __init__(self, on: Ground, group: Group) -> None:
        self.ground = on
        self.group = group
        self._failure_policy: FailurePolicy = "Fail"
        group.begin()

    @property
    def control_plane(self) -> ControlPlane:
        """The cluster."""
        return self.ground.control_plane

    def prepare(self, failure_policy: FailurePolicy) -> None:
        """Have both replicas serve, with this failurePolicy for creations."""
        for each in self.group.each:
            if not each.ready():
                each.stop(crash=True)
                each.start()
        if failure_policy != self._failure_policy:
            # Deleted and created again, so that the test sees when the API server acts on both configurations.
            self.group.unregister()
            wait_for(self._nobody_asked, timeout_seconds=SECONDS, what="no webhook to be called")
            self.group.register(failure_policy)
            self._failure_policy = failure_policy
        self.wait_until_current()

    def wait_until_current(self) -> None:
        """Return once pods come out as the policies have them by the cluster as it is now, and are judged."""
        specs, mark = self.ground.judge.learn(), self.ground.judge.marks[-1]

        def current() -> bool:
            try:
                made = [self.dry_run(each) for each in PODS]
                refused = self.dry_run(gpu_pod(resource="nvidia.com/mig-4g.5gb"))[0] == 422
            except CONNECTION_ERRORS:
                return False
            pairs = zip(made, specs, strict=True)
            return refused and all(status == 201 and is_current(one, spec, mark) for (status, one), spec in pairs)

        wait_for(current, timeout_seconds=SECONDS, what=lambda: f"{mark} in force; got {self.dry_run(PODS[0])}")

    def dry_run(self, pod: Document) -> tuple[int, Document]:
        """Return the status and document of a creation that leaves nothing behind."""
        status, body = self.control_plane.raw("POST", "/api/v1/namespaces/default/pods?dryRun=All", pod)
        try:
            return status, json.loads(body)
        except ValueError:  # an API server that begins or ends may say so in plain text
            return status, {"metadata": {}, "message": body.decode(errors="replace")}

    def busiest(self, running: Load) -> int:
        """Return whose place it is that gets most of the reviews: the API server keeps to the connections it has."""
        before = self.group.metrics(_REVIEWS)
        running.more(_AROUND)
        gained = [now - then for now, then in zip(self.group.metrics(_REVIEWS), before, strict=True)]
        return gained.index(max(gained))

    def _nobody_asked(self) -> bool:
        tried = (self.dry_run(gpu_pod()), self.dry_run(gpu_pod(resource="nvidia.com/mig-4g.5gb")))
        return all(status == 201 and MARK not in one["metadata"].get("labels", {}) for status, one in tried)


def pace(seconds: float) -> None:
    """Let time go by between two changes: the pace of the changes is what is tested."""
    threading.Event().wait(seconds)


@contextmanager
def creating(stage: Stage, name: str) -> Iterator[Load]:
    """Create PODS while the block runs."""
    namespace = f"{name}-{next(_COUNTER)}"
    with load(stage.control_plane, namespace, PODS, stage.ground.judge) as running:
        running.more(_AROUND)
        yield running


def finish(stage: Stage, running: Load) -> float:
    """Wait until all is as it should be, and for creations after that; return since when."""
    stage.wait_until_current()
    over = time.monotonic()
    running.more(_AROUND)
    return over
