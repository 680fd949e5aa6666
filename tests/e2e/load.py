"""A steady stream of real pod creations, and what became of each: what is promised of podberth is counted here."""

import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from builders import gpu_pod
from controlplane.api import CONNECTION_ERRORS, Api
from controlplane.cluster import ControlPlane
from controlplane.wait import wait_for
from podberth.wellknown import APPLIED_ANNOTATION

Document = dict[str, Any]

# Ten a second and thread: the quiet in between lets other work on the machine go on, and the connections idle.
THREADS = 2
_PAUSE_SECONDS = 0.1
# A hundred times what ten creations take; an outage within it lasts seconds, and what an API server sends to a replica
# that stands still is lost for as long as it takes to notice.
_PATIENCE_SECONDS = 120.0
# What the API server says about a webhook that it could not ask, and of one that has said no.
_PODBERTHS = ("failed calling webhook", "admission webhook")


class Verdict(StrEnum):
    """What became of a creation. The order is that of the columns of docs/never-lost.md."""

    RIGHT = "right"
    """It is there, as the policies have it."""
    REFUSED = "refused"
    """The API server has refused it because of a webhook."""
    UNMUTATED = "not mutated"
    """It is there, as its user wrote it."""
    WRONG = "wrong patch"
    """It is there, and neither."""
    UNANSWERED = "API server away"
    """The API server itself could not be asked, or could not do it."""
    LOST = "lost"
    """Said to be created, and not there."""


Judge = Callable[[Document], Verdict]


@dataclass(frozen=True, slots=True)
class Failure:
    """A creation that was not answered with 201. `began` is of the monotonic clock."""

    began: float
    verdict: Verdict
    said: str


class Load:
    """Creates pods for as long as it is asked to, in a namespace of its own.

    `failures` are those that were not made; `counts` is there when it has been stopped: every pod that was stored is
    judged then, whoever has heard of it.
    """

    def __init__(self, control_plane: ControlPlane, namespace: str, pods: Sequence[Document], judge: Judge) -> None:
        """Prepare; `pods` are created in turn, under names of the load's own."""
        self._api = Api(control_plane.url, control_plane.admin_token, control_plane.ca_file)
        self._path = f"/api/v1/namespaces/{namespace}/pods"
        self._pods = pods
        self._judge = judge
        self._stop = threading.Event()
        self._made: list[str] = []
        self.failures: list[Failure] = []
        self.wrong: list[Document] = []
        """The stored pods that are not right."""
        self.counts: Counter[Verdict] = Counter()
        self._threads = [threading.Thread(target=self._create, args=(number,)) for number in range(THREADS)]

    @property
    def refusals(self) -> list[str]:
        """What was said about those that were not made."""
        return [failure.said for failure in self.failures]

    def start(self) -> None:
        """Begin."""
        for each in self._threads:
            each.start()

    def more(self, count: int) -> None:
        """Return once as many more creations have been answered with 201."""
        wanted = len(self._made) + count
        wait_for(
            lambda: len(self._made) >= wanted,
            timeout_seconds=_PATIENCE_SECONDS,
            what=lambda: f"{count} more pods to be created; got {self.refusals[-3:]}",
        )

    def stop(self) -> None:
        """End it, and count."""
        self._stop.set()
        for each in self._threads:
            each.join()
        self.counts.update(failure.verdict for failure in self.failures)
        stored = {each["metadata"]["name"]: each for each in self._api.read(self._path)["items"]}
        if lost := sum(name not in stored for name in self._made):
            self.counts[Verdict.LOST] = lost
        for each in stored.values():
            verdict = self._judge(each)
            self.counts[verdict] += 1
            if verdict is not Verdict.RIGHT:
                self.wrong.append(each)
        self._api.close()

    def _create(self, thread: int) -> None:
        number = 0
        while not self._stop.wait(_PAUSE_SECONDS):
            number += 1
            self._create_one(f"load-{thread}-{number}", self._pods[number % len(self._pods)])

    def _create_one(self, name: str, pod: Mapping[str, Any]) -> None:
        metadata = {key: value for key, value in pod["metadata"].items() if key != "namespace"}
        began = time.monotonic()
        try:
            status, body = self._api.raw("POST", self._path, {**pod, "metadata": {**metadata, "name": name}})
        except CONNECTION_ERRORS as error:
            self.failures.append(Failure(began, Verdict.UNANSWERED, repr(error)))
            return
        if status == 201:
            self._made.append(name)
            return
        said = _message(body)
        verdict = Verdict.REFUSED if any(each in said for each in _PODBERTHS) else Verdict.UNANSWERED
        self.failures.append(Failure(began, verdict, f"{status}: {said}"))


def _message(body: bytes) -> str:
    """Return what a Status says; an API server that is on its way out answers in plain text."""
    try:
        return str(json.loads(body)["message"])
    except (ValueError, KeyError, TypeError):
        return body[:500].decode(errors="replace")


def seen_by_podberth(pod: Document) -> Verdict:
    """Judge a pod by podberth's record, whatever the policies have written."""
    recorded = APPLIED_ANNOTATION in pod["metadata"].get("annotations", {})
    return Verdict.RIGHT if recorded else Verdict.UNMUTATED


@contextmanager
def load(
    control_plane: ControlPlane, namespace: str, pods: Sequence[Document] = (), judge: Judge = seen_by_podberth
) -> Iterator[Load]:
    """Create pods while the block runs."""
    control_plane.add_namespace(namespace)
    running = Load(control_plane, namespace, pods or (gpu_pod(),), judge)
    running.start()
    try:
        yield running
    finally:
        running.stop()
        control_plane.kubectl("delete", "namespace", namespace, "--wait=false")
