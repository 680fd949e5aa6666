"""Compiles the native policies of some files, and evaluates them on the creation of objects.

The caller evaluates the mutating policies (``mutated``), then podberth's policies, then the mutating policies that are
evaluated again (``asked_again``), then the validating policies (``judged``).
"""

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Any, Final

from ..cel.engine import Environment, ReviewContext
from ..cel.libraries.authz import Authorizer
from ..errors import Problem
from ..kube.unchecked import text_at
from ..policy.evaluate import Watch
from ..policy.match import Route
from ..topology.index import TopologyIndex
from ..topology.need import Need
from .cases import Bound, Document, NativeDecision
from .documents import Located, is_native, read
from .model import MUTATING, VALIDATING
from .mutating import Mutated, MutatingPolicies
from .params import Objects
from .policies import NativePolicies
from .request import creation_of
from .resources import Resources

REQUESTER: Final[Mapping[str, Any]] = {"username": "podberth:check", "groups": ["system:authenticated"]}
"""The user of a request if podberth does not know who will apply the document."""
_AGAIN: Final = "asked once more behind podberth's policies, it changes the pod again, which podberth does not judge"


_ACCOUNT: Final = "system:serviceaccount:"


def user_info(name: str, groups: Sequence[str]) -> dict[str, Any]:
    """Return the value of ``request.userInfo`` for a user, with the groups that the API server's authentication adds.

    Source: WithImpersonation, apiserver pkg/endpoints/filters/impersonation.
    """
    found = list(groups)
    if name.startswith(_ACCOUNT) and not found:
        namespace = name.removeprefix(_ACCOUNT).partition(":")[0]
        found = ["system:serviceaccounts", f"system:serviceaccounts:{namespace}"]
    return {"username": name, "groups": list(dict.fromkeys([*found, "system:authenticated"]))}


