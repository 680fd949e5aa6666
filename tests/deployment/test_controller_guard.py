"""What the controller may write, by a token of its ServiceAccount and more rights than it is ever given."""

import ast
import re
from collections.abc import Iterator
from contextlib import closing
from http import HTTPStatus

import pytest

from controlplane.api import Answer, Api
from controlplane.client import of_files
from controlplane.cluster import ControlPlane
from controlplane.wait import wait_for
from podberth.kube.documents import load_documents
from podberth.wellknown import EXEMPT_NAMESPACES, NAMESPACE

from .rendering import MANIFESTS, Document

SECONDS = 60.0
MERGE = "application/merge-patch+json"
SPACE, ACCOUNT = "guards-controller", "podberth-controller"
OURS = {"app.kubernetes.io/managed-by": "podberth"}
OTHERS: tuple[Document, ...] = ({}, {"app.kubernetes.io/managed-by": "somebody"}, {"managed-by": "podberth"})
NOT_LABELLED = "may make and change what is labelled app.kubernetes.io/managed-by: podberth, and nothing else"
NEVER_SENT = "may make and change nothing in a namespace whose pods are never sent to podberth"
GROUPS = ("scheduling.sigs.k8s.io", "scheduling.x-k8s.io")


def crd(group: str) -> Document:
    """Return a definition of PodGroups that takes whatever comes."""
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1alpha1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"plural": "podgroups", "singular": "podgroup", "kind": "PodGroup", "listKind": "PodGroupList"}
    approved = {"api-approved.kubernetes.io": "https://github.com/kubernetes-sigs/scheduler-plugins/pull/50"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"podgroups.{group}", "annotations": approved},
        "spec": {"group": group, "scope": "Namespaced", "names": names, "versions": [version]},
    }


def written(kind: str, name: str, labels: Document) -> tuple[str, Document]:
    """Return a resource below a namespace, with the API's path, and an object of it; `kind` is its API group."""
    if kind == "resource.k8s.io":
        request = {"name": "a", "exactly": {"deviceClassName": "a"}}
        document = {"kind": "ResourceClaimTemplate", "spec": {"spec": {"devices": {"requests": [request]}}}}
        version, plural = "resource.k8s.io/v1", "resourceclaimtemplates"
    else:
        document, version, plural = {"kind": "PodGroup"}, f"{kind}/v1alpha1", "podgroups"
    metadata = {"name": name, "labels": labels}
    return f"/apis/{version}/namespaces/{{}}/{plural}", {"apiVersion": version, "metadata": metadata, **document}


def create(api: Api, kind: str, labels: Document, namespace: str = SPACE) -> Answer:
    path, document = written(kind, "new", labels)
    return api.ask("POST", f"{path.format(namespace)}?dryRun=All", document)


@pytest.fixture(scope="module")
def controller(installed: ControlPlane) -> Iterator[Api]:
    """Yield the controller's own way, with its own rights and its guard."""
    installed.add_namespace(SPACE)
    for group in GROUPS:
        installed.apply(crd(group))
    installed.await_crds()
    folder = MANIFESTS / "components" / "controller"
    installed.kubectl("apply", *of_files(folder / "rbac.yaml", folder / "guard.yaml"))
    with closing(Api(installed.url, installed.create_token(NAMESPACE, ACCOUNT), installed.ca_file)) as api:
        wait_for(
            lambda: all(_guarded(api, kind) for kind in (*GROUPS, "resource.k8s.io")),
            timeout_seconds=SECONDS,
            what="the guard to be asked",
        )
        yield api


def _guarded(api: Api, kind: str) -> bool:
    return "may make and change" in create(api, kind, {}).document.get("message", "")


@pytest.fixture(params=[*GROUPS, "resource.k8s.io"])
def kind(request: pytest.FixtureRequest) -> str:
    """Yield the API groups of what it writes."""
    return str(request.param)


