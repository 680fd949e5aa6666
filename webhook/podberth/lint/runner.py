"""Runs every lint rule over policies: parses and compiles policies, drops suppressed findings, and sorts the rest."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from ..cel.engine import Environment
from ..conventions import Conventions
from ..kube.documents import load_documents
from ..native.documents import Located, is_beside, is_native, kinds_of_params
from ..native.judge import NativeJudge, Surroundings
from ..policy.compile import compile_policies
from ..policy.exceptions import compile_exceptions
from ..policy.namespaced import compile_namespaced
from ..policy.parse import ParsedException, ParsedPolicy, parse_policies
from ..policy.refusals import DOES_NOTHING
from ..policy.refused import problems_of_refused
from ..topology.node import Node
from .costs import ExpressionCost, costs_of
from .findings import Level, Library, Linted, LintFinding
from .halves import halves_of, is_certain
from .rules import RULES
from .suppress import suppressions

_CONFIG_MAP = ("", "ConfigMap")
SUPPRESSION = "suppression"
"""The name of the rule about comments that suppress nothing; findings of this rule cannot be suppressed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LintReport:
    """The result of linting. Findings are sorted by file and position."""

    findings: tuple[LintFinding, ...]
    costs: tuple[ExpressionCost, ...]
    """The cost of every CEL expression of every policy that compiles."""
    policies: tuple[str, ...]
    """The file of each policy that compiles."""
    silenced: int
    """The number of findings that were suppressed by comments."""

    def count(self, level: Level) -> int:
        """Return the number of findings of a severity."""
        return sum(finding.level is level for finding in self.findings)

    def at_least(self, level: Level) -> tuple[LintFinding, ...]:
        """Return the findings whose severity is ``level`` or higher."""
        return tuple(finding for finding in self.findings if finding.level >= level)


def lint(
    texts: Sequence[tuple[str, str]],
    environment: Environment,
    *,
    tests: Iterable[str] = (),
    nodes: tuple[Node, ...] | None = None,
    conventions: Conventions | None = None,
) -> LintReport:
    """Lint policy files, and return the findings and costs.

    Args:
        texts: the policy files as (file name, text).
        environment: the CEL environment in which expressions are compiled.
        tests: the names of the files with tests; a file's tests count for the policies of the file's folder.
        nodes: the cluster's nodes; None: rules about nodes find nothing.
        conventions: the names that differ between clusters; None for the presets.
    """
    library = replace(
        _library(texts, environment, {_folder(file) for file in tests}),
        nodes=nodes,
        conventions=conventions or Conventions(),
    )
    findings = _findings(library)
    if library.halves:
        more = _findings(replace(library, policies=(*library.policies, *library.halves), problems=()))
        findings |= {each for each in more if is_certain(each, library.halves)}
    kept, silenced = _unsilenced(findings, texts)
    return LintReport(
        findings=tuple(sorted(set(kept))),
        costs=tuple(cost for policy in library.policies for cost in costs_of(policy)),
        policies=tuple(policy.parsed.file for policy in library.policies),
        silenced=silenced,
    )


def _findings(library: Library) -> set[LintFinding]:
    return {
        LintFinding(problem=problem, rule=rule.name, level=rule.level)
        for rule in RULES
        for problem in rule.module.check(library)
    }


def _library(
    texts: Sequence[tuple[str, str]],
    environment: Environment,
    tested: set[str],
) -> Library:
    with_params = ((file, text) for file, text in texts if "paramKind" in text)
    kinds = kinds_of_params(each.document for file, text in with_params for each in load_documents(text, file)[0])
    parsed = parse_policies(texts, lambda document: is_beside(document, kinds - {_CONFIG_MAP}))
    natives = [Located.of(file, each) for file, each in parsed.others if is_native(each.document)]
    enabled = [each for each in parsed.policies if not each.policy.spec.disabled]
    disabled = [each for each in parsed.policies if each.policy.spec.disabled]
    compiled, problems = compile_policies(enabled, environment)
    # podberth does not compile disabled policies, so their problems are not reported; those that compile are linted.
    switched_off, _ = compile_policies(disabled, environment)
    _, of_exceptions = compile_exceptions(parsed.exceptions, environment)
    own, of_namespaces = compile_namespaced(parsed.namespaced, environment)
    by_name: dict[str, ParsedPolicy] = {each.policy.name: each for each in parsed.policies}
    by_name |= {f"{each.namespace}/{each.policy.name}": each for each in parsed.namespaced}
    policies = tuple(
        Linted(
            parsed=by_name[each.name],
            compiled=each,
            environment=environment,
        )
        for each in (*compiled, *switched_off, *own)
    )
    of_refused = (each for each in parsed.refused if isinstance(each, ParsedPolicy))
    whole = {each.name for each in (*compiled, *own)}
    halves = (each for name, each in by_name.items() if name not in whole and not each.policy.spec.disabled)
    refused = problems_of_refused(parsed, environment)
    found = (*parsed.problems, *problems, *of_exceptions, *of_namespaces, *refused)
    # A policy that is only half typed has other problems, which its author knows before.
    broken = {each.file for each in found if each.message != DOES_NOTHING}
    library = Library(
        policies=policies,
        problems=tuple(each for each in found if each.message != DOES_NOTHING or each.file not in broken),
        halves=tuple(halves_of(halves, environment)),
        params=parsed.params,
        names=parsed.names,
        untested=tuple(
            each
            for each in (*parsed.policies, *parsed.namespaced, *of_refused)
            if _folder(each.file) not in tested and not each.policy.spec.disabled
        ),
        exceptions=(*parsed.exceptions, *(each for each in parsed.refused if isinstance(each, ParsedException))),
        native_documents=tuple(natives),
    )
    return _with_natives(library, environment) if natives else library


def _with_natives(library: Library, environment: Environment) -> Library:
    """Return the library with the native policies that compile, and with the problems of the others."""
    judge = NativeJudge(library.native_documents, environment, Surroundings())
    linted = tuple(
        Linted(parsed=each.policy.parsed, compiled=each.compiled, environment=judge.environment)
        for _, each in judge.bound
    )
    return replace(library, natives=linted, problems=(*library.problems, *judge.problems))


def _unsilenced(findings: Iterable[LintFinding], texts: Iterable[tuple[str, str]]) -> tuple[list[LintFinding], int]:
    known = frozenset(rule.name for rule in RULES)
    silent, kept, count = {}, [], 0
    for file, text in texts:
        silent[file], problems = suppressions(text, file, known)
        kept += [LintFinding(problem=problem, rule=SUPPRESSION, level=Level.WARNING) for problem in problems]
    for finding in findings:
        comments = silent.get(finding.problem.file, [])
        if any(each.covers(finding.rule, finding.problem.line) for each in comments):
            count += 1
        else:
            kept.append(finding)
    return kept, count


def _folder(file: str) -> str:
    return file.rpartition("/")[0]
