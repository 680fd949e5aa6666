"""Runs a suite of tests: each case goes through /mutate, again through /mutate, and through /validate.

The API server would send the same three requests. The module does no I/O: the CLI reads the files and prints the
results. A fault in a case's pod or cluster raises no error, but becomes a Problem.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from typing import TypeAlias

from ..admission import decide
from ..admission.creation import DEFAULT_NAMESPACE, request_of
from ..admission.review import AdmissionRequest
from ..admission.snapshot import Snapshot, load_snapshot
from ..cel.engine import Environment
from ..conventions import Conventions
from ..errors import Problem, ReviewError
from ..facts.cluster import ClusterFacts, collect
from ..kube.documents import load_documents
from ..kube.json_patch import ABSENT
from ..kube.patch import apply
from ..kube.paths import Path
from ..kube.quantity import write_quantities
from ..kube.shape import kind_of, shape_problems, shown
from ..kube.unchecked import at
from ..policy.exceptions import NEVER
from ..policy.parse import ParsedPolicies
from ..topology.index import TopologyIndex
from ..workload.defaults import apply_defaults, apply_request_defaults
from .case_cluster import UnusableError, documents, with_values
from .case_file import Case, Document, Suite
from .coverage import Observer
from .natives import CaseNatives, SuiteNatives


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseResult:
    """The result of one test case."""

    name: str
    index: int
    """The index of the case in the suite, from 0."""
    verdict: str
    """The verdict ``mutated``, ``unchanged`` or ``denied``; empty if the case could not be run."""
    warnings: tuple[str, ...] = ()
    denial: str = ""
    pod: Document | None = None
    """The pod that /mutate returned; None if /mutate denied the pod, the request has no pod, or the case could not be
    run.
    """
    golden: Document | None = None
    """The content of the golden file if it differs from the pod; None if both are equal, or there is no golden file."""
    violations: tuple[Problem, ...] = ()
    seconds: float = 0
    """The time that the case took."""


@dataclass(frozen=True, slots=True)
class SuiteResult:
    """The results of a suite's cases, in the file's order."""

    cases: tuple[CaseResult, ...]

    @property
    def violations(self) -> tuple[Problem, ...]:
        """All expectations that were not met; a case without expectations passes."""
        return tuple(violation for case in self.cases for violation in case.violations)


@dataclass(frozen=True, slots=True)
class SuiteSettings:
    """The settings for a run of a suite, apart from the suite and the policies."""

    goldens: Mapping[str, str] = field(default_factory=dict)
    """The texts of the golden files, by the names that the cases use."""
    selected: Callable[[Case], bool] = lambda _: True
    """The function that returns whether a case is run."""
    now: datetime = NEVER
    """The time for cases that state no time; by default so late that no exception is in force."""
    conventions: Conventions = field(default_factory=Conventions)
    """The cluster's own names, as in the file of ``--conventions``."""
    natives: SuiteNatives | None = None
    """The native policies beside the suite; None: there are none."""
    clock: Callable[[], float] = lambda: 0.0
    """The clock, in seconds, that measures each case; by default the cases take no time."""
    compiled: Snapshot | None = None
    """A snapshot with the compiled policies; None: they are compiled for the run."""


def run_suite(
    suite: Suite,
    policies: ParsedPolicies,
    environment: Environment,
    settings: SuiteSettings | None = None,
    observer: Observer | None = None,
) -> SuiteResult:
    """Run the selected cases against ``policies`` and return the results.

    ``observer`` is called for every evaluation except those of the second call of /mutate. If ``settings`` is None, all
    cases are run, without golden files.

    Raises:
        PolicyError: the policies cannot be used, so there is nothing to test.
    """
    settings = settings or SuiteSettings()
    runner = _Runner(suite, policies, environment, settings, observer or Observer())
    cases = [(index, case) for index, case in enumerate(suite.cases) if settings.selected(case)]
    return SuiteResult(tuple(runner.run(index, case) for index, case in cases))


def unmatched(policies: ParsedPolicies, observer: Observer) -> tuple[Problem, ...]:
    """Return a problem for each policy that applied in no test case, and whose effect is therefore untested."""
    return tuple(
        parsed.positions.problem(
            parsed.file,
            ("metadata", "name"),
            f"{parsed.policy.name} applies to no case of the tests beside it; add one",
        )
        for parsed in policies.policies
        if parsed.policy.name not in observer.matched_policies
    )


