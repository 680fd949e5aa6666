"""docs/policies/ is what its generator writes."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_pages_are_what_the_policies_say_today() -> None:
    command = [sys.executable, "tools/policy_pages.py", "--check"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("", 0)


def test_every_policy_has_a_page_and_every_page_a_policy() -> None:
    folders = {path.name for name in ("policies", "optional-policies") for path in (ROOT / name).iterdir()}
    assert {path.stem for path in (ROOT / "docs" / "policies").glob("*.md")} - {"README"} == folders
