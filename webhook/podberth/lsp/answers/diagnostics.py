"""The findings about one open document: those of ``podberth lint``, or the problems of a test suite, with ranges.

A finding with a suggestion ("did you mean X?", "write X" for one name, "quote it: X", or quotes around a value) has a
fix.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from ...cel.engine import Environment
from ...conventions import Conventions
from ...errors import Problem
from ...lint.findings import Level, LintFinding
from ...lint.runner import lint
from ...policy.parse import MAX_PROBLEMS, excess_of_text
from ...suite.case_file import parse_suite
from ...topology.node import Node
from .document import OpenDocument, is_judged
from .text import Place, Range, Text

_SUITE: Final = "suite"
"""The name of the rule about test suites, in place of a lint rule."""
_SUGGESTION: Final = re.compile(r"; (?:did you mean (?P<meant>[^?]+)\?|write (?P<written>[A-Za-z][\w.]*))$")
_MISSPELT: Final = re.compile(r"^got (?P<old>[^\s,]+), which an? .+ does not have; did you mean (?P<new>\S+)\?$")
"""The messages about a misspelt field of a pod or a workload."""
_OPERATOR: Final = re.compile(r"CEL has no (?P<old>is not|\S+); write (?P<new>[&|=!<>]+)$")
_INSTEAD: Final = re.compile(r"write (?P<new>\S+) instead of (?P<old>\S+)$")
_TEXT: Final = re.compile(r"; if it is .*, quote it: (?P<new>\"?'(?P<old>.+)'\"?)$")
"""The messages about a text without quotes in the place of an expression, or in one."""
_SCALAR: Final = re.compile(
    r"^got (?:\w+, as YAML reads )?'?(?P<old>[^']+?)'?(?: without quotes)?, want .*; "
    r"(?:write (?P<written>[-\d{[].*)|put it in quotes(?:: (?P<quoted>.+))?|for the text .+ write (?P<text>.+))$"
)
"""The messages about a value of YAML that has another type."""
_AFTER_KEY: Final = re.compile(r"[:\-,{\[]\s+$|[{\[]$")
"""What is before a value of YAML without quotes."""
_IN_SINGLE_QUOTES: Final = re.compile(r"[:\-,{\[]\s+'[^']*$")
"""What is before a place inside a text of YAML in single quotes, in which a quote is written twice."""
_ONLY: Final = re.compile(r"^got '(?P<old>[^']+)', want '(?P<new>[^']+)'$")
"""The messages about a value in place of the only possible one."""
_OPERAND: Final = re.compile(r"; (?:a text has|a number has no|true and false have no) quotes: write (?P<new>\S+)$")
"""The messages about an operand with quotes too many or too few."""
_WHOLE: Final = re.compile(r"(?:put the whole text into quotes|a text with ': ' in it (?:needs|into) quotes)$")
"""The messages about a value of YAML that is a text only in quotes."""
_VALUE: Final = re.compile(r"(?P<before>\s*(?:- +)*[\w./-]+:\s+)(?P<value>[^\s\"|>{\[].*?)\s*")
"""A line of YAML in block style with a value that is no list or object."""
_NAMED: Final = re.compile(r"'([^']+)'")


_Replacement: TypeAlias = tuple[int, str, str]
"""(The column, the text that is there, the text that replaces it)."""


@dataclass(frozen=True, slots=True)
class Fix:
    """A replacement of the text in a range."""

    range: Range
    text: str


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One finding: its range in the document, its severity, its rule and message, and its fix if it has one."""

    range: Range
    level: Level
    rule: str
    message: str
    fix: Fix | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Linting:
    """What lint rules need besides the policies."""

    environment: Environment
    conventions: Conventions
    nodes: tuple[Node, ...] | None = None
    """The cluster's nodes; None: the rules about nodes find nothing."""
    level: Level = Level.WARNING
    """The lowest level that is shown."""


def diagnose(document: OpenDocument, tests: Sequence[str], linting: Linting) -> tuple[Diagnostic, ...]:
    """Return the findings about a document; empty if the document has no policy and is no suite.

    ``tests`` are the names of the files with tests in the document's folder.
    """
    if document.is_suite:
        if excess := excess_of_text(document.text.content):
            problem = Problem(document.file, 1, 1, "", excess)
            return (_diagnostic(document.text, problem, Level.ERROR, _SUITE),)
        _, problems = parse_suite(document.text.content, document.file)
        return tuple(_diagnostic(document.text, each, Level.ERROR, _SUITE) for each in problems)
    if not is_judged(document.text.content):
        return ()
    found = _linted(document.beside(), tests, linting)
    if len(found) > MAX_PROBLEMS:
        # The problems of other files may have left no room for those of this document.
        alone = _linted([(document.file, document.text.content)], tests, linting)
        found = sorted({*found, *(each for each in alone if each.level is Level.ERROR)})
    return tuple(
        _diagnostic(document.text, each.problem, each.level, each.rule)
        for each in found
        if each.problem.file == document.file
    )