PlacedMessage: TypeAlias = tuple[Path, str]
"""A finding about a case: a path in the case, and a message."""


@dataclass(frozen=True)
class _Runner:
    """Runs the cases of one suite. A finding is a path and a message; the position in the file is added at the end."""

    suite: Suite
    policies: ParsedPolicies
    environment: Environment
    settings: SuiteSettings
    observer: Observer

    def run(self, index: int, case: Case) -> CaseResult:
        """Run one test case and return the case's result."""
        start = self.settings.clock()
        result = self._run(index, case)
        return replace(result, seconds=self.settings.clock() - start)

    def _run(self, index: int, case: Case) -> CaseResult:
        path: Path = ("cases", index)
        place: Path = (*path, "pod" if case.review is None else "review")
        result = CaseResult(name=case.name, index=index, verdict="")
        try:
            if case.object is not None:
                result, findings = self._of_object(result, case.object, case), []
            else:
                request = _request(place, case)
                snapshot, natives = self._cluster(place, case, request.namespace)
                own = snapshot.namespaced.get(request.namespace, ())
                self.observer.policies.update((policy.name, policy) for policy in (*snapshot.policies, *own))
                result = self._decide(result, request, snapshot, natives)
                findings = [*_second_pass(request, result, snapshot)]
            findings += _compare(case, result)
            if case.expect.golden is not None:
                result, found = _with_golden(case.expect.golden, result, self.settings.goldens)
                findings += found
        except (UnusableError, ReviewError) as error:
            where = error.path if isinstance(error, UnusableError) else place
            unusable = self._violation(where, str(error))
            return CaseResult(name=case.name, index=index, verdict="", violations=(unusable,))
        return replace(result, violations=tuple(self._violation((*path, *at), message) for at, message in findings))

    def _decide(
        self, result: CaseResult, request: AdmissionRequest, snapshot: Snapshot, natives: CaseNatives | None
    ) -> CaseResult:
        """Return ``result`` with the outcome of /mutate for the request, and of /validate for the mutated pod.

        Native policies are evaluated in the API server's order: mutating policies before /mutate, and validating
        policies before /validate.
        """
        before = natives.mutate_pod(request) if natives else None
        if before is not None and before.denials:
            return replace(result, verdict="denied", denial="; ".join(before.denials))
        given = request.object if before is None else before.object
        mutated = decide.mutate(replace(request, object=given), snapshot, self.observer)
        if mutated.denial:
            return replace(result, verdict="denied", warnings=mutated.warnings, denial=mutated.denial)
        pod = written(apply(given, mutated.patch)) if given is not None else None
        denials, warnings = natives.judge_pod(before, pod) if natives and before and pod is not None else ((), ())
        validated = decide.validate(replace(request, object=pod), snapshot, self.observer)
        denial = "; ".join(filter(None, (*denials, validated.denial)))
        changed = mutated.patch or (before is not None and before.wrote)
        verdict = "denied" if denial else "mutated" if changed else "unchanged"
        warnings = (*mutated.warnings, *warnings, *validated.warnings)
        return replace(result, verdict=verdict, warnings=warnings, denial=denial, pod=pod)

    def _of_object(self, result: CaseResult, given: Document, case: Case) -> CaseResult:
        """Return ``result`` with the decisions of native policies on ``given``, the object of a case without a pod."""
        place: Path = ("cases", result.index, "object")
        if (given.get("apiVersion"), given.get("kind")) == ("v1", "Pod"):
            raise UnusableError(place, "got a Pod; write it as pod, so that podberth's policies decide on it, too")
        own = at(given, "metadata", "namespace") or DEFAULT_NAMESPACE
        _, natives = self._cluster(place, case, case.namespace.name if case.namespace else str(own))
        if natives is None:
            raise UnusableError(place, "no native policy is beside the suite, and podberth's own judge pods alone")
        before = natives.mutate(given)
        if before.denials:
            return replace(result, verdict="denied", denial="; ".join(before.denials))
        denials, warnings = natives.judge(before.object)
        verdict = "denied" if denials else "mutated" if before.wrote else "unchanged"
        return replace(result, verdict=verdict, warnings=warnings, denial="; ".join(denials), pod=before.object)

    def _violation(self, path: Path, message: str) -> Problem:
        return self.suite.source.positions.problem(self.suite.file, path, message)

    def _cluster(self, place: Path, case: Case, namespace: str) -> tuple[Snapshot, CaseNatives | None]:
        """Return the snapshot and the native policies for the cluster of a case; ``place`` is the path of its object.

        The snapshot has the compiled policies and the objects of the case's cluster. The native policies are None if
        the suite has no native policies.
        """
        given = documents(self.suite, case, namespace)
        natives = self.settings.natives
        own = [each for each in given if natives is None or not natives.needs(each)]
        snapshot = self._snapshot(place, case, own, namespace)
        return snapshot, None if natives is None else natives.in_case(case, place, snapshot, given, namespace)

    def _snapshot(self, place: Path, case: Case, given: Sequence[Document], namespace: str) -> Snapshot:
        objects = collect(given, now=None)
        if objects.problems:
            raise UnusableError(place[:-1], "; ".join(objects.problems))
        params = with_values(self.suite, case, self.policies, namespace)
        topology = TopologyIndex.build(objects.nodes, self.settings.conventions)
        known = self._compiled.with_workloads(objects).with_topology(topology)
        moment = self.settings.now if case.now is None else datetime.fromisoformat(case.now)
        return known.with_objects(objects.namespaces, {**params, **objects.config_maps}).at(moment)

    @cached_property
    def _compiled(self) -> Snapshot:
        """The policies, compiled once for all cases; each case replaces the objects of the cluster."""
        if self.settings.compiled is not None:
            return self.settings.compiled
        return load_snapshot(self.policies, ClusterFacts(), self.environment, self.settings.conventions)


