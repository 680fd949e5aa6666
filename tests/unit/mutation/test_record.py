"""What podberth sealed for a pod is believed as far as the pod holds it, and holding it is cheap; nothing else is."""

from functools import partial
from typing import Any

import pytest

from builders import container, pod
from calls import calls_of
from podberth.kube.patch import Draft
from podberth.kube.pod_limits import RECORD_CHANGES
from podberth.mutation import record
from podberth.mutation.change import Record
from podberth.mutation.seal import OFFLINE
from records import with_annotation, with_record

CLAIM = {"name": "nic", "template": "rdma", "containers": ["a"]}
POD = pod(
    {**container("a", env=[{"name": "A", "value": "1"}]), "resources": {"claims": [{"name": "nic"}]}},
    resourceClaims=[{"name": "nic", "resourceClaimTemplateName": "rdma"}],
    schedulerName="bins",
    nodeSelector={"team": "a"},
    hostname="h",
)


def believed(concern: str, wrote: Any) -> bool:
    document = with_record(POD, {"p": {concern: wrote}})
    return record.held(Draft(document), record.find(document, "default", OFFLINE).record) == {"p": {concern: wrote}}


@pytest.mark.parametrize(
    ("concern", "wrote"),
    [
        ("env", {"a": {"A": "1"}}),
        ("schedulerName", "bins"),
        ("nodeSelector", {"team": "a"}),
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
    ("resources", "holds"),
    [
        ({"limits": {"mig": "2"}}, True),
        ({"limits": {"mig": "2"}, "requests": {"mig": "2"}}, True),
        ({"limits": {"cpu": "1"}, "requests": {"mig": "2"}}, True),
        ({"limits": {"mig": None}, "requests": {"mig": "2"}}, True),
        ({"limits": {"mig": "1"}, "requests": {"mig": "2"}}, False),
        ({"requests": {"cpu": "2"}}, False),
        ({}, False),
    ],
)
def test_a_rewritten_resource_is_where_the_container_asks_for_it(resources: dict[str, Any], holds: bool) -> None:
    claim: Record = {"p": {"resources": [{"container": "a", "from": "gpu", "to": "mig", "quantity": 2}]}}
    document = pod({"name": "a", "resources": resources})
    assert (record.held(Draft(document), claim) == claim) is holds


@pytest.mark.parametrize(
    ("concern", "wrote"),
    [
        ("env", {"a": {"A": "2"}}),
        ("env", {"a": {"B": "1"}}),
        ("env", {"b": {"A": "1"}}),
        ("env", {"a": "A"}),
        ("env", []),
        ("schedulerName", "other"),
        ("nodeSelector", {"team": "b"}),
        ("nodeSelector", {"team": "a", "zone": "b"}),
        ("nodeSelector", {"team": ["a"]}),
        ("nodeSelector", {}),
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


def test_what_a_record_says_is_looked_up_in_a_pod_that_is_read_once() -> None:
    one, many = (calls_of(partial(record.held, Draft(full()), changes_of(number))) for number in (1, 50))

    # All tolerations and variables are read once, 50 terms, too.
    assert many < one * 1.5


def test_a_record_of_more_than_podberth_writes_is_not_read() -> None:
    wrote = {"p": {"tolerations": [{"key": "k"}] * RECORD_CHANGES.most}}
    assert record.find(with_record(POD, wrote), "default", OFFLINE).record == wrote
    wrote["p"]["tolerations"].append({"key": "k"})
    assert record.find(with_record(POD, wrote), "default", OFFLINE).record == {}


def test_what_a_record_claims_is_shown_to_people_whoever_wrote_it() -> None:
    wrote: Record = {"p": {"schedulerName": "bins"}}
    assert record.claimed(with_record(POD, wrote)) == wrote
    assert record.claimed(with_annotation(POD, '{"p":{"schedulerName":"bins"}}')) == wrote
    assert [record.claimed(each) for each in (POD, with_annotation(POD, "no JSON"))] == [{}, {}]


def full() -> dict[str, Any]:
    expression = {"key": "zone", "operator": "In", "values": ["a"]}
    terms = [{"matchExpressions": [expression, {"key": f"k{at}", "operator": "Exists"}]} for at in range(200)]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    return pod(
        container("a", env=[{"name": "A", "value": "1"}] * 9000),
        tolerations=[{"key": f"k{number}"} for number in range(5000)],
        affinity={"nodeAffinity": required},
    )


def changes_of(number: int) -> Record:
    wrote = {
        "tolerations": [{"key": "k1"}],
        "env": {"a": {"A": "1"}},
        "jsonPatch": [{"op": "add", "path": "/spec/tolerations/-", "value": {"key": "k2"}}],
    }
    return {f"p{at}": wrote for at in range(number)}
