"""Evaluates native policies (Kubernetes' own admission policies) for the checked objects.

The policies come from the policies' folder and from the checked files. The API server evaluates
MutatingAdmissionPolicies before podberth's webhook, and ValidatingAdmissionPolicies after all mutations. The API server
evaluates both kinds for every object: for a workload itself, and for each pod of the workload.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ..admission.snapshot import Snapshot
from ..cel.engine import ReviewContext
from ..errors import Problem
from ..kube.documents import PositionedDocument
from ..kube.paths import Path
from ..native.cases import NativeDecision
from ..native.documents import Kinds, Located, identity_of, is_beside, is_native, read
from ..native.model import MUTATING
from ..native.mutating import Mutated, MutatingPolicies
from ..native.params import Objects
from ..native.policies import NativePolicies
from ..native.request import creation_of
from ..native.resources import Resources
from ..topology.index import TopologyIndex
from ..topology.need import Need
from .decided import REQUESTER
from .other_files import is_part_of_a_tool
from .result import Finding, Result
from .sources import Document, Source, SourceFile, without_place


@dataclass(frozen=True, slots=True)
class Beside:
    """The documents of the policies' folder that are neither GPUPolicies nor ConfigMaps, each with the file."""

    documents: tuple[tuple[str, PositionedDocument], ...] = ()

    @property
    def contents(self) -> list[Document]:
        """The documents as plain objects, without files and positions."""
        return [each.document for _, each in self.documents]

    def located(self) -> list[Located]:
        """Return the native policies among the documents, each with the position in the file."""
        return [Located.of(file, each) for file, each in self.documents if is_native(each.document)]


def params_in(files: Iterable[SourceFile], kinds: Kinds) -> Iterator[Document]:
    """Yield the native policies in files, and the objects that native policies may need (``is_beside``)."""
    for file in files:
        yield from (each.content for each in file.sources if is_beside(each.content, kinds))


