"""The answer to a session: what ``lint``, ``check``, ``explain`` and ``test`` say about its policies and its workload.

The functions read the session's texts alone, and decide nothing themselves.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from difflib import unified_diff
from typing import Any, Final

from ..admission.creation import request_of
from ..admission.explain import explain
from ..admission.explain_json import ExplainedPod, as_json
from ..admission.reach import ReachableCluster
from ..admission.snapshot import Snapshot, load_working
from ..admission.unlabelled import unlabelled_text
from ..cel.engine import Environment
from ..cel.trace import Tracer
from ..check.natives import Beside, natives_among
from ..check.report.patched import render
from ..check.report.results import heading, sentence, title, without_record
from ..check.result import Result
from ..check.run import CheckSettings, check, report
from ..check.sources import Source, SourceFile, read
from ..check.surroundings import is_assumed, referred, surroundings, within
from ..conventions import Conventions
from ..errors import Problem, ReviewError
from ..kube.documents import load_documents
from ..kube.json_patch import PatchError
from ..kube.positions import render_path
from ..lint.findings import Level
from ..lsp.answers.diagnostics import Linting, diagnose
from ..lsp.answers.document import OpenDocument, is_judged
from ..lsp.answers.text import Place, Range, Text
from ..native.documents import others_of
from ..native.judge import REQUESTER, Surroundings
from ..policy.parse import ParsedPolicies, parse_policies
from ..topology.overview import overview
from ..workload.templates import Template, templates
from .cluster import SessionCluster, read_cluster
from .generated import tests_of
from .session import Session

POLICY: Final = "policy.yaml"
WORKLOAD: Final = "workload.yaml"
MOST_PODS: Final = 20
"""The most pods of a workload that are explained; all are checked."""
UNDECIDED: Final = "not decided"
"""The verdict on a pod while the policies or the cluster have an error."""
_TESTS: Final = ("tests.yaml",)
"""The tests that the page generates count as tests of the policies."""


def units(text: str) -> int:
    """Return the length of a text in UTF-16, in which a browser counts."""
    return len(text.encode("utf-16-le", errors="surrogatepass")) // 2


def answer(session: Session, environment: Environment, conventions: Conventions, now: datetime) -> dict[str, Any]:
    """Return the answer to a session as JSON, which ``static/page.js`` shows.

    ``environment`` is the CEL environment in which policies are compiled, ``conventions`` has the cluster's own
    names, and ``now`` is the time for exceptions.
    """
    cluster = read_cluster(session.cluster, session.namespace)
    # An empty text has no policies; for the commands, an empty file may be one that is still being written.
    texts = [(POLICY, session.policy)] if any(load_documents(session.policy, POLICY)) else []
    parsed = parse_policies(texts, others_of(texts))
    parsed = replace(parsed, params=cluster.with_params(parsed, session.namespace))
    marks = _marks_of_lint(session, environment, conventions, cluster)
    # What lint has compiled without an error is compiled again only where the workload needs it.
    is_linted = is_judged(session.policy) and "podberth-lint:" not in session.policy
    clean = is_linted and not parsed.problems and not any(each["level"] == "error" for each in marks)
    snapshot, broken = load_working(parsed, cluster.facts, environment, conventions, checked=clean)
    file = read(WORKLOAD, session.workload)
    decided = _decided(session, snapshot.at(now), parsed, file, is_known=cluster.is_usable and not broken)
    explained = _Explained(session, decided.snapshot, cluster)
    pods = list(explained.pods(file)) if decided.is_decided else []
    # The tests have the workload's other objects among their own, so the snapshot is that without them.
    suite = cluster.with_objects(decided.beside)
    tests, failing = tests_of(suite, explained.cases, parsed, snapshot.at(now), now)
    return {
        "marks": {
            "policy": [*marks, *_unmarked(session, {*broken, *decided.problems}, marks)],
            "workload": list(_marks_of_workload(session, decided.results)),
            "cluster": [_mark(Text(session.cluster), each, "error", "") for each in cluster.problems],
        },
        "isDecided": decided.is_decided,
        "results": [
            {**each, "title": title(result), "skippedAs": heading(result) if result.verdict == "skipped" else ""}
            for each, result in zip(decided.json, decided.results, strict=True)
        ],
        "unknownNamespaces": [unlabelled_text(*each, "the cluster") for each in decided.unlabelled.items()],
        "diff": decided.diff,
        "diffWithRecord": decided.diff_with_record,
        "explained": as_json(pods)["results"],
        "morePods": explained.more,
        "map": _map(cluster, conventions),
        "tests": {"text": tests, "failing": list(failing)},
    }


# ---- what check says -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class _Decided:
    """The check of the workload: its results, the difference of its text, and the snapshot that it was decided in."""

    snapshot: Snapshot
    beside: tuple[Mapping[str, Any], ...]
    """The workload's other objects about its pods, such as their groups and params."""
    results: tuple[Result, ...]
    json: Sequence[dict[str, Any]]
    unlabelled: Mapping[str, Sequence[str]]
    """For each namespace that no text has, the policies that may read its labels."""
    diff: list[str]
    """The difference without podberth's record of the policies' changes."""
    diff_with_record: list[str]
    problems: tuple[Problem, ...]
    """The problems of native policies."""
    is_decided: bool
    """Whether all policies and the cluster are known; if not, the results have only the errors of the workload."""


