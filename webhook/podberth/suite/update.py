"""Computes new expectations for failed test cases. Expectations that hold are kept, and no expectation is added.

A case that could not be run gets no new expectations. The result is a patch of the suite's document and the texts of
golden files; the caller writes them.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ..kube.json_patch import Operation
from ..kube.paths import Path
from ..kube.positions import render_path
from ..kube.yaml_text import as_yaml
from .case_file import Expectation, Suite
from .runner import CaseResult, SuiteResult, differences, written


@dataclass(frozen=True, slots=True, kw_only=True)
class Update:
    """The changes that make a suite pass: operations on the suite's document, and texts of golden files by name."""

    operations: tuple[Operation, ...]
    goldens: dict[str, str]
    changes: tuple[str, ...]
    """The changes for the user: the paths of the operations in the document, and the names of the golden files."""


def update_of(suite: Suite, result: SuiteResult) -> Update:
    """Return the changes that ``podberth test --update`` makes to a suite, from the result of a run of the suite."""
    operations: list[Operation] = []
    goldens: dict[str, str] = {}
    changes: list[str] = []
    for case in result.cases:
        if not case.verdict or not case.violations:
            continue
        expect = suite.cases[case.index].expect
        for path, value in _changed(expect, case):
            place: Path = ("cases", case.index, "expect", *path)
            operations.append(Operation("replace", tuple(map(str, place)), value=value))
            changes.append(render_path(place))
        if expect.golden is not None and case.pod is not None and _golden_differs(case):
            goldens[expect.golden] = as_yaml(case.pod)
            changes.append(expect.golden)
    return Update(operations=tuple(operations), goldens=goldens, changes=tuple(changes))


def _golden_differs(case: CaseResult) -> bool:
    return case.golden is not None or any(each.where.endswith(".expect.golden") for each in case.violations)


def _changed(expect: Expectation, case: CaseResult) -> Iterator[tuple[Path, Any]]:
    """Yield (path, new value) for each expectation that does not hold."""
    admitted = expect.verdict == "admitted" and case.verdict != "denied"
    if expect.verdict not in (None, case.verdict) and not admitted:
        yield ("verdict",), case.verdict
    for field, wanted, actual in (
        ("warnings", expect.warnings, case.warnings),
        ("denials", expect.denials, (case.denial,) if case.denial else ()),
    ):
        if wanted is not None and (texts := _texts(wanted, actual)) != list(wanted):
            yield (field,), texts
    patched = None if expect.patched is None else written(expect.patched)
    if patched is not None and case.pod is not None and any(differences(patched, case.pod)):
        yield ("patched",), _fitting(patched, case.pod)


def _texts(wanted: tuple[str, ...], actual: tuple[str, ...]) -> list[str]:
    """Return the texts to expect: the wanted texts that occur in an actual text, and new texts from ``actual``.

    If a wanted text does not occur, or no text was wanted, each actual text that contains no wanted text is added.
    """
    kept = [part for part in wanted if any(part in text for text in actual)]
    if len(kept) == len(wanted) and (wanted or not actual):
        return kept
    return [*kept, *(text for text in actual if not any(part in text for part in kept))]


def _fitting(expected: Any, actual: Any) -> Any:
    """Return ``expected`` with each value replaced by the value at the same path in ``actual``.

    No key is added; a key that ``actual`` lacks becomes null. If two lists differ in length, the list of ``actual`` is
    taken whole.
    """
    if not any(differences(expected, actual)):
        return expected
    if isinstance(expected, dict) and expected and isinstance(actual, dict):
        return {key: _fitting(value, actual.get(key)) for key, value in expected.items()}
    if isinstance(expected, list) and isinstance(actual, list) and len(expected) == len(actual):
        return [_fitting(one, other) for one, other in zip(expected, actual, strict=True)]
    return actual
