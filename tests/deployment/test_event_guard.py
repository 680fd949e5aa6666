"""Which Events podberth and its controller may write, by tokens of theirs and more rights than they are ever given."""

import ast
import re
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

import pytest

from controlplane.api import Answer, Api
from controlplane.cluster import ControlPlane
from controlplane.wait import wait_for
from podberth.cli import controller as of_controller
from podberth.cluster import events as of_webhook
from podberth.wellknown import EXEMPT_LABEL, EXEMPT_NAMESPACES, NAMESPACE

from .rendering import Document
from .test_guards import grant

SECONDS = 60.0
MERGE = "application/merge-patch+json"
SPACE, EXEMPT = "guards-events", "guards-events-exempt"
NOT_OWN = "may make Events named podberth.* whose reportingController is podberth.io/"
NO_METADATA = "may write no finalizers and owners of Events"
NEVER_SENT = "may write no Event in a namespace whose pods are never sent to it"
OWNER = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u"}
METADATA: tuple[Document, ...] = (
    {"finalizers": ["example.com/never"]},
    {"ownerReferences": [OWNER]},
)


@dataclass(frozen=True, slots=True)
class Sender:
    """A ServiceAccount that publishes Events, and its way to the API server."""

    controller: str
    api: Api

    @property
    def own(self) -> str:
        """The name of an Event of its own, which a test may find there."""
        return f"podberth.{self.controller.partition('/')[2]}"

    def event(self, name: str = "", namespace: str = SPACE, **fields: Any) -> Document:
        """Return an Event of its own, but for these fields."""
        metadata = {"name": name or self.own, "namespace": namespace, **fields.pop("metadata", {})}
        about = {"apiVersion": "batch/v1", "kind": "Job", "name": "train", "namespace": namespace}
        return {
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": metadata,
            "eventTime": "2026-01-01T00:00:00.000000Z",
            "type": "Warning",
            "reason": "Warned",
            "action": "Validate",
            "note": "a word",
            "regarding": about,
            "reportingController": self.controller,
            "reportingInstance": "podberth-0",
            **fields,
        }


def path_of(namespace: str = SPACE, name: str = "", *, dry: bool = False) -> str:
    path = f"/apis/events.k8s.io/v1/namespaces/{namespace}/events{'/' if name else ''}{name}"
    return f"{path}?dryRun=All" if dry else path


@pytest.fixture(scope="module")
def spaces(installed: ControlPlane) -> ControlPlane:
    """Return the control plane with a namespace whose pods are sent to podberth, and one whose are not."""
    installed.add_namespace(SPACE)
    installed.add_namespace(EXEMPT, {EXEMPT_LABEL: ""})
    return installed


@pytest.fixture(scope="module", params=["podberth", "podberth-controller"])
def sender(request: pytest.FixtureRequest, spaces: ControlPlane) -> Iterator[Sender]:
    """Yield each sender, with every right on Events."""
    installed = spaces
    account = str(request.param)
    installed.apply(
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": account, "namespace": NAMESPACE}}
    )
    rule = {"apiGroups": ["", "events.k8s.io"], "resources": ["events"]}
    verbs = ["get", "create", "update", "patch", "delete", "deletecollection"]
    grant(installed, f"guards-events-{account}", account, NAMESPACE, {**rule, "verbs": verbs})
    controller = of_webhook.CONTROLLER if account == "podberth" else of_controller.CONTROLLER
    with closing(Api(installed.url, installed.create_token(NAMESPACE, account), installed.ca_file)) as api:
        made = Sender(controller, api)
        wait_for(
            lambda: NOT_OWN in create(made, made.event("other")).document.get("message", ""),
            timeout_seconds=SECONDS,
            what="the guard to be asked",
        )
        yield made
    installed.kubectl("delete", "clusterrolebinding", f"guards-events-{account}")
    installed.kubectl("delete", "events", "-n", SPACE, "--all")


def create(sender: Sender, event: Document) -> Answer:
    return sender.api.ask("POST", path_of(event["metadata"]["namespace"], dry=True), event)