# ---- one case ------------------------------------------------------------------------------------------------------


def _request(place: Path, case: Case) -> AdmissionRequest:
    """Return the request of a case: the creation of the case's pod, changed by the fields of ``review``."""
    given = (
        case.review if case.review is not None else {"object": {"apiVersion": "v1", "kind": "Pod", **(case.pod or {})}}
    )
    namespace = {} if case.namespace is None else {"namespace": case.namespace.name}
    user = {} if case.user is None else {"userInfo": case.user.model_dump(mode="json")}
    own = at(given, "object", "metadata", "namespace")
    if case.namespace is not None and own not in (None, case.namespace.name):
        message = f"got {case.namespace.name!r}, and the pod is of namespace {own!r}; leave one of them out"
        raise UnusableError((*place[:-1], "namespace"), message)
    pods = {key: _as_sent(given[key]) for key in ("object", "oldObject") if isinstance(given.get(key), dict)}
    return request_of({**namespace, **user, **given, **pods})


def _as_sent(pod: Document) -> Document:
    """Return a copy of a pod as the API server sends it to webhooks: with requests where there are only limits."""
    made = written(pod)
    if isinstance(made.get("spec"), dict) and not shape_problems(made):
        apply_request_defaults(made)
    return made


def written(pod: Document) -> Document:
    """Return a copy of a pod, or of a part, with quantities in the canonical form that the API server writes."""
    made = deepcopy(pod)
    write_quantities(made)
    return made


def _second_pass(request: AdmissionRequest, result: CaseResult, snapshot: Snapshot) -> Iterator[PlacedMessage]:
    """Yield a finding if a second call of /mutate changes the pod, or is refused.

    The API server may call a mutating webhook again (reinvocationPolicy), after it has set defaults in the first call's
    result.
    """
    if result.pod is None:
        return
    defaulted = deepcopy(result.pod)
    if isinstance(defaulted.get("spec"), dict):  # a pod without accelerators is decided on without it
        apply_defaults(defaulted)
    for pod, when in ((result.pod, ""), (defaulted, ", on the pod with the API server's defaults,")):
        again = decide.mutate(replace(request, object=pod), snapshot)
        if again.patch:
            changes = ", ".join(f"{operation['op']} {operation['path']}" for operation in again.patch)
            yield (), f"a second pass{when} changes the pod again: {changes}"
        if again.denial:
            yield (), f"a second pass{when} is denied: {again.denial}"
        if again.patch or again.denial:
            return


