"""docs/adr/0001-layout.md has the layers that import-linter enforces."""

import tomllib

from pages import ROOT, page

_CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"]
LAYERS: list[str] = next(each["layers"] for each in _CONTRACTS if each["type"] == "layers")


def test_the_layers_on_the_page_are_those_of_the_contract() -> None:
    [shown] = [part for part in page("docs/adr/0001-layout.md").split("\n\n") if part.startswith("    __main__")]
    assert " ".join(shown.split()) == " > ".join(LAYERS)
