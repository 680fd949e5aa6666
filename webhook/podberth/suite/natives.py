"""The native policies of a suite: compiled once, and evaluated on the objects of each case in the case's cluster.

Native policies are ValidatingAdmissionPolicies and MutatingAdmissionPolicies.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from ..admission.creation import AUTHOR
from ..admission.review import AdmissionRequest
from ..admission.snapshot import Snapshot
from ..cel.engine import Environment
from ..errors import Problem
from ..kube.carry import NotCarriedError, carry
from ..kube.documents import PositionedDocument
from ..kube.paths import Path
from ..native.cases import NativeDecision
from ..native.documents import Located, is_native, kinds_of_params
from ..native.judge import NativeJudge, Requester, Surroundings
from ..native.model import MUTATING, VALIDATING
from ..native.mutating import Mutated
from ..native.rbac import Rights, is_rbac, rights_of
from ..policy.parse import ParsedPolicies
from ..workload.defaults import apply_defaults
from .case_cluster import UnusableError
from .case_file import Case, Document, Suite
from .coverage import Covered, Observer, coverage

_KINDS = (MUTATING, VALIDATING)


class SuiteNatives:
    """The native policies in the folder of a suite."""

    def __init__(self, suite: Suite, policies: ParsedPolicies, environment: Environment, observer: Observer) -> None:
        """Compile the native policies among ``policies``; ``observer`` records their evaluations."""
        self._file, self._source = suite.file, suite.source
        self._beside = [each.document for _, each in policies.others]
        self._param_kinds = kinds_of_params(self._beside) - {("", "ConfigMap"), ("", "Namespace")}
        self._observers = {kind: observer.of_kind(kind) for kind in _KINDS}
        clusters = (suite.cluster, *suite.cases)
        known = [each for cluster in clusters for each in cluster.objects or ()]
        located = [Located.of(file, each) for file, each in policies.others if is_native(each.document)]
        self.judge = NativeJudge(located, environment, Surroundings(documents=[*self._beside, *known])).watched(
            self._observers
        )
        for kind, bound in self.judge.bound:
            self._observers[kind].policies[bound.policy.name] = bound.compiled

    def needs(self, document: Document) -> bool:
        """Return whether only native policies read an object: an RBAC object, a CustomResourceDefinition or params."""
        kind = (str(document.get("apiVersion") or "").rpartition("/")[0], document.get("kind"))
        return is_rbac(document) or document.get("kind") == "CustomResourceDefinition" or kind in self._param_kinds

    def in_case(
        self, case: Case, place: Path, snapshot: Snapshot, objects: Sequence[Document], namespace: str
    ) -> "CaseNatives":
        """Return the native policies for one case, whose cluster has ``objects``.

        ``place`` is the path of the case's object in the suite. ``namespace`` is used for objects that name no
        namespace.
        """
        facts = snapshot.facts
        user = {"username": AUTHOR} if case.user is None else case.user.model_dump(mode="json")
        surroundings = Surroundings(
            documents=[*facts.config_maps.values(), *self._beside, *objects],
            namespaces=facts.namespaces,
            namespace=namespace,
            requester=Requester(user=user, rights=self._rights(objects)),
        )
        return CaseNatives(self.judge.within(surroundings), place)

    def _rights(self, objects: Sequence[Document]) -> Rights | None:
        """Return the RBAC rights that the roles and bindings in ``objects`` grant; None if there are no such objects.

        Raises:
            UnusableError: the API server would refuse a role or binding.
        """
        found = [PositionedDocument(each, self._source.positions) for each in objects if is_rbac(each)]
        if not found:
            return None
        rights, problems = rights_of((self._file, each) for each in found)
        if problems:
            raise UnusableError(("objects",), "; ".join(f"{each.where}: {each.message}" for each in problems))
        return rights

    def unmatched(self) -> Iterator[Problem]:
        """Yield a problem for each policy that applied in no case, and whose effect is therefore untested."""
        for kind, bound in self.judge.bound:
            name, parsed = bound.policy.name, bound.policy.parsed
            if name not in self._observers[kind].matched_policies:
                why = "applies to no case of the tests beside it; add one"
                why = why if bound.bindings else "has no binding beside it, so it judges nothing; add one"
                yield parsed.positions.problem(parsed.file, ("metadata", "name"), f"{name} {why}")

    def coverage(self) -> tuple[Covered, ...]:
        """Return the coverage of every expression; the observer must have recorded the results of the expressions."""
        return tuple(
            each
            for kind, observer in self._observers.items()
            for each in coverage(
                observer,
                [bound.policy.parsed for of_kind, bound in self.judge.bound if of_kind == kind],
                self.judge.environment,
            )
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class NativelyMutated:
    """The object of a case after the MutatingAdmissionPolicies."""

    object: Document
    """The object as the case states it, with the changes that the policies made."""
    denials: tuple[str, ...] = ()
    wrote: bool = False
    mutated: Mutated | None = None


@dataclass(frozen=True, slots=True)
class CaseNatives:
    """The native policies of a suite in the cluster of one case; ``_place`` is the path of its object in the suite."""

    _judge: NativeJudge
    _place: Path

    def mutate_pod(self, request: AdmissionRequest) -> NativelyMutated | None:
        """Return the pod of a request after MutatingAdmissionPolicies; None if the request creates no pod.

        podberth evaluates native policies on creations alone.

        Raises:
            UnusableError: the request is no creation, and a native policy may match the request; or podberth cannot
                predict the pod that the API server would make of it.
        """
        if request.object is None:
            return None
        if request.operation == "CREATE" and not request.sub_resource:
            return self.mutate(request.object)
        route = (request.operation, request.group, request.version, request.resource, request.sub_resource)
        if name := next(self._judge.matching(route), None):
            asked = " of ".join((request.operation, "/".join(filter(None, route[3:]))))
            raise UnusableError(self._place, f"got {asked}, which {name} may match; podberth judges creations alone")
        return None

    def mutate(self, given: Document) -> NativelyMutated:
        """Return the object ``given`` with the changes of MutatingAdmissionPolicies, or unchanged if one denies it.

        Raises:
            UnusableError: podberth cannot predict the object that the API server would make of it.
        """
        mutated = self._judge.mutated(given)
        if mutated is None:
            return NativelyMutated(object=given)
        self._want_judged(mutated.decisions)
        denials = _texts(mutated.decisions, "deny")
        after = given
        for each in mutated.writes:
            try:
                after = carry(after, each.before, each.after)
            except NotCarriedError as error:
                message = f"{each.reason} writes on what the case does not state: {error}"
                raise UnusableError(self._place, message) from error
        return NativelyMutated(
            object=given if denials else after, denials=denials, wrote=bool(mutated.writes), mutated=mutated
        )

    def judge_pod(self, before: NativelyMutated, pod: Document) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return (denials, warnings) of ValidatingAdmissionPolicies for ``pod``, as podberth's webhook leaves it.

        ``before`` is the result of ``mutate_pod``. First, the native policies are evaluated that the API server
        evaluates again after podberth's webhook and its own defaults.

        Raises:
            UnusableError: a policy would change the pod once more, or podberth cannot predict the decision.
        """
        if before.mutated is not None:
            defaulted = deepcopy(pod)
            apply_defaults(defaulted)
            self._want_judged(self._judge.asked_again(before.mutated, defaulted))
        return self.judge(pod)

    def judge(self, document: Mapping[str, Any]) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return (denials, warnings) of ValidatingAdmissionPolicies for an object.

        Raises:
            UnusableError: podberth cannot predict the API server's decision.
        """
        judged = self._judge.judged(document)
        if judged.problems:
            raise UnusableError(self._place, f"not judged by native policies: {'; '.join(judged.problems)}")
        self._want_judged(judged.decisions)
        return _texts(judged.decisions, "deny"), _texts(judged.decisions, "warn")

    def _want_judged(self, decisions: Iterable[NativeDecision]) -> None:
        unjudged = next(iter(_texts(decisions, "unjudged")), None)
        if unjudged is not None:
            raise UnusableError(self._place, unjudged)


def _texts(decisions: Iterable[NativeDecision], action: str) -> tuple[str, ...]:
    return tuple(each.text for each in decisions if each.action == action)