def _with_golden(name: str, result: CaseResult, goldens: Mapping[str, str]) -> tuple[CaseResult, list[PlacedMessage]]:
    """Compare the mutated pod with the golden file ``name``, and return (``result``, findings about the difference).

    If the pods differ, the returned result has the pod of the file, too.
    """
    path = ("expect", "golden")
    if result.pod is None:
        return result, [(path, "got no pod, because it was denied")]
    if name not in goldens:
        return result, [(path, f"got no file {name} beside this one; do podberth test --update")]
    documents, problems = load_documents(goldens[name], name)
    if problems or len(documents) != 1:
        wrong = "; ".join(map(str, problems)) or f"{name}: got {len(documents)} documents, want one"
        return result, [(path, wrong)]
    if documents[0].document == result.pod:
        return result, []
    return replace(result, golden=documents[0].document), [(path, f"the pod is not the one of {name}")]


def _compare(case: Case, result: CaseResult) -> Iterator[PlacedMessage]:
    """Yield (path in the case, message) for each difference between the case's expectation and the case's result."""
    expect = case.expect
    admitted = expect.verdict == "admitted" and result.verdict != "denied"
    if expect.verdict is not None and expect.verdict != result.verdict and not admitted:
        detail = f": {result.denial}" if result.denial else ""
        yield ("expect", "verdict"), f"got {result.verdict}{detail}, want {expect.verdict}"
    yield from _texts("warnings", expect.warnings, result.warnings)
    yield from _texts("denials", expect.denials, (result.denial,) if result.denial else ())
    if expect.patched is not None and result.pod is None:
        yield ("expect", "patched"), "got no pod, because it was denied"
    elif expect.patched is not None:
        yield from differences(written(expect.patched), result.pod, ("expect", "patched"))


def _texts(field: str, expected: tuple[str, ...] | None, actual: tuple[str, ...]) -> Iterator[PlacedMessage]:
    said = "; ".join(actual) or "nothing"
    if expected == () and actual:
        yield ("expect", field), f"got {said}, want nothing"
    for index, part in enumerate(expected or ()):
        if not any(part in text for text in actual):
            yield ("expect", field, index), f"got {said}, want {part!r} in it"


# About two lines of a terminal
_SHOWN = 160


def differences(expected: object, actual: object, path: Path = ()) -> Iterator[tuple[Path, str]]:
    """Yield (path, message) for each place where ``expected`` does not match ``actual``.

    - An object matches if the actual object has each expected key with a value that matches; further keys are ignored.
    - A list matches if its items match different items of the actual list, in order; further items are ignored.
    - Null, or an empty object or list, matches if the actual value is absent, null, or an empty object or list.
    - Any other value matches an equal value of the same type (``"1"`` does not match ``1``).
    """
    if expected in (None, {}, []):
        if actual is not ABSENT and actual not in (None, {}, []):
            yield path, f"got {_shown(actual)}, want nothing"
    elif isinstance(expected, dict) and isinstance(actual, dict):
        for key, value in expected.items():
            yield from differences(value, actual.get(key, ABSENT), (*path, key))
    elif isinstance(expected, list) and isinstance(actual, list):
        yield from _of_lists(expected, actual, path)
    elif type(expected) is not type(actual) or expected != actual:
        yield path, f"got {_shown(actual)}, want {_shown(expected)}"


def _of_lists(expected: Sequence[object], actual: Sequence[object], path: Path) -> Iterator[tuple[Path, str]]:
    """Yield the places where two lists do not match; each expected item takes the first matching actual item."""
    start = 0
    for index, item in enumerate(expected):
        rest = range(start, len(actual))
        found = next((at for at in rest if not any(differences(item, actual[at]))), None)
        if found is not None:
            start = found + 1
        elif len(expected) == len(actual) == 1:
            yield from differences(item, actual[0], (*path, index))
        else:
            behind = " behind those matched before" if start else ""
            yield (*path, index), f"got no such item{behind} in {_shown(actual)}"


def _shown(value: object) -> str:
    if value is ABSENT:
        return "nothing"
    text = json.dumps(value, ensure_ascii=False) if isinstance(value, dict | list) else shown(value)
    return text if len(text) <= _SHOWN else f"{kind_of(value)} ({text[:_SHOWN]}…)"
