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

ALLOWED = (
    # Names that users write or read, and that stay: a lint rule, a class of cost, a field of CEL's Nodes.
    r"dear[-_]expression",
    r"[\"'`]dear[\"'`]",
    r"[\"'`]unwell[\"'`]|\b(?:Nodes|nodes)\.unwell",
    r"def unwell\b",
)

NOT_YET: tuple[str, ...] = (
    "README.md",
    "bench",
    "demo",
    "docs/adr",
    "docs/check.md",
    "docs/groups.md",
    "docs/install.md",
    "docs/labels.md",
    "docs/operating.md",
    "docs/policies",
    "docs/policy.md",
    "docs/security.md",
    "docs/systems.md",
    "docs/testing.md",
    "examples",
    "manifests",
    "optional-policies",
    "policies",
    "tests/api_server.py",
    "tests/browser.py",
    "tests/controlplane",
    "tests/demonstrations.py",
    "tests/deployment",
    "tests/e2e",
    "tests/gotools",
    "tests/group_scenes.py",
    "tests/monitoring",
    "tests/named_owners.py",
    "tests/nvml",
    "tests/property",
    "tests/right_groups.py",
    "tests/second_engine",
    "tests/unit/admission",
    "tests/unit/cel",
    "tests/unit/check",
    "tests/unit/cli",
    "tests/unit/group_checks",
    "tests/unit/installation",
    "tests/unit/kube",
    "tests/unit/policy",
    "tests/unit/test_docs_claims.py",
    "tests/unit/test_docs_libraries.py",
    "tests/unit/test_docs_testing.py",
    "tests/unit/test_generated_pages.py",
    "tests/unit/workload",
    "tests/wrong_groups.py",
    "tools",
    "webhook/podberth/admission",
    "webhook/podberth/topology",
    "webhook/podberth/workload",
)
"""Files and folders that were written before the glossary and are still to be rewritten. The list only shrinks."""


def banned(glossary: str) -> re.Pattern[str]:
    """Return what matches a banned word as a whole, in any case; a star in the table stands for any ending."""
    rows = glossary.partition(_TABLE)[2].splitlines()
    words = [row.split("|")[1].strip() for row in rows if row.startswith("| ")][2:]
    patterns = "|".join(re.escape(word).replace(r"\*", "[a-z]*").replace(r"\ ", r"\s+") for word in words)
    return re.compile(rf"(?<![A-Za-z])(?:{patterns})(?![A-Za-z])", re.IGNORECASE)


def found(text: str, words: re.Pattern[str]) -> Iterator[tuple[int, str]]:
    """Yield the number of each line of a text that has a banned word, and the word."""
    for number, line in enumerate(text.splitlines(), start=1):
        rest = re.sub("|".join(ALLOWED), "", line)
        yield from ((number, match.group()) for match in words.finditer(rest))


def files(root: Path) -> Iterator[Path]:
    """Yield the files that are read, by name."""
    for path in sorted([*root.glob("*.md"), *(each for name in READ for each in (root / name).rglob("*"))]):
        name = path.relative_to(root)
        if path.suffix in SUFFIXES and path.is_file() and not any(map(name.is_relative_to, (*EXEMPT, *NOT_YET))):
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
