"""Claims that are not bound: the words for each reason."""

from typing import Any

import pytest

from builders import pod
from podberth.why.picture import Ref
from why_pictures import NO_NODE, node, waiting, why

CLAIM = Ref("", ("v1",), "persistentvolumeclaims", "default", "c")


@pytest.mark.parametrize(
    ("spec", "phase", "why_not"),
    [
        (
            {"storageClassName": "manual"},
            "Pending",
            "no PersistentVolume of class manual fits it, and no StorageClass manual provides one",
        ),
        ({"volumeName": "x"}, "Lost", "its PersistentVolume x is gone"),
        ({"volumeName": "x", "storageClassName": "fast"}, "Lost", "its PersistentVolume x is gone"),
        ({}, "Pending", "it names no StorageClass"),
    ],
)
def test_a_claim_that_is_not_bound_says_why(spec: dict[str, Any], phase: str, why_not: str) -> None:
    asked = pod(volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}])
    message = f"{NO_NODE}pod has unbound immediate PersistentVolumeClaims."
    found = why(waiting(asked, message), node("a"), read={CLAIM: {"spec": spec, "status": {"phase": phase}}}).diagnosis
    assert found.title == f"PersistentVolumeClaim c is not bound: {why_not}"
    assert found.evidence == (f"its phase is {phase}",)
