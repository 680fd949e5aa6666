"""Evaluates native policies (Kubernetes' own admission policies) for the checked objects.

The policies come from the policies' folder and from the checked files. The API server evaluates
MutatingAdmissionPolicies before podberth's webhook, and ValidatingAdmissionPolicies after all mutations. The API server
evaluates both for every object: for a workload itself, and for each pod of the workload.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ..admission.floor import without_floor
from ..admission.snapshot import Snapshot
from ..errors import Problem
from ..kube.documents import PositionedDocument
from ..kube.json_patch import same
from ..kube.paths import Path
from ..native.cases import NativeDecision
from ..native.documents import Kinds, Located, identity_of, is_beside, is_native, kinds_of_params
from ..native.judge import NativeJudge, Surroundings
from ..native.model import MUTATING
from ..native.mutating import NativeWrite
from .other_files import is_part_of_a_tool
from .result import Finding, Result
from .sources import Document, Source, SourceFile, without_place


@dataclass(frozen=True, slots=True)
class Beside:
    """The documents of the policies' folder that are neither GPUPolicies nor ConfigMaps, each with its file."""

    documents: tuple[tuple[str, PositionedDocument], ...] = ()

    @property
    def contents(self) -> list[Document]:
        """The documents as plain objects, without files and positions."""
        return [each.document for _, each in self.documents]

    def located(self) -> list[Located]:
        """Return the native policies among the documents, each with the position in the file."""
        return [Located.of(file, each) for file, each in self.documents if is_native(each.document)]


def natives_among(
    files: Iterable[SourceFile],
    beside: Beside,
    documents: Sequence[Document],
    snapshot: Snapshot,
    about: Surroundings,
) -> "Natives | None":
    """Return the native policies of a check, with the params in ``files``; None if there are no native policies.

    The other arguments are those of ``Natives``.
    """
    kinds = kinds_of_params([*beside.contents, *documents]) - {("", "ConfigMap")}
    params = params_in(files, kinds) if kinds else ()
    return natives_of(beside, [*documents, *params], snapshot, about)


def params_in(files: Iterable[SourceFile], kinds: Kinds) -> Iterator[Document]:
    """Yield the native policies in files, and the objects that native policies need, such as bindings and params."""
    for file in files:
        yield from (each.content for each in file.sources if is_beside(each.content, kinds))


class Natives:
    """The native policies of one check: compiled ValidatingAdmissionPolicies and MutatingAdmissionPolicies."""

    def __init__(self, beside: Beside, documents: Sequence[Document], snapshot: Snapshot, about: Surroundings) -> None:
        """Read and compile the policies.

        Args:
            beside: the policies of the policies' folder, with params and CRDs.
            documents: the policies of the checked files, with params and CRDs.
            snapshot: the cluster's Namespaces and ConfigMaps.
            about: the namespace of documents that name no namespace, and the user who applies the documents.
        """
        located = [*beside.located(), *(_nowhere(each) for each in documents if is_native(each))]
        self._given: dict[tuple[str, str], list[Located]] = {}
        for each in located:
            self._given.setdefault(identity_of(each.content), []).append(each)
        facts = snapshot.facts
        self._judge = NativeJudge(
            located,
            snapshot.environment,
            replace(
                about,
                documents=[*facts.config_maps.values(), *beside.contents, *documents],
                namespaces=facts.namespaces,
            ),
        )
        self.talk = self._judge.talk
        self.mutated = self._judge.mutated
        self.asked_again = self._judge.asked_again
        self.reading_labels = self._judge.reading_labels
        folder = {file for file, _ in beside.documents}
        self.problems = tuple(each for each in self._judge.problems if each.file in folder)
        """The problems of policies in the policies' folder; ``added`` has the problems of policies in checked files."""

    def problems_of(self, source: Source) -> list[Problem]:
        """Return the problems for which the API server would refuse a native policy in a checked file."""
        place = source if not source.root else without_place(source.file, source.content)
        located = Located(source.file, source.content, place.positions)
        return [replace(each, line=each.line or source.line()) for each in self._judge.compiled([located])[2]]

    def writing_on(self, pods: Iterable[Document]) -> frozenset[str]:
        """Return the names of the MutatingAdmissionPolicies that would change one of ``pods``.

        ``pods`` are live pods without the fields that the cluster has set since their creation.
        """
        return frozenset(
            each.policy
            for pod in pods
            if (mutated := self.mutated(pod)) is not None
            for each in lasting(mutated.writes)
        )

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
        own = _bare(results[0], source.line())
        judged = self._added(own, source, (), content)
        return made if judged == own else [judged, *made]

    def _others(self, source: Source) -> list[Finding]:
        """Return a warning for each other place with a native policy of the kind and name of ``source``.

        A policy with the content of ``source`` gives no warning.
        """
        identity = identity_of(source.content)
        where = dict.fromkeys(each.where for each in self._given[identity] if each.content != source.content)
        said = f"another {' '.join(identity)} is given {{}}, and differs: the one that is applied last counts"
        return [finding(source, ("metadata", "name"), said.format(each)) for each in where]

    def _added(self, result: Result, source: Source, path: Path, document: Document | None) -> Result:
        """Return the result, and add the decisions of ValidatingAdmissionPolicies on the creation of ``document``.

        ``path`` is the path of ``document`` in the object.
        """
        if document is None:
            return result
        judged = self._judge.judged(document)
        if not judged.matched and not judged.problems:
            return result
        found = [finding(source, path, each.text, each) for each in judged.decisions]
        errors = [*(each for each in found if each.action == "unjudged")]
        errors += [finding(source, path, f"not judged by native policies: {each}") for each in judged.problems]
        denials = (*(each for each in found if each.action == "deny"), *result.denials)
        verdict = "unchanged" if judged.matched and result.verdict == "skipped" else result.verdict
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


def natives_of(
    beside: Beside, documents: Sequence[Document], snapshot: Snapshot, about: Surroundings
) -> Natives | None:
    """Return the native policies of a check; None if there are none."""
    if not any(map(is_native, (*beside.contents, *documents))):
        return None
    return Natives(beside, documents, snapshot, about)


def lasting(writes: Iterable[NativeWrite]) -> Iterator[NativeWrite]:
    """Yield the writes that stay on a pod; podberth undoes the writes of the floor's native policies."""
    return (each for each in writes if not same(without_floor(each.after), without_floor(each.before)))


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

    ``others`` are warnings about files that have a different policy of equal name.
    """
    result = replace(result, warnings=(*others, *result.warnings))
    found = tuple(Finding(policy="", message=each.message, field=each.where, line=each.line) for each in problems)
    return replace(result, verdict="error", errors=found) if found else result


def _bare(result: Result, line: int) -> Result:
    """Return a copy of a result without template path, findings and changes, and with the verdict "skipped"."""
    return Result(
        file=result.file,
        line=line,
        api_version=result.api_version,
        kind=result.kind,
        namespace=result.namespace,
        name=result.name,
        path="",
        verdict="skipped",
        source=result.source,
    )


def _nowhere(document: Document) -> Located:
    source = without_place("", document)
    return Located(source.file, document, source.positions)
