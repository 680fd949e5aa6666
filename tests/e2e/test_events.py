"""Events on a real API server, written with podberth's own token: of controllers' pods, and of GPUPolicies."""

import http.client
import json
import ssl
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from builders import deployment, gpu_pod, job, review
from controlplane.api import Api
from controlplane.cluster import ControlPlane
from controlplane.wait import wait_for
from podberth.cluster.events import CONTROLLER
from snapshots import policy

from .access import TOKEN, enter, grant
from .podberth_process import ROOT, Podberth, empty
from .registration import pointed, shipped

Document = dict[str, Any]

# A first Event comes after a second, what repeats it after five, ten and twenty more; and a busy machine has its time.
SECONDS = 60.0
EVENTS = "/apis/events.k8s.io/v1/namespaces/{}/events"
_WARNS = policy("warns", "  validations:\n  - {expression: 'false', message: look here}\n  validationActions: [Warn]")
_LINE = "podberth warns: look here"
_BROKEN = policy("mark", "  mutations:\n  - labels: {mark.example/value: gpu.cuont}")
_GOOD = policy("mark", "  mutations:\n  - labels: {mark.example/value: string(gpu.count)}")


@dataclass(frozen=True, slots=True)
class Stage:
    """A control plane, and two replicas that are both asked about every pod, so that each notice is there twice."""

    plane: ControlPlane
    replicas: tuple[Podberth, Podberth]
    token: str = field(repr=False)

    def events(self, kind: str, namespace: str = "default") -> list[Document]:
        """Return podberth's Events about objects of a kind."""
        found = self.plane.api.read(EVENTS.format(namespace))["items"]
        return [
            each
            for each in found
            if each.get("reportingController") == CONTROLLER and each["regarding"]["kind"] == kind
        ]

    def counted(self, result: str) -> float:
        name = f'podberth_event_notices_total{{result="{result}"}}'
        return sum(each.metrics()[name] for each in self.replicas)


def _register(plane: ControlPlane, replicas: tuple[Podberth, Podberth]) -> None:
    for number, replica in enumerate(replicas):
        for configuration in shipped():
            # Two replicas behind one address would be asked in turn; here both hear everything.
            changed = pointed(configuration, replica.endpoint)
            changed["metadata"]["name"] += f"-{number}"
            for each in changed["webhooks"]:
                each["name"] = f"r{number}.{each['name']}"
            plane.apply(changed)

    def asked_twice() -> bool:
        for each in replicas:
            before = _asked(each)
            plane.api.raw("POST", "/api/v1/namespaces/default/pods?dryRun=All", gpu_pod(name="probe"))
            if _asked(each) == before:
                return False
        return True

    wait_for(asked_twice, timeout_seconds=SECONDS, what="both replicas to be asked")


def _asked(replica: Podberth) -> float:
    return replica.metrics()['podberth_admission_requests_total{operation="CREATE",path="/validate",verdict="allowed"}']


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    directory = tmp_path_factory.mktemp("events")
    with ControlPlane.start(directory / "plane") as plane:
        grant(plane)
        plane.kubectl("apply", "-f", str(ROOT / "manifests" / "base" / "gpupolicy-crd.yaml"))
        plane.await_crds()
        plane.kubectl("apply", "-f", "-", input=_WARNS)
        kubeconfig = enter(plane, directory)
        first, second = (
            Podberth(
                directory / f"serve-{number}",
                None,
                empty(directory),
                kubeconfig=kubeconfig,
                environ={"PODBERTH_EVENTS": "on"},
            )
            for number in range(2)
        )
        with first, second:
            _register(plane, (first, second))
            yield Stage(plane, (first, second), (directory / TOKEN).read_text().strip())
        plane.check()


def _count(event: Document) -> int:
    return int((event.get("series") or {}).get("count", 1))


