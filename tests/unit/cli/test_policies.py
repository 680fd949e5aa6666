import json
import shutil
from pathlib import Path

import jsonschema
import pytest

from podberth.cli.main import main
from podberth.files import library
from podberth.files.loading import read_policy_texts
from podberth.kube.documents import load_documents
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


def test_each_policy_of_a_file_is_shown_and_copied_by_its_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    others = {each.metadata.name: found.name for found in library.shipped() for each in found.policies[1:]}
    assert others["mig-not-offered"] == "mig-right-size"
    for name, folder in others.items():
        assert main(["policies", "show", name]) == 0
        printed, said = capsys.readouterr()
        assert f"\n  name: {name}\n" in printed
        assert f"{name} is in the file of {folder}" in said
    assert main(["policies", "copy", "mig-not-offered", str(tmp_path)]) == 0
    assert capsys.readouterr().out.split() == [f"{tmp_path}/mig-right-size"]


@pytest.mark.parametrize(
    ("name", "page"), [("never-equal", "lint#never-equal"), ("podberth-floor", "native-policies#the-floor")]
)
def test_a_name_that_is_no_policys_is_refused_with_the_page_that_explains_it(
    name: str, page: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["policies", "show", name]) == 2
    assert f"; read podberth docs {page}" in capsys.readouterr().err


def test_a_copy_is_the_folder_and_can_be_served(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["policies", "copy", "protect-gpu-nodes", str(tmp_path / "served")]) == 0
    target = tmp_path / "served" / "protect-gpu-nodes"
    assert capsys.readouterr().out == f"{target}\n"
    assert {path.name for path in target.iterdir()} == {"policy.yaml", "params.yaml", "tests.yaml"}
    texts, problems = read_policy_texts(tmp_path / "served")
    assert problems == []
    assert [each.policy.name for each in parse_policies(texts).policies] == ["protect-gpu-nodes"]


def test_several_are_copied_or_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["policies", "copy", "kai", "volcan", str(tmp_path)]) == 2
    assert not list(tmp_path.iterdir())
    assert main(["policies", "copy", "kai", "volcano", str(tmp_path)]) == 0
    assert capsys.readouterr().out.split() == [f"{tmp_path}/kai", f"{tmp_path}/volcano"]


def test_a_recipe_is_copied_by_its_name_and_passes_its_tests(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["policies", "copy", "cost-center", str(tmp_path)]) == 0
    assert main(["test", str(tmp_path)]) == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith("ok ")


def test_a_copy_overwrites_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "gpu-tolerations").mkdir()
    assert main(["policies", "copy", "gpu-tolerations", str(tmp_path)]) == 2
    assert "exists already" in capsys.readouterr().err
    assert list((tmp_path / "gpu-tolerations").iterdir()) == []


def test_a_copy_that_cannot_be_written_says_why(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    assert main(["policies", "copy", "gpu-tolerations", str(tmp_path / "file")]) == 2
    assert "cannot be written" in capsys.readouterr().err


@pytest.mark.parametrize(("name", "action"), [("policy.yaml", ["list"]), ("params.yaml", ["show", "gpu-tolerations"])])
@pytest.mark.parametrize("content", [b"\xff", None], ids=["no UTF-8", "a folder"])
def test_a_file_of_the_library_that_cannot_be_read_is_named(
    name: str,
    action: list[str],
    content: bytes | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(library, "_PACKAGE", tmp_path)
    folder = tmp_path / "policies" / "gpu-tolerations"
    shutil.copytree(_ROOT / "policies" / "gpu-tolerations", folder)
    broken = folder / name
    broken.unlink(missing_ok=True)
    if content is None:
        broken.mkdir()
    else:
        broken.write_bytes(content)

    assert main(["policies", *action]) == 2
    said = capsys.readouterr().err
    assert f"policies: {broken}: got no text (" in said
    assert "), want a file that podberth is packaged with; reinstall podberth" in said


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


@pytest.mark.parametrize("kind", ["mutate", "validate", "both"])
def test_a_first_policy_passes_its_tests_and_lint_as_it_is(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    directory = str(tmp_path / "mine")
    assert main(["policies", "init", "team-limit", directory, "--kind", kind]) == 0
    written = {Path(line).name for line in capsys.readouterr().out.splitlines()}
    named = {"policy.yaml", "tests.yaml", "gpupolicy-v1alpha1.json"}
    assert written == named | ({"params.yaml"} if kind != "mutate" else set())
    assert main(["test", directory]) == 0
    assert main(["lint", directory]) == 0
    printed = capsys.readouterr().out
    assert f"{2 if kind == 'mutate' else 4} cases" in printed
    assert "warning" not in printed
    assert main(["lint", directory, "--level", "note"]) == 0
    assert "forgotten-claims" not in capsys.readouterr().out


@pytest.mark.parametrize("kind", ["mutate", "validate", "both"])
def test_a_first_policys_schema_is_where_its_first_line_says(kind: str, tmp_path: Path) -> None:
    assert main(["policies", "init", "a", str(tmp_path), "--kind", kind]) == 0
    policy = tmp_path / "a" / "policy.yaml"
    modeline = policy.read_text(encoding="utf-8").splitlines()[0]
    assert modeline.startswith("# yaml-language-server: $schema=")
    found = json.loads((policy.parent / modeline.partition("=")[2]).read_text(encoding="utf-8"))
    documents, problems = load_documents(policy.read_text(encoding="utf-8"), "policy.yaml")
    assert problems == []
    jsonschema.validate(documents[0].document, found)


def test_a_first_policy_overwrites_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a").mkdir()
    assert main(["policies", "init", "a", str(tmp_path)]) == 2
    assert "exists already" in capsys.readouterr().err
    assert list((tmp_path / "a").iterdir()) == []


@pytest.mark.parametrize("name", ["Upper", "a/b", "..", "a b", ""])
def test_a_name_that_no_policy_can_have_is_refused_before_anything_is_written(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["policies", "init", name, str(tmp_path)]) == 2
    assert "policies init:" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_name_that_yaml_would_read_as_something_else_is_quoted(tmp_path: Path) -> None:
    assert main(["policies", "init", "123", str(tmp_path)]) == 0
    assert main(["test", str(tmp_path)]) == 0


def test_the_schema_is_printed_as_it_is_published(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["policies", "schema"]) == 0
    published = _ROOT / "docs" / "schema" / "gpupolicy-v1alpha1.json"
    assert capsys.readouterr().out == published.read_text(encoding="utf-8")
