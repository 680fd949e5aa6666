"""The reviews that give Events, the owner that each Event is about, and its text."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import gpu_pod, review
from podberth.admission import decide
from podberth.admission.notices import MAX_NOTE_BYTES, Notice, Regarding, is_founded, note, notices
from podberth.admission.review import AdmissionRequest, decode_review
from podberth.errors import ReviewError
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


def noted(request: AdmissionRequest, *policies: str) -> tuple[Notice, ...]:
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
def test_the_event_of_a_warning_is_about_the_pods_controller_whatever_it_is(api_version: str, kind: str) -> None:
    owner = {**JOB, "apiVersion": api_version, "kind": kind}
    other = {"apiVersion": "v1", "kind": "ConfigMap", "name": "other", "uid": "o-1"}
    [notice] = noted(asked(owned(other, owner)), WARNS)
    assert notice == Notice(
        regarding=Regarding(api_version=api_version, kind=kind, namespace="team", name="train", uid="j-1"),
        type="Warning",
        reason="PolicyWarning",
        action="Validate",
        note="podberth warns: look here",
    )


def test_an_error_that_is_let_pass_gives_an_event_too() -> None:
    [notice] = noted(asked(owned(JOB)), ERRS)
    assert (notice.reason, notice.note.partition(":")[0]) == ("PolicyError", "podberth errs")


def test_two_pods_of_one_controller_give_the_same_event() -> None:
    first, second = (noted(asked(owned(JOB), name=name), WARNS) for name in ("train-0", "train-1"))
    assert first == second != ()


@pytest.mark.parametrize(
    "fields", [{"dryRun": True}, {"operation": "UPDATE", "oldObject": owned(JOB)}], ids=["dry run", "update"]
)
def test_dry_runs_and_updates_give_no_event(fields: dict[str, Any]) -> None:
    assert noted(asked(owned(JOB), **fields), WARNS) == ()


@pytest.mark.parametrize("owners", [(), ({**JOB, "controller": False},)])
def test_a_pod_without_a_controller_gives_no_event(owners: tuple[dict[str, Any], ...]) -> None:
    assert noted(asked(owned(*owners)), WARNS) == ()


ABOUT = Regarding(api_version="batch/v1", kind="Job", namespace="team", name="train", uid="j-1")


@pytest.mark.parametrize(
    "fields",
    [
        *({field: "x" * 1000} for field in ("api_version", "kind", "namespace", "name", "uid")),
        *({field: ".."} for field in ("api_version", "kind", "namespace", "name", "uid")),
        *({field: "say it"} for field in ("api_version", "kind", "namespace", "name", "uid")),
        *({field: "a\n"} for field in ("api_version", "kind", "namespace", "name", "uid")),
        *({field: ""} for field in ("api_version", "kind", "name", "uid")),
        {"namespace": "../kube-system/secrets#"},
        {"namespace": "a.b"},
        {"api_version": "a/b/v1"},
    ],
    ids=str,
)
def test_what_no_object_can_be_called_cannot_exist(fields: dict[str, str]) -> None:
    assert not replace(ABOUT, **fields).can_exist


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"namespace": ""},
        {"api_version": "v1", "kind": "ReplicationController"},
        {"name": f"{'a' * 63}.{'b' * 63}", "uid": "8b0e8a0c-9a1d-4a3e-b5a8-0a3c2b1d4e5f"},
    ],
    ids=str,
)
def test_what_an_object_is_called_can_exist(fields: dict[str, str]) -> None:
    assert replace(ABOUT, **fields).can_exist


# ---- where anybody may have sent the review -------------------------------------------------------------------------

SAYS = policy(
    "says",
    """
  validations:
  - {expression: 'false', messageExpression: "'the pod is ' + object.metadata.labels.say", message: something}
  - {expression: 'false', messageExpression: "string([gpu.count][9])", message: own words}
  validationActions: [Warn]
""",
)
TEXT = "evil.example"


def _distrusted(pod: dict[str, Any], *policies: str) -> list[str]:
    known = snapshot(*policies)
    request = asked(pod)
    return [each.note for each in notices(request, decide.validate(request, known), known)]


def _saying(text: str) -> dict[str, Any]:
    pod = owned(JOB)
    pod["metadata"] |= {"labels": {"say": text}, "generateName": text, "annotations": {"podberth.io/gang-size": text}}
    pod["spec"]["containers"][0]["name"] = text
    return pod


def test_an_event_repeats_the_words_of_the_policys_author() -> None:
    assert _distrusted(owned(JOB), WARNS) == ["podberth warns: look here"]
    [note_] = _distrusted(
        owned(JOB), policy("p", "  validations:\n  - {expression: 1 > 2}\n  validationActions: [Warn]")
    )
    assert note_ == "podberth p: failed expression: 1 > 2"


def test_an_event_repeats_nothing_that_a_stranger_has_written() -> None:
    trusted = [each.note for each in noted(asked(_saying(TEXT)), SAYS, ERRS)]
    assert sum(TEXT in each for each in trusted) >= 2
    notes = _distrusted(_saying(TEXT), SAYS, ERRS)
    assert len(notes) >= 3
    assert not [each for each in notes if TEXT in each]
    assert f"podberth says: it warns of a pod; {LEFT_OUT}" in notes
    assert f"podberth errs: it has an error on a pod; {LEFT_OUT}" in notes


LEFT_OUT = "the part about the pod is left out, because the caller is unknown (docs/operating.md, Events)"
SAID = {f"podberth says: {each}" for each in ("something", "own words", f"it warns of a pod; {LEFT_OUT}")}


@given(st.text(max_size=30))
def test_whatever_a_stranger_writes_the_notes_are_podberths_and_the_policys(text: str) -> None:
    try:
        assert set(_distrusted(_saying(text), SAYS)) <= {*SAID, f"podberth: it warns of a pod; {LEFT_OUT}"}
    except ReviewError:
        return


def test_only_an_owner_that_is_known_gets_an_event_if_its_kind_is_followed() -> None:
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}}
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "train", "namespace": "team", "uid": "j-1"},
        "spec": {},
    }
    known = snapshot(WARNS, objects=[namespace, job])
    assert is_founded(ABOUT, known)
    for forged in ({"namespace": "kube-system"}, {"name": "other"}, {"uid": "j-2"}, {"namespace": ""}):
        assert not is_founded(replace(ABOUT, **forged), known)
    replicas = replace(ABOUT, api_version="apps/v1", kind="ReplicaSet", name="serve-1", uid="r-1")
    assert is_founded(replicas, known)
    assert not is_founded(replace(replicas, namespace="nowhere"), known)


def test_a_denied_pod_is_left_to_its_controller_to_report() -> None:
    assert noted(asked(owned(JOB)), WARNS, DENIES) == ()


def test_nothing_to_warn_of_is_nothing_to_report() -> None:
    assert noted(asked(owned(JOB))) == ()


@pytest.mark.parametrize(
    "text", ["x" * 5000, "ü" * 5000, "x" + "ü" * 5000, "\ud800" * 5000], ids=["ascii", "two bytes", "odd", "surrogates"]
)
def test_a_note_is_cut_between_characters_to_what_the_api_takes(text: str) -> None:
    cut = note(text)
    assert MAX_NOTE_BYTES - 4 <= len(cut.encode()) <= MAX_NOTE_BYTES
    assert cut.endswith("…")


def test_a_note_that_fits_is_left_as_it_is() -> None:
    assert note("ü" * 512) == "ü" * 512
