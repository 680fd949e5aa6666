"""docs/editor.md names the flags that there are, and its examples are what their readers take."""

import argparse
import json
import re
import tomllib

from pages import page
from podberth.cli import lsp

PAGE = page("docs/editor.md")


def block(language: str) -> str:
    found: list[str] = re.findall(rf"^```{language}\n(.*?)^```", PAGE, flags=re.DOTALL | re.MULTILINE)
    return found[0]


def test_every_flag_has_a_row_and_no_row_is_about_another() -> None:
    parser = argparse.ArgumentParser()
    lsp.configure(parser)
    flags = {action.option_strings[-1] for action in parser._actions if action.option_strings} - {"--help"}
    assert set(re.findall(r"^\| `(--[a-z-]+)", PAGE, flags=re.MULTILINE)) == flags


def test_the_settings_of_helix_name_the_command() -> None:
    found = tomllib.loads(block("toml"))
    server = found["language-server"]["podberth"]
    assert (server["command"], server["args"]) == ("podberth", ["lsp"])
    assert "podberth" in found["language"][0]["language-servers"]


def test_the_extension_of_vs_code_is_one() -> None:
    manifest = json.loads(block("json"))
    assert manifest["main"] == "./extension.js"
    assert manifest["dependencies"].keys() == {"vscode-languageclient"}
    assert 'command: "podberth", args: ["lsp"]' in block("js")