class Natives:
    """The native policies of one check: compiled ValidatingAdmissionPolicies and MutatingAdmissionPolicies."""

    def __init__(self, beside: Beside, documents: Sequence[Document], snapshot: Snapshot, namespace: str) -> None:
        """Read and compile the native policies.

        Args:
            beside: the policies of the policies' folder, with params and CRDs.
            documents: the policies of the checked files, with params and CRDs.
            snapshot: the cluster's Namespaces and ConfigMaps.
            namespace: the namespace of documents that name none.
        """
        every = [*beside.contents, *documents]
        located = [*beside.located(), *(_nowhere(each) for each in documents if is_native(each))]
        self._given: dict[tuple[str, str], list[Located]] = {}
        for each in located:
            self._given.setdefault(identity_of(each.content), []).append(each)
        facts = snapshot.facts
        self.namespace = namespace
        self._resources = Resources(every)
        of_gpu = snapshot.environment
        self._environment = of_gpu.native()
        self._review = ReviewContext(TopologyIndex.build([], snapshot.conventions), Need())
        self._objects = Objects(
            [*facts.config_maps.values(), *facts.namespaces.values(), *every], self._resources, namespace
        )
        self._namespaces = facts.namespaces
        self._policies, self._mutating, problems, self._notes = self._compiled(located)
        folder = {file for file, _ in beside.documents}
        self.problems = tuple(each for each in problems if each.file in folder)
        """The problems of the native policies in the policies' folder; ``added`` reports the problems of policies in
        checked files.
        """

    def talk(self) -> Iterator[str]:
        """Yield lines for the user: the native policies that the check evaluates, and the assumptions about them."""
        both = (self._mutating, self._policies)
        for each in both:
            if names := each.names:
                kind = each.kind if len(names) == 1 else f"{each.kind.removesuffix('y')}ies"
                yield f"and with {len(names)} {kind}: {', '.join(names)}"
        yield from self._notes
        for each in both:
            yield from each.notes
        for each in both:
            for name in each.reads_user():
                yield f"{each.kind} {name} reads request.userInfo: judged for the user {REQUESTER['username']}"

    def problems_of(self, source: Source) -> list[Problem]:
        """Return the problems of a native policy in a checked file, each a reason to refuse the policy."""
        place = source if not source.root else without_place(source.file, source.content)
        located = Located(source.file, source.content, place.positions)
        return [replace(each, line=each.line or source.line()) for each in self._compiled([located])[2]]

    def mutated(self, document: Document) -> Mutated | None:
        """Return the result of MutatingAdmissionPolicies for an object; None if no policy is evaluated.

        ``document`` is the object as the user wrote it, or a Pod as a mutating webhook gets it.
        """
        if not self._mutating.names or is_native(document):
            return None
        creation, _ = creation_of(document, self._resources, namespace=self.namespace, user=REQUESTER, received=True)
        return None if creation is None else self._mutating.mutate(creation)

    def asked_again(self, before: Mutated, pod: Document) -> list[NativeDecision]:
        """Return the decisions of the MutatingAdmissionPolicies that are evaluated again after podberth's webhook.

        If a policy would change the pod again, the policy's decision is "unjudged".
        """
        again = self._mutating.once_more(replace(before.creation, object=pod), before.again)
        said = "asked once more behind podberth's policies, it changes the pod again, which podberth does not judge"
        found = [each for each in again.decisions if each.action != "note"]
        return found + [
            NativeDecision(policy=each.policy, binding=each.binding, action="unjudged", message=said, kind=MUTATING)
            for each in again.writes
        ]

    def added(
        self, results: Sequence[Result], source: Source, pods: Mapping[Path, Document], content: Document
    ) -> list[Result]:
        """Return the results for one object, with the decisions of native policies added.

        Args:
            results: the results of podberth's own policies, one for each template.
            source: the object.
            pods: the pods that validation gets, by the paths of the templates.
            content: the object with the writes of mutations.
        """
        if is_native(source.content):
            return [_refused(results[0], self.problems_of(source), self._others(source))]
        if is_part_of_a_tool(source) or not (source.api_version and source.kind):
            return list(results)
        if (source.api_version, source.kind) == ("v1", "Pod"):
            return [self._added(each, source, (), pods.get((), None)) for each in results]
        paths = {source.field(path) if path else "": path for path in pods}
        made = [
            self._added(each, source, paths[each.path], pods[paths[each.path]]) if each.path in paths else each
            for each in results
        ]
        if any(each.errors for each in results):  # the API server refuses the object before it evaluates policies
            return made
        if not results[0].path:
            return [self._added(made[0], source, (), content), *made[1:]]
        own = replace(_bare(results[0]), line=source.line())
        judged = self._added(own, source, (), content)
        return made if judged == own else [judged, *made]

    def _others(self, source: Source) -> list[Finding]:
        """Return a finding for each other file that has a different native policy or binding of the same name."""
        identity = identity_of(source.content)
        where = dict.fromkeys(each.where for each in self._given[identity] if each.content != source.content)
        said = f"another {' '.join(identity)} is given {{}}, and differs: the one that is applied last counts"
        return [finding(source, ("metadata", "name"), said.format(each)) for each in where]

    def _added(self, result: Result, source: Source, path: Path, document: Document | None) -> Result:
        """Return the result, and add the decisions of ValidatingAdmissionPolicies on the creation of ``document``.

        ``path`` is the place of ``document`` in the object.
        """
        if document is None:
            return result
        creation, problems = creation_of(document, self._resources, namespace=self.namespace, user=REQUESTER)
        matched, decisions = False, list[NativeDecision]()
        if creation is not None:
            matched, decisions = self._policies.judge(creation)
        elif not any(each.may_match(source.api_version) for each in (self._policies, self._mutating)):
            return result
        found = [finding(source, path, each.text, each) for each in decisions]
        errors = [*(each for each in found if each.action == "unjudged")]
        errors += [finding(source, path, f"not judged by native policies: {each}") for each in problems]
        denials = (*(each for each in found if each.action == "deny"), *result.denials)
        verdict = "unchanged" if matched and result.verdict == "skipped" else result.verdict
        verdict = "denied" if denials else verdict
        return replace(
            result,
            verdict="error" if errors else verdict,
            denials=denials,
            warnings=(*(each for each in found if each.action == "warn"), *result.warnings),
            notes=(*result.notes, *(each for each in found if each.action == "note")),
            audits=(*result.audits, *(each for each in found if each.action == "audit")),
            errors=(*result.errors, *errors),
            changes=() if denials else result.changes,
        )

    def _compiled(
        self, located: list[Located]
    ) -> tuple[NativePolicies, MutatingPolicies, tuple[Problem, ...], tuple[str, ...]]:
        """Compile the native policies in ``located``.

        Return (the validating policies, the mutating policies, the problems of both, lines about policies of the same
        name).
        """
        found = read(located)
        world = (self._environment, self._review, self._objects, self._namespaces)
        validating, mutating = NativePolicies(found, *world), MutatingPolicies(found, *world)
        problems = (*found.problems, *validating.problems, *mutating.problems)
        return validating, mutating, tuple(sorted(problems)), found.notes


def natives_of(beside: Beside, documents: Sequence[Document], snapshot: Snapshot, namespace: str) -> Natives | None:
    """Return the native policies of a check; None if there are none."""
    if not any(map(is_native, (*beside.contents, *documents))):
        return None
    return Natives(beside, documents, snapshot, namespace)


def finding(source: Source, path: Path, message: str, decision: NativeDecision | None = None) -> Finding:
    """Return a finding at a field of an object; ``decision`` is the reported decision of a native policy."""
    return Finding(
        policy=decision.policy if decision else "",
        message=" ".join(message.split()),
        field=source.field(path),
        line=source.line(path),
        action=decision.action if decision else "",
        rule="mutations" if decision and decision.kind == MUTATING else "validations",
    )


def _refused(result: Result, problems: Sequence[Problem], others: Sequence[Finding]) -> Result:
    """Return the result for a native policy that is itself a checked object, with the policy's problems as errors.

    ``others`` are warnings about policies of the same name.
    """
    result = replace(result, warnings=(*others, *result.warnings))
    found = tuple(Finding(policy="", message=each.message, field=each.where, line=each.line) for each in problems)
    return replace(result, verdict="error", errors=found) if found else result


def _bare(result: Result) -> Result:
    """Return a copy of a result that is about the whole object and has no findings and no changes."""
    none: tuple[Finding, ...] = ()
    return replace(
        result,
        path="",
        verdict="skipped",
        denials=none,
        warnings=none,
        errors=none,
        notes=none,
        changes=(),
        audits=none,
        held_back=(),
        in_force=(),
        wrote=(),
        earlier=(),
    )


def _nowhere(document: Document) -> Located:
    source = without_place("", document)
    return Located(source.file, document, source.positions)
