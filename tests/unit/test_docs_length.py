"""The pages that a user reads through have 30,000 words at most."""

import re

from pages import page

MOST_WORDS = 30_000


def users_pages() -> list[str]:
    """Return README.md, and the pages of the parts of docs/README.md with steps."""
    found = ["README.md"]
    for part in ("Get started", "How-to"):
        section = page("docs/README.md").partition(f"\n## {part}\n")[2].partition("\n## ")[0]
        found += [f"docs/{name}" for name in re.findall(r"^- \[[^]]+\]\(([^)#]+)\)", section, re.MULTILINE)]
    return found


def test_a_users_pages_have_30000_words_at_most() -> None:
    words = {name: len(page(name).split()) for name in users_pages()}
    assert len(words) > 10
    assert sum(words.values()) <= MOST_WORDS, sorted(words.items(), key=lambda each: -each[1])
