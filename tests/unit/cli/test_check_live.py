"""The command line of check for live workloads: which flags go together, exit codes, formats."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from builders import JSON
from pages import ROOT
from podberth.cli.main import main
from snapshots import cluster, policy

SCHEMA = json.loads((ROOT / "docs" / "schema" / "check-report-v1.json").read_text(encoding="utf-8"))
FEW = policy("few", "\n  validations:\n  - {expression: gpu.count < 4, message: too many}\n  validationActions: [Warn]")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with a snapshot of two pods, and a policy."""
    (tmp_path / "policies").mkdir()
    (tmp_path / "policies" / "few.yaml").write_text(FEW, encoding="utf-8")
    write(tmp_path / "live.json", pod("one", 1), pod("eight", 8))
    return tmp_path


def pod(name: str, gpus: int) -> dict[str, Any]:
    limits = {"nvidia.com/gpu": str(gpus)}
    spec = {"nodeName": "n", "containers": [{"name": "c", "image": "i", "resources": {"limits": limits}}]}
    metadata = {"name": name, "namespace": "a", "uid": name}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": {"phase": "Running"}}


def write(file: Path, *items: dict[str, Any]) -> None:
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}), encoding="utf-8")


def run(place: Path, *arguments: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, JSON, str]:
    """Check the snapshot with JSON on stdout; return exit code, report and talk."""
    flags = ["--against", str(place / "live.json"), "--policies", str(place / "policies"), "-o", "json"]
    code = main(["check", *flags, *arguments])
    captured = capsys.readouterr()
    return code, json.loads(captured.out or "{}"), captured.err


def test_exit_codes_are_those_of_manifests(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, report, talk = run(place, capsys=capsys)
    assert (code, report["live"]["workloads"], report["live"]["warned"]) == (0, 2, 1)
    assert "no node is known" in talk
    assert run(place, "--fail-on", "warn", capsys=capsys)[0] == 1
    code, report, talk = run(place, "--as", "deny", capsys=capsys)
    assert (code, report["live"]["denied"]) == (1, 1)
    assert "checked as if they denied: few (Warn)" in talk


def test_the_json_keeps_to_its_schema(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, report, _ = run(place, capsys=capsys)
    jsonschema.validate(report, SCHEMA)
    assert {each["line"] for each in report["results"]} == {0}


def test_what_the_snapshot_says_about_nodes_counts(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(place / "live.json", pod("one", 1), *cluster(hgx_h100_8=1))
    code = main(["check", "--against", str(place / "live.json"), "-o", "json"])
    captured = capsys.readouterr()
    live = json.loads(captured.out)["live"]
    assert (code, live["changed"]) == (0, 1)
    assert "no node is known" not in captured.err


def test_several_snapshots_are_one_cluster(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(place / "more.json", pod("more", 1), pod("one", 1))
    _, report, _ = run(place, "--against", str(place / "more.json"), capsys=capsys)
    assert report["live"]["workloads"] == 3


@pytest.mark.parametrize("form", ["text", "junit", "sarif", "github", "gitlab"])
def test_every_format_but_patched_manifests_is_written(
    form: str, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    flags = ["--against", str(place / "live.json"), "--policies", str(place / "policies"), "-o", form]
    assert main(["check", *flags, "--fail-on", "warn"]) == 1
    assert "too many" in capsys.readouterr().out


def test_a_document_that_cannot_be_read_is_2_and_the_rest_is_judged(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (place / "live.json").write_text(json.dumps(pod("one", 1)) + "\n---\na: [", encoding="utf-8")
    code, report, _ = run(place, capsys=capsys)
    assert (code, report["live"]["workloads"], report["summary"]["error"]) == (2, 1, 1)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "got nothing to check"),
        (["a.yaml", "--cluster"], "got PATH and --cluster"),
        (["a.yaml", "--context", "c"], "got --context without --cluster"),
        (["a.yaml", "--report"], "got --report without --cluster"),
        (["a.yaml", "--policies", "cluster"], "got --policies cluster without --cluster"),
        (["a.yaml", "--policies", "a", "--policies", "a"], "--policies: got a and a, want each once"),
        (["--cluster", "-A", "--namespace", "a"], "got -A and --namespace a"),
        (["--cluster", "--report", "--as", "deny"], "got --report and --as"),
        (["--against", "live.json", "-o", "yaml"], "-o: got yaml for live workloads"),
        (["--against", "live.json", "--jobs", "2"], "--jobs: got 2 for live workloads"),
        (["--against", "@/empty.yaml"], "got no object"),
    ],
)
def test_flags_that_do_not_go_together_are_2(
    arguments: list[str], said: str, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (place / "empty.yaml").write_text("# nothing\n", encoding="utf-8")
    assert main(["check", *(each.replace("@", str(place)) for each in arguments)]) == 2
    assert said in capsys.readouterr().err


def test_the_cluster_is_found_as_kubectl_finds_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert refusal(capsys).startswith("podberth: kubeconfig: got neither $KUBECONFIG nor ~/.kube/config")
    (tmp_path / ".kube").mkdir()
    (tmp_path / ".kube" / "config").write_text("{", encoding="utf-8")
    assert f"kubeconfig: {tmp_path}/.kube/config: cannot be used" in refusal(capsys)
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.96.0.1")
    assert f"kubeconfig: {tmp_path}/.kube/config: cannot be used" in refusal(capsys)
    monkeypatch.setenv("KUBECONFIG", f"{tmp_path}/a")
    assert f"KUBECONFIG: {tmp_path}/a: cannot be used" in refusal(capsys)
    for name in "ab":
        (tmp_path / name).write_text("{", encoding="utf-8")
    monkeypatch.setenv("KUBECONFIG", f"{tmp_path}/a:{tmp_path}/b")
    assert f"KUBECONFIG: {tmp_path}/a:{tmp_path}/b: cannot be used" in refusal(capsys)
    assert f"--kubeconfig: {tmp_path}/b: cannot be used" in refusal(capsys, "--kubeconfig", f"{tmp_path}/b")


def refusal(capsys: pytest.CaptureFixture[str], *flags: str) -> str:
    """Return why a check of a cluster does not even ask it."""
    assert main(["check", "--cluster", *flags]) == 2
    return capsys.readouterr().err


def test_a_context_wants_a_kubeconfig(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert "--context: got 'c' and no kubeconfig" in refusal(capsys, "--context", "c")
