"""Checks manifests: decides on each pod template as the cluster would, and finds the line for each decision.

The functions take the texts of files and a snapshot, and return results and patches. A problem of a document raises no
error, but becomes a result.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, Final

from ..admission.groups import wrong_in_workload
from ..admission.outcome import Decision
from ..admission.snapshot import Snapshot
from ..admission.unlabelled import judging_unlabelled
from ..admission.unplaced import unplaced
from ..errors import Problem, ReviewError
from ..kube.mishaps import is_excerpt, is_template
from ..kube.object_names import MAX_LABEL, is_label
from ..kube.patch import Patch, apply
from ..kube.paths import Path
from ..native.judge import Requester
from ..native.resources import Resources
from ..wellknown import EXEMPT_LABEL, EXEMPT_NAMESPACES
from ..workload.gpus import gpu_facts
from ..workload.projection import place_of
from ..workload.templates import Template, templates
from .broken_rules import broken_rules
from .decided import Decided, decide, unasked
from .misshapen import misshapen, readable
from .native_writes import OnPod, on_object, on_pod, wrote_by
from .natives import Natives
from .never_starts import claims_elsewhere, in_any_cluster
from .numbers import is_of_a_placeholder, numbers_in, place_of_number, unfilled_text, without_placeholder_names
from .other_files import (
    asserts,
    excerpt_result,
    folded,
    is_foreign,
    is_other_data,
    is_part_of_a_tool,
    kinds_once,
    patch_result,
    skipped_file,
)
from .place import field_of, named_path, place_in, reads_of, without_field
from .removed_versions import removed_version
from .result import RECORD, DocumentChange, Finding, Report, Result, Verdict, at_other_fields, skips_once
from .sources import Document, Source, SourceFile
from .template_paths import all_inside, apart, innermost, of_each
from .unknown_fields import UnknownField, first_of, unknown_fields_in
from .unknown_kinds import why_without_pods

_WARNINGS: Final = frozenset({"skip", "conflict", "warn", "error"})
"""The actions of decisions that are reported as warnings. A mutation is reported as a change instead."""
_FINDINGS: Final = _WARNINGS | {"deny", "audit", "note"}
_NO_CONTAINERS: Final = (
    "this template has no containers (it is a patch, or its operator adds them), so nothing of it is checked"
)
_RESOURCES: Final = Resources()


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckSettings:
    """The settings of a check, apart from the snapshot."""

    namespace: str = "default"
    """The namespace of documents that do not have one."""
    template_paths: Mapping[str, Sequence[tuple[str, ...]]] = field(default_factory=dict)
    """The paths of further pod templates by kind, in the format of ``workload.templates``."""
    requester: Requester = field(default_factory=Requester)
    """The user who applies the manifests, and what users may do."""
    natives: Natives | None = None
    """The native policies that are evaluated for the manifests; None if there are none."""
    clock: Callable[[], float] = float
    """Returns the seconds of a clock, from which the results have their times; without one the times are 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """The results of checking one file."""

    file: str
    documents: int
    """The number of the file's documents, including unreadable documents."""
    results: tuple[Result, ...]
    """The results, ordered by line."""


def report(checked: Sequence[Checked]) -> Report:
    """Return the report about the results of several files, in the order of the files."""
    return Report(
        results=tuple(kinds_once(folded(result for each in checked for result in each.results))),
        files=len(checked),
        documents=sum(each.documents for each in checked),
    )


def is_exempt(namespace: str, namespaces: Mapping[str, Mapping[str, Any]]) -> bool:
    """Return whether the API server calls podberth's webhook for no object of the namespace (manifests/base)."""
    labels = namespaces.get(namespace, {}).get("metadata", {}).get("labels") or {}
    return namespace in EXEMPT_NAMESPACES or EXEMPT_LABEL in labels


