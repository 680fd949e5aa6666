"""applyConfiguration and jsonPatch write what they say, but for what no policy may write."""

from typing import Any

import pytest

from builders import container, pod
from podberth.errors import EvaluationError
from podberth.kube.patch import Draft
from podberth.kube.schema import PodSchema
from podberth.mutation.change import Change
from podberth.mutation.concerns import apply_configuration, json_patch

SCHEMA = PodSchema.packaged()
HOST = {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": ["n"]}]}
NAME = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"]}]}
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def patch(document: dict[str, Any], *operations: dict[str, Any]) -> tuple[Change | None, dict[str, Any]]:
    draft = Draft(document)
    change = json_patch.apply(draft, list(operations), SCHEMA)
    draft.patch()
    return change, draft.document


def configure(document: dict[str, Any], value: object) -> tuple[Change | None, dict[str, Any]]:
    draft = Draft(document)
    change = apply_configuration.apply(draft, value, SCHEMA)
    draft.patch()
    return change, draft.document


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("/apiVersion", "v2"),
        ("/kind", "Job"),
        ("/status", {}),
        ("/metadata/name", "other"),
        ("/metadata/generateName", "other-"),
        ("/metadata/namespace", "other"),
        ("/metadata/uid", "1"),
        ("/metadata/annotations", {"podberth.io/applied": "{}"}),
        ("/spec/nodeName", "n"),
        ("/spec/nodeSelector", {"kubernetes.io/hostname": "n"}),
        ("/spec/ephemeralContainers", [{"name": "e"}]),
    ],
)
def test_some_fields_are_nobodys(path: str, value: Any) -> None:
    with pytest.raises(EvaluationError, match=r"jsonPatch: may not write [\w.]+(/applied|/hostname)?; no policy may"):
        patch(pod(), {"op": "add", "path": path, "value": value})


def test_an_apply_configuration_may_not_write_them_either() -> None:
    with pytest.raises(EvaluationError, match=r"applyConfiguration: may not write spec.nodeName"):
        configure(pod(), {"spec": {"nodeName": "n"}})


@pytest.mark.parametrize("term", [HOST, NAME])
def test_node_affinity_may_not_name_a_host(term: dict[str, Any]) -> None:
    value = {"nodeAffinity": {PREFERRED: [{"weight": 1, "preference": term}]}}
    with pytest.raises(EvaluationError, match="may not name a host"):
        patch(pod(), {"op": "add", "path": "/spec/affinity", "value": value})


def test_a_host_that_the_user_named_stays() -> None:
    document = pod(affinity={"nodeAffinity": {PREFERRED: [{"weight": 1, "preference": HOST}]}})

    assert patch(document, {"op": "add", "path": "/spec/hostname", "value": "h"})[0] is not None


@pytest.mark.parametrize(
    ("operation", "message"),
    [
        ({"op": "put", "path": "/a"}, r"jsonPatch\[0\].op: got 'put', want one of add, remove"),
        ({"op": "add", "path": "a", "value": 1}, r"jsonPatch\[0\].path: got 'a', want a JSON Pointer"),
        ({"op": "move", "path": "/spec/hostname"}, r"jsonPatch\[0\].from: got null"),
        ({"op": "add", "path": "/spec/hostname", "value": 1}, r"jsonPatch\[0\] add /spec/hostname: value: got 1, want"),
        ({"op": "add", "path": "/spec/hostnam", "value": "h"}, "unknown field 'hostnam'; did you mean hostname"),
        ({"op": "add", "path": "/spec/containers/0/env", "value": [{"nam": "A"}]}, "unknown field 'nam'"),
        ({"op": "remove", "path": "/spec/hostname"}, "there is no 'hostname'"),
        ({"op": "replace", "path": "/spec", "value": None}, "jsonPatch: may not take spec away"),
        ({"op": "add", "path": "/spec/hostname", "value": "h", "form": "/a"}, "unknown key 'form'"),
    ],
)
def test_an_operation_that_cannot_be_is_an_error(operation: dict[str, Any], message: str) -> None:
    with pytest.raises(EvaluationError, match=message):
        patch(pod(), operation)


def test_a_test_that_fails_skips_all() -> None:
    add = {"op": "add", "path": "/spec/hostname", "value": "h"}
    change, document = patch(pod(), add, {"op": "test", "path": "/spec/hostname", "value": "other"})

    assert change is None
    assert document == pod()


def test_a_change_is_recorded_as_operations() -> None:
    document = pod(container("a", env=[{"name": "X"}]), dnsPolicy="Default", hostname="h")
    change, result = patch(
        document,
        {"op": "add", "path": "/spec/containers/0/env/-", "value": {"name": "A", "value": "1"}},
        {"op": "replace", "path": "/spec/dnsPolicy", "value": "None"},
        {"op": "remove", "path": "/spec/hostname"},
        {"op": "add", "path": "/metadata/annotations", "value": {"long": "x" * 300}},
    )

    assert change is not None
    assert change.wrote == [
        {"op": "add", "path": "/metadata/annotations"},
        {"op": "add", "path": "/spec/containers/0/env/-", "value": {"name": "A", "value": "1"}},
        {"op": "replace", "path": "/spec/dnsPolicy", "value": "None"},
        {"op": "remove", "path": "/spec/hostname"},
    ]
    assert change.describe().startswith("writes /metadata/annotations, /spec/containers/0/env/-")
    assert result["spec"]["containers"][0]["env"][1]["name"] == "A"


def test_an_apply_configuration_merges_and_says_so_once() -> None:
    value = {"metadata": {"labels": {"a": "b", "c": None}}, "spec": {"containers": [{"name": "main", "tty": True}]}}
    change, result = configure(pod(), value)

    assert change is not None
    assert [each["path"] for each in change.wrote] == ["/metadata/labels", "/spec/containers/0/tty"]
    assert result["metadata"]["labels"] == {"a": "b"}
    assert configure(result, value)[0] is None


def test_an_apply_configuration_of_another_kind_is_an_error() -> None:
    with pytest.raises(EvaluationError, match="applyConfiguration: got a list, want a map"):
        configure(pod(), [])
    with pytest.raises(EvaluationError, match="may not write kind"):
        configure(pod(), {"kind": "Job"})
