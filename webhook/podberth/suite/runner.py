"""Runs a suite: each case through /mutate, once more through /mutate, and through /validate, as the API server would.

Pure: documents in, results out. A case never raises for what its pod or its cluster is; what is wrong is a Problem.
Reading files and printing results is the CLI's.
"""

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import TypeAlias

from ..admission import decide
from ..admission.outcome import Outcome
from ..admission.review import API_VERSION, KIND, AdmissionRequest, decode_review
from ..admission.snapshot import Snapshot, load_snapshot
from ..cel.engine import Environment
from ..conventions import Conventions
from ..errors import Problem, ReviewError
from ..kube.canonical import write_quantities
from ..kube.patch import apply
from ..kube.positions import Path
from ..policy.parse import ParsedPolicies
from ..policy.wording import shown
from ..topology.objects import collect
from .cluster import UnusableError, documents, with_values
from .model import Case, Document, Suite
from .partial import differences


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseResult:
    """What came of one case."""

    name: str
    verdict: str
    """``mutated``, ``unchanged`` or ``denied``; empty where the case could not be run."""
    warnings: tuple[str, ...] = ()
    denial: str = ""
    pod: Document | None = None
    """The pod as it left /mutate."""
    violations: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True)
class SuiteResult:
    """What came of a suite, cases in the file's order."""

    file: str
    cases: tuple[CaseResult, ...]

    @property
    def violations(self) -> tuple[Problem, ...]:
        """All expectations that were not met; none is a pass."""
        return tuple(violation for case in self.cases for violation in case.violations)


def run_suite(
    suite: Suite, policies: ParsedPolicies, environment: Environment, conventions: Conventions | None = None
) -> SuiteResult:
    """Run every case against ``policies``.

    Raises:
        PolicyError: the policies cannot be used; there is nothing to test then.
    """
    runner = _Runner(suite, policies, environment, conventions or Conventions())
    return SuiteResult(suite.file, tuple(runner.run(index, case) for index, case in enumerate(suite.cases)))


Finding: TypeAlias = tuple[Path, str]
"""A path below the case, and what is wrong there."""


class _Runner:
    """Runs the cases of one suite; a finding is a path and a message until it gets its place."""

    def __init__(
        self, suite: Suite, policies: ParsedPolicies, environment: Environment, conventions: Conventions
    ) -> None:
        self.suite = suite
        self.policies = policies
        self.environment = environment
        self.conventions = conventions

    def run(self, index: int, case: Case) -> CaseResult:
        """Run one case."""
        path: Path = ("cases", index)
        place: Path = (*path, "pod" if case.review is None else "review")
        try:
            request = _request(place, case)
            snapshot = self._snapshot(path, case, request.namespace)
            result = _decide(case.name, request, snapshot)
            findings = [*_second_pass(request, result, snapshot), *_compare(case, result)]
        except UnusableError as error:
            return CaseResult(name=case.name, verdict="", violations=(self._violation(error.path, str(error)),))
        except ReviewError as error:
            return CaseResult(name=case.name, verdict="", violations=(self._violation(place, str(error)),))
        return replace(result, violations=tuple(self._violation((*path, *at), message) for at, message in findings))

    def _violation(self, path: Path, message: str) -> Problem:
        return self.suite.positions.problem(self.suite.file, path, message)

    def _snapshot(self, path: Path, case: Case, namespace: str) -> Snapshot:
        """Return the case's cluster, with the policies compiled for it."""
        objects = collect(documents(self.suite, case, namespace), now=None)
        if objects.problems:
            raise UnusableError(path, "; ".join(objects.problems))
        policies = replace(self.policies, params=with_values(self.suite, case, self.policies.params))
        return load_snapshot(policies, objects, self.environment, self.conventions)


# ---- one case ------------------------------------------------------------------------------------------------------


