"""Write what of a page is made from the code, or say what is stale.

A page keeps its prose by hand; between ``<!-- begin NAME: ... -->`` and ``<!-- end NAME -->`` stands what a tool
writes. ``--check`` writes nothing, prints the difference and exits with 1.
"""

import difflib
import re
import sys
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).parents[1]


def spliced(page: str, parts: Mapping[str, str]) -> str:
    """Return a page, by its path from the repository's root, with new text in some of its parts.

    Raises:
        ValueError: the page has no such part.
    """
    text = (ROOT / page).read_text(encoding="utf-8")
    for name, part in parts.items():
        place = re.compile(rf"(<!-- begin {re.escape(name)}:[^\n]*-->\n).*?(<!-- end {re.escape(name)} -->)", re.DOTALL)
        found = place.search(text)
        if found is None:
            raise ValueError(f"{page}: got no <!-- begin {name}: ... --> with its end, want one")
        text = f"{text[: found.end(1)]}\n{part.strip()}\n\n{text[found.start(2) :]}"
    return text


def main(pages: Mapping[str, str]) -> int:
    """Write the pages that have changed, by their paths from the repository's root; or check them."""
    stale = 0
    for name, text in pages.items():
        path = ROOT / name
        before = path.read_text(encoding="utf-8") if path.exists() else ""
        if before == text:
            continue
        stale += 1
        if sys.argv[1:] == ["--check"]:
            old, new = (each.splitlines(keepends=True) for each in (before, text))
            sys.stdout.writelines(difflib.unified_diff(old, new, name, "generated"))
        else:
            path.write_text(text, encoding="utf-8")
            print(name)
    return 1 if stale and sys.argv[1:] == ["--check"] else 0
