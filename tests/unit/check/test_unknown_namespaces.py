"""A Namespace that no given file has is named if a policy may have judged by its labels, and only then."""

import json
from pathlib import Path
from typing import Any

import pytest

from natives import binding, rule
from natives import policy as native_policy
from podberth.cli.main import main
from snapshots import policy

_DENIES = """
  validations:
  - {{expression: "{expression}", message: too many}}
  validationActions: [Deny]
"""
_BY_TIER = "\n  matchConstraints:\n    namespaceSelector: {matchLabels: {tier: gold}}"
_BY_NAME = "\n  matchConstraints:\n    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: shop}}"
_EXEMPT = "{key: podberth.io/exempt, operator: DoesNotExist}"
_NOT_EXEMPT = f"\n  matchConstraints:\n    namespaceSelector: {{matchExpressions: [{_EXEMPT}]}}"
_NAMESPACE = "---\napiVersion: v1\nkind: Namespace\nmetadata: {name: shop, labels: {team: a}}\n"


def _pod(namespace: str, gpus: int) -> str:
    limits = f"resources: {{limits: {{nvidia.com/gpu: {gpus}}}}}"
    metadata = f"metadata: {{name: a, namespace: {namespace}}}"
    return f"---\napiVersion: v1\nkind: Pod\n{metadata}\nspec: {{containers: [{{name: c, {limits}}}]}}\n"


def _denying(name: str, constraints: str = "", expression: str = "gpu.count < 9") -> str:
    return policy(name, constraints + _DENIES.format(expression=expression))


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "policies").mkdir()
    return tmp_path


def _run(
    command: str, place: Path, policies: list[str], manifest: str, capsys: pytest.CaptureFixture[str]
) -> tuple[dict[str, Any], list[str]]:
    """Return the JSON, and the lines about Namespaces."""
    for number, each in enumerate(policies):
        (place / "policies" / f"{number}.yaml").write_text(each, encoding="utf-8")
    (place / "pods.yaml").write_text(manifest, encoding="utf-8")
    main([command, "-o", "json", "--policies", f"{place}/policies", f"{place}/pods.yaml"])
    printed = capsys.readouterr()
    return json.loads(printed.out), [line for line in printed.err.splitlines() if "nothing of namespace" in line]


def test_a_policy_with_a_selector_names_the_namespace(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    policies = [_denying("tiers", _BY_TIER), _denying("plain")]
    report, lines = _run("check", place, policies, _pod("shop", 1) + _pod("lab", 1) + _pod("shop", 2), capsys)
    assert report["summary"]["unknownNamespaces"] == {"lab": ["tiers"], "shop": ["tiers"]}
    assert lines == [
        f"podberth: nothing of namespace {name} is known: tiers judges as if it had no label and no annotation; "
        "add the Namespace to the files, or to those of --topology"
        for name in ("lab", "shop")
    ]
    explained, lines = _run("explain", place, policies, _pod("shop", 1), capsys)
    assert explained["results"][0]["unknownNamespace"] == ["tiers"]
    assert len(lines) == 1


def test_an_expression_that_reads_labels_names_it(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    reads = _denying("reads", expression="namespaceObject.metadata.?labels[?'tier'].orValue('') == '' || gpu.count < 9")
    report, _ = _run("check", place, [reads], _pod("shop", 1), capsys)
    assert report["summary"]["unknownNamespaces"] == {"shop": ["reads"]}
    assert report["results"][0]["verdict"] == "unchanged"


def test_nothing_is_said_where_the_labels_do_not_matter(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    by_tier, name = _denying("tiers", _BY_TIER), "namespaceObject.metadata.name != 'x'"
    cases = {
        "no policy reads labels": ([_denying("plain")], _pod("shop", 1)),
        "the name is known": ([_denying("name", _BY_NAME), _denying("reads", expression=name)], _pod("shop", 1)),
        "no Namespace is exempt until it says so": ([_denying("all", _NOT_EXEMPT)], _pod("shop", 1)),
        "the Namespace is given": ([by_tier], _pod("shop", 1) + _NAMESPACE),
        "the pod has no GPU": ([by_tier], _pod("shop", 0)),
        "another pod is selected": (
            [_denying("tiers", f"{_BY_TIER}\n    objectSelector: {{matchLabels: {{a: b}}}}")],
            _pod("shop", 1),
        ),
        "the object has no pods": ([by_tier], "apiVersion: v1\nkind: Service\nmetadata: {name: a, namespace: shop}\n"),
    }
    for case, (policies, manifest) in cases.items():
        for old in (place / "policies").iterdir():
            old.unlink()
        report, lines = _run("check", place, policies, manifest, capsys)
        assert (report["summary"]["unknownNamespaces"], lines) == ({}, []), case


def test_native_policies_and_bindings_count(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    selector = {"namespaceSelector": {"matchLabels": {"tier": "gold"}}}
    services = {"resourceRules": [rule(apiGroups=[""], resources=["services"])]}
    natives = [
        native_policy("true", matchConstraints=services),
        binding(matchResources=selector),
        native_policy("true", name="elsewhere", matchConstraints={"resourceRules": [rule(resources=["pods"])]}),
        binding(name="elsewhere", policyName="elsewhere", matchResources=selector),
    ]
    service = "apiVersion: v1\nkind: Service\nmetadata: {name: a, namespace: shop}\n"
    cluster_role = "---\napiVersion: v1\nkind: PersistentVolume\nmetadata: {name: a}\n"
    report, _ = _run("check", place, list(map(json.dumps, natives)), service + cluster_role, capsys)
    assert report["summary"]["unknownNamespaces"] == {"shop": ["ValidatingAdmissionPolicy p"]}


def test_live_workloads_name_it_too(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (place / "policies" / "tiers.yaml").write_text(_denying("tiers", _BY_TIER), encoding="utf-8")
    (place / "live.yaml").write_text(_pod("shop", 1), encoding="utf-8")
    main(["check", "--against", f"{place}/live.yaml", "--policies", f"{place}/policies"])
    assert "nothing of namespace shop is known: tiers judges as if it had no label" in capsys.readouterr().err