def test_it_makes_what_carries_its_label_and_nothing_else(installed: ControlPlane, controller: Api, kind: str) -> None:
    answer = create(controller, kind, OURS)
    assert answer.status == HTTPStatus.CREATED, answer.document
    for labels in OTHERS:
        _assert_refused(create(controller, kind, labels), NOT_LABELLED)
        allowed = create(installed.api, kind, labels)  # it is the controller that may not
        assert allowed.status == HTTPStatus.CREATED, allowed.document


@pytest.mark.parametrize("namespace", ["kube-system", "kube-public", NAMESPACE])
def test_it_makes_nothing_where_podberth_does_nothing(
    installed: ControlPlane, controller: Api, kind: str, namespace: str
) -> None:
    _assert_refused(create(controller, kind, OURS, namespace), NEVER_SENT)
    assert create(installed.api, kind, OURS, namespace).status == HTTPStatus.CREATED


def test_it_changes_its_own_and_nobody_elses(installed: ControlPlane, controller: Api, kind: str) -> None:
    for name, labels in (("ours", OURS), ("others", OTHERS[1])):
        path, document = written(kind, name, labels)
        assert installed.api.ask("POST", path.format(SPACE), document).status == HTTPStatus.CREATED
    place = written(kind, "", {})[0].format(SPACE)
    change: Document = {"metadata": {"annotations": {"a": "b"}}}
    taken, dropped = ({"metadata": {"labels": labels}} for labels in (OURS, dict.fromkeys(OURS)))
    assert controller.ask("PATCH", f"{place}/ours", change, MERGE).status == HTTPStatus.OK
    _assert_refused(controller.ask("PATCH", f"{place}/ours", dropped, MERGE), NOT_LABELLED)
    _assert_refused(controller.ask("PATCH", f"{place}/others", change, MERGE), NOT_LABELLED)
    _assert_refused(controller.ask("PATCH", f"{place}/others", taken, MERGE), NOT_LABELLED)  # not by taking it over
    assert installed.api.ask("PATCH", f"{place}/others", taken, MERGE).status == HTTPStatus.OK


def test_it_keeps_no_namespace_by_a_finalizer(controller: Api, kind: str) -> None:
    path, document = written(kind, "new", OURS)
    document["metadata"]["finalizers"] = ["example.com/never"]
    _assert_refused(controller.ask("POST", f"{path.format(SPACE)}?dryRun=All", document), "may write no finalizers")


def test_it_makes_its_own_lease_and_no_nodes_heartbeat(installed: ControlPlane, controller: Api) -> None:
    path = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases?dryRun=All"
    document = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": ACCOUNT}}

    def create_lease(api: Api, name: str) -> Answer:
        return api.ask("POST", path, {**document, "metadata": {"name": name}})

    said = "may make and change the Lease podberth-controller in podberth-system, and no other"
    wait_for(
        lambda: create_lease(controller, "gpu-0").status == HTTPStatus.FORBIDDEN,
        timeout_seconds=SECONDS,
        what="the guard to be asked",
    )
    _assert_refused(create_lease(controller, "gpu-0"), said)
    assert create_lease(installed.api, "gpu-0").status == HTTPStatus.CREATED
    answer = create_lease(controller, ACCOUNT)
    assert answer.status == HTTPStatus.CREATED, answer.document


def test_native_groups_are_guarded_and_the_places_are_those_that_are_left_out() -> None:
    """Native ones are served behind gates; tests/e2e/test_controller.py makes them with this guard in force."""
    file = MANIFESTS / "components" / "controller" / "guard.yaml"
    spec = load_documents(file.read_text(), "guard")[0][0].document["spec"]
    assert "scheduling.k8s.io" in spec["matchConstraints"]["resourceRules"][0]["apiGroups"]
    [names] = re.findall(r"in (\[[^]]*\])", spec["validations"][2]["expression"])
    assert ast.literal_eval(names) == list(EXEMPT_NAMESPACES)


def _assert_refused(answer: Answer, said: str) -> None:
    assert answer.status == HTTPStatus.FORBIDDEN, answer.document
    assert said in answer.document["message"]