def _decided(
    session: Session, snapshot: Snapshot, parsed: ParsedPolicies, file: SourceFile, *, is_known: bool
) -> _Decided:
    beside = Beside(parsed.others)
    documents = surroundings([file], session.namespace)
    whole = within(snapshot, documents)
    natives = natives_among([file], beside, documents, whole, Surroundings(namespace=session.namespace))
    settings = CheckSettings(namespace=session.namespace, natives=natives)
    checked = check(file, whole, settings, tuple(referred(documents)))
    problems = natives.problems if natives else ()
    is_decided = is_known and not problems
    if not is_decided:
        checked = replace(checked, results=tuple(map(_without_policies, checked.results)))
    whole_report = report([checked])
    found = whole_report.as_json()["results"]
    return _Decided(
        snapshot=whole,
        # A suite assumes the Namespace of its pods itself, unless its objects include that Namespace.
        beside=tuple(each for each in documents if each.get("kind") != "Pod" and not is_assumed(each)),
        results=checked.results,
        json=found if is_decided else [_undecided(each) for each in found],
        unlabelled=whole_report.unknown_namespaces if is_decided else {},
        diff=_difference(session.workload, tuple(map(without_record, checked.results))),
        diff_with_record=_difference(session.workload, checked.results),
        problems=problems,
        is_decided=is_decided,
    )


def _without_policies(result: Result) -> Result:
    return replace(result, denials=(), warnings=(), notes=(), changes=())


def _undecided(result: dict[str, Any]) -> dict[str, Any]:
    return result if result["verdict"] in ("error", "skipped") else {**result, "verdict": UNDECIDED}


def _difference(text: str, results: Sequence[Result]) -> list[str]:
    """Return the lines of the unified difference between the workload, and the workload as policies change it."""
    try:
        after, problems = render(text, WORKLOAD, results)
    except PatchError as error:
        return [f"! {error}"]
    lines = unified_diff(text.splitlines(), after.splitlines(), WORKLOAD, "with the policies", lineterm="")
    return [*lines, *(f"! {each}" for each in problems)]


# ---- what explain says -----------------------------------------------------------------------------------------------


