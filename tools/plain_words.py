"""Refuse the words that docs/glossary.md bans, in code, tests and documents.

.venv/bin/python tools/plain_words.py   # prints each line with such a word; exits with 1 if there is one
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
GLOSSARY = "docs/glossary.md"
_TABLE = "## Words that podberth does not use"

READ = (
    "webhook",
    "tests",
    "docs",
    "policies",
    "optional-policies",
    "manifests",
    "examples",
    "demo",
    "bench",
    "tools",
    "ci",
)
"""The folders that are read, besides the documents beside them at the root."""

SUFFIXES = (".py", ".md", ".yaml", ".yml", ".toml")

EXEMPT = (
    GLOSSARY,
    "CONTRIBUTING.md",  # its examples of bad style
    "CHANGELOG.md",  # what was released stays as it was published
    "tools/plain_words.py",
    "tests/unit/test_plain_words.py",
)


def banned(glossary: str) -> re.Pattern[str]:
    """Return what matches a banned word as a whole, in any case; a star in the table stands for any ending."""
    rows = glossary.partition(_TABLE)[2].splitlines()
    words = [row.split("|")[1].strip() for row in rows if row.startswith("| ")][2:]
    patterns = "|".join(re.escape(word).replace(r"\*", "[a-z]*").replace(r"\ ", r"\s+") for word in words)
    return re.compile(rf"(?<![A-Za-z])(?:{patterns})(?![A-Za-z])", re.IGNORECASE)


def found(text: str, words: re.Pattern[str]) -> Iterator[tuple[int, str]]:
    """Yield the number of each line of a text that has a banned word, and the word."""
    for number, line in enumerate(text.splitlines(), start=1):
        yield from ((number, match.group()) for match in words.finditer(line))


def files(root: Path) -> Iterator[Path]:
    """Yield the files that are read, by name."""
    for path in sorted([*root.glob("*.md"), *(each for name in READ for each in (root / name).rglob("*"))]):
        name = path.relative_to(root)
        if path.suffix in SUFFIXES and path.is_file() and not any(map(name.is_relative_to, EXEMPT)):
            yield path


def main() -> int:
    """Print each line with a banned word; return 1 if there is one."""
    words = banned((ROOT / GLOSSARY).read_text(encoding="utf-8"))
    lines = [
        f"{path.relative_to(ROOT)}:{number}: got {word!r}; say instead what {GLOSSARY} names"
        for path in files(ROOT)
        for number, word in found(path.read_text(encoding="utf-8"), words)
    ]
    print("\n".join(lines), end="\n" if lines else "")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
