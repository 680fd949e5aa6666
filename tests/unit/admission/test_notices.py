"""Which reviews are told of in Events, and what an Event says of which owner."""

from typing import Any

import pytest

from builders import gpu_pod, review
from podberth.admission import decide
from podberth.admission.notices import MAX_NOTE_BYTES, Notice, Regarding, note, notices
from podberth.admission.review import AdmissionRequest, decode_review
from snapshots import policy, snapshot

JOB = {"apiVersion": "batch/v1", "kind": "Job", "name": "train", "uid": "j-1", "controller": True}
WARNS = policy("warns", "  validations:\n  - {expression: 'false', message: look here}\n  validationActions: [Warn]\n")
ERRS = policy(
    "errs",
    """
  failurePolicy: Ignore
  validations:
  - {expression: 'int(object.metadata.name) > 0', message: it is a number}
  validationActions: [Warn]
""",
)
DENIES = policy("denies", "  validations:\n  - {expression: 'false', message: not so}\n  validationActions: [Deny]\n")


def asked(pod: dict[str, Any], **fields: Any) -> AdmissionRequest:
    request: AdmissionRequest = decode_review(review(pod, namespace="team", **fields))
    return request


def owned(*owners: dict[str, Any]) -> dict[str, Any]:
    pod = gpu_pod()
    pod["metadata"]["ownerReferences"] = list(owners)
    return pod


def told(request: AdmissionRequest, *policies: str) -> tuple[Notice, ...]:
    return notices(request, decide.validate(request, snapshot(*policies)))


@pytest.mark.parametrize(
    ("api_version", "kind"),
    [
        ("batch/v1", "Job"),
        ("apps/v1", "ReplicaSet"),
        ("apps/v1", "StatefulSet"),
        ("apps/v1", "DaemonSet"),
        ("kubeflow.org/v1", "PyTorchJob"),
        ("v1", "ReplicationController"),
    ],
)
def test_a_warning_is_told_of_the_pods_controller_whatever_it_is(api_version: str, kind: str) -> None:
    owner = {**JOB, "apiVersion": api_version, "kind": kind}
    other = {"apiVersion": "v1", "kind": "ConfigMap", "name": "other", "uid": "o-1"}
    [notice] = told(asked(owned(other, owner)), WARNS)
    assert notice == Notice(
        regarding=Regarding(api_version=api_version, kind=kind, namespace="team", name="train", uid="j-1"),
        type="Warning",
        reason="PolicyWarning",
        action="Validate",
        note="podberth warns: look here",
    )


def test_an_error_that_is_let_pass_is_told_too() -> None:
    [notice] = told(asked(owned(JOB)), ERRS)
    assert (notice.reason, notice.note.partition(":")[0]) == ("PolicyError", "podberth errs")


def test_two_pods_of_one_controller_are_told_of_in_the_same_words() -> None:
    first, second = (told(asked(owned(JOB), name=name), WARNS) for name in ("train-0", "train-1"))
    assert first == second != ()


@pytest.mark.parametrize(
    "fields", [{"dryRun": True}, {"operation": "UPDATE", "oldObject": owned(JOB)}], ids=["dry run", "update"]
)
def test_dry_runs_and_updates_are_not_told(fields: dict[str, Any]) -> None:
    assert told(asked(owned(JOB), **fields), WARNS) == ()


@pytest.mark.parametrize("owners", [(), ({**JOB, "controller": False},)])
def test_a_pod_without_a_controller_is_not_told(owners: tuple[dict[str, Any], ...]) -> None:
    assert told(asked(owned(*owners)), WARNS) == ()


@pytest.mark.parametrize("field", ["apiVersion", "kind", "name", "uid"])
def test_what_no_object_can_be_called_is_not_remembered(field: str) -> None:
    assert told(asked(owned({**JOB, field: "x" * 1000})), WARNS) == ()
    assert told(asked(owned({**JOB, field: "x" * 253})), WARNS) != ()


def test_a_denied_pod_is_left_to_its_controller_to_tell() -> None:
    assert told(asked(owned(JOB)), WARNS, DENIES) == ()


def test_nothing_to_warn_of_is_nothing_to_tell() -> None:
    assert told(asked(owned(JOB))) == ()


@pytest.mark.parametrize(
    "text", ["x" * 5000, "ü" * 5000, "x" + "ü" * 5000, "\ud800" * 5000], ids=["ascii", "two bytes", "odd", "surrogates"]
)
def test_a_note_is_cut_between_characters_to_what_the_api_takes(text: str) -> None:
    cut = note(text)
    assert MAX_NOTE_BYTES - 4 <= len(cut.encode()) <= MAX_NOTE_BYTES
    assert cut.endswith("…")


def test_a_note_that_fits_is_left_as_it_is() -> None:
    assert note("ü" * 512) == "ü" * 512