@dataclass(frozen=True, slots=True, kw_only=True)
class Requester:
    """The user who creates the objects, as in ``request.userInfo``, and the rights of all users."""

    user: Mapping[str, Any] = field(default_factory=lambda: REQUESTER)
    rights: Authorizer | None = None
    """The rights by which the CEL variable ``authorizer`` is evaluated; None if the rights are not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """The objects, Namespaces and user with which native policies are evaluated."""

    documents: Sequence[Document] = ()
    """CustomResourceDefinitions, and the objects that may be params."""
    namespaces: Mapping[str, Document] = field(default_factory=dict)
    """The Namespaces by name."""
    namespace: str = "default"
    """The namespace of namespaced documents that name no namespace."""
    requester: Requester = field(default_factory=Requester)


@dataclass(frozen=True, slots=True)
class Judged:
    """The decisions of ValidatingAdmissionPolicies on the creation of one object."""

    matched: bool
    """Whether any policy with a binding matched, or could not be judged."""
    decisions: Sequence[NativeDecision] = ()
    problems: Sequence[str] = ()
    """The reasons why no policy can be evaluated for the object; empty if policies can be evaluated."""


class NativeJudge:
    """The compiled ValidatingAdmissionPolicies and MutatingAdmissionPolicies of one command or test suite."""

    def __init__(self, located: Sequence[Located], of_gpu: Environment, surroundings: Surroundings) -> None:
        """Compile the policies. The problems of policies that do not compile are in ``problems``.

        Args:
            located: the policies and bindings.
            of_gpu: the CEL environment of GPUPolicies, from which the CEL environment of native policies is made.
            surroundings: the objects, Namespaces and user with which the policies are evaluated.
        """
        self._given = surroundings
        self.environment = of_gpu.native()
        self._resources, self._world = _world_of(surroundings)
        self.validating, self.mutating, self.problems, self.notes = self.compiled(located)

    def compiled(
        self, located: Sequence[Located]
    ) -> tuple[NativePolicies, MutatingPolicies, tuple[Problem, ...], tuple[str, ...]]:
        """Return (validating policies, mutating policies, problems, lines about policies with equal names)."""
        found = read(list(located))
        validating = NativePolicies(found, self.environment, *self._world)
        mutating = MutatingPolicies(found, self.environment, *self._world)
        problems = (*found.problems, *validating.problems, *mutating.problems)
        return validating, mutating, tuple(sorted(problems)), found.notes

    def within(self, surroundings: Surroundings) -> "NativeJudge":
        """Return a copy that evaluates the policies with other surroundings.

        The CustomResourceDefinitions of the earlier surroundings are not used any more.
        """
        made = copy(self)
        made._given = surroundings  # noqa: SLF001 - of this class
        made._resources, world = _world_of(surroundings)  # noqa: SLF001 - as above
        made.validating, made.mutating = self.validating.within(*world), self.mutating.within(*world)
        return made

    def watched(self, watches: Mapping[str, Watch]) -> "NativeJudge":
        """Return a copy whose evaluations are observed by ``watches``, a mapping by kind of policies."""
        made = copy(self)
        made.validating, made.mutating = copy(self.validating), copy(self.mutating)
        made.validating.watch, made.mutating.watch = watches.get(VALIDATING), watches.get(MUTATING)
        return made

    def matching(self, route: Route) -> Iterator[str]:
        """Yield "kind name" for each policy that may match a request of the operation and resource in ``route``.

        The caller names these policies in an error: podberth evaluates native policies on creations only.
        """
        for each in (self.mutating, self.validating):
            yield from (f"{each.kind} {name}" for name in each.may_match_route(route))

    def talk(self) -> Iterator[str]:
        """Yield lines for the user: the policies that are evaluated, notes about them, and the user that is assumed."""
        both = (self.mutating, self.validating)
        for each in both:
            if names := each.names:
                kind = each.kind if len(names) == 1 else f"{each.kind.removesuffix('y')}ies"
                yield f"and with {len(names)} {kind}: {', '.join(names)}"
        yield from self.notes
        for each in both:
            yield from each.notes
        user = self._given.requester.user["username"]
        for each in both:
            for name, path in each.reads_user():
                yield f"{each.kind} {name} reads {path}: judged for the user {user}"

    def mutated(self, document: Document, user: Mapping[str, Any] | None = None) -> Mutated | None:
        """Return the result of MutatingAdmissionPolicies for an object; None if no policy is evaluated for the object.

        ``document`` is the object as the user wrote it, or a Pod as a mutating webhook gets it. ``user`` replaces the
        requester.
        """
        if not self.mutating.names or is_native(document):
            return None
        creation, _ = creation_of(
            document, self._resources, namespace=self._given.namespace, user=self._user(user), received=True
        )
        return None if creation is None else self.mutating.mutate(creation)

    def asked_again(self, before: Mutated, pod: Document) -> list[NativeDecision]:
        """Return the decisions of the policies that the API server evaluates again after podberth's webhook.

        A policy that would change the pod again yields a decision with the action "unjudged".
        """
        again = self.mutating.once_more(replace(before.creation, object=pod), before.again)
        return [each for each in again.decisions if each.action != "note"] + [
            NativeDecision(policy=each.policy, binding=each.binding, action="unjudged", message=_AGAIN, kind=MUTATING)
            for each in again.writes
        ]

    def judged(self, document: Document, user: Mapping[str, Any] | None = None) -> Judged:
        """Return the decisions of ValidatingAdmissionPolicies on an object after all mutations.

        ``user`` replaces the requester.
        """
        creation, problems = creation_of(
            document, self._resources, namespace=self._given.namespace, user=self._user(user)
        )
        if creation is not None:
            return Judged(*self.validating.judge(creation))
        version = text_at(document, "apiVersion")
        if any(each.may_match(version) for each in (self.validating, self.mutating)):
            return Judged(matched=False, problems=problems)
        return Judged(matched=False)

    def reading_labels(self, document: Document) -> Iterator[str]:
        """Yield "kind name" for each policy that may read labels of the object's Namespace."""
        creation, _ = creation_of(document, self._resources, namespace=self._given.namespace, user=self._user(None))
        if creation is not None:
            for each in (self.mutating, self.validating):
                yield from (f"{each.kind} {name}" for name in each.reading_labels(creation))

    @property
    def bound(self) -> Iterator[tuple[str, Bound]]:
        """Pairs of (the kind of a policy, the compiled policy with its bindings)."""
        return ((each.kind, bound) for each in (self.mutating, self.validating) for bound in each.bound)

    def _user(self, user: Mapping[str, Any] | None) -> Mapping[str, Any]:
        return self._given.requester.user if user is None else user


def _world_of(given: Surroundings) -> tuple[Resources, tuple[ReviewContext, Objects, Mapping[str, Document]]]:
    """Return (the known resources, the values with which policies are evaluated).

    The values are (the review's context, the objects that may be params, the Namespaces by name).
    """
    resources = Resources(given.documents)
    review = ReviewContext(TopologyIndex.build([]), Need(), authorizer=given.requester.rights)
    objects = Objects([*given.namespaces.values(), *given.documents], resources, given.namespace)
    return resources, (review, objects, given.namespaces)
