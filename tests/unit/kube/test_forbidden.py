"""A 403 names the right that is missing, and whose it is."""

from collections.abc import Iterator
from typing import Any

import pytest

from e2e.manifest import read
from pages import ROOT
from podberth.kube.forbidden import wanted_right

WEBHOOK, AUDIT, AGENT = "podberth-system/podberth", "podberth-system/podberth-audit", "podberth-agent/podberth-agent"


def said(user: str, what: str) -> str:
    return f'x is forbidden: User "{user}" cannot {what}'


@pytest.mark.parametrize(
    ("account", "what", "expected"),
    [
        (WEBHOOK, 'watch resource "nodes" in API group "" at the cluster scope', "watch nodes, as manifests/base/rbac"),
        (
            AUDIT,
            'list resource "jobs" in API group "batch" in the namespace "a"',
            "list jobs.batch in a, as manifests/",
        ),
        (
            AGENT,
            'patch resource "configmaps" in API group "" in the namespace "podberth-system": no binding',
            "patch configmaps in podberth-system, as manifests/base/agent.yaml does",
        ),
        (
            "podberth-system/podberth-controller",
            'list resource "nodes" in API group "" at the cluster scope',
            "list nodes, as manifests/components/floor/rbac.yaml does",
        ),
        ("team/default", 'get resource "pods/proxy" in API group "" in the namespace "b"', "get pods/proxy in b"),
    ],
)
def test_the_right_and_the_service_account_are_named(account: str, what: str, expected: str) -> None:
    user = f"system:serviceaccount:{account.replace('/', ':')}"
    assert wanted_right(said(user, what)).startswith(f"grant ServiceAccount {account}: {expected}")


def test_a_person_is_granted_by_no_manifest() -> None:
    what = 'list resource "nodes" in API group "" at the cluster scope'
    assert wanted_right(said("ann", what)) == "grant user ann: list nodes"


RIGHT = 'User "system:serviceaccount:podberth-system:podberth" cannot get resource "secrets" in API group ""'


@pytest.mark.parametrize(
    "said_by_others",
    [
        f'admission webhook "x.example" denied the request: {RIGHT}',
        f'pods "x" is forbidden: exceeded quota: {RIGHT}',
        f'pods "x" is forbidden: pods "y" is forbidden: {RIGHT}',
        RIGHT,
    ],
)
def test_what_somebody_else_quotes_advises_nobody(said_by_others: str) -> None:
    assert wanted_right(said_by_others) == ""
    assert wanted_right(f'secrets "x" is forbidden: {RIGHT}').startswith(
        "grant ServiceAccount podberth-system/podberth"
    )


def rights() -> Iterator[tuple[str, str, str, str]]:
    """Yield the verb, resource, group and account of each right that a manifest grants, where it is granted to one."""
    for file in sorted((ROOT / "manifests").glob("*/**/*.yaml")):
        documents: list[dict[str, Any]] = [each for each in read(file) if "roleRef" in each or "rules" in each]
        rules = {(each["kind"], each["metadata"]["name"]): each["rules"] for each in documents if "roleRef" not in each}
        for binding in (each for each in documents if "roleRef" in each):
            reference = binding["roleRef"]
            [subject] = binding["subjects"]
            for rule in rules.get((reference["kind"], reference["name"]), ()):
                for verb in rule["verbs"]:
                    yield verb, rule["resources"][0], rule["apiGroups"][0], f"{subject['namespace']}:{subject['name']}"


def test_the_manifest_that_is_named_grants_it() -> None:
    found = list(rights())
    assert len(found) > 30
    for verb, resource, group, account in found:
        what = f'{verb} resource "{resource}" in API group "{group}" at the cluster scope'
        named = (
            wanted_right(said(f"system:serviceaccount:{account}", what)).rpartition(", as ")[2].removesuffix(" does")
        )
        granted = [
            rule
            for each in read(ROOT / named)
            for rule in each.get("rules", ())
            if verb in rule["verbs"] and resource in rule["resources"]
        ]
        assert granted, (verb, resource, account, named)


@pytest.mark.parametrize("message", ["", "forbidden", "ValidatingAdmissionPolicy 'podberth-agent' denied request: no"])
def test_what_is_not_about_a_right_wants_none(message: str) -> None:
    assert wanted_right(message) == ""
