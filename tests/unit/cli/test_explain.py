"""``podberth explain`` as a user sees it."""

import io
import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from builders import gpu_pod
from e2e.dra import allocated_claim, partitionable
from podberth.cli.explain import MOST_PODS
from podberth.cli.main import main
from snapshots import cluster, policy

EXAMPLES = Path(__file__).parents[3] / "examples"
POD = str(EXAMPLES / "cuda-pod.yaml")
# One policy compiles in a tenth of the time of the library.
ONE = ("--policies", str(EXAMPLES.parent / "policies" / "gpu-tolerations"))

MANY_KINDS = "".join(f"---\napiVersion: v1\nkind: K{at % 7}\n" for at in range(100))


@pytest.fixture
def nodes(tmp_path: Path) -> str:
    file = tmp_path / "cluster.json"
    documents = {"apiVersion": "v1", "kind": "List", "items": cluster(hgx_h100_8=1, l4_1=2)}
    file.write_text(json.dumps(documents), encoding="utf-8")
    return str(file)


def explained(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert main(["explain", *arguments, "-o", "json"]) == 0
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    return document


def test_the_text_shows_each_policy_its_values_and_where_the_pod_can_run(
    nodes: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explain", POD, "--topology", nodes]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"{POD}:5 Pod/default/cuda-vectoradd: mutated"
    assert lines[1].startswith("warns:   podberth: tolerates ")
    assert "gpu-tolerations /mutate  applies" in lines
    assert any(line.startswith("multi-gpu-nvlink /mutate  no: matchConditions") for line in lines)
    assert "      ├─ gpu.perContainer > 1 = false" in lines
    taints = "left out: 3 by taints (nvidia.com/gpu:NoSchedule, sku=gpu:NoSchedule)"
    assert lines[2:4] == [
        f"nodes before: 0 of 3; {taints}",
        "nodes after:  3 of 3 (hgx-h100-8-0, l4-1-0, l4-1-1)",
    ]


def test_brief_has_what_is_written_and_said_and_the_condition_that_is_false(
    nodes: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explain", "--brief", POD, "--policies", "shipped", "--topology", nodes]) == 0
    first, writes, _, before, _, idle, heading, *others = capsys.readouterr().out.splitlines()
    assert first == f"{POD}:5 Pod/default/cuda-vectoradd: mutated"
    said = "tolerates nvidia.com/gpu:NoSchedule, sku=gpu:NoSchedule (add /spec/tolerations/-, add /spec/tolerations/-)"
    assert writes == f"gpu-tolerations writes  {said}"
    assert before.startswith("nodes before: 0 of 3; left out")
    assert idle == "apply, and change nothing (2): vendor-names, idle-guard"
    assert heading == f"do not apply ({len(others)}):"
    assert 10 < len(others) < 30
    why = {name: " ".join(rest) for name, *rest in map(str.split, others)}
    # The part of the conjunction that is false
    assert why["multi-gpu-nvlink"] == "several-whole-gpus is false: gpu.perContainer > 1"
    assert why["gang-topology"] == "member-of-a-gang is false: gang.known"
    # The table that the condition looks units up in is left out
    assert why["requests-equal-limits"].startswith("a-request-differs is false: [{…}].exists(")


def test_brief_has_denials_and_lines_that_fit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    long = " || ".join(f"gpu.count == {number}" for number in range(50, 80))
    (tmp_path / "p.yaml").write_text(
        policy("asked", "\n  validations:\n  - {expression: gpu.count > 1, message: few}\n  validationActions: [Deny]")
        + "---\n"
        + policy(
            "scoped",
            f"\n  matchConditions:\n  - {{name: odd, expression: '{long}'}}\n"
            "  mutations:\n  - {labels: {a: \"'b'\"}}",
        ),
        encoding="utf-8",
    )
    assert main(["explain", "--brief", POD, "--policies", str(tmp_path)]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert "denied:  podberth asked: few" in lines
    assert max(map(len, lines)) == 160
    assert lines[-1].startswith("  scoped  odd is false: gpu.count == 50 || ")


def test_what_the_pods_queue_places_is_said_once_and_check_is_silent(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document = gpu_pod(1, labels={"kueue.x-k8s.io/queue-name": "q"})
    pod = tmp_path / "pod.json"
    pod.write_text(json.dumps(document), encoding="utf-8")
    (tmp_path / "policies").mkdir()
    mutations = "\n  mutations:" + "\n  - nodeSelector: {a: \"'b'\"}" * 2
    (tmp_path / "policies" / "p.yaml").write_text(policy("selects", mutations), encoding="utf-8")
    given = (str(pod), "--policies", str(tmp_path / "policies"))
    assert main(["explain", "--brief", *given]) == 0
    said = [line for line in capsys.readouterr().out.splitlines() if "kueue" in line]
    assert said == ["selects writes nothing  kueue places this pod's group"]
    left = explained(capsys, *given)["results"][0]["policies"][0]["reviews"][0]["leftOut"]
    assert {each["why"] for each in left} == {"kueue places this pod's group"}
    assert main(["check", "-o", "text", *given]) == 0
    assert "kueue" not in capsys.readouterr().out


def test_json_holds_every_value(nodes: str, capsys: pytest.CaptureFixture[str]) -> None:
    document = explained(capsys, POD, "--topology", nodes, "--policy", "gpu-tolerations")
    (result,) = document["results"]
    assert (document["version"], result["verdict"], result["nodes"]["known"]) == (1, "mutated", 3)
    (policy,) = result["policies"]
    (review,) = policy["reviews"]
    assert review["matched"]
    assert [(each["path"], each["value"]) for each in review["variables"]] == [("variables.nodes", {"nodes": 3})]
    assert review["expressions"][0]["parts"][0]["parts"][0]["parts"] == [
        {"text": "gpu.count", "asked": True, "value": 1, "parts": []}
    ]
    assert {operation["path"] for operation in review["changes"][0]["patch"]} == {"/spec/tolerations/-"}


CLAIMING = """
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: one}
spec: {spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu.nvidia.com}}]}}}
---
apiVersion: v1
kind: Pod
metadata: {name: a}
spec:
  containers: [{name: main, image: x, resources: {claims: [{name: gpu}]}}]
  resourceClaims: [{name: gpu, resourceClaimTemplateName: one}]
  tolerations: [{operator: Exists}]
"""


@pytest.fixture
def held(tmp_path: Path) -> str:
    """Return a snapshot with Pods that hold the one GPU of a node, and all eight of another."""
    pods = [gpu_pod(1, name="one", nodeName="l4-1-0"), gpu_pod(8, name="eight", nodeName="hgx-h100-8-0")]
    file = tmp_path / "held.json"
    documents = {"apiVersion": "v1", "kind": "List", "items": [*cluster(hgx_h100_8=1, l4_1=2), *pods]}
    file.write_text(json.dumps(documents), encoding="utf-8")
    return str(file)


def test_with_pods_in_the_snapshot_the_nodes_with_free_devices_are_counted(
    held: str, capsys: pytest.CaptureFixture[str]
) -> None:
    os.utime(held, (1_767_225_600, 1_767_225_600))
    assert main(["explain", POD, *ONE, "--topology", held]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    said = re.compile(
        r"free:         1 of these have 1 nvidia.com/gpu free \(l4-1-1\), 9 of 10 nvidia.com/gpu used "
        r"as of 2026-01-01 00:00 UTC, \d+ d ago; "
        "no decision or denial uses that"
    )
    lines = captured.out.splitlines()
    assert said.fullmatch(lines[lines.index("nodes after:  3 of 3 (hgx-h100-8-0, l4-1-0, l4-1-1)") + 1])
    (result,) = explained(capsys, POD, *ONE, "--topology", held)["results"]
    assert result["nodes"]["snapshotAt"] == "2026-01-01T00:00:00+00:00"
    assert result["nodes"]["after"] == {
        "fit": ["hgx-h100-8-0", "l4-1-0", "l4-1-1"],
        "preferred": [],
        "free": ["l4-1-1"],
        "use": [{"resource": "nvidia.com/gpu", "used": 9, "free": 1}],
        "excluded": [],
    }


def test_of_a_pod_with_claims_the_free_devices_of_drivers_are_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    documents = [
        *cluster(l4_1=1),
        *partitionable("l4-1-0", {}, cut=0, whole=2),
        allocated_claim("l4-1-0", "gpu-0"),
        gpu_pod(1, name="one", nodeName="l4-1-0"),
    ]
    snapshot, own = tmp_path / "claimed.json", tmp_path / "own.yaml"
    snapshot.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": documents}), encoding="utf-8")
    own.write_text(CLAIMING, encoding="utf-8")
    assert main(["explain", str(own), *ONE, "--topology", str(snapshot)]) == 0
    said = "free:         1 of 2 gpu.nvidia.com on these as of "
    assert [line for line in capsys.readouterr().out.splitlines() if line.startswith(said)]
    (result,) = explained(capsys, str(own), *ONE, "--topology", str(snapshot))["results"]
    after = result["nodes"]["after"]
    assert (after["free"], after["use"]) == (None, [{"resource": "gpu.nvidia.com", "used": 1, "free": 1}])


def test_what_is_free_changes_no_decision(nodes: str, held: str, capsys: pytest.CaptureFixture[str]) -> None:
    one, other = (explained(capsys, POD, "--topology", each)["results"][0] for each in (nodes, held))
    assert one["nodes"]["after"]["free"] is None
    for each in (one, other):
        del each["nodes"]
    assert one == other


def test_each_template_of_a_workload_is_explained(capsys: pytest.CaptureFixture[str]) -> None:
    (result,) = explained(capsys, str(EXAMPLES / "llm-deployment.yaml"), *ONE)["results"]
    assert (result["kind"], result["path"], result["nodes"]) == ("Deployment", "spec.template", None)


def test_a_pod_may_come_from_stdin(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(Path(POD).read_bytes())))
    (result,) = explained(capsys, "-", "--namespace", "ml", *ONE)["results"]
    assert (result["file"], result["namespace"]) == ("stdin", "ml")


def test_the_last_value_of_a_duplicate_key_is_explained(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = Path(POD).read_text(encoding="utf-8").replace("kind: Pod", "kind: Deployment\nkind: Pod", 1)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    assert main(["explain", "-", "-o", "json", *ONE]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["results"][0]["kind"] == "Pod"
    assert "duplicate key 'kind': kubectl takes this one" in err


def test_the_namespace_in_the_file_is_the_pods(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "lab", "labels": {"team": "research"}}}
    pod = {**gpu_pod(1), "metadata": {"name": "a", "namespace": "lab"}}
    file = tmp_path / "both.json"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [namespace, pod]}), encoding="utf-8")
    (tmp_path / "policies").mkdir()
    selected = policy(
        "selected",
        """
  matchConstraints: {namespaceSelector: {matchLabels: {team: research}}}
  mutations:
  - labels: {a: "'b'"}
""",
    )
    (tmp_path / "policies" / "p.yaml").write_text(selected, encoding="utf-8")
    (result,) = explained(capsys, str(file), "--policies", str(tmp_path / "policies"))["results"]
    assert result["verdict"] == "mutated"


def test_a_denied_pod_is_a_finding(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "policy.yaml").write_text(
        "apiVersion: podberth.io/v1alpha1\nkind: GPUPolicy\nmetadata: {name: picky}\nspec:\n"
        "  validations: [{expression: gpu.count > 1, message: one is not enough}]\n  validationActions: [Deny]\n",
        encoding="utf-8",
    )
    assert main(["explain", POD, "--policies", str(tmp_path)]) == 1
    out = capsys.readouterr().out
    assert out.splitlines()[:2] == [
        f"{POD}:5 Pod/default/cuda-vectoradd: denied",
        "denied:  podberth picky: one is not enough",
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("kind: Service\napiVersion: v1\n", "got v1 Service, want a Pod or a workload that makes pods"),
        ("", "got no document, want a Pod"),
        (MANY_KINDS, "got v1 K0, v1 K1, v1 K2, v1 K3, v1 K4 and 2"),
        ("---\napiVersion: v1\nkind: Pod\n" * (MOST_PODS + 1), "pod.yaml: got more than 100 pods, want that at most"),
        ("a: [", ":1:5: this is no YAML"),
        ("a: \0", ":1:0: this is no text: byte 0x00 in line 1 is in no text; want YAML or JSON"),
        ("apiVersion: v1\nkind: Pod\nspec: {containers: 1}\n", "pod.yaml:1: spec.containers: got"),
    ],
)
def test_what_is_no_pod_is_reported_and_is_a_usage_error(
    tmp_path: Path, text: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "pod.yaml"
    file.write_text(text, encoding="utf-8")
    assert main(["explain", str(file), *ONE]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments", [["nowhere.yaml", *ONE], [POD, "--policy", "nobody", *ONE], [POD, "--policies", "nowhere"]]
)
def test_what_is_not_there_is_a_usage_error(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", *arguments]) == 2
    assert capsys.readouterr().err.startswith("podberth: ")


def test_what_the_api_server_refuses_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pod = tmp_path / "pod.yaml"
    text = Path(POD).read_text(encoding="utf-8")
    pod.write_text(text.replace("metadata:", "metadata:\n  annotations: {a b: c}", 1), encoding="utf-8")
    main(["explain", str(pod), *ONE])
    said = [line for line in capsys.readouterr().err.splitlines() if "refuse" in line]
    line = text.partition("metadata:")[0].count("\n") + 2
    what = "metadata.annotations[a b]: got 'a b', want a key such as app or example.com/app"
    assert said == [f"podberth: {pod}:{line}: the API server would refuse this Pod: {what}"]
    main(["explain", POD, *ONE])
    assert "refuse" not in capsys.readouterr().err
