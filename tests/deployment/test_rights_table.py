"""The table of rights is of every rule of every role that is installed, and of no other."""

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from controlplane.cluster import ControlPlane
from pages import ROOT
from podberth.kube.documents import load_documents

from .charted import Helm
from .rendering import MANIFESTS, documents
from .rights_table import ROWS

READS = {"get", "list", "watch"}
ROLES = {"Role", "ClusterRole"}
GUARDS = {"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"}
# The status of every policy is podberth's to write; the Secret and the floor's ConfigMap are confined by their names;
# `exempt` is bound to nobody, and neither is the writing of exceptions.
WITHOUT_GUARD = {
    "configmaps/podberth-floor",
    "gpupolicies/status.podberth.io",
    "secrets/podberth-ca",
    "namespaces",
    "namespacedgpupolicies/status.podberth.io",
    "gpupolicyexceptions.podberth.io",
    "namespacedgpupolicies.podberth.io",
}
_UNBOUND = {"podberth-viewer", "podberth-exempt", "podberth-exceptions", "podberth-namespaced-policies"}
EVERYTHING = (
    "certificates=self-signed",
    "agent.labels=own",
    "agent.metrics=true",
    "monitoring.enabled=true",
    "controller.enabled=true",
    "audit.enabled=true",
    "namespaceParams=true",
    "floor=true",
)


@cache
def shipped() -> tuple[dict[str, Any], ...]:
    """Return every object of every file that is installed; the chart has those of manifests/ besides its templates."""
    files = [each for folder in (MANIFESTS, ROOT / "certs") for each in sorted(folder.rglob("*.yaml"))]
    return tuple(each for file in files if "chart" not in file.parts for each in _objects(file))


def _objects(file: Path) -> Iterator[dict[str, Any]]:
    for each in load_documents(file.read_text(), str(file))[0]:
        yield each.document


def rights(objects: tuple[dict[str, Any], ...]) -> set[tuple[str, str, str, str]]:
    """Return what the roles among objects say, as the rows of the table do."""
    return {
        (each["metadata"]["name"], each["metadata"].get("namespace", ""), resource, verb)
        for each in objects
        if each["kind"] in ROLES
        for rule in each["rules"]
        for resource in _resources(rule)
        for verb in rule["verbs"]
    }


def _resources(rule: dict[str, Any]) -> Iterator[str]:
    for group in rule["apiGroups"]:
        for resource in rule["resources"]:
            for name in rule.get("resourceNames", ("",)):
                yield resource + (f".{group}" if group else "") + (f"/{name}" if name else "")


def table() -> set[tuple[str, str, str, str]]:
    return set().union(*(row.rights for row in ROWS))


def test_every_rule_is_in_the_table_and_nothing_else_is() -> None:
    found = rights(tuple(each for each in shipped() if "rules" in each))
    assert (found - table(), table() - found) == (set(), set())
    assert len(table()) == sum(len(row.rights) for row in ROWS), "a right is in two rows"


def test_no_rule_is_of_no_resource() -> None:
    """What is granted by path, or is put together by labels, would be in no row."""
    for each in shipped():
        if each.get("kind") in ROLES:
            assert "aggregationRule" not in each
            assert all(rule.keys() <= {"apiGroups", "resources", "resourceNames", "verbs"} for rule in each["rules"])


def test_the_chart_grants_nothing_else(chart: Helm) -> None:
    rendered = rights(tuple(each for each in chart.render(*EVERYTHING) if each["kind"] in ROLES))
    assert rendered <= table()
    assert {right[0] for right in rendered} == {row.role for row in ROWS}


def test_whatever_is_bound_is_in_the_table() -> None:
    bound = {each["roleRef"]["name"] for each in shipped() if "roleRef" in each}
    assert bound == {row.role for row in ROWS} - _UNBOUND


def test_every_write_that_rbac_cannot_confine_has_a_guard_that_is_installed_and_proved() -> None:
    guards = {(each["kind"], each["metadata"]["name"]) for each in shipped() if each.get("kind") in GUARDS}
    for row in ROWS:
        writes = set(row.verbs.split()) - READS
        assert row.why
        assert row.thief
        assert row.guard or not writes or set(row.resources.split()) <= WITHOUT_GUARD, row
        if row.guard:
            assert {(kind, row.guard) for kind in GUARDS} <= guards, row
        assert row.proof
        assert all((ROOT / each.partition("::")[0]).is_file() for each in row.proof.split()), row


def test_every_guard_denies(control_plane: ControlPlane) -> None:
    """One that only warns, or is let go by where it fails, guards nothing."""
    objects = [*shipped(), *documents(control_plane.kubectl("kustomize", str(MANIFESTS / "base")).stdout)]
    for each in objects:
        if str(each.get("metadata", {}).get("name")).startswith("podberth-floor"):
            continue  # they are about the pods of users, and guard nothing
        if each.get("kind") == "ValidatingAdmissionPolicyBinding":
            assert each["spec"]["validationActions"] == ["Deny"]
        if each.get("kind") == "ValidatingAdmissionPolicy":
            assert each["spec"]["failurePolicy"] == "Fail"


def test_only_the_component_with_the_shared_authority_may_read_or_write_a_secret() -> None:
    """docs/security.md, "Rights"."""
    assert {row.role for row in ROWS if "secrets" in row.resources} == {"podberth-shared-ca"}