def _linted(texts: Sequence[tuple[str, str]], tests: Sequence[str], linting: Linting) -> Sequence[LintFinding]:
    report = lint(
        texts,
        linting.environment,
        tests=tests,
        nodes=linting.nodes,
        conventions=linting.conventions,
    )
    return report.at_least(linting.level)


def _diagnostic(text: Text, problem: Problem, level: Level, rule: str) -> Diagnostic:
    about = text.about(problem)
    fix = next(_fixes(text, about, problem.message), None)
    return Diagnostic(about if fix is None else fix.range, level, rule, problem.message, fix)


def _fixes(text: Text, about: Range, message: str) -> Iterator[Fix]:
    """Yield the replacement that a message suggests, if the mistake stands where the problem is."""
    number, column = about.start
    for pattern, replacements in _REPLACEMENTS:
        if match := pattern.search(message):
            for start, old, new in replacements(text.line(number), column, match):
                yield _fix(text.line(number), number, start, old, new)


def _fix(line: str, number: int, start: int, old: str, new: str) -> Fix:
    """Return the replacement of ``old`` at a place; of the whole value, if quotes of CEL would begin it in YAML."""
    value = _VALUE.fullmatch(line)
    if value and value.end("before") == start and new.startswith("'") and line.startswith(old, start):
        rest = value["value"].removeprefix(old)
        if rest and '"' not in rest and "\\" not in rest and " #" not in rest:
            old, new = value["value"], f'"{new}{rest}"'
    return Fix(Range(Place(number, start), Place(number, start + len(old))), new)


def _names(line: str, column: int, match: re.Match[str]) -> Iterator[_Replacement]:
    start = column + (line[column : column + 1] in ("'", '"'))
    for written in _NAMED.findall(match.string[: match.start()]):
        for name in (written, written.rpartition(".")[2]):
            if line.startswith(name, start):
                yield start, name, _inside(line[:column], match["meant"] or match["written"])


def _tokens(line: str, column: int, match: re.Match[str]) -> Iterator[_Replacement]:
    """Yield the replacement of a token of an expression, in which the problem's place may be."""
    old = match["old"]
    start = line.find(old, max(column - len(old) + 1, 0), column + len(old))
    if start >= 0:
        yield start, old, match["new"]


def _operands(line: str, _: int, match: re.Match[str]) -> Iterator[_Replacement]:
    """Yield the replacement of an operand, if the line has it once."""
    new = match["new"]
    word = re.escape(new.strip("'"))
    with_quotes = rf"(?P<quote>['\"]{{1,2}}){word}(?P=quote)"
    old = rf"(?<![\w.'\"]){word}(?![\w.'\"(\[])" if new.startswith("'") else with_quotes
    found = list(re.finditer(old, line))
    if len(found) == 1:
        yield found[0].start(), found[0][0], _inside(line[: found[0].start()], new)


def _values(line: str, _: int, __: re.Match[str]) -> Iterator[_Replacement]:
    """Yield a value in quotes, which stands behind its key on a line of its own."""
    value = _VALUE.fullmatch(line)
    if value and " #" not in value["value"]:
        old = value["value"]
        is_plain = '"' not in old and "\\" not in old
        doubled = old.replace("'", "''")
        yield value.start("value"), old, f'"{old}"' if is_plain else f"'{doubled}'"


def _texts(line: str, column: int, match: re.Match[str]) -> Iterator[_Replacement]:
    if line.startswith(match["old"], column):
        # The outer quotes are YAML's, which a value in quotes or in a block does not need.
        new = match["new"] if _AFTER_KEY.search(line[:column]) else match["new"].strip('"')
        yield column, match["old"], _inside(line[:column], new)


def _scalars(line: str, column: int, match: re.Match[str]) -> Iterator[_Replacement]:
    quote = line[column : column + 1] if line.startswith(("'", '"'), column) else ""
    old = f"{quote}{match['old']}{quote}"
    if re.match(rf"{re.escape(old)}\s*(?:[,\]}}#]|$)", line[column:]):
        yield column, old, match["written"] or match["quoted"] or match["text"] or f"'{match['old']}'"


def _inside(before: str, new: str) -> str:
    """Return a text as YAML wants it behind ``before`` on its line."""
    return new.replace("'", "''") if _IN_SINGLE_QUOTES.search(before) else new


_REPLACEMENTS: Final[
    tuple[tuple[re.Pattern[str], Callable[[str, int, re.Match[str]], Iterator[_Replacement]]], ...]
] = (
    (_SUGGESTION, _names),
    (_MISSPELT, _tokens),
    (_OPERATOR, _tokens),
    (_INSTEAD, _tokens),
    (_ONLY, _tokens),
    (_TEXT, _texts),
    (_OPERAND, _operands),
    (_WHOLE, _values),
    (_SCALAR, _scalars),
)
"""The messages that name a replacement, each with a function from a line, the problem's column and the match."""
