"""Finds the pages of podberth's documentation, which are in the package; messages and help name them."""

import re
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, metadata
from math import log
from pathlib import Path
from posixpath import normpath
from typing import Final, NamedTuple

from ..errors import UsageError
from ..words import did_you_mean
from .reading import read_text_in_time, reason_of

# A wheel has the pages inside the package; a checkout, from which an editable install runs, has them at its root.
_PACKAGE: Final = Path(__file__).parents[1] / "docs"
FOLDER: Final = _PACKAGE if _PACKAGE.is_dir() else Path(__file__).parents[3] / "docs"
"""The folder of the documentation, with the published JSON Schemas."""
MAP: Final = "README"
"""The name of the page that names the others."""
_MAX_BYTES: Final = 1 << 20
_MOST_FOUND: Final = 5
"""The most sections that a message names."""
_LINK: Final = re.compile(r"\]\((?![a-z]+:|#)([^)#\s]+)(#[^)\s]*)?\)")
"""A relative link in Markdown: the path, and the anchor behind it."""
_WHOLE_LINK: Final = re.compile(r"\[([^\]]*)\]\([^)]*\)")
_LAST: Final = ("adr/", "precision", MAP)
"""How the names of pages begin that a search puts last: those for contributors, and the map, which has no answers."""
_UNSAID: Final = frozenset(
    {"a", "do", "does", "how", "i", "is", "my", "of", "the", "to", "what", "which", "who", "why"}
)
"""The words of a question that say nothing about its subject."""
_SAME: Final = (
    ("budget", "limit", "bound"),
    ("deny", "denied", "refuse", "reject"),
    ("disable", "off", "stop"),
    ("exclude", "exempt"),
    ("expensive", "cost", "price"),
    ("expire", "renew"),
    ("migrate", "convert"),
    ("permission", "privilege", "rbac", "right"),
    ("remove", "uninstall", "delete"),
    ("wait", "pending"),
)
"""Words that questions and pages have for one thing."""
_QUESTION: Final = re.compile(r"^\| (?P<question>.+?) \| (?P<answers>.+) \|$", re.MULTILINE)
"""A row of the map."""
_HEADING: Final = re.compile(r"(#+) (.+)")
_NO_PROSE: Final = re.compile(r"^```(?s:.*?)^```$|^(?:\||<!--| {4}|\*For |Next: |\[[^]]*\]\([^)]*\)$).*$", re.MULTILINE)
"""A block of code, a row of a table, a comment, a lone link, or the line about a page's readers or the next page."""
_DESCRIPTION: Final = re.compile(r"^  description: (.+)$", re.MULTILINE)
_WHOLE_TITLE: Final = 0.3
"""How much better a section counts if the words are its whole title."""
_ENDING: Final = re.compile(r"(?<=\w{4})(ies|es|s|e|y|ing|ed)$", re.IGNORECASE)
"""The end of a word that other forms of it may lack."""


class Section(NamedTuple):
    """A section of a page, without the sections below it."""

    place: str
    """PAGE, or PAGE#SECTION."""
    title: str
    context: str
    """The name of the page, and the questions of the map that the section answers."""
    text: str

    @property
    def opening(self) -> str:
        """The first paragraph, or a policy's description, without marks of Markdown; empty if there is none."""
        paragraphs = (" ".join(each.split()) for each in _NO_PROSE.sub("", self.text).split("\n\n"))
        first = next(filter(None, (*paragraphs, *_DESCRIPTION.findall(self.text))), "")
        return "" if first.startswith("- ") else _WHOLE_LINK.sub(r"\1", first).replace("**", "")


class Found(NamedTuple):
    """The sections that a search found, the best first."""

    sections: list[Section]
    complete: bool
    """Whether a section has all the words."""


def names() -> tuple[str, ...]:
    """Return the names of all pages, sorted: their paths below the folder, without ".md"."""
    return tuple(sorted(file.relative_to(FOLDER).with_suffix("").as_posix() for file in FOLDER.rglob("*.md")))


def page(name: str) -> str:
    """Return the Markdown of a page, or of one section, with the sections below it.

    ``name`` is a page's name, or its path as messages and pages have it (docs/status.md). After "#" or ", " follows the
    anchor or the title of a section, as messages have it (docs/status.md, Let through).

    Raises:
        UsageError: there is no such page or section; the message has the most similar name, and its pages.
    """
    path, _, section = name.replace(", ", "#", 1).partition("#")
    known = names()
    short = path.removeprefix("docs/").removesuffix(".md")
    if short not in known:
        near = did_you_mean(short, known) or found_in(short)
        raise UsageError(f"docs: got {path!r}, want a page that `podberth docs` names{near}")
    text = _read(short)
    return absolute(_section(text, section, short) if section else text, short, _repository())


