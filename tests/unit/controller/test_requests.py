"""The request for an action: the path of one object, whatever its names are."""

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

import pytest

from podberth.admission.notices import Regarding
from podberth.api.election import Term
from podberth.api.protocol import AnswerLimits, refusal
from podberth.controller.plan.world import Action, Create, GroupChange, LookUp
from podberth.controller.requests import RequestResult, Requests, keeps_minimum
from podberth.kube.pod import OwnerReference

if TYPE_CHECKING:
    from podberth.api.client import ClusterClient

KIND = "podgroups.scheduling.x-k8s.io"
SERVED = {KIND: "scheduling.x-k8s.io/v1alpha1"}
SAID: dict[str, Any] = {"noun": "thing", "refused": "ThingRefused"}
ABOUT = Regarding(api_version="v1", kind="Pod", namespace="team", name="pod", uid="p-1")


@dataclass
class Client:
    """Keeps the requests."""

    paths: list[str] = field(default_factory=list)
    limits: AnswerLimits | None = None

    async def get(self, path: str, query: dict[str, str], limits: AnswerLimits | None = None) -> bytes:
        assert query == {}
        self.paths.append(path)
        self.limits = limits
        return b'{"metadata": {}}'

    async def send(
        self, method: str, path: str, document: object, content_type: str = "", limits: AnswerLimits | None = None
    ) -> bytes:
        assert method
        self.limits = limits
        assert document is not None
        assert content_type is not None
        self.paths.append(path)
        return b'{"metadata": {}}'


def sent(action: Action) -> Client:
    client = Client()
    asyncio.run(Requests(cast("ClusterClient", client)).send(action, SERVED))
    return client


def test_an_owner_is_one_object_whatever_its_name_and_has_seconds_to_come() -> None:
    owner = OwnerReference("batch/v1", "Job", "pods?watch=true#", "j-1")
    client = sent(LookUp("team", owner))
    assert client.paths == ["/apis/batch/v1/namespaces/team/jobs/pods%3Fwatch%3Dtrue%23"]
    assert client.limits == AnswerLimits(5.0, 3 * 2**20)


@pytest.mark.parametrize(("namespace", "name"), [("team", ".."), ("team", "../../pods"), ("a/b", "x"), ("..", "x")])
def test_a_name_that_could_change_the_path_is_refused_without_a_request(namespace: str, name: str) -> None:
    client = Client()
    action = LookUp(namespace, OwnerReference("batch/v1", "Job", name, "j-1"))
    answer = asyncio.run(Requests(cast("ClusterClient", client)).send(action, SERVED))
    assert (answer.result, client.paths) == ("refused", [])


def test_an_owner_of_the_core_group_has_another_root() -> None:
    owner = OwnerReference("v1", "Pod", "serve-0", "p-1")
    assert sent(LookUp("team", owner)).paths == ["/api/v1/namespaces/team/pods/serve-0"]


def test_a_write_is_of_one_object_whatever_its_name() -> None:
    document = {"metadata": {"namespace": "team", "name": "x"}}
    base = "/apis/scheduling.x-k8s.io/v1alpha1/namespaces/team/podgroups"
    assert sent(Create(kind=KIND, **SAID, document=document, about=ABOUT)).paths == [
        f"{base}?fieldManager=podberth-controller"
    ]
    change = GroupChange(kind=KIND, **SAID, place=("team", "x?y"), uid="g-1", patch={}, about=ABOUT)
    assert sent(change).paths == [f"{base}/x%3Fy?fieldManager=podberth-controller"]


def test_a_write_is_over_before_the_lease_can_be() -> None:
    document = {"metadata": {"namespace": "team", "name": "x"}}
    for action in (
        Create(kind=KIND, **SAID, document=document, about=ABOUT),
        GroupChange(kind=KIND, **SAID, place=("team", "x"), uid="g-1", patch={}, about=ABOUT),
    ):
        limits = sent(action).limits
        assert limits is not None
        assert limits.seconds < Term().renew_seconds


@pytest.mark.parametrize(
    ("status", "message", "fixed"),
    [
        (422, "is invalid: spec.schedulingPolicy.gang.minCount: Invalid value: 4: field is immutable", True),
        (422, "is invalid: spec.schedulingPolicy: Invalid value: {}: field is immutable", True),
        (422, "is invalid: spec: Forbidden: may not change", True),
        (422, "is invalid: [metadata.x: Invalid value: 1: no, spec.schedulingPolicy: Invalid value: 1: no]", True),
        (422, "is invalid: spec.schedulingConstraints: Invalid value: 4: field is immutable", False),
        (422, "is invalid: metadata.ownerReferences: Invalid value: x: no", False),
        (422, "denied by a webhook", False),
        (403, "is invalid: spec: Forbidden: may not change", False),
    ],
)
def test_a_minimum_is_fixed_where_the_api_server_names_its_field_or_one_above(
    status: int, message: str, fixed: bool
) -> None:
    native = "podgroups.scheduling.k8s.io"
    change = GroupChange(kind=native, **SAID, place=("team", "gang"), uid="g-1", patch={}, about=ABOUT, minimum=4)
    error = refusal("PATCH group", status, f'{{"message": "podgroups {message}"}}'.encode(), "")
    assert keeps_minimum(change, RequestResult("refused", error=error)) == fixed
