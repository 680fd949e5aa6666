"""Finds the pages of podberth's documentation, which are in the package; messages and help name them."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from ..errors import UsageError, did_you_mean
from .reading import read_text_in_time, reason_of

# A wheel has the pages inside the package; a checkout, from which an editable install runs, has them at its root.
_PACKAGE: Final = Path(__file__).parents[1] / "docs"
FOLDER: Final = _PACKAGE if _PACKAGE.is_dir() else Path(__file__).parents[3] / "docs"
"""The folder of the documentation, with the published JSON Schemas."""
MAP: Final = "README"
"""The name of the page that names the others."""
_MAX_BYTES: Final = 1 << 20
_HEADING: Final = re.compile(r"(#+) (.+)")


def names() -> tuple[str, ...]:
    """Return the names of all pages, sorted: their paths below the folder, without ".md"."""
    return tuple(sorted(file.relative_to(FOLDER).with_suffix("").as_posix() for file in FOLDER.rglob("*.md")))


def page(name: str) -> str:
    """Return the Markdown of a page, or of one section, with the sections below it.

    ``name`` is a page's name, or its path as messages and pages have it (docs/status.md). After "#" follows the anchor
    or the title of a section.

    Raises:
        UsageError: there is no such page or section; the message has the most similar name, and its pages.
    """
    path, _, section = name.partition("#")
    known = names()
    short = path.removeprefix("docs/").removesuffix(".md")
    if short not in known:
        raise UsageError(f"docs: got {path!r}, want a page that `podberth docs` names{did_you_mean(short, known)}")
    text = _text(short)
    return _section(text, section, short) if section else text


def _text(name: str) -> str:
    file = FOLDER / f"{name}.md"
    try:
        return read_text_in_time(file, _MAX_BYTES)
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"docs: {file}: cannot be read: {reason_of(error)}") from error


def _section(text: str, wanted: str, name: str) -> str:
    lines = text.splitlines(keepends=True)
    headings = list(_headings(lines))
    found = next((each for each in headings if each[2] == anchor(wanted)), None)
    if found is None:
        near = " or ".join(_places(anchor(wanted)))
        raise UsageError(f"docs: {name}: got no section {wanted!r}{near and f'; did you mean {near}?'}")
    start, level, _ = found
    end = next((line for line, depth, _ in headings if line > start and depth <= level), len(lines))
    return "".join(lines[start:end])


def _places(wanted: str) -> list[str]:
    """Return the sections of all pages whose anchor is ``wanted``, or else the anchor most similar to it.

    Empty if no anchor is similar. Each section has the name that ``page`` takes.
    """
    from difflib import get_close_matches  # noqa: PLC0415 - only a message about a mistake needs it

    pages: dict[str, dict[str, None]] = {}
    for name in names():
        for _, _, each in _headings(_text(name).splitlines()):
            pages.setdefault(each, {})[name] = None
    near = wanted if wanted in pages else next(iter(get_close_matches(wanted, pages, n=1)), "")
    return [f"{name}#{near}" for name in pages.get(near, ())]


def _headings(lines: list[str]) -> Iterator[tuple[int, int, str]]:
    """Yield (index of the line, level, anchor) for each heading; a comment of a sample is none."""
    fenced = False
    for index, line in enumerate(lines):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif not fenced and (match := _HEADING.match(line)):
            yield index, len(match[1]), anchor(match[2])


def anchor(title: str) -> str:
    """Return the anchor of a heading, as GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", title.strip().lower()).replace(" ", "-")
