"""docs/architecture.md: its picture is the contract of layers, and every file and name on it exists."""

import ast
import re
import tomllib

import pytest

from pages import ROOT, page, spans

PAGE = page("docs/architecture.md")
PACKAGE = ROOT / "webhook" / "podberth"
_CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"]
LAYERS: list[str] = next(each["layers"] for each in _CONTRACTS if each["type"] == "layers")
FILES = sorted(each for each in spans(PAGE) if re.fullmatch(r"[\w./-]+(/|\.(py|md|yaml|toml))", each))
# A hop: a file, and the names in it that follow at once.
HOPS = re.findall(r"`([\w/]+\.py)`((?:,? `[A-Za-z_.]+`)+)", PAGE)


def names_in(file: str) -> set[str]:
    """Return the top-level names of a module, and the methods of its classes as ``Class.method``."""
    found: set[str] = set()
    for node in ast.parse((PACKAGE / file).read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            found.add(node.name)
        targets = node.targets if isinstance(node, ast.Assign) else []
        targets = [node.target] if isinstance(node, ast.AnnAssign) else targets
        found.update(each.id for each in targets if isinstance(each, ast.Name))
        if isinstance(node, ast.ClassDef):
            methods = (each for each in node.body if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef))
            found.update(f"{node.name}.{each.name}" for each in methods)
    return found


def test_the_picture_is_the_contract_of_layers() -> None:
    [picture] = re.findall(r"<!-- layers -->\n```text\n(.*?)```", PAGE, flags=re.DOTALL)
    assert [re.sub(r"^(shell|core)? +", "", line) for line in picture.splitlines()] == LAYERS


def test_every_room_is_described() -> None:
    described = {name for line in PAGE.splitlines() if line.startswith("| `") for name in spans(line.split("|")[1])}
    assert {name for layer in LAYERS for name in layer.split(" | ")} - {"__main__"} == described


@pytest.mark.parametrize("file", FILES)
def test_every_file_on_the_page_exists(file: str) -> None:
    assert (PACKAGE / file).exists() or (ROOT / file).exists()


@pytest.mark.parametrize(("file", "names"), HOPS)
def test_every_hop_names_what_its_file_has(file: str, names: str) -> None:
    assert spans(names) - names_in(file) == set()


def test_each_journey_has_its_hops() -> None:
    journeys = re.findall(r"^### (.+?)\n(.*?)(?=^##)", PAGE, flags=re.DOTALL | re.MULTILINE)
    assert [name for name, _ in journeys] == ["A review", "A check", "From NVML to the index", "From gang to group"]
    assert all(len(re.findall(r"^\d+\. `", text, flags=re.MULTILINE)) > 4 for _, text in journeys)