@dataclass
class _Explained:
    """Explains the pods of a workload, and collects them as cases of a suite."""

    session: Session
    snapshot: Snapshot
    cluster: SessionCluster
    cases: list[tuple[str, Mapping[str, Any], str]] = field(default_factory=list)
    """(title, pod, verdict) for each explained pod."""
    more: int = 0
    """The number of pods beyond ``MOST_PODS``."""
    _tracers: dict[str, Tracer] = field(default_factory=dict)

    def pods(self, file: SourceFile) -> Iterator[ExplainedPod]:
        """Yield the explanation of each pod; a pod that the API server would refuse has none."""
        nodes = self.cluster.facts.nodes
        known_devices, holdings = self.snapshot.devices, self.cluster.holdings
        reach = ReachableCluster(nodes, self.snapshot.conventions, holdings, known_devices) if nodes else None
        known = [each.content for each in file.sources]
        for source in file.sources:
            for template in templates(source.content, namespace=self.session.namespace, known=known):
                if template.problems:
                    continue
                if len(self.cases) == MOST_PODS:
                    self.more += 1
                    continue
                yield from self._pod(source, template, reach)

    def _pod(self, source: Source, template: Template, reach: ReachableCluster | None) -> Iterator[ExplainedPod]:
        try:
            request = request_of({"object": template.pod, "userInfo": REQUESTER})
            found = explain(request, self.snapshot.with_owners(template.owners), tracers=self._tracers)
        except ReviewError:
            return
        path = render_path(template.path)
        self.cases.append((" ".join(filter(None, (source.kind, source.name, path))), template.pod, found.verdict))
        explained = ExplainedPod(
            file=WORKLOAD,
            line=source.line(template.path),
            kind=source.kind,
            namespace=source.namespace(self.session.namespace),
            name=source.name,
            path=path,
            explanation=found,
        )
        if reach is not None:
            after = None if found.verdict == "denied" or found.pod is None else reach.reach(found.pod)
            explained = replace(explained, node_count=reach.node_count, before=reach.reach(template.pod), after=after)
        yield explained


def _map(cluster: SessionCluster, conventions: Conventions) -> list[dict[str, Any]]:
    """Return the cluster's nodes by kind, each with the reason why it is transient (empty: it is not)."""
    found = []
    for kind in overview(cluster.facts.nodes, conventions, cluster.holdings).kinds:
        states = {name: reason for reason, names in kind.transient.items() for name in names}
        nodes = [{"name": name, "state": states.get(name, "")} for name in kind.names]
        found.append({"title": kind.kind.title, "nodes": nodes})
    return found


# ---- marks in the texts ----------------------------------------------------------------------------------------------


def _marks_of_lint(
    session: Session, environment: Environment, conventions: Conventions, cluster: SessionCluster
) -> list[dict[str, Any]]:
    text = Text(session.policy)
    nodes = cluster.facts.nodes or None
    linting = Linting(environment=environment, conventions=conventions, nodes=nodes, level=Level.NOTE)
    document = OpenDocument(POLICY, text, lambda: [(POLICY, text.content)])
    found = diagnose(document, _TESTS, linting)
    return [_range(text, each.range, str(each.level), each.rule, each.message) for each in found]


def _unmarked(
    session: Session, problems: Iterable[Problem], marks: Iterable[Mapping[str, Any]]
) -> Iterator[dict[str, Any]]:
    """Yield a mark for each problem of the policies that lint has not found, as in a text without a policy."""
    known = {mark["message"] for mark in marks}
    text = Text(session.policy)
    yield from (_mark(text, each, "error", "invalid") for each in sorted(problems) if each.message not in known)


def _marks_of_workload(session: Session, results: Iterable[Result]) -> Iterator[dict[str, Any]]:
    text = Text(session.workload)
    for result in results:
        for level, findings in (
            ("error", (*result.errors, *result.denials)),
            ("warning", result.warnings),
            ("note", result.notes),
        ):
            for each in findings:
                line = min(max(each.line, 1), len(text.lines)) - 1
                written = text.line(line)
                start = len(written) - len(written.lstrip())
                about = Range(Place(line, start), Place(line, len(written)))
                yield _range(text, about, level, each.policy, sentence(replace(each, policy="")))


def _mark(text: Text, problem: Problem, level: str, source: str) -> dict[str, Any]:
    return _range(text, text.about(problem), level, source, problem.message)


def _range(text: Text, about: Range, level: str, source: str, message: str) -> dict[str, Any]:
    ends = {name: _place(text, place) for name, place in zip(("from", "to"), about, strict=True)}
    return {**ends, "level": level, "source": source, "message": message}


def _place(text: Text, place: Place) -> dict[str, int]:
    line, column = text.to_editor(place, units)
    return {"line": line, "column": column}
