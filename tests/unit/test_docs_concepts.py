"""The pages of concepts show what the commands print; "…" stands for lines that are left out."""

import re
from pathlib import Path

import pytest

from pages import ROOT, page
from podberth.cli.main import main

PAGES = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").glob("concepts-*.md"))
SHOWN = [
    (name, *shown)
    for name in PAGES
    for shown in re.findall(r"^```console\n\$ podberth ([^\n]+)\n(.*?)^```$", page(name), re.MULTILINE | re.DOTALL)
]


@pytest.mark.parametrize("sample", SHOWN)
def test_a_command_prints_what_the_page_shows(
    sample: tuple[str, str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    name, command, shown = sample
    monkeypatch.chdir(tmp_path)
    for file, text in re.findall(r"^```yaml (\S+)\n(.*?)^```$", page(name), re.MULTILINE | re.DOTALL):
        Path(file).write_text(text, encoding="utf-8")
    assert main(command.split()) == 0
    parts = [re.escape(part) for part in re.split(r"^…\n", shown, flags=re.MULTILINE)]
    assert re.fullmatch("(?:.*\n)*?".join(parts), capsys.readouterr().out)


def test_every_concept_is_among_the_concepts_of_the_map() -> None:
    section = page("docs/README.md").partition("\n## Concepts\n")[2].partition("\n## ")[0]
    assert PAGES
    assert [name for name in PAGES if f"]({Path(name).name})" not in section] == []
    assert {name for name, *_ in SHOWN} == {f"docs/concepts-{each}.md" for each in ("gangs", "mig", "topology")}
