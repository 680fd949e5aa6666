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


def test_a_class_that_provides_nothing_is_not_blamed_for_a_volume() -> None:
    asked = pod(volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}])
    read = {
        CLAIM: {"spec": {"storageClassName": "disks"}, "status": {"phase": "Pending"}},
        Ref("storage.k8s.io", ("v1",), "storageclasses", name="disks"): {"provisioner": "kubernetes.io/no-provisioner"},
    }
    message = f"{NO_NODE}pod has unbound immediate PersistentVolumeClaims."
    found = why(waiting(asked, message), node("a"), read=read).diagnosis
    assert found.title == (
        "PersistentVolumeClaim c is not bound: no PersistentVolume of class disks fits it, and StorageClass disks "
        "provides none"
    )
    assert found.do[0] == "create a PersistentVolume of class disks that fits it"


def test_nobody_is_advised_to_make_the_claim_of_an_ephemeral_volume() -> None:
    message = f'{NO_NODE}waiting for ephemeral volume controller to create the persistentvolumeclaim "pod-scratch".'
    asked = pod(volumes=[{"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}}])
    found = why(waiting(asked, message), node("a")).diagnosis
    assert found.title == "PersistentVolumeClaim pod-scratch of its ephemeral volume scratch is not made yet"
    assert not any(each.startswith("create ") for each in found.do)
