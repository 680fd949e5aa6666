"""Which reports the audit may write, by a token of its ServiceAccount and more rights than it is ever given."""

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
from podberth.check.report.policy_report import LABELS, NAME
from podberth.checking.policy_reports import DIALECTS
from podberth.wellknown import EXEMPT_NAMESPACES, NAMESPACE

from .rendering import MANIFESTS, Document
from .test_guards import grant

SECONDS = 60.0
MERGE, APPLY = "application/merge-patch+json", "application/apply-patch+yaml"
SPACE, ACCOUNT = "guards-audit", "podberth-audit"
NOT_OWN = "may make, change and delete reports named podberth with the label app.kubernetes.io/managed-by: podberth"
NO_FINALIZERS = "may write no finalizers and owners of reports"
NEVER_SENT = "may make and change nothing in a namespace whose pods are never sent to podberth"
OTHERS: tuple[tuple[str, Document], ...] = (
    ("kyverno", {}),
    ("kyverno", LABELS),
    (NAME, {}),
    (NAME, {"app.kubernetes.io/managed-by": "kyverno"}),
)
PLURALS = {version: plural for version, _, plural in DIALECTS}


def crd(version: str, kind: str, plural: str) -> Document:
    """Return a definition of reports that takes whatever comes."""
    group, _, short = version.partition("/")
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    served = {"name": short, "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"plural": plural, "singular": kind.lower(), "kind": kind, "listKind": f"{kind}List"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {"group": group, "scope": "Namespaced", "names": names, "versions": [served]},
    }


def report(version: str, name: str = NAME, labels: Document | None = None, **metadata: object) -> Document:
    kind = next(kind for each, kind, _ in DIALECTS if each == version)
    labelled = {"name": name, "labels": LABELS if labels is None else labels, **metadata}
    return {"apiVersion": version, "kind": kind, "metadata": labelled}


def path_of(version: str, namespace: str = SPACE, name: str = "", *, dry: bool = True) -> str:
    path = f"/apis/{version}/namespaces/{namespace}/{PLURALS[version]}{'/' if name else ''}{name}"
    return f"{path}?dryRun=All" if dry else path


@pytest.fixture(scope="module")
def audit(installed: ControlPlane) -> Iterator[Api]:
    """Yield the audit's own way, with its guard, and every right on reports."""
    installed.add_namespace(SPACE)
    installed.apply(*(crd(*each) for each in DIALECTS))
    installed.await_crds()
    folder = MANIFESTS / "components" / "audit"
    installed.kubectl("apply", *of_files(folder / "rbac.yaml", folder / "guard.yaml"))
    groups = [version.partition("/")[0] for version in PLURALS]
    rule = {"apiGroups": groups, "resources": sorted(PLURALS.values()), "verbs": ["*"]}
    grant(installed, "guards-audit", ACCOUNT, NAMESPACE, rule)
    with closing(Api(installed.url, installed.create_token(NAMESPACE, ACCOUNT), installed.ca_file)) as api:
        wait_for(
            lambda: all(
                NOT_OWN in api.ask("POST", path_of(each), report(each, "x")).document.get("message", "")
                for each in PLURALS
            ),
            timeout_seconds=SECONDS,
            what="the guard to be asked",
        )
        yield api
    installed.kubectl("delete", "clusterrolebinding", "guards-audit")


@pytest.fixture(params=sorted(PLURALS))
def version(request: pytest.FixtureRequest) -> str:
    """Yield the versions of reports."""
    return str(request.param)


def test_it_makes_changes_and_deletes_its_own(audit: Api, version: str) -> None:
    path = path_of(version, name=NAME, dry=False)
    for summary in ({"fail": 1}, {"fail": 2}):
        document = {**report(version), "summary": summary}
        answer = audit.ask("PATCH", f"{path}?fieldManager=podberth-check&force=true", document, APPLY)
        assert answer.status in {HTTPStatus.OK, HTTPStatus.CREATED}, answer.document
    assert audit.ask("DELETE", path).status == HTTPStatus.OK


@pytest.mark.parametrize(("name", "labels"), OTHERS)
def test_it_makes_changes_and_deletes_none_of_anybody_elses(
    installed: ControlPlane, audit: Api, version: str, name: str, labels: Document
) -> None:
    document = report(version, name, labels)
    refused(audit.ask("POST", path_of(version), document), NOT_OWN)
    assert installed.api.ask("POST", path_of(version, dry=False), document).status == HTTPStatus.CREATED
    path = path_of(version, name=name)
    refused(audit.ask("PATCH", path, {"summary": {"fail": 0}}, MERGE), NOT_OWN)
    refused(audit.ask("PATCH", path, {"metadata": {"labels": LABELS}}, MERGE), NOT_OWN)  # not by taking it over
    refused(audit.ask("PATCH", f"{path}&fieldManager=podberth-check&force=true", report(version, name), APPLY), NOT_OWN)
    refused(audit.ask("DELETE", path), NOT_OWN)
    refused(audit.ask("DELETE", path_of(version)), NOT_OWN)  # all at once
    assert installed.api.ask("DELETE", path_of(version, name=name, dry=False)).status == HTTPStatus.OK


def test_it_gives_none_of_its_own_away(installed: ControlPlane, audit: Api, version: str) -> None:
    assert installed.api.ask("POST", path_of(version, dry=False), report(version)).status == HTTPStatus.CREATED
    path = path_of(version, name=NAME)
    refused(audit.ask("PATCH", path, {"metadata": {"labels": dict.fromkeys(LABELS)}}, MERGE), NOT_OWN)
    refused(audit.ask("PATCH", path, {"metadata": {"finalizers": ["example.com/never"]}}, MERGE), NO_FINALIZERS)
    assert installed.api.ask("DELETE", path_of(version, name=NAME, dry=False)).status == HTTPStatus.OK


def test_it_keeps_no_namespace_by_a_finalizer(audit: Api, version: str) -> None:
    document = report(version, finalizers=["example.com/never"])
    refused(audit.ask("POST", path_of(version), document), NO_FINALIZERS)


@pytest.mark.parametrize("namespace", ["kube-system", NAMESPACE])
def test_it_makes_none_where_podberth_does_nothing(
    installed: ControlPlane, audit: Api, version: str, namespace: str
) -> None:
    refused(audit.ask("POST", path_of(version, namespace), report(version)), NEVER_SENT)
    assert installed.api.ask("POST", path_of(version, namespace), report(version)).status == HTTPStatus.CREATED


def test_the_places_are_those_that_are_left_out(installed: ControlPlane, audit: Api) -> None:
    assert audit is not None
    spec = installed.get("validatingadmissionpolicy", "podberth-audit")["spec"]
    [names] = re.findall(r"in (\[[^]]*\])", spec["validations"][2]["expression"])
    assert ast.literal_eval(names) == list(EXEMPT_NAMESPACES)


def refused(answer: Answer, said: str) -> None:
    assert answer.status == HTTPStatus.FORBIDDEN, answer.document
    assert said in answer.document["message"]
