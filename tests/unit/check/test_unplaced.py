"""A pod that fits no known node has a warning that says what is missing, and its object is in the JSON's summary."""

import json
from pathlib import Path

import pytest

from podberth.cli.main import main
from podberth.words import meant_value
from snapshots import cluster

_SIMULATED = ["--simulate", "hgx-h100-8:2,l4-1"]


def _pod(name: str, resource: str, spec: str = "") -> str:
    limits = f"resources: {{limits: {{{resource}}}}}"
    metadata = f"metadata: {{name: {name}, namespace: shop}}"
    return (
        f"---\napiVersion: v1\nkind: Pod\n{metadata}\nspec: {{{spec}containers: [{{name: c, image: i, {limits}}}]}}\n"
    )


def _checked(
    directory: Path, manifest: str, capsys: pytest.CaptureFixture[str], *flags: str
) -> tuple[list[str], dict[str, tuple[str, str]]]:
    """Return (the objects in the summary, the field and the message about each object, by its name)."""
    file = directory / "pods.yaml"
    file.write_text(manifest, encoding="utf-8")
    main(["check", "-o", "json", *flags, str(file)])
    report = json.loads(capsys.readouterr().out)
    said = {
        result["name"]: (warning["field"], warning["message"])
        for result in report["results"]
        for warning in result["warnings"]
        if warning["message"].startswith("no known node")
    }
    return report["summary"]["fitsNoNode"], said


def test_what_no_known_node_has_is_said_at_its_field(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = "nodeSelector: {nvidia.com/gpu.product: NVIDIA-L40S}, "
    manifest = (
        _pod("fits", "nvidia.com/gpu: 8")
        + _pod("large", "nvidia.com/gpu: 16")
        + _pod("other-model", "nvidia.com/gpu: 1", other)
        + _pod("other-node", "nvidia.com/gpu: 1", "nodeName: gone, ")
        + _pod("other-label", "nvidia.com/gpu: 1", "nodeSelector: {pool: a}, ")
        + _pod("other-vendor", "amd.com/gpu: 1")
        + _pod("without", "cpu: 1", other)
        + _pod("misspelt", "nvidia.com/gpux: 1")
        + _pod("others", "example.com/dongle: 1")
        + _pod("none", "nvidia.com/gpux: 0")
        + _pod("hami", "huawei.com/Ascend910B-memory: 2000")
        + _pod("denied", "nvidia.com/mig-9g.5gb: 1")
        + _pod("wrong", "nvidia.com/gpu: 16", "restartPolicy: never, ")
    )
    names, said = _checked(tmp_path, manifest, capsys, *_SIMULATED)
    assert names == [
        "Pod/shop/large",
        "Pod/shop/other-model",
        "Pod/shop/other-node",
        "Pod/shop/other-label",
        "Pod/shop/other-vendor",
        "Pod/shop/misspelt",
    ]
    limits = "spec.containers[0].resources.limits"
    assert said == {
        "large": (
            f"{limits}[nvidia.com/gpu]",
            "no known node has as many: want 16 nvidia.com/gpu, got 8 at most",
        ),
        "other-model": (
            "spec.nodeSelector[nvidia.com/gpu.product]",
            "no known node has NVIDIA-L40S; they have NVIDIA-H100-80GB-HBM3, NVIDIA-L4",
        ),
        "other-node": ("spec.nodeName", "no known node of the name gone has what the pod asks for"),
        "other-label": (
            "spec.nodeSelector",
            "no known node with these devices fits nodeSelector, affinity and tolerations; podberth explain says why",
        ),
        "other-vendor": (f"{limits}[amd.com/gpu]", "no known node has amd.com/gpu"),
        "misspelt": (f"{limits}[nvidia.com/gpux]", "no known node has nvidia.com/gpux"),
    }


@pytest.mark.parametrize(
    ("machine", "advice"),
    [("P5", "did you mean p5.48xlarge?"), ("p5.4", "they have p5.48xlarge")],
)
def test_a_part_of_a_label_is_said_in_full(
    machine: str, advice: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    selector = f"nodeSelector: {{node.kubernetes.io/instance-type: {machine}}}, "
    _, said = _checked(tmp_path, _pod("p", "nvidia.com/gpu: 1", selector), capsys, *_SIMULATED)
    assert said["p"][1] == f"no known node has {machine}; {advice}"


@pytest.mark.parametrize(
    ("wanted", "advice"),
    [
        ("NVIDA-H100-80GB-HBM3", "; did you mean NVIDIA-H100-80GB-HBM3?"),
        ("nvidia-l4", "; did you mean NVIDIA-L4?"),
        ("NVIDIA-A100-SXM4-80GB", "; they have NVIDIA-H100-80GB-HBM3, NVIDIA-L4"),
        ("NVIDIA-L40S", "; they have NVIDIA-H100-80GB-HBM3, NVIDIA-L4"),
    ],
)
def test_another_product_is_no_misspelling_of_one_that_nodes_have(wanted: str, advice: str) -> None:
    assert meant_value(wanted, ["NVIDIA-L4", "NVIDIA-H100-80GB-HBM3"]) == advice


def test_where_no_node_is_known_or_the_pod_fits_nothing_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _checked(tmp_path, _pod("large", "nvidia.com/gpu: 16"), capsys) == ([], {})
    assert _checked(tmp_path, _pod("fits", "nvidia.com/gpu: 8"), capsys, *_SIMULATED) == ([], {})


def test_of_a_workload_the_field_is_that_of_its_template(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    limits = "resources: {limits: {nvidia.com/gpu: 16}}"
    manifest = (
        "apiVersion: batch/v1\nkind: Job\nmetadata: {name: train, namespace: shop}\n"
        f"spec: {{template: {{spec: {{restartPolicy: Never, containers: [{{name: c, image: i, {limits}}}]}}}}}}\n"
    )
    names, said = _checked(tmp_path, manifest, capsys, *_SIMULATED)
    assert names == ["Job/shop/train"]
    assert said["train"][0] == "spec.template.spec.containers[0].resources.limits[nvidia.com/gpu]"


def test_hami_gives_each_vgpu_of_a_container_on_another_card(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each of the four L4 is divided into ten vGPUs, of which one container gets one."""
    objects = cluster(l4_4=1)
    for each in objects:
        for held in ("capacity", "allocatable"):
            if each["kind"] == "Node":
                each["status"][held]["nvidia.com/gpu"] = "40"
    nodes = tmp_path / "nodes.yaml"
    nodes.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}), encoding="utf-8")
    part = ", nvidia.com/gpumem: 2000"
    manifest = (
        _pod("four", f"nvidia.com/gpu: 4{part}")
        + _pod("five", f"nvidia.com/gpu: 5{part}")
        + _pod("by-scheduler", "nvidia.com/gpu: 6", "schedulerName: hami-scheduler, ")
        + _pod("shares", "nvidia.com/gpu: 5")
    )
    _, said = _checked(tmp_path, manifest, capsys, "--topology", str(nodes))
    want = "no known node has as many: want {} cards, one for each vGPU of the container, got 4 at most"
    field = "spec.containers[0].resources.limits[nvidia.com/gpu]"
    assert said == {"five": (field, want.format(5)), "by-scheduler": (field, want.format(6))}
