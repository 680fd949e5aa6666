"""docs/testing.md and docs/commands.md say what the code says: fields, flags; the example is a suite that passes."""

import argparse
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args, get_origin

import pytest
from pydantic import BaseModel

from pages import ROOT, page, rows, spans
from podberth.cli import explain, test
from podberth.cli.main import main
from podberth.suite.case_file import Case, Suite, SuiteCluster, Verdict, parse_suite

TESTING, COMMANDS = page("docs/testing.md"), page("docs/commands.md")
FIELDS = rows(COMMANDS.partition("\n### Fields of tests.yaml\n")[2].partition("\n## ")[0])
SECTIONS = {
    "test": COMMANDS.partition("\n## podberth test\n")[2].partition("\n### ")[0],
    "explain": COMMANDS.partition("\n## podberth explain\n")[2].partition("\n## ")[0],
}
(EXAMPLE,) = re.findall(r"^```yaml\n(.*?)^```", TESTING, re.MULTILINE | re.DOTALL)


def models_in(annotation: Any) -> Iterator[tuple[type[BaseModel], str]]:
    """Yield the models in an annotation, with ``[]`` where they are elements."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation, ""
    for part in get_args(annotation):
        for model, suffix in models_in(part):
            yield model, suffix or ("[]" if get_origin(annotation) is tuple else "")


def fields_of(model: type[BaseModel], prefix: str = "") -> Iterator[str]:
    for name, field in model.model_fields.items():
        path = f"{prefix}{field.alias or name}"
        yield path
        for inner, suffix in models_in(field.annotation):
            yield from fields_of(inner, f"{path}{suffix}.")


def test_every_field_has_a_row_and_no_row_is_about_another() -> None:
    assert set(FIELDS) - {"field", "---"} - {key for key in FIELDS if key.startswith("---")} == {
        "cases",
        *fields_of(SuiteCluster),
        *fields_of(Case),
    }


def test_every_verdict_is_named() -> None:
    assert set(get_args(Verdict)) <= spans(" ".join(FIELDS["expect.verdict"]))


@pytest.mark.parametrize(("name", "command"), [("test", test), ("explain", explain)])
def test_every_flag_has_a_row_and_no_row_is_about_another(name: str, command: Any) -> None:
    parser = argparse.ArgumentParser()
    command.configure(parser)
    flags = {action.option_strings[-1] for action in parser._actions if action.option_strings} - {"--help"}
    first_cells = " ".join(line.split(" | ")[0] for line in SECTIONS[name].splitlines() if line.startswith("| `"))
    assert set(re.findall(r"--[a-z-]+", first_cells)) == flags


def test_the_example_passes(tmp_path: Path) -> None:
    suite, problems = parse_suite(EXAMPLE, "tests.yaml")
    assert isinstance(suite, Suite), problems
    folder = tmp_path / "gpu-tolerations"
    folder.mkdir()
    (folder / "tests.yaml").write_text(EXAMPLE, encoding="utf-8")
    policy = (ROOT / "policies" / "gpu-tolerations" / "policy.yaml").read_text(encoding="utf-8")
    (folder / "policy.yaml").write_text(policy, encoding="utf-8")
    assert main(["test", str(tmp_path)]) == 0


def keys_in(value: Any) -> set[str]:
    """Return the keys of objects, but of those that a pod, a patch or a policy's values are."""
    if isinstance(value, list):
        return {key for item in value for key in keys_in(item)}
    if not isinstance(value, dict):
        return set()
    free = {"patch", "value", "changes", "parts", "decisions", "expressions", "variables", "nodes", "difference"}
    return set(value) | {key for name, item in value.items() if name not in free for key in keys_in(item)}


def test_every_key_of_the_json_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    policy = (ROOT / "policies" / "gpu-tolerations" / "policy.yaml").read_text(encoding="utf-8")
    (tmp_path / "policy.yaml").write_text(policy, encoding="utf-8")
    (tmp_path / "tests.yaml").write_text(EXAMPLE.replace("verdict: mutated", "verdict: denied"), encoding="utf-8")
    pod = str(ROOT / "examples" / "cuda-pod.yaml")
    for name, arguments in (("test", [str(tmp_path)]), ("explain", [pod, "--policies", str(tmp_path)])):
        main([name, *arguments, "-o", "json"])
        printed = keys_in(json.loads(capsys.readouterr().out))
        assert printed - {"order", "description"} <= spans(SECTIONS[name])
