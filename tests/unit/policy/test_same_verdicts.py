"""What CI refuses before the merge, serve and /validate-policy refuse after it, and nothing else."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from broken_policies import BROKEN, CLAIMING, CONDITION, JUDGED, KIND, MUTATION, REFERENCE, RULE, VALIDATION, mutation
from builders import gpu_pod, review
from natives import binding
from natives import policy as native
from podberth.admission.policy import validate_policy
from podberth.admission.review import decode_review
from podberth.cli.main import main
from podberth.errors import PolicyError
from podberth.files.loading import FileSource
from podberth.kube.yaml_text import as_yaml
from properties import thinned
from snapshots import environment, policy

SOUND: Final[tuple[dict[str, Any], ...]] = (
    JUDGED,
    CLAIMING,
    {"disabled": True},
    {"disabled": True, **mutation(labels={"a": "gpu.knid"})},
    {"mutations": [MUTATION, MUTATION]},
    {"mutations": [MUTATION], "validations": [VALIDATION], "validationActions": ["Deny", "Audit"]},
    {"mutations": [MUTATION], "matchConditions": [CONDITION], "rollout": {"percent": 50}},
    {"auditAnnotations": [{"key": "a", "valueExpression": "'b'"}]},
    {"mutations": [MUTATION], "paramKind": KIND, "paramRef": {**REFERENCE, "parameterNotFoundAction": "Allow"}},
    {"mutations": [MUTATION], "matchConstraints": {"resourceRules": [{**RULE, "resources": ["pods", "pods/exec"]}]}},
    {"variables": [{"name": "a", "expression": "1"}], **mutation(labels={"a": "string(variables.a)"})},
    mutation(labels={"a": "params.data.a"}),
    mutation(tolerations="[{'key': 'a', 'operator': 'Exist'}]"),
)
UNCOMPILED: Final[tuple[dict[str, Any], ...]] = (
    mutation(labels={"a": "gpu.knid"}),
    mutation(labels={"a": "gpu-batch"}),
    mutation(labels={"a": "gpu.count"}),
    mutation(labels={"a": "'a' +"}),
    mutation(tolerations="topology.nodes(gpu)"),
    mutation(when="gpu.count", labels={"a": "'b'"}),
    mutation(labels={"a": "object.spec.nothing"}),
    mutation(labels={"a": "'" + "a" * 100_000 + "'"}),
    {"validations": [{"expression": "'a'.matches('(')", "message": "m"}], "validationActions": ["Warn"]},
    {"variables": [{"name": "a", "expression": "variables.b"}], **mutation(labels={"a": "variables.a"})},
    {"auditAnnotations": [{"key": "a", "valueExpression": "1"}]},
)
_KIND: Final = {"group": "podberth.io", "version": "v1alpha1", "kind": "GPUPolicy"}
_RESOURCE: Final = {"group": "podberth.io", "version": "v1alpha1", "resource": "gpupolicies"}
NAMES: Final = {"a.b-c.d": True, "A": False, "a_b": False, "a/b": False, "-a": False}


def document(spec: Mapping[str, Any], name: str = "p") -> dict[str, Any]:
    return {"apiVersion": "podberth.io/v1alpha1", "kind": "GPUPolicy", "metadata": {"name": name}, "spec": spec}


CORPUS: Final = (
    *((document(spec), True) for spec in SOUND),
    *((document(spec), False) for spec in UNCOMPILED),
    *((document(spec), False) for spec, _ in BROKEN),
    *((document({"mutations": [MUTATION]}, name), sound) for name, sound in NAMES.items()),
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a sound policy, a suite and a pod, and room for another policy."""
    (tmp_path / "policies").mkdir()
    (tmp_path / "policies" / "beside.yaml").write_text(policy("beside", "  mutations: [{labels: {a: gang.name}}]"))
    (tmp_path / "policies" / "tests.yaml").write_text(
        json.dumps({"cases": [{"name": "one", "pod": gpu_pod(), "expect": {"verdict": "admitted"}}]})
    )
    (tmp_path / "pod.json").write_text(json.dumps(gpu_pod()))
    return tmp_path


def verdicts(folder: Path, content: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> dict[str, bool]:
    """Return who accepts a policy."""
    policies = folder / "policies"
    (policies / "p.yaml").write_text(as_yaml(content), encoding="utf-8")
    main(["lint", str(policies), "-o", "json", "--level", "error"])
    lint = json.loads(capsys.readouterr().out)["findings"]
    main(["test", str(policies), "--run", "one", "-o", "json"])
    tested = json.loads(capsys.readouterr().out)["suites"]
    checked = main(["check", str(folder / "pod.json"), "--policies", str(policies)])
    capsys.readouterr()
    try:
        served = len(FileSource(policies, None).load().snapshot.policies) > 0
    except PolicyError:
        served = False
    stored = validate_policy(decode_review(review(content, kind=_KIND, resource=_RESOURCE)), environment())
    return {
        "lint": not any(each["rule"] == "invalid" for each in lint),
        "test": not any(each["findings"] for each in tested),
        "check": checked in (0, 1),
        "serve": served,
        "/validate-policy": stored.verdict == "allowed",
    }


def test_all_accept_a_folder_with_native_policies_and_serve_says_who_judges_by_them(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    documents = map(as_yaml, (native("object.metadata.name != 'x'"), binding()))
    (folder / "policies" / "native.yaml").write_text("---\n".join(documents), encoding="utf-8")

    found = verdicts(folder, document(JUDGED), capsys)
    (folder / "live.json").write_text(json.dumps({**gpu_pod(), "apiVersion": "v1", "kind": "Pod"}), encoding="utf-8")
    found["bundle"] = main(["policies", "bundle", str(folder / "policies")]) == 0
    found["check --against"] = main(
        ["check", "--against", str(folder / "live.json"), "--policies", str(folder / "policies")]
    ) in (0, 1)

    assert found == dict.fromkeys(found, True)
    assert "and with 1 ValidatingAdmissionPolicy: p" in capsys.readouterr().err
    notes = [str(each) for each in FileSource(folder / "policies", None).load().snapshot.notes]
    assert [each.partition("ValidatingAdmissionPolicy ")[2] for each in notes] == [
        "p: the API server judges by it, and podberth does not serve it; kubectl apply it"
    ]


@pytest.mark.parametrize(("content", "sound"), thinned(CORPUS), ids=lambda value: json.dumps(value)[90:150])
def test_all_accept_a_policy_or_none(
    content: dict[str, Any], sound: bool, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = verdicts(folder, content, capsys)

    assert found == dict.fromkeys(found, sound)
