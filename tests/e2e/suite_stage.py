"""podberth with one policy over one case's cluster at a time, and what a real apiserver makes of a case's pod."""

import itertools
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, fields
from http import HTTPStatus
from pathlib import Path
from typing import Any

from builders import IMAGE
from controlplane.api import Answer, Api
from controlplane.wait import wait_for
from podberth.cel.engine import Environment
from podberth.files.loading import SuiteFiles
from podberth.policy.parse import ParsedPolicies, parse_policies
from podberth.suite.case_cluster import documents, with_values
from podberth.suite.case_file import Case, Suite, parse_suite
from podberth.suite.runner import CaseResult, run_suite
from records import without_seals

from .podberth_process import Podberth
from .space import SECONDS

Document = dict[str, Any]

# Excluded by the shipped webhook configurations, and there in every cluster: what becomes of a pod without podberth.
_WITHOUT_PODBERTH = "kube-public"
# As often as a test wants: a look at a few files costs 0.2 ms.
_RELOAD_SECONDS = 0.02
_LOADED = 'podberth_reload_total{result="ok",what="topology"}'
_DENIAL = re.compile(
    r'admission webhook "(?:(?:other-)?pods|gangs-and-devices)\.(?P<webhook>mutate|validate)\.podberth\.io" '
    r"denied the request: (?P<why>.*)",
    re.DOTALL,
)
# What the apiserver draws by lot, and what says when and where: no two creations have it in common.
_TOKEN_VOLUME = re.compile(r"kube-api-access-[a-z0-9]{5}")
_PRIORITY_CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"
_STAMPS = ("uid", "creationTimestamp", "managedFields", "namespace")


@dataclass(frozen=True, slots=True)
class Trial:
    """One case of a suite: its pod as the apiserver takes it, what podberth is to know, and what the runner said."""

    name: str
    pod: Document
    cluster: tuple[Document, ...]
    result: CaseResult


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a pod: `unchanged`, `mutated`, `denied` by a webhook of podberth's or `refused` by another."""

    verdict: str
    warnings: tuple[str, ...]
    webhook: str = ""
    denial: str = ""
    pod: Document | None = None
    """As `comparable` leaves it; None where there is none."""


def trials(files: SuiteFiles, environment: Environment) -> list[Trial]:
    """Return every case of a suite, in its order."""
    suite, problems = parse_suite(files.suite[1], files.suite[0])
    assert suite is not None, problems
    policies = parse_policies(files.policies)
    results = run_suite(suite, policies, environment).cases
    return [_trial(suite, case, policies, result) for case, result in zip(suite.cases, results, strict=True)]


def _trial(suite: Suite, case: Case, policies: ParsedPolicies, result: CaseResult) -> Trial:
    assert case.pod is not None, f"{suite.file}: {case.name}: got a review; say here how it comes before an apiserver"
    pod = complete(
        {"apiVersion": "v1", "kind": "Pod", **case.pod}, case.namespace.name if case.namespace else "default"
    )
    # Params as ConfigMaps of the cluster, which win over those beside the policies.
    namespace = pod["metadata"]["namespace"]
    values = with_values(suite, case, policies, namespace)
    cluster = (*documents(suite, case, namespace), *values.values())
    return Trial(case.name, pod, cluster, result)


def complete(pod: Document, namespace: str = "default") -> Document:
    """Return a pod with what an apiserver insists on and a suite leaves out: a namespace, and images."""
    made = deepcopy(pod)
    made["metadata"] = {"namespace": namespace, **made["metadata"]}
    for container in (*made["spec"]["containers"], *made["spec"].get("initContainers", ())):
        container.setdefault("image", IMAGE)
    return made


class Stage:
    """One running podberth, whose policies and snapshot are swapped in one step, as the kubelet swaps a ConfigMap."""

    def __init__(self, directory: Path) -> None:
        """Prepare; it must be shown something before it starts."""
        self._directory = directory
        self._numbers = itertools.count()
        self._link = directory / "shown"
        self._knows_nodes = False
        self.podberth = Podberth(
            directory / "podberth", self._link / "cluster", self._link / "policies", reload_seconds=_RELOAD_SECONDS
        )

    def put(self, policies: Path, cluster: Sequence[Document]) -> None:
        """Put a folder of policies and the objects of a cluster where podberth reads them."""
        shown = self._directory / f"shown-{next(self._numbers)}"
        (shown / "cluster").mkdir(parents=True)
        (shown / "policies").symlink_to(policies)
        (shown / "cluster" / "objects.json").write_text(json.dumps({"kind": "List", "items": list(cluster)}))
        new = shown / "link"
        new.symlink_to(shown)
        new.replace(self._link)

    def show(self, policies: Path, cluster: Sequence[Document]) -> None:
        """Put them there and return once they are in force.

        A snapshot is read after the look that finds it changed, and policies with it: after one more load both are new.
        """
        knew_nodes, self._knows_nodes = self._knows_nodes, any(each.get("kind") == "Node" for each in cluster)
        if knew_nodes and not self._knows_nodes:
            # A podberth that runs takes a snapshot that has lost all its nodes for a fault, and keeps the last one.
            self.podberth.stop()
            self.put(policies, cluster)
            self.podberth.start()
            return
        before = self.podberth.metrics()[_LOADED]
        self.put(policies, cluster)
        wait_for(
            lambda: self.podberth.metrics()[_LOADED] > before,
            timeout_seconds=SECONDS,
            what=lambda: f"{policies.name} to be loaded: {(self._directory / 'podberth' / 'podberth.log').read_text()}",
        )


