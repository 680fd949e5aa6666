"""The tools that write pages from the code, run in this process: each would import podberth again in its own."""

import runpy
import sys

import pytest

from pages import ROOT


def check(tool: str, monkeypatch: pytest.MonkeyPatch) -> int | str | None:
    """Run `tools/TOOL.py --check` and return its exit code."""
    monkeypatch.syspath_prepend(ROOT / "tools")
    monkeypatch.setattr(sys, "argv", [f"tools/{tool}.py", "--check"])
    monkeypatch.chdir(ROOT)
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(f"tools/{tool}.py", run_name="__main__")
    return ended.value.code
