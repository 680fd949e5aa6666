"""What podberth sealed for a pod is believed as far as the pod holds it, and holding it is cheap; nothing else is."""

from collections import Counter
from typing import Any

import pytest

from builders import container, pod
from podberth.kube.budget import RECORD_CLAIMS
from podberth.kube.patch import Draft, Path
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


class Counted(Draft):
    """A draft that counts how often each path is read."""

    def __init__(self, document: dict[str, Any]) -> None:
        """Nothing has been read yet."""
        super().__init__(document)
        self.reads: Counter[Path] = Counter()

    def get(self, path: Path) -> Any:
        """Count, and read."""
        self.reads[path] += 1
        return super().get(path)


def full_of(policies: int) -> dict[str, Any]:
    document = pod(
        container("a", env=[{"name": "A", "value": "1"}] * 9000),
        tolerations=[{"key": f"k{number}"} for number in range(5000)],
    )
    claims = {"tolerations": [{"key": "k1"}], "env": {"a": {"A": "1"}}}
    return with_record(document, {f"p{number}": claims for number in range(policies)})


def test_a_record_full_of_claims_on_a_pod_full_of_what_they_claim_is_looked_through_once() -> None:
    """Looking through the pod for each of 400 claims took 3 s."""
    document = full_of(RECORD_CLAIMS.most // 2)
    draft = Counted(document)

    assert len(record.held(draft, record.find(document, "default", OFFLINE).claims)) == RECORD_CLAIMS.most // 2
    assert max(draft.reads.values()) == 1


def test_a_record_of_more_claims_than_podberth_writes_is_not_believed() -> None:
    assert record.find(full_of(RECORD_CLAIMS.most), "default", OFFLINE).claims == {}