def check(file: SourceFile, snapshot: Snapshot, settings: CheckSettings, known: Sequence[Document] = ()) -> Checked:
    """Return the results for every object of a file; ``known`` are documents that the file's workloads may refer to."""
    results: list[Result] = []
    if file.patch_of:
        results.append(patch_result(file))
    elif is_foreign(file) or asserts(file):
        results.append(skipped_file(file.name))
    else:
        excerpts = [each.line for each in file.problems if file.found and is_excerpt(file.text, each.line)]
        results += [excerpt_result(file.name, line) for line in excerpts[:1]]
        for problem in file.problems:
            if problem.line in excerpts:
                continue
            unexpanded = file.found and is_template(file.text, problem.line)
            results.append(replace(unreadable(problem), unexpanded=unexpanded))
        for source in file.sources:
            if file.found and is_other_data(source.content):
                # The only document of a file starts in line 1, and a search for its line in JSON takes long
                results.append(skipped_file(file.name, line=source.line() if len(file.documents) > 1 else 1))
            else:
                first, *others = _judged(_Object(source, snapshot, settings, known, named=not file.found))
                repeated = [
                    Finding(policy="", message=at.message, field=field, line=at.line)
                    for at, field in zip(source.repeated, source.repeated_fields(), strict=True)
                ]
                removed = removed_version(source)
                results += [replace(first, warnings=(*removed, *repeated, *first.warnings)), *others]
    unread = 1 if is_foreign(file) else len({problem.line for problem in file.problems})
    return Checked(
        file=file.name,
        documents=len(file.documents) + unread,
        results=tuple(sorted(results, key=lambda result: result.line)),
    )


def unreadable(problem: Problem) -> Result:
    """Return the result for a document that could not be read."""
    error = Finding(policy="", message=problem.message, field=problem.where, line=problem.line)
    return replace(skipped_file(problem.file, line=problem.line), verdict="error", errors=(error,))


def _judged(item: "_Object") -> list[Result]:
    """Return the results for an object of a file, with the decisions of native policies."""
    clock, natives = item.settings.clock, item.settings.natives
    started, results = clock(), list(item.results())
    if natives is not None:
        results = natives.added(results, item.source, item.pods, item.content)
    unlabelled = tuple(dict.fromkeys(item.judging_unlabelled()))
    fits_none = item.is_unplaced and not any(each.verdict in ("denied", "error") for each in results)
    of_object: dict[str, Any] = {"unlabelled": (item.namespace, unlabelled), "unplaced": fits_none}
    return [replace(results[0], **of_object, seconds=clock() - started), *results[1:]]


def check_object(
    source: Source, snapshot: Snapshot, settings: CheckSettings, known: Sequence[Document], *, unseen: bool = False
) -> list[Result]:
    """Return the results for an object of a cluster, decided on as if the object and its pods were created now.

    ``unseen`` says that the API server calls podberth for no pod of the object's namespace, so that native policies
    alone decide.
    """
    return _judged(_Object(source, snapshot, settings, known, named=True, written=False, unseen=unseen))