def _request(place: Path, case: Case) -> AdmissionRequest:
    """Return the review of a case: the creation of its pod, or that with the fields that ``review`` gives."""
    given = (
        case.review if case.review is not None else {"object": {"apiVersion": "v1", "kind": "Pod", **(case.pod or {})}}
    )
    pod = given.get("object") or given.get("oldObject")
    metadata = pod.get("metadata") if isinstance(pod, dict) else None
    if metadata is not None and not isinstance(metadata, dict):
        raise UnusableError(place, f"metadata: got {shown(metadata)}, want an object")
    request = {
        "uid": "00000000-0000-0000-0000-000000000000",
        "kind": {"group": "", "version": "v1", "kind": "Pod"},
        "resource": {"group": "", "version": "v1", "resource": "pods"},
        "operation": "CREATE",
        "name": (metadata or {}).get("name") or "",
        "namespace": (metadata or {}).get("namespace") or "default",
        "userInfo": {"username": "author"},
        "dryRun": False,
        **given,
    }
    request |= {key: _written(given[key]) for key in ("object", "oldObject") if isinstance(given.get(key), dict)}
    return decode_review({"apiVersion": API_VERSION, "kind": KIND, "request": request})


def _written(pod: Document) -> Document:
    """Return a pod with its quantities as the API server writes them, before and after every webhook."""
    made = deepcopy(pod)
    write_quantities(made)
    return made


def _decide(name: str, request: AdmissionRequest, snapshot: Snapshot) -> CaseResult:
    """Send the review through /mutate, and what comes out through /validate."""
    mutated = decide.mutate(request, snapshot)
    denial = _denial(mutated)
    if denial:
        return CaseResult(name=name, verdict="denied", warnings=mutated.warnings, denial=denial)
    pod = _written(apply(request.object, mutated.patch)) if request.object is not None else None
    validated = decide.validate(replace(request, object=pod), snapshot)
    denial = _denial(validated)
    verdict = "denied" if denial else "mutated" if mutated.patch else "unchanged"
    warnings = (*mutated.warnings, *validated.warnings)
    return CaseResult(name=name, verdict=verdict, warnings=warnings, denial=denial, pod=pod)


def _denial(outcome: Outcome) -> str:
    response = outcome.response["response"]
    return "" if response["allowed"] else str(response["status"]["message"])


def _second_pass(request: AdmissionRequest, result: CaseResult, snapshot: Snapshot) -> Iterator[Finding]:
    """Applying twice changes nothing: the API server may call a mutating webhook again (reinvocationPolicy)."""
    if result.pod is None:
        return
    again = decide.mutate(replace(request, object=result.pod), snapshot)
    if again.patch:
        changes = ", ".join(f"{operation['op']} {operation['path']}" for operation in again.patch)
        yield (), f"a second pass changes the pod again: {changes}"
    if _denial(again):
        yield (), f"a second pass is denied: {_denial(again)}"


def _compare(case: Case, result: CaseResult) -> Iterator[Finding]:
    """Yield what differs from the case's expectation, with paths below the case."""
    expect = case.expect
    admitted = expect.verdict == "admitted" and result.verdict != "denied"
    if expect.verdict is not None and expect.verdict != result.verdict and not admitted:
        detail = f": {result.denial}" if result.denial else ""
        yield ("expect", "verdict"), f"got {result.verdict}{detail}, want {expect.verdict}"
    yield from _texts("warnings", expect.warnings, result.warnings)
    yield from _texts("denials", expect.denials, (result.denial,) if result.denial else ())
    if expect.patched is not None and result.pod is None:
        yield ("expect", "patched"), "got no pod, for it was denied"
    elif expect.patched is not None:
        yield from differences(_written(expect.patched), result.pod, ("expect", "patched"))


def _texts(field: str, expected: tuple[str, ...] | None, actual: tuple[str, ...]) -> Iterator[Finding]:
    said = "; ".join(actual) or "nothing"
    if expected == () and actual:
        yield ("expect", field), f"got {said}, want nothing"
    for index, part in enumerate(expected or ()):
        if not any(part in text for text in actual):
            yield ("expect", field, index), f"got {said}, want {part!r} in it"
