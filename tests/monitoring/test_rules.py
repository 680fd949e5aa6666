"""The rules over time, by promtool: what they record and when they alert. Of agents: test_scraped.py."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from .manifests import RULE


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    """Return a folder with the rules as Prometheus reads them, and their cases."""
    (tmp_path / "rules.yaml").write_text(json.dumps(RULE["spec"]), encoding="utf-8")  # JSON is YAML
    shutil.copy(Path(__file__).with_name("rules_test.yaml"), tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    "command",
    [("check", "rules", "--lint=all", "--lint-fatal", "rules.yaml"), ("test", "rules", "rules_test.yaml")],
    ids=["check", "test"],
)
def test_promtool_finds_nothing_wrong(promtool: Path, rules: Path, command: tuple[str, ...]) -> None:
    done = subprocess.run([promtool, *command], cwd=rules, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
