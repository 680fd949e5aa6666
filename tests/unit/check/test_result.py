"""The report as JSON: the shape that CI reads."""

import subprocess
import sys
from pathlib import Path

from podberth.check.result import DocumentChange, Finding, Report, Result

ROOT = Path(__file__).parents[3]

_DENIED = Result(
    file="a.yaml",
    line=1,
    api_version="v1",
    kind="Pod",
    namespace="default",
    name="a",
    path="",
    verdict="denied",
    denials=(Finding(policy="p", message="no", field="spec.containers[0]", line=7),),
)
_MUTATED = Result(
    file="a.yaml",
    line=20,
    api_version="batch/v1",
    kind="Job",
    namespace="default",
    name="b",
    path="spec.template",
    verdict="mutated",
    warnings=(Finding(policy="q", message="hm", field="", line=20),),
    changes=(
        DocumentChange(policy="q", op="add", path="/spec/template/metadata/labels/a", value="1", reason="so"),
        DocumentChange(policy="q", op="remove", path="/spec/template/spec/priority", value=None, reason="so"),
    ),
)
_SKIPPED = Result(
    file="b.yaml", line=1, api_version="v1", kind="Service", namespace="default", name="s", path="", verdict="skipped"
)


def test_the_summary_counts_verdicts_and_names_the_kinds_that_were_skipped() -> None:
    summary = Report(results=(_DENIED, _MUTATED, _SKIPPED, _SKIPPED), files=2, documents=4).as_json()["summary"]

    assert summary == {
        "files": 2,
        "documents": 4,
        "denied": 1,
        "error": 0,
        "mutated": 1,
        "unchanged": 0,
        "skipped": 2,
        "warnings": 1,
        "skippedKinds": {"v1 Service": 2},
        "unknownNamespaces": {},
        "fitsNoNode": [],
    }


def test_a_result_has_the_published_names() -> None:
    document = Report(results=(_DENIED, _MUTATED), files=1, documents=2).as_json()

    assert document["version"] == 1
    assert list(document["results"][0]) == [
        "file",
        "line",
        "apiVersion",
        "kind",
        "namespace",
        "name",
        "path",
        "verdict",
        "denials",
        "warnings",
        "errors",
        "notes",
        "changes",
    ]
    assert document["results"][0]["denials"] == [
        {"policy": "p", "message": "no", "field": "spec.containers[0]", "line": 7}
    ]


def test_a_removal_has_no_value_and_an_addition_has_one() -> None:
    changes = Report(results=(_MUTATED,), files=1, documents=1).as_json()["results"][0]["changes"]

    assert changes == [
        {"policy": "q", "op": "add", "path": "/spec/template/metadata/labels/a", "value": "1", "reason": "so"},
        {"policy": "q", "op": "remove", "path": "/spec/template/spec/priority", "reason": "so"},
    ]


def test_the_report_and_its_formats_do_without_rich() -> None:
    imports = "from podberth.check.report import github, junit, patched, sarif, text"
    program = f"import sys\n{imports}\nassert 'rich' not in sys.modules"
    subprocess.run([sys.executable, "-c", program], env={"PYTHONPATH": str(ROOT / "webhook")}, check=True, timeout=180)