def test_the_pods_of_a_job_are_one_event_of_the_job_that_all_replicas_count_in(stage: Stage) -> None:
    members = 16
    stage.plane.apply(job(gpu_pod(), name="train", parallelism=members))

    def complete() -> bool:
        # Twice each: two replicas. More than that where the Job controller had to try again.
        return sum(map(_count, stage.events("Job"))) >= 2 * members

    wait_for(complete, timeout_seconds=SECONDS, what=lambda: str(stage.events("Job")))
    [event] = stage.events("Job")
    made = stage.plane.api.read("/apis/batch/v1/namespaces/default/jobs/train")
    assert event["regarding"] == {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "name": "train",
        "namespace": "default",
        "uid": made["metadata"]["uid"],
    }
    said = [event[key] for key in ("type", "reason", "action", "note")]
    assert said == ["Warning", "PolicyWarning", "Validate", _LINE]
    assert event["series"]["lastObservedTime"] >= event["eventTime"]
    # As a person finds it.
    assert _LINE in stage.plane.kubectl("describe", "job", "train").stdout
    assert _LINE in stage.plane.kubectl("events", "--for", "job/train").stdout


def test_the_event_of_a_deployments_pods_is_about_its_replica_set(stage: Stage) -> None:
    stage.plane.apply(deployment(gpu_pod(), name="serve"))
    wait_for(lambda: bool(stage.events("ReplicaSet")), timeout_seconds=SECONDS, what="an Event")
    [event] = stage.events("ReplicaSet")
    assert event["regarding"]["name"].startswith("serve-")
    assert event["note"] == _LINE


def test_bare_pods_and_dry_runs_give_no_event(stage: Stage) -> None:
    path = "/api/v1/namespaces/default/pods"
    answer = stage.plane.api.ask("POST", path, gpu_pod(name="bare"))
    assert (answer.status, _LINE in answer.warnings) == (201, True)
    owner = {"apiVersion": "example.com/v1", "kind": "Dry", "name": "dry", "uid": "d-1", "controller": True}
    pod = gpu_pod(name="dry")
    pod["metadata"]["ownerReferences"] = [owner]
    answer = stage.plane.api.ask("POST", f"{path}?dryRun=All", pod)
    assert (answer.status, _LINE in answer.warnings) == (201, True)
    # A pod that gives an Event, after these: when its Event is there, theirs would be.
    pod["metadata"]["ownerReferences"] = [{**owner, "kind": "Wet"}]
    assert stage.plane.api.ask("POST", path, pod).status == 201
    wait_for(lambda: bool(stage.events("Wet")), timeout_seconds=SECONDS, what="an Event")
    assert stage.events("Dry") == stage.events("Pod") == []


def test_an_event_in_a_namespace_that_goes_is_lost_and_counted_and_the_next_is_published(stage: Stage) -> None:
    plane = stage.plane
    plane.add_namespace("going")
    listed = float(len(plane.api.read("/api/v1/namespaces")["items"]))
    known = 'podberth_watch_objects{resource="namespaces"}'
    wait_for(
        lambda: {each.metrics()[known] for each in stage.replicas} == {listed},
        timeout_seconds=SECONDS,
        what="the Namespace to be known, for anybody may call podberth here",
    )
    pod = gpu_pod(name="last")
    pod["metadata"] |= {
        "namespace": "going",
        # Keeps the namespace terminating for as long as the test wants.
        "finalizers": ["podberth.test/stay"],
        "ownerReferences": [{"apiVersion": "v1", "kind": "Going", "name": "g", "uid": "g-1", "controller": True}],
    }
    lost = stage.counted("failed")
    assert plane.api.ask("POST", "/api/v1/namespaces/going/pods", pod).status == 201
    plane.kubectl("delete", "namespace", "going", "--wait=false")
    # Either it was published before the namespace began to go, and then no more, or it is refused until it is given up.
    wait_for(
        lambda: stage.counted("failed") > lost or bool(stage.events("Going", "going")),
        timeout_seconds=SECONDS,
        what="the Event to be published or lost",
    )
    other = gpu_pod(name="other")
    other["metadata"]["ownerReferences"] = [
        {"apiVersion": "v1", "kind": "Other", "name": "o", "uid": "o-1", "controller": True}
    ]
    assert plane.api.ask("POST", "/api/v1/namespaces/default/pods", other).status == 201
    wait_for(lambda: bool(stage.events("Other")), timeout_seconds=SECONDS, what="the next Event")
    plane.kubectl("patch", "pod", "last", "-n", "going", "--type=merge", "-p", '{"metadata": {"finalizers": null}}')


