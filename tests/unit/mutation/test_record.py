"""What podberth sealed for a pod is believed as far as the pod holds it, and holding it is cheap; nothing else is."""

import time
from typing import Any

import pytest

from builders import container, pod
from podberth.kube.patch import Draft
from podberth.mutation import record
from podberth.mutation.seal import OFFLINE
from records import with_record

CLAIM = {"name": "nic", "template": "rdma", "containers": ["a"]}
POD = pod(
    {**container("a", env=[{"name": "A", "value": "1"}]), "resources": {"claims": [{"name": "nic"}]}},
    resourceClaims=[{"name": "nic", "resourceClaimTemplateName": "rdma"}],
    schedulerName="bins",
    hostname="h",
)


def believed(concern: str, wrote: Any) -> bool:
    document = with_record(POD, {"p": {concern: wrote}})
    return record.held(Draft(document), record.find(document, "default", OFFLINE).claims) == {"p": {concern: wrote}}


@pytest.mark.parametrize(
    ("concern", "wrote"),
    [
        ("env", {"a": {"A": "1"}}),
        ("schedulerName", "bins"),
        ("resourceClaims", [CLAIM]),
        ("jsonPatch", [{"op": "add", "path": "/spec/hostname", "value": "h"}]),
        ("jsonPatch", [{"op": "add", "path": "/spec/hostname"}]),
        ("jsonPatch", [{"op": "remove", "path": "/spec/subdomain"}]),
        (
            "applyConfiguration",
            [{"op": "add", "path": "/spec/containers/0/env/-", "value": {"name": "A", "value": "1"}}],
        ),
    ],
)
def test_a_claim_that_the_pod_holds_is_believed(concern: str, wrote: Any) -> None:
    assert believed(concern, wrote)


@pytest.mark.parametrize(
    ("concern", "wrote"),
    [
        ("env", {"a": {"A": "2"}}),
        ("env", {"a": {"B": "1"}}),
        ("env", {"b": {"A": "1"}}),
        ("env", {"a": "A"}),
        ("env", []),
        ("schedulerName", "other"),
        ("schedulerName", ["bins"]),
        ("runtimeClassName", "bins"),
        ("resourceClaims", [{**CLAIM, "template": "other"}]),
        ("resourceClaims", [{**CLAIM, "containers": "a"}]),
        ("resourceClaims", [{"name": "nic"}]),
        ("jsonPatch", [{"op": "add", "path": "/spec/hostname", "value": "other"}]),
        ("jsonPatch", [{"op": "remove", "path": "/spec/hostname"}]),
        ("jsonPatch", [{"op": "add", "path": "/spec/none"}]),
        ("jsonPatch", [{"op": "add", "path": ["/spec"]}]),
        ("jsonPatch", [{"op": "add", "path": "/spec/hostname/-", "value": "h"}]),
        ("jsonPatch", [{"op": "test", "path": "/spec/hostname"}]),
        ("nothing", {}),
    ],
)
def test_any_other_is_not(concern: str, wrote: Any) -> None:
    assert not believed(concern, wrote)


def test_a_record_full_of_claims_on_a_pod_full_of_what_they_claim_is_looked_through_once() -> None:
    claims = {f"p{number}": {"tolerations": [{"key": "k1"}], "env": {"a": {"A": "1"}}} for number in range(200)}
    document = pod(
        container("a", env=[{"name": "A", "value": "1"}] * 9000),
        tolerations=[{"key": f"k{number}"} for number in range(5000)],
    )
    document = with_record(document, claims)
    started = time.process_time()
    found = record.held(Draft(document), record.find(document, "default", OFFLINE).claims)

    # 10 ms here; looking through the pod for each claim took 3 s.
    assert time.process_time() - started < 1
    assert len(found) == 200