def test_it_makes_its_own_event_and_adds_to_its_series(sender: Sender) -> None:
    answer = sender.api.ask("POST", path_of(), sender.event())
    assert answer.status in {HTTPStatus.CREATED, HTTPStatus.CONFLICT}, answer.document
    series = {"series": {"count": 2, "lastObservedTime": "2026-01-01T00:00:01.000000Z"}}
    for change in ({}, series):
        answer = sender.api.ask("PATCH", path_of(name=sender.own), change, MERGE)
        assert answer.status == HTTPStatus.OK, answer.document


@pytest.mark.parametrize(
    "fields",
    [{"name": "other"}, {"name": "podberth"}, {"name": "podberth.new", "reportingController": "kubelet"}],
    ids=str,
)
def test_it_makes_no_event_of_anybody_elses(installed: ControlPlane, sender: Sender, fields: Document) -> None:
    event = sender.event(**fields)
    refused(create(sender, event), NOT_OWN)
    assert installed.api.ask("POST", path_of(dry=True), event).status == HTTPStatus.CREATED


def test_it_does_not_speak_for_the_other_one(sender: Sender) -> None:
    others = {of_webhook.CONTROLLER, of_controller.CONTROLLER} - {sender.controller}
    for other in others:
        refused(create(sender, sender.event(reportingController=other)), NOT_OWN)


def test_it_changes_and_deletes_no_event_of_anybody_elses(installed: ControlPlane, sender: Sender) -> None:
    series = {"series": {"count": 2, "lastObservedTime": "2026-01-01T00:00:01.000000Z"}}
    for name, controller in (
        ("theirs", "kubelet"),
        ("podberth.theirs", "kubelet"),
        ("theirs-too", sender.controller),
    ):
        event = sender.event(name, reportingController=controller)
        assert installed.api.ask("POST", path_of(), event).status in {HTTPStatus.CREATED, HTTPStatus.CONFLICT}
        for change in ({}, series, {"metadata": {"finalizers": ["example.com/never"]}}):
            refused(sender.api.ask("PATCH", path_of(name=name, dry=True), change, MERGE), NOT_OWN)
        refused(sender.api.ask("DELETE", path_of(name=name, dry=True)), NOT_OWN)
        # By the older version of the API, too.
        core = f"/api/v1/namespaces/{SPACE}/events/{name}?dryRun=All"
        refused(sender.api.ask("PATCH", core, {"message": "another"}, MERGE), NOT_OWN)
    assert installed.api.ask("PATCH", path_of(name="theirs", dry=True), series, MERGE).status == HTTPStatus.OK


def test_it_deletes_not_even_its_own(sender: Sender) -> None:
    sender.api.ask("POST", path_of(), sender.event())
    refused(sender.api.ask("DELETE", path_of(name=sender.own, dry=True)), NOT_OWN)


@pytest.mark.parametrize("metadata", METADATA, ids=str)
def test_it_writes_no_finalizer_and_no_owner(sender: Sender, metadata: Document) -> None:
    sender.api.ask("POST", path_of(), sender.event())
    refused(create(sender, sender.event("podberth.new", metadata=metadata)), NO_METADATA)
    refused(sender.api.ask("PATCH", path_of(name=sender.own, dry=True), {"metadata": metadata}, MERGE), NO_METADATA)


@pytest.mark.parametrize("namespace", ["kube-system", "kube-public", NAMESPACE, EXEMPT])
def test_it_says_nothing_where_podberth_does_nothing(installed: ControlPlane, sender: Sender, namespace: str) -> None:
    event = sender.event(namespace=namespace)
    refused(create(sender, event), NEVER_SENT)
    assert installed.api.ask("POST", path_of(namespace, dry=True), event).status == HTTPStatus.CREATED


def test_the_places_are_those_that_are_left_out(installed: ControlPlane) -> None:
    spec = installed.get("validatingadmissionpolicy", "podberth-events")["spec"]
    [names] = re.findall(r"in (\[[^]]*\])", spec["validations"][2]["expression"])
    assert ast.literal_eval(names) == list(EXEMPT_NAMESPACES)


def refused(answer: Answer, said: str) -> None:
    assert answer.status == HTTPStatus.FORBIDDEN, answer.document
    assert said in answer.document["message"]