@contextmanager
def staged(directory: Path, policies: Path) -> Iterator[Stage]:
    """Have a podberth that starts with a folder of policies and knows of no node."""
    stage = Stage(directory)
    stage.put(policies, [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}}])
    with stage.podberth:
        yield stage


def differences(api: Api, trial: Trial) -> Iterator[str]:
    """Yield what an apiserver with podberth in front of it makes of a case, other than the runner said."""
    with _priority_classes(api, trial):
        want, got = _expected(api, trial), _observed(api, trial)
    for field in fields(Outcome):
        one, other = getattr(want, field.name), getattr(got, field.name)
        if one != other:
            yield f"{trial.name}: {field.name}: got {other}, want {one}"


@contextmanager
def _priority_classes(api: Api, trial: Trial) -> Iterator[None]:
    """Have the classes that the case's cluster holds, and those that its pod names before or behind podberth."""
    named = {pod["spec"].get("priorityClassName", "") for pod in (trial.pod, trial.result.pod or trial.pod)}
    held = {each["metadata"]["name"]: each for each in trial.cluster if each.get("kind") == "PriorityClass"}
    needed = {name for name in named - held.keys() if name and not name.startswith("system-")}
    classes = [*held.values(), *(_priority_class(name) for name in needed)]
    for each in classes:
        api.request("POST", _PRIORITY_CLASSES, each)
        _await_class(api, each["metadata"]["name"], HTTPStatus.CREATED)
    yield
    for each in classes:
        api.request("DELETE", f"{_PRIORITY_CLASSES}/{each['metadata']['name']}")
        _await_class(api, each["metadata"]["name"], HTTPStatus.FORBIDDEN)


def _priority_class(name: str) -> Document:
    return {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}, "value": 10}


def _await_class(api: Api, name: str, status: int) -> None:
    """Wait until the apiserver's Priority plugin, which goes by what it watches, knows of a class or no longer does."""
    container = {"name": "main", "image": IMAGE}
    pod = {"metadata": {"name": "probe"}, "spec": {"priorityClassName": name, "containers": [container]}}
    wait_for(lambda: without_podberth(api, pod).status == status, timeout_seconds=SECONDS, what=f"class {name}")


def _expected(api: Api, trial: Trial) -> Outcome:
    """Return the runner's word; its pod is given to the apiserver, too, which adds what it adds to any pod."""
    result = trial.result
    # The apiserver says a line once, whoever says it again.
    warnings = tuple(dict.fromkeys(result.warnings))
    if result.verdict == "denied":
        return Outcome("denied", warnings, "mutate" if result.pod is None else "validate", result.denial)
    assert result.pod is not None, result
    alone = without_podberth(api, complete(result.pod))
    if alone.status != HTTPStatus.CREATED:
        return Outcome(result.verdict, warnings, denial=f"without podberth: {alone.document['message']}")
    return Outcome(result.verdict, warnings, pod=comparable(alone.document))


def _observed(api: Api, trial: Trial) -> Outcome:
    answer = _create(api, trial.pod)
    if answer.status == HTTPStatus.CREATED:
        pod, alone = comparable(answer.document), without_podberth(api, trial.pod)
        same = alone.status == HTTPStatus.CREATED and comparable(alone.document) == pod
        return Outcome("unchanged" if same else "mutated", answer.warnings, pod=pod)
    denial = _DENIAL.fullmatch(answer.document["message"])
    if denial is None:
        return Outcome("refused", answer.warnings, denial=answer.document["message"])
    return Outcome("denied", answer.warnings, denial["webhook"], denial["why"])


def created(api: Api, pod: Document) -> Document:
    """Return what becomes of a pod where podberth is not asked."""
    answer = without_podberth(api, pod)
    assert answer.status == HTTPStatus.CREATED, answer
    made: Document = answer.document
    return made


def without_podberth(api: Api, pod: Document) -> Answer:
    """Create a pod where podberth is not asked."""
    return _create(api, {**pod, "metadata": {**pod["metadata"], "namespace": _WITHOUT_PODBERTH}})


def comparable(pod: Document) -> Document:
    """Return a created pod without what differs between any two creations; the order of tolerations says nothing."""
    made: Document = without_seals(json.loads(_TOKEN_VOLUME.sub("kube-api-access", json.dumps(pod))))
    metadata = made["metadata"]
    for stamp in (*_STAMPS, *(["name"] if "generateName" in metadata else ())):
        metadata.pop(stamp, None)
    for condition in made["status"].get("conditions", ()):  # the second in which the API server wrote it
        condition.pop("lastTransitionTime", None)
    made["spec"]["tolerations"] = sorted(made["spec"]["tolerations"], key=json.dumps)
    return made


def _create(api: Api, pod: Mapping[str, Any]) -> Answer:
    """Create a pod and leave nothing behind: admission is the same, and no scheduler sees it."""
    return api.ask("POST", f"/api/v1/namespaces/{pod['metadata']['namespace']}/pods?dryRun=All", pod)