@dataclass
class _Object:
    """One object of a file, from which the results of its pod templates are made."""

    source: Source
    snapshot: Snapshot
    settings: CheckSettings
    known: Sequence[Document]
    named: bool
    written: bool = True
    """Whether the object was written by a person, and not read from the API server."""
    unseen: bool = False
    """Whether the cluster's webhook configuration leaves out the object's namespace."""
    changes: tuple[DocumentChange, ...] = ()
    """The changes that ``content`` already has."""
    readable: dict[Path, Template] = field(default_factory=dict)
    """The templates without values of wrong types, by path."""
    pods: dict[Path, dict[str, Any]] = field(default_factory=dict)
    """The pods as validations would get them, by the path of the pod's template."""
    _made: list[tuple[Template, dict[str, Any]]] = field(default_factory=list)
    """The templates decided on so far, each with the template's pod after the mutations."""
    is_unplaced: bool = False
    """Whether nodes are known, and a pod of the object fits none of them."""

    def __post_init__(self) -> None:
        self.namespace = self.source.namespace(self.settings.namespace)
        self.content = self.source.content
        """The object with the changes of policies so far: on the object itself, and on the earlier templates."""

    def results(self) -> Iterator[Result]:
        """Yield a result for each template of the object; a single result if the object has no template."""
        is_object = bool(self.source.api_version and self.source.kind)
        native = self._native() if is_object else None
        found = self._templates() if is_object else []
        if not found:
            bare = self._without_templates()
            yield replace(native, warnings=bare.warnings) if native else bare
            return
        if native is not None:
            yield native
        if self.namespace and not is_label(self.namespace):
            message = f"got {self.namespace[:80]!r}, want a DNS-1123 label of at most {MAX_LABEL} characters"
            at = self._finding(message, ("metadata", "namespace"))
            yield self._result((), "error", errors=(at,))
            return
        unfilled, wrong, filled_later = numbers_in(self.content)
        unknown = self._unknown(found)
        lines = sorted({self.source.line(path) for path, _ in unfilled})
        expand = [
            self._finding(unfilled_text(unfilled, lines, self.source.api_version), path) for path, _ in unfilled[:1]
        ]
        results: list[Result] = []
        separate, inside = apart(found), of_each((path for path, _ in (*unfilled, *wrong, *filled_later)), found)
        for index in range(len(found)):
            template = found[index]
            errors = [self._finding(message, path) for path, message in wrong if path in inside[index]]
            said = [path for path, _ in (*unfilled, *wrong) if path in inside[index]]
            of_it = [each for each in unknown if innermost(each.path, found) == index]
            refused = [self._finding(each.message, each.path) for each in of_it if each.refused]
            if any(path in inside[index] for path, _ in unfilled):
                # One finding for the document, at the first such template: it lists the placeholders of all templates.
                errors, expand = [*expand, *errors], []
                if not errors:
                    stopped = self._stopped(template, errors, said, refused)
                    results.append(stopped or self._result(template.path, "skipped"))
                    continue
            later = [self._finding(message, path) for path, message in filled_later if path in inside[index]][:1]
            if later and not errors:
                results.append(self._result(template.path, "skipped", notes=tuple(later)))
                continue
            result, patch = self._template(template, errors, said, refused)
            lost = [self._finding(each.message, each.path) for each in of_it if not each.refused]
            lost = at_other_fields(lost, result.errors)
            results.append(replace(result, warnings=(*lost, *result.warnings)))
            if patch and index + 1 < len(found):
                self.content = apply(self.content, patch)
                self.changes = (*self.changes, *result.changes)
                # Templates may share metadata: then the next template is read again, with these changes.
                if template.path not in separate or not all_inside(patch, template):
                    found = self._templates()
        self._note_placeholders(results)
        yield from self._with_groups(results, found)

    def judging_unlabelled(self) -> Iterator[str]:
        """Yield the policies that may read labels of the object's Namespace, if no given file has the Namespace."""
        for _, pod in self._made:
            yield from judging_unlabelled(pod, self.namespace, self.snapshot)
        natives = self.settings.natives if self.namespace in self.snapshot.facts.assumed else None
        if natives is not None and self.source.api_version and self.source.kind and not is_part_of_a_tool(self.source):
            for each in (self.content, *self.pods.values()):
                yield from natives.reading_labels(each)

    def _with_groups(self, results: Sequence[Result], found: Sequence[Template]) -> Iterator[Result]:
        """Yield the results with the problems of the workload's groups added as warnings.

        A problem is added to the result of the template that has the problem's path, else of the nearest template.
        No problems are added for a Pod, whose review reports the problems, or if a template could not be decided on.
        """
        if len(self._made) < len(found) or not found or self.source.kind == "Pod":
            yield from results
            return
        wrong = wrong_in_workload(self.source.content, self._made, self.namespace, self.snapshot)
        for inside, result in zip(of_each((each.path for each in wrong), found), results, strict=True):
            mine = [self._finding(each.message, each.path) for each in wrong if each.path in inside]
            yield replace(result, warnings=(*result.warnings, *mine))

    def _unknown(self, found: Sequence[Template]) -> list[UnknownField]:
        """Return the object's unknown fields and broken rules; empty for one that is live or never reaches podberth."""
        if not self.written or is_exempt(self.namespace, self.snapshot.facts.namespaces):
            return []
        unknown = unknown_fields_in(self.content, found, self.snapshot.environment.schema)
        rest = [self.readable[each.path] for each in found]
        return first_of(chain(unknown, broken_rules(self.content, rest, named=self.named)))

    def _note_placeholders(self, results: list[Result]) -> None:
        """Add notes to the first result if the name or the namespace of the object is a placeholder."""
        if results:
            notes = (self._finding(said, path) for path, said in self.source.unfilled_metadata(self.namespace))
            results[0] = replace(results[0], notes=(*results[0].notes, *notes))

    def _templates(self) -> list[Template]:
        """Return the object's pod templates in the order of the file."""
        found = self._read(self.content)
        self.readable = {each.path: each for each in readable(self.content, found, self._read)}
        return found

    def _read(self, content: Mapping[str, Any]) -> list[Template]:
        paths = self.settings.template_paths
        named = without_placeholder_names(dict(content))
        found = templates(named, namespace=self.namespace, known=self.known, extra=paths)
        return sorted(found, key=lambda template: self.source.line(template.path))

    def _without_templates(self) -> Result:
        """Return the result for an object that has no pod templates, or whose kind podberth does not know."""
        if is_part_of_a_tool(self.source):
            no_object = skipped_file(self.source.file, line=self.source.line())
            return self._result((), "skipped") if self.source.content.get("kind") else no_object
        why = why_without_pods(
            self.source.content,
            self.content,
            self.settings.template_paths,
            self.snapshot.environment.schema.definitions,
            self.known,
        )
        if why is None or not (self.named or why.is_object):
            return self._result((), "skipped")
        found = (self._finding(why.message, why.path),)
        if why.is_error:
            return self._result((), "error", errors=found)
        return self._result((), "skipped", warnings=found)

    def _native(self) -> Result | None:
        """Apply MutatingAdmissionPolicies to the object itself and return the result; None if no policy acts."""
        made = on_object(self.settings.natives, self.source, self.content)
        if made is None:
            return None
        content, changes, said = made
        verdict: Verdict = said.over or ("mutated" if changes else "unchanged")
        wrote = wrote_by((each.policy, each.reason) for each in changes)
        result = self._result((), verdict, changes=changes, wrote=wrote, **said._asdict())
        self.content, self.changes = content, changes
        return result

    # ---- one template ------------------------------------------------------------------------------------------------

    def _template(
        self, template: Template, unfilled: Sequence[Finding], said: Sequence[Path], refused: Sequence[Finding]
    ) -> tuple[Result, Patch]:
        exempt = self.unseen or is_exempt(self.namespace, self.snapshot.facts.namespaces)
        if not exempt and (stopped := self._stopped(template, unfilled, said, refused)):
            return stopped, []
        first = on_pod(self.settings.natives, self.source, template)
        if over := first.said.over:
            return self._result(template.path, over, **first.said._asdict()), []
        if exempt:
            return self._exempt(template, first)
        try:
            user = self.settings.requester.user
            decided = decide(template, self.namespace, self.snapshot, first.written, user)
        except ReviewError as error:
            return self._result(template.path, "error", errors=(self._finding(str(error), template.path),)), []
        if wrong := first.asked_again(decided.pod):
            return self._result(template.path, "error", errors=wrong), []
        return self._decided(template, decided, first)

    def _stopped(
        self, template: Template, unfilled: Sequence[Finding], said: Sequence[Path], refused: Sequence[Finding]
    ) -> Result | None:
        """Return the result for a template on whose pod podberth cannot decide; None if podberth can decide.

        ``unfilled`` has the errors about numbers of the template that are wrong, or placeholders, which are at the
        paths ``said``. ``refused`` has the errors about fields that the API server would refuse. podberth cannot decide
        either if the template has a wrong shape or no containers.
        """
        rest = self.readable[template.path]
        shape = misshapen(template, rest, said, self.source.api_version, named=self.named)
        errors = [*unfilled, *(self._finding(message, path) for message, path in shape)]
        errors += at_other_fields(refused, errors)
        if errors:
            errors.sort(key=lambda each: each.line)
            return self._result(template.path, "error", errors=tuple(errors))
        if not (template.pod.get("spec") or {}).get("containers"):
            self._made.append((template, template.pod))
            without = self._finding(_NO_CONTAINERS, place_of(template, ("spec",)))
            return self._result(template.path, "skipped", notes=(without,))
        return None

    def _exempt(self, template: Template, first: OnPod) -> tuple[Result, Patch]:
        """Return (result, patch) for a template in an exempt namespace, whose pods never reach podberth.

        ``first`` is the result of MutatingAdmissionPolicies.
        """
        decided = unasked(template, first.written)
        self.pods[template.path] = decided.pod
        rest = "nothing of it is checked" if self.settings.natives is None else "only native policies judge it"
        note = f"what is in {self.namespace} never reaches podberth, so {rest}"
        changes, unplaced = self._changes(template, decided)
        notes = (self._finding(note, ("metadata", "namespace")), *unplaced, *first.said.notes)
        verdict: Verdict = "mutated" if changes else "skipped"
        return self._result(template.path, verdict, notes=notes, changes=changes, wrote=first.wrote), decided.patch

    def _decided(self, template: Template, decided: Decided, first: OnPod) -> tuple[Result, Patch]:
        self._made.append((template, decided.pod))
        if not any(phase == "mutate" and each.action == "deny" for phase, each in decided.decisions):
            self.pods[template.path] = decided.pod
        found = list(
            skips_once(self._about(template, phase, each) for phase, each in decided.decisions if _is_said(each))
        )
        changes, notes = self._changes(template, decided)
        notes += tuple(each for each in found if each.action == "note")
        excepted = [
            self._finding(each.message, template.path, each.policy) for _, each in decided.decisions if each.exception
        ]
        warned = [*self._never_starts(template), *(each for each in found if each.action in _WARNINGS)]
        if not decided.denied:
            warned += at_other_fields(self._unplaced(template, decided.pod), warned)
        verdict: Verdict = "denied" if decided.denied else "mutated" if decided.patch else "unchanged"
        return (
            self._result(
                template.path,
                verdict,
                denials=tuple(each for each in found if each.action == "deny"),
                warnings=tuple(dict.fromkeys(warned)),
                audits=tuple(dict.fromkeys(each for each in found if each.action == "audit")),
                notes=(*notes, *first.said.notes, *dict.fromkeys(excepted)),
                changes=changes,
                wrote=() if decided.denied else (*first.wrote, *decided.wrote),
                held_back=decided.held_back,
            ),
            decided.patch,
        )

    # ---- the findings and the result ---------------------------------------------------------------------------------

    def _about(self, template: Template, phase: str, decision: Decision) -> Finding:
        """Return a decision as a finding, at the field of the document that the decision is about."""
        policy = next((each for each in self.snapshot.policies if each.name == decision.policy), None)
        reads = reads_of(policy, phase, decision.message) if policy is not None else frozenset()
        path = field_of(decision.message, reads, template.pod, template.own, gpu_facts(template.pod))
        fatal = phase == "mutate" and decision.action == "deny"
        # The finding has the field already, so the message need not begin with it.
        said = without_field(decision.message, path, template.pod)
        message = f"cannot be applied: {said} (failurePolicy Fail)" if fatal else said
        place = place_in(template, path) if path else place_of_number(self.content, message) or template.path
        if said != decision.message and place[-1:] == path[-2:-1]:
            place = (*place, path[-1])  # the field that the message names is absent
        found = self._finding(message, place, decision.policy)
        rule = "mutations" if phase == "mutate" else "validations"
        return replace(found, action=decision.action, rule=rule if decision.policy else "")

    def _never_starts(self, template: Template) -> tuple[Finding, ...]:
        """Return the warnings about what keeps the template's pod from starting, whatever the nodes offer."""
        found = [*in_any_cluster(template.pod, self.source.api_version)]
        if self.written and self.source.namespace(""):  # a live pod may have its claim from before
            found += claims_elsewhere(template.pod, self.namespace, self.snapshot.devices, self.settings.namespace)
        return tuple(self._finding(message, place_in(template, path)) for path, message in found)

    def _unplaced(self, template: Template, pod: dict[str, Any]) -> list[Finding]:
        """Return a list with the warning that a template's pod fits no known node; empty if it fits one."""
        found = unplaced(pod, self.namespace, self.snapshot)
        self.is_unplaced = self.is_unplaced or found is not None
        return [self._finding(found[1], place_in(template, found[0]))] if found else []

    def _changes(self, template: Template, decided: Decided) -> tuple[tuple[DocumentChange, ...], tuple[Finding, ...]]:
        """Return (the policies' changes of the document, findings for writes for which the document has no field)."""
        changes: list[DocumentChange] = []
        notes: list[Finding] = []
        authors = [(each.policy, each.reason) for each in decided.written] + [RECORD]
        for (policy, reason), each in zip(authors, decided.projected, strict=False):
            said = " ".join(reason.split())
            if each.left and (policy, reason) != RECORD:
                place = place_in(template, named_path(each.left))
                notes.append(self._finding(f"{said}; not in the document: {each.left}", place, policy))
            changes += [DocumentChange.of(self.source.root, policy, operation, said) for operation in each.operations]
        return tuple(changes), tuple(notes)

    def _finding(self, message: str, path: Path, policy: str = "") -> Finding:
        flat = " ".join(message.split())
        return Finding(policy=policy, message=flat, field=self.source.field(path), line=self.source.line(path))

    def _namespace_of(self, path: Path) -> str:
        """Return the object's namespace for a result; ``path`` leads to a pod template if the object has one."""
        kind = _RESOURCES.of(self.source.api_version, self.source.kind)
        if not self.source.kind or (kind is not None and not kind.namespaced):
            return ""
        return self.source.namespace(self.settings.namespace if kind or path else "")

    def _result(self, path: Path, verdict: Verdict, **parts: Any) -> Result:
        source = self.source
        return Result(
            file=source.file,
            line=source.line(path),
            api_version=source.api_version,
            kind=source.kind,
            namespace=self._namespace_of(path),
            name=source.name,
            path=source.field(path),
            verdict=verdict,
            earlier=self.changes,
            source=source.document,
            **parts,
        )


def _is_said(decision: Decision) -> bool:
    """Return whether a decision is reported as a finding.

    A decision about a placeholder in place of a number is not reported: one finding reports all placeholders of a
    document.
    """
    return decision.action in _FINDINGS and not is_of_a_placeholder(decision.message)