def search(words: str) -> Found:
    """Return the sections with all of the words, and the best few besides, the best first.

    Words that say nothing, as how or my, do not count. A word may be the beginning of a longer one, its plural or
    another form (rotate, rotation), or another word for the same (remove, uninstall); case does not matter.
    A word counts the more, the fewer sections have it and the denser it is in the text, and about twice in a title or
    in a question of the map. A section does not count with the words of the sections below it. What is for
    contributors comes last.
    """
    wanted = [_pattern(each) for each in map(_bare, words.lower().split()) if each and each not in _UNSAID]
    sections = list(_sections()) if wanted else []
    having = [[bool(each.search("\n".join(section))) for each in wanted] for section in sections]
    everywhere = any(map(all, having))
    # How much a word says: the more, the fewer sections have it.
    weights = [log(1 + len(sections) / max(1, sum(column))) for column in zip(*having, strict=True)]
    usual = sum(len(section.text) for section in sections) / max(1, len(sections))
    found = []
    for section, row in zip(sections, having, strict=True):
        score = sum(weight * _fits(each, section, usual) for weight, each in zip(weights, wanted, strict=True))
        titled = sum(bool(each.search(section.title)) for each in wanted)
        score *= 1 + _WHOLE_TITLE * titled / len(set(re.findall(r"\w+", section.title)))
        if score:
            found.append((section.place.startswith(_LAST), -score, section, all(row)))
    best = enumerate(sorted(found))
    return Found([section for at, (*_, section, whole) in best if whole or at < _MOST_FOUND], complete=everywhere)


def _bare(word: str) -> str:
    return word.strip("?!.,:;'\"")


def _pattern(word: str) -> re.Pattern[str]:
    """Return the expression for a word, its other forms, and the other words for the same."""
    stem = _ENDING.sub("", word)
    rows = ({_ENDING.sub("", each) for each in row} for row in _SAME)
    forms = {stem}.union(*(row for row in rows if stem in row))
    return re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, sorted(forms)))})", re.IGNORECASE)


def _fits(word: re.Pattern[str], section: Section, usual: float) -> float:
    """Return how much a section is about a word, from 0 to 2; ``usual`` is the mean length of a section's text."""
    often = len(word.findall(section.text))
    in_text = often / (often + 0.5 + 0.7 * len(section.text) / usual)  # BM25's saturation: twice is not double
    return in_text + (1 if word.search(section.title) else 0.9 if word.search(section.context) else 0)


def _sections() -> Iterator[Section]:
    questions = _questions()
    for name in names():
        lines = _read(name).splitlines(keepends=True)
        headings = list(_headings(lines))
        ends = [line for line, _, _ in headings[1:]] + [len(lines)]
        for (start, level, title), end in zip(headings, ends, strict=True):
            place = name if level == 1 else f"{name}#{title}"
            context = " ".join((name, *questions.get(place, ())))
            yield Section(place, lines[start].strip("# \n"), context, "".join(lines[start + 1 : end]))


def _questions() -> dict[str, list[str]]:
    """Return, for each section that the map names, the questions that it answers."""
    found: dict[str, list[str]] = {}
    for row in _QUESTION.finditer(_read(MAP)):
        for link in _LINK.finditer(row["answers"]):
            place = link[1].removesuffix(".md") + (link[2] or "")
            found.setdefault(place, []).append(row["question"])
    return found


def absolute(text: str, name: str, repository: str) -> str:
    """Return a page in which links to files outside the documentation are addresses in the repository.

    ``name`` is the page's name. ``repository`` is the address of the repository's files, with a slash at the end; if
    it is empty, the links stay as they are.
    """

    def replaced(link: re.Match[str]) -> str:
        path = normpath(f"docs/{name}/../{link[1]}")
        return link[0] if path.startswith("docs/") else f"]({repository}{path}{link[2] or ''})"

    return _LINK.sub(replaced, text) if repository else text


def _repository() -> str:
    """Return the address of the files of the repository that the package was released from; empty if unknown."""
    try:
        addresses = metadata("podberth").get_all("Project-URL", ())
    except PackageNotFoundError:
        return ""
    pages = (each.removeprefix("Documentation, ") for each in addresses if each.startswith("Documentation, "))
    return next(pages, "").removesuffix(f"docs/{MAP}.md")


def _read(name: str) -> str:
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
        near = _places(anchor(wanted)) or found_in(wanted, name)
        raise UsageError(f"docs: {name}: got no section {wanted!r}{near}")
    start, level, _ = found
    end = next((line for line, depth, _ in headings if line > start and depth <= level), len(lines))
    return "".join(lines[start:end])


def _places(wanted: str) -> str:
    """Return the end of a message: the sections of all pages whose anchor is ``wanted``, or else the most similar one.

    Empty if no anchor is similar.
    """
    from difflib import get_close_matches  # noqa: PLC0415 - only a message about a mistake needs it

    pages: dict[str, dict[str, None]] = {}
    for name in names():
        for _, _, each in _headings(_read(name).splitlines()):
            pages.setdefault(each, {})[name] = None
    near = wanted if wanted in pages else next(iter(get_close_matches(wanted, pages, n=1)), "")
    places = [f"{name}#{near}" for name in pages.get(near, ())]
    return f"; did you mean {' or '.join(places[:_MOST_FOUND])}?" if places else ""


def found_in(words: str, page: str = "") -> str:
    """Return the end of a message: the sections that have the words, those of ``page`` first; empty for none."""
    words = re.sub(r"[-/]", " ", words)
    sections, complete = search(words)
    if not complete:
        return ""
    found = sorted((each.place for each in sections), key=lambda each: each.partition("#")[0] != page)
    left = len(found) - _MOST_FOUND
    more = f" and {left} more (podberth docs --search '{words}')" if left > 0 else ""
    return f"; read podberth docs {', '.join(found[:_MOST_FOUND])}{more}"


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
