"""The findings about one open document: those of ``podberth lint``, or the problems of a test suite, with ranges.

A finding with a suggestion ("did you mean X?", or "write X" for one name) has a fix.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

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
_IN_SINGLE_QUOTES: Final = re.compile(r"[:\-,{\[]\s+'[^']*$")
"""What is before a place inside a text of YAML in single quotes, in which a quote is written twice."""
_NAMED: Final = re.compile(r"'([^']+)'")


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
    """Yield the replacement that a message suggests, if the misspelt name stands where the problem is."""
    suggestion = _SUGGESTION.search(message)
    if suggestion is None:
        return
    line, meant = text.line(about.start.line), suggestion["meant"] or suggestion["written"]
    if "'" in meant and _IN_SINGLE_QUOTES.search(line[: about.start.column]):
        meant = meant.replace("'", "''")
    for written in _NAMED.findall(message[: suggestion.start()]):
        for name in (written, written.rpartition(".")[2]):
            start = about.start.column
            start += line[start : start + 1] in ("'", '"')
            if line.startswith(name, start):
                range_ = Range(Place(about.start.line, start), Place(about.start.line, start + len(name)))
                yield Fix(range_, meant)
