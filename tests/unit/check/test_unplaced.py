"""An object whose pods fit no known node is named on standard error, and in the summary of the JSON."""

import json
from pathlib import Path

import pytest

from podberth.cli.main import main

_SIMULATED = ["--simulate", "hgx-h100-8:2,l4-1"]


def _pod(name: str, resource: str, spec: str = "") -> str:
    limits = f"resources: {{limits: {{{resource}}}}}"
    metadata = f"metadata: {{name: {name}, namespace: shop}}"
    return (
        f"---\napiVersion: v1\nkind: Pod\n{metadata}\nspec: {{{spec}containers: [{{name: c, image: i, {limits}}}]}}\n"
    )


def _checked(
    directory: Path, manifest: str, capsys: pytest.CaptureFixture[str], *flags: str
) -> tuple[list[str], list[str]]:
    """Return the objects in the summary, and the lines about them."""
    file = directory / "pods.yaml"
    file.write_text(manifest, encoding="utf-8")
    main(["check", "-o", "json", *flags, str(file)])
    printed = capsys.readouterr()
    lines = [line for line in printed.err.splitlines() if "no known node has what" in line]
    return json.loads(printed.out)["summary"]["fitsNoNode"], lines


def test_objects_that_fit_no_known_node_are_named_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = "nodeSelector: {nvidia.com/gpu.product: NVIDIA-L40S}, "
    manifest = (
        _pod("fits", "nvidia.com/gpu: 8")
        + _pod("large", "nvidia.com/gpu: 16")
        + _pod("other-model", "nvidia.com/gpu: 1", other)
        + _pod("other-vendor", "amd.com/gpu: 1")
        + _pod("without", "cpu: 1", other)
        + _pod("misspelt", "nvidia.com/gpux: 1")
        + _pod("others", "example.com/dongle: 1")
        + _pod("none", "nvidia.com/gpux: 0")
        + _pod("hami", "huawei.com/Ascend910B-memory: 2000")
        + _pod("denied", "nvidia.com/mig-9g.5gb: 1")
        + _pod("wrong", "nvidia.com/gpu: 16", "restartPolicy: never, ")
    )
    names = ["Pod/shop/large", "Pod/shop/other-model", "Pod/shop/other-vendor", "Pod/shop/misspelt"]
    said = (
        f"podberth: no known node has what these ask for: {', '.join(names[:3])} and 1 more; podberth explain says why"
    )
    assert _checked(tmp_path, manifest, capsys, *_SIMULATED) == (names, [said])


def test_where_no_node_is_known_or_the_pod_fits_nothing_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _checked(tmp_path, _pod("large", "nvidia.com/gpu: 16"), capsys) == ([], [])
    assert _checked(tmp_path, _pod("fits", "nvidia.com/gpu: 8"), capsys, *_SIMULATED) == ([], [])


def test_live_workloads_are_named_in_the_same_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    snapshot = tmp_path / "live.yaml"
    snapshot.write_text(_pod("fits", "nvidia.com/gpu: 8") + _pod("large", "nvidia.com/gpu: 16"), encoding="utf-8")
    main(["check", "--policies", "shipped", "--against", str(snapshot), *_SIMULATED])
    said = "podberth: no known node has what these ask for: Pod/shop/large; podberth explain says why"
    assert said in capsys.readouterr().err.splitlines()


def test_with_quiet_the_line_is_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    large = _pod("large", "nvidia.com/gpu: 16")
    assert _checked(tmp_path, large, capsys, *_SIMULATED, "--quiet") == (["Pod/shop/large"], [])
