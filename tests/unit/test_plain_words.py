from pathlib import Path

import pytest
from plain_words import banned, files, found

GLOSSARY = """
## Words that are podberth's own
| gang | pods |
## Words that podberth does not use
| word | say instead |
| --- | --- |
| told | reported |
| drawn to | prefers |
| foresee* | expects |
"""


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("told", ["told"]),
        ("Told, and _told = foreseen.", ["Told", "told", "foreseen"]),
        ("it is drawn  to a domain", ["drawn  to"]),
        ("stolder than a gang that is drawn", []),
        ("nodes.told: `told`", ["told", "told"]),
    ],
)
def test_a_banned_word_is_found_as_a_whole_in_any_case(line: str, words: list[str]) -> None:
    assert [word for _, word in found(line, banned(GLOSSARY))] == words


def test_documents_code_and_policies_are_read_and_the_exempt_are_not(
    tmp_path: Path,
) -> None:
    for name in ("docs/a.md", "webhook/podberth/b.py", "policies/c/p.yaml", "CHANGELOG.md", "tests/d.json", "e.md"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("", encoding="utf-8")
    names = [str(path.relative_to(tmp_path)) for path in files(tmp_path)]
    assert sorted(names) == ["docs/a.md", "e.md", "policies/c/p.yaml", "webhook/podberth/b.py"]