def test_one_replica_publishes_an_event_when_a_policys_status_turns(stage: Stage) -> None:
    plane = stage.plane

    def reasons() -> list[str]:
        found = [each for each in stage.events("GPUPolicy") if each["regarding"]["name"] == "mark"]
        return [each["reason"] for each in sorted(found, key=lambda each: str(each["eventTime"]))]

    def turn(text: str, *expected: str) -> None:
        plane.kubectl("apply", "--validate=false", "-f", "-", input=text)
        wait_for(lambda: reasons() == [*expected], timeout_seconds=SECONDS, what=lambda: f"{expected}; got {reasons()}")

    # The entry that refuses broken policies is not what this is about.
    for number in range(2):
        plane.kubectl("delete", "validatingwebhookconfiguration", f"podberth-{number}")
    turn(_GOOD, "InForce")
    turn(_BROKEN, "InForce", "Outdated")
    turn(_GOOD, "InForce", "Outdated", "InForce")
    events = [each for each in stage.events("GPUPolicy") if each["regarding"]["name"] == "mark"]
    assert {_count(each) for each in events} == {1}
    [outdated] = [each for each in events if each["reason"] == "Outdated"]
    assert "cuont" in outdated["note"]
    assert outdated["type"] == "Warning"
    assert "InForce" in plane.kubectl("describe", "gpupolicy", "mark").stdout


def test_a_stranger_makes_podberth_write_no_word_of_theirs(stage: Stage) -> None:
    """Whoever reaches the port may send a review: here nobody wants a client certificate."""
    text = "visit-evil-example"
    forged = gpu_pod(name=text)
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": text, "uid": "f-1", "controller": True}
    elsewhere = ("../../kube-system/secrets?", "kube-system/secrets#", "..")
    for replica in stage.replicas:
        before = _unknown(replica)
        for namespace in ("kube-system", "none", *elsewhere):
            forged["metadata"] |= {"namespace": namespace, "ownerReferences": [owner]}
            status = _ask(replica, review(forged, namespace=namespace, name=text))
            assert status == (400 if namespace in elsewhere else 200)
        # Counted behind the answer.
        _wait_for_unknown(replica, before + 2)
    # A pod that gives an Event, after these: when its Event is there, theirs would be.
    pod = gpu_pod(name="honest")
    pod["metadata"]["ownerReferences"] = [{**owner, "kind": "Honest", "apiVersion": "example.com/v1", "name": "honest"}]
    # Sent here, too: whether the API server calls podberth is not what this is about.
    assert _ask(stage.replicas[0], review(pod, namespace="default", name="honest")) == 200
    wait_for(lambda: bool(stage.events("Honest")), timeout_seconds=SECONDS, what="an Event")
    events = [each for each in stage.plane.api.read("/apis/events.k8s.io/v1/events")["items"] if text in str(each)]
    assert [each for each in events if each.get("reportingController") == CONTROLLER] == []
    for replica in stage.replicas:
        assert "grant" not in replica.log.read_text()


def _unknown(replica: Podberth) -> float:
    return replica.metrics()['podberth_event_notices_total{result="unknown"}']


def _wait_for_unknown(replica: Podberth, count: float) -> None:
    wait_for(lambda: _unknown(replica) == count, timeout_seconds=SECONDS, what="all to be passed over")


def _ask(replica: Podberth, document: Document) -> int:
    """Send a review as anybody can who reaches the port; return the status."""
    authority = ssl.create_default_context(cafile=str(replica.directory / "ca.crt"))
    connection = http.client.HTTPSConnection(f"127.0.0.1:{replica.port}", context=authority)
    connection.request("POST", "/validate", json.dumps(document), {"Content-Type": "application/json"})
    status = connection.getresponse().status
    connection.close()
    return status


def test_it_may_write_events_and_not_read_or_delete_them(stage: Stage) -> None:
    api = Api(stage.plane.url, stage.token, stage.plane.ca_file)
    try:
        path = EVENTS.format("default")
        assert [api.raw(verb, path)[0] for verb in ("GET", "DELETE")] == [403, 403]
        assert [api.raw(verb, f"{path}/any")[0] for verb in ("GET", "DELETE", "PUT")] == [403, 403, 403]
        # What it may: there is just none of that name.
        assert api.raw("PATCH", f"{path}/any", {}, "application/merge-patch+json")[0] == 404
    finally:
        api.close()
