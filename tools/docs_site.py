"""Makes a site of the documentation (`make docs`): docs/README.md is its map, and its order.

Pages link to files anywhere in the repository. So everything that is reached from the map is laid into one folder as it
stands in the repository, and mkdocs makes a site of that folder, with search. A link or an anchor that leads nowhere
is an error. The site needs nothing from elsewhere.

    python tools/docs_site.py [--output FOLDER]
"""

import argparse
import logging
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from mkdocs.commands.build import build
from mkdocs.config import load_config
from mkdocs.exceptions import Abort
from pymdownx.slugs import slugify

ROOT: Final = Path(__file__).parents[1]
MAP: Final = Path("docs/README.md")
_LINK: Final = re.compile(r"\]\((?!\w+:)([^)#\s]+)(?:#[^)\s]*)?\)")
_SECTION: Final = re.compile(r"^## (.+)$", re.MULTILINE)
_ENTRY: Final = re.compile(r"^- \[([^]]+)\]\(([^)#]+)\)", re.MULTILINE)
# A file in a page: its language and its name, which mkdocs has as a title.
_NAMED_FENCE: Final = re.compile(r"^(```\w+) (\S+)$", re.MULTILINE)
_FENCE: Final = re.compile(r"^ *(```|~~~).*?^ *\1", re.MULTILINE | re.DOTALL)


def main() -> int:
    """Make the site; return 1 if a link leads nowhere."""
    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=ROOT / "dist" / "site")
    return make(parser.parse_args().output)


def make(output: Path) -> int:
    """Make the site in a folder; return 1 if a link or an anchor leads nowhere, after mkdocs has named it."""
    with TemporaryDirectory() as folder:
        source = Path(folder, "pages")
        for path in reached():
            (source / path).parent.mkdir(parents=True, exist_ok=True)
            if path.suffix == ".md":
                text = (ROOT / path).read_text(encoding="utf-8")
                (source / path).write_text(_NAMED_FENCE.sub(r'\1 title="\2"', text), encoding="utf-8")
            else:
                shutil.copyfile(ROOT / path, source / path)
        settings = Path(folder, "mkdocs.yml")
        settings.write_text("{}", encoding="utf-8")  # mkdocs wants a file; what counts is below
        try:
            build(load_config(str(settings), **_config(source, output)))
        except Abort:
            return 1
    return 0


def reached() -> list[Path]:
    """Return the files that links lead to from the map, over any number of pages; of a folder, all its pages."""
    found: set[Path] = set()
    pending = [MAP]
    while pending:
        path = pending.pop()
        if path not in found:
            found.add(path)
            pending += _linked(path) if path.suffix == ".md" else ()
    return sorted(found)


def _linked(page: Path) -> Iterator[Path]:
    text = _FENCE.sub("", (ROOT / page).read_text(encoding="utf-8"))
    for link in _LINK.findall(text):
        target = (ROOT / page.parent / link).resolve()
        inside = target.is_relative_to(ROOT)
        if inside and target.is_file():
            yield target.relative_to(ROOT)
        elif inside and target.is_dir():
            yield from (each.relative_to(ROOT) for each in target.glob("*.md"))


def navigation() -> list[dict[str, Any]]:
    """Return the sections of the map with their pages, as mkdocs has them; a folder is a section with its pages."""
    _, *parts = _SECTION.split((ROOT / MAP).read_text(encoding="utf-8"))
    sections = zip(parts[::2], parts[1::2], strict=True)
    return [
        {"Documentation": MAP.as_posix()},
        *({title: [_entry(name, link) for name, link in _ENTRY.findall(text)]} for title, text in sections),
    ]


def _entry(name: str, link: str) -> dict[str, Any]:
    target = (ROOT / MAP.parent / link).resolve()
    folder = target.parent if target.name == "README.md" and target.parents[1] == ROOT / MAP.parent else target
    if not folder.is_dir():
        return {name: target.relative_to(ROOT).as_posix()}
    # The README of a folder comes first.
    pages = sorted(folder.glob("*.md"), key=lambda page: (page.name != "README.md", page.name))
    return {name: [page.relative_to(ROOT).as_posix() for page in pages]}


def _config(source: Path, output: Path) -> dict[str, Any]:
    warned = {"not_found": "warn", "anchors": "warn", "absolute_links": "warn", "unrecognized_links": "ignore"}
    return {
        "site_name": "podberth",
        "docs_dir": str(source),
        "site_dir": str(output),
        "use_directory_urls": False,  # so that pages can be read from files, too; the search needs a server
        "strict": True,
        "nav": navigation(),
        "plugins": ["material/search"],
        "theme": {
            "name": "material",
            "font": False,  # else the reader's browser asks Google for it
            "features": [
                "navigation.sections",
                "navigation.footer",
                "navigation.top",
                "search.highlight",
                "toc.follow",
            ],
            "palette": [
                {"media": "(prefers-color-scheme: light)", "scheme": "default"},
                {"media": "(prefers-color-scheme: dark)", "scheme": "slate"},
            ],
        },
        "markdown_extensions": [
            {"toc": {"permalink": True, "slugify": slugify(case="lower")}},
            "tables",
            "pymdownx.superfences",
            "pymdownx.highlight",
        ],
        "validation": {"links": warned, "nav": {"omitted_files": "info", "not_found": "warn"}},
    }


if __name__ == "__main__":
    sys.exit(main())
