import shutil
from pathlib import Path

import pytest

from podberth.cli.main import main
from podberth.cluster import library
from podberth.cluster.files import read_policy_texts
from podberth.policy.parse import parse_policies

_ROOT = Path(__file__).parents[3]


def test_list_has_every_folder_with_its_state_and_description(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["policies", "list"]) == 0
    rows = [line.split(maxsplit=2) for line in capsys.readouterr().out.splitlines()]
    found = {
        (folder.name, state)
        for directory, state in (("policies", "on"), ("optional-policies", "off"))
        for folder in (_ROOT / directory).iterdir()
    }
    assert {(name, state) for name, state, _ in rows} == found
    assert all(description.endswith(".") for _, _, description in rows)


def test_show_prints_policy_and_params_as_one_stream_that_loads(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["policies", "show", "multi-gpu-nvlink"]) == 0
    parsed = parse_policies([("shown", capsys.readouterr().out)])
    assert parsed.problems == ()
    assert [each.policy.name for each in parsed.policies] == ["multi-gpu-nvlink"]
    assert list(parsed.params) == [("podberth-system", "podberth-multi-gpu-nvlink")]


def test_a_copy_is_the_folder_and_can_be_served(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["policies", "copy", "protect-gpu-nodes", str(tmp_path / "served")]) == 0
    target = tmp_path / "served" / "protect-gpu-nodes"
    assert capsys.readouterr().out == f"{target}\n"
    assert {path.name for path in target.iterdir()} == {"policy.yaml", "params.yaml", "tests.yaml"}
    texts, problems = read_policy_texts(tmp_path / "served")
    assert problems == []
    assert [each.policy.name for each in parse_policies(texts).policies] == ["protect-gpu-nodes"]


def test_a_copy_overwrites_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "gpu-tolerations").mkdir()
    assert main(["policies", "copy", "gpu-tolerations", str(tmp_path)]) == 2
    assert "exists already" in capsys.readouterr().err
    assert list((tmp_path / "gpu-tolerations").iterdir()) == []


def test_a_copy_that_cannot_be_written_says_why(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    assert main(["policies", "copy", "gpu-tolerations", str(tmp_path / "file")]) == 2
    assert "cannot be written" in capsys.readouterr().err


@pytest.mark.parametrize("argv", [["policies"], ["policies", "show"], ["policies", "drop", "x"]])
def test_an_action_that_is_none_is_wrong_usage(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(argv) == 2
    assert "usage: podberth policies" in capsys.readouterr().err


def test_a_name_that_is_none_gets_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["policies", "show", "gpu-toleration"]) == 2
    assert "did you mean gpu-tolerations" in capsys.readouterr().err


def test_an_installed_package_has_its_own_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(_ROOT / "policies" / "gpu-tolerations", tmp_path / "policies" / "gpu-tolerations")
    monkeypatch.setattr(library, "_PACKAGE", tmp_path)
    assert [each.name for each in library.shipped()] == ["gpu-tolerations"]


def test_a_package_without_its_library_is_a_mistake_that_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(library, "_PACKAGE", tmp_path)
    assert main(["policies", "list"]) == 2
    assert f"got none in {tmp_path}" in capsys.readouterr().err
