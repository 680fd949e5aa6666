"""Checks manifests: decides on each pod template as the cluster would, and finds each decision's place in the file.

The functions take the texts of files and a snapshot, and return results and patches. No document raises an error: its
problem becomes a result.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from ..admission.groups import wrong_in_workload
from ..admission.outcome import Decision, Written
from ..admission.snapshot import Snapshot
from ..errors import Problem, ReviewError
from ..kube.carry import NotCarriedError, carry, operations
from ..kube.mishaps import is_template
from ..kube.object_names import MAX_LABEL, is_label
from ..kube.patch import Patch, Path, apply
from ..kube.paths import pointer
from ..native.cases import NativeDecision
from ..native.mutating import Mutated
from ..wellknown import EXEMPT_LABEL, EXEMPT_NAMESPACES
from ..workload.gpus import gpu_facts
from ..workload.kinds import is_known
from ..workload.projection import place_of
from ..workload.templates import Template, templates
from .decided import Decided, decide
from .natives import Natives, finding
from .numbers import advice, is_of_a_placeholder, is_placeholder, numbers_in, place_of_number, refused
from .other_files import asserts, folded, is_foreign, is_other_data, is_part_of_a_tool, patch_result, skipped_file
from .place import field_of, named_path, place_in, reads_of, steps_of, value_at, without_field
from .result import DocumentChange, Finding, Report, Result, Verdict, skips_once
from .sources import Document, Source, SourceFile
from .template_paths import all_inside, apart, innermost, is_of
from .unknown_fields import UnknownField, unknown_fields_in
from .unknown_kinds import names_accelerators, places_of_pods

_WARNINGS: Final = frozenset({"skip", "conflict", "warn", "error"})
"""The actions of decisions that are reported as warnings; a mutation is reported as a change."""
_FINDINGS: Final = _WARNINGS | {"deny", "audit"}
_RECORD: Final = ("podberth", "its record of the policies' changes")
# Operators may add containers that their templates lack; Kubernetes' own controllers add none
_BUILT_IN: Final = frozenset(
    {"v1", "apps/v1", "apps/v1beta1", "apps/v1beta2", "batch/v1", "batch/v1beta1", "extensions/v1beta1"}
)
_NO_CONTAINERS: Final = (
    "this template has no containers (it is a patch, or its operator adds them), so nothing of it is checked"
)
# Of the placeholders of one document, of their lines, and of the places of its pods.
_MOST_NAMED: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckSettings:
    """The settings of a check, apart from the snapshot."""

    namespace: str = "default"
    """The namespace of documents that name no namespace."""
    template_paths: Mapping[str, Sequence[tuple[str, ...]]] = field(default_factory=dict)
    """The paths of further pod templates by kind, in the format of ``workload.templates``."""
    natives: Natives | None = None
    """The native policies beside the manifests; None: there are none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """The results of checking one file."""

    file: str
    documents: int
    """The number of the file's documents, including unreadable ones."""
    results: tuple[Result, ...]
    """The results, ordered by line."""


def report(checked: Sequence[Checked]) -> Report:
    """Return the report about several files, in their order."""
    return Report(
        results=tuple(folded(result for each in checked for result in each.results)),
        files=len(checked),
        documents=sum(each.documents for each in checked),
    )


def is_exempt(namespace: str, namespaces: Mapping[str, Mapping[str, Any]]) -> bool:
    """Return whether the API server sends no objects of a namespace to podberth's webhook (manifests/base)."""
    labels = namespaces.get(namespace, {}).get("metadata", {}).get("labels") or {}
    return namespace in EXEMPT_NAMESPACES or EXEMPT_LABEL in labels


def check(file: SourceFile, snapshot: Snapshot, settings: CheckSettings, known: Sequence[Document] = ()) -> Checked:
    """Return the results for every object of a file; ``known`` are documents that workloads may refer to."""
    results: list[Result] = []
    if file.patch_of:
        results.append(patch_result(file))
    elif is_foreign(file) or asserts(file):
        results.append(skipped_file(file.name))
    else:
        for problem in file.problems:
            unexpanded = file.found and is_template(file.text, problem.line)
            results.append(replace(unreadable(problem), unexpanded=unexpanded))
        for source in file.sources:
            if file.found and is_other_data(source.content):
                # The place of a document in its own file is known, and a search for it in JSON takes long
                results.append(skipped_file(file.name, line=source.line() if len(file.documents) > 1 else 1))
            else:
                first, *others = _judged(_Object(source, snapshot, settings, known, named=not file.found))
                repeated = [
                    Finding(policy="", message=at.message, field=field, line=at.line)
                    for at, field in zip(source.repeated, source.repeated_fields(), strict=True)
                ]
                results += [replace(first, warnings=(*repeated, *first.warnings)), *others]
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
    """Return the results for an object, with those of native policies."""
    results, natives = list(item.results()), item.settings.natives
    return results if natives is None else natives.added(results, item.source, item.pods, item.content)


def check_object(
    source: Source, snapshot: Snapshot, settings: CheckSettings, known: Sequence[Document]
) -> list[Result]:
    """Return the results for an existing object, decided as if its pods were created now."""
    return list(_Object(source, snapshot, settings, known, named=True, written=False).results())


class _Object:
    """One object of a file, from which the results of its pod templates are made."""

    def __init__(
        self,
        source: Source,
        snapshot: Snapshot,
        settings: CheckSettings,
        known: Sequence[Document],
        *,
        named: bool,
        written: bool = True,
    ) -> None:
        self.source = source
        self.named = named
        self.written = written
        """Whether the object was written by a person, and not read from the API server."""
        self.snapshot = snapshot
        self.settings = settings
        self.known = known
        self.namespace = source.namespace(settings.namespace)
        self.content = source.content
        """The object with the changes that policies make to its earlier templates."""
        self.changes: tuple[DocumentChange, ...] = ()
        """The changes that policies make to the earlier templates."""
        self._made: list[tuple[Template, dict[str, Any]]] = []
        """The templates that were decided on so far, with the pods after the mutations."""
        self.pods: dict[Path, dict[str, Any]] = {}
        """The pods that validation sees, by the paths of their templates."""

    def results(self) -> Iterator[Result]:
        """Yield the result for each template of the object; one result for the object if it has no template."""
        native = self._native() if self.source.api_version and self.source.kind else None
        found = self._templates() if self.source.api_version and self.source.kind else []
        if not found:
            yield native or self._without_templates()
            return
        if native is not None:
            yield native
        if self.namespace and not is_label(self.namespace):
            message = f"got {self.namespace[:80]!r}, want a DNS-1123 label of at most {MAX_LABEL} characters"
            at = self._finding(message, ("metadata", "namespace"))
            yield self._result((), "error", errors=(at,))
            return
        unfilled, wrong = numbers_in(self.content)
        unknown = self._unknown(found)
        expand = [self._unfilled(unfilled)] if unfilled else []
        results: list[Result] = []
        separate = apart(found)
        for index in range(len(found)):
            template = found[index]
            errors = [self._finding(message, path) for path, message in wrong if is_of(path, index, found)]
            if any(is_of(path, index, found) for path, _ in unfilled):
                # One line for the document: what is in its other templates is in it, too.
                errors, expand = [*expand, *errors], []
                if not errors:
                    results.append(self._result(template.path, "skipped"))
                    continue
            of_it = [each for each in unknown if innermost(each.path, found) == index]
            refused = [self._finding(each.message, each.path) for each in of_it if each.refused]
            result, patch = self._template(template, errors, refused)
            lost = [self._finding(each.message, each.path) for each in of_it if not each.refused]
            results.append(replace(result, warnings=(*lost, *result.warnings)))
            if patch and index + 1 < len(found):
                self.content = apply(self.content, patch)
                self.changes = (*self.changes, *result.changes)
                # Places may share metadata: then the next one is written on top.
                if template.path not in separate or not all_inside(patch, template):
                    found = self._templates()
        if found and (placeholder := self.source.unfilled_namespace):
            said = f"metadata.namespace is the placeholder {placeholder[:60]}: judged as in namespace {self.namespace}"
            note = self._finding(said, ("metadata", "namespace"))
            results[0] = replace(results[0], notes=(*results[0].notes, note))
        yield from self._with_groups(results, found)

    def _with_groups(self, results: Sequence[Result], found: Sequence[Template]) -> Iterator[Result]:
        """Yield the results with the problems of the workload's groups added, at their template or at the first.

        None are added for a single Pod, whose review reports them, or if a template could not be decided on.
        """
        if len(self._made) < len(found) or not found or self.source.kind == "Pod":
            yield from results
            return
        wrong = wrong_in_workload(self.source.content, self._made, self.namespace, self.snapshot)
        for index, result in enumerate(results):
            mine = [self._finding(each.message, each.path) for each in wrong if is_of(each.path, index, found)]
            yield replace(result, warnings=(*result.warnings, *mine))

    def _unknown(self, found: Sequence[Template]) -> list[UnknownField]:
        """Return the object's unknown fields; none if it comes from the API server or never reaches podberth."""
        if not self.written or is_exempt(self.namespace, self.snapshot.facts.namespaces):
            return []
        every = unknown_fields_in(self.content, found, self.snapshot.environment.schema)
        return list(dict.fromkeys(every))  # two roles may have one place

    def _unfilled(self, found: Sequence[tuple[Path, str]]) -> Finding:
        """Return one finding for all placeholders that stand for numbers, at the place of the first."""
        names = list(dict.fromkeys(name for _, name in found))
        lines = sorted({self.source.line(path) for path, _ in found})
        where = f" (line{'s' if len(lines) > 1 else ''} {_shown([*map(str, lines)])})" if len(found) > 1 else ""
        what, want = ("placeholders", "numbers") if len(names) > 1 else ("the placeholder", "a number")
        return self._finding(f"got {what} {_shown(names)}{where}, want {want}; {advice(found[0][1])}", found[0][0])

    def _templates(self) -> list[Template]:
        """Return the object's templates in the order of the file."""
        paths = self.settings.template_paths
        found = templates(self.content, namespace=self.namespace, known=self.known, extra=paths)
        return sorted(found, key=lambda template: self.source.line(template.path))

    def _without_templates(self) -> Result:
        """Return the result for an object that has no pod templates, or whose kind podberth does not know."""
        version, kind = (self.source.content.get(each) for each in ("apiVersion", "kind"))
        if is_part_of_a_tool(self.source):
            return self._result((), "skipped") if kind else skipped_file(self.source.file, line=self.source.line())
        if not version and not kind:
            message = "got no apiVersion and no kind: this is no object of Kubernetes; nothing of it is checked"
            return self._result((), "skipped", warnings=(self._finding(message, ()),) if self.named else ())
        for key, value in (("apiVersion", version), ("kind", kind)):
            if not isinstance(value, str) or not value:
                message = f"got {value!r:.60}, want the object's {key}"
                return self._result((), "error", errors=(self._finding(message, (key,)),))
        if is_known(self.source.content):
            return self._result((), "skipped")
        found = [f"--template-path '{kind}={place}'" for place in places_of_pods(self.content)]
        message = f"got {version} {kind}, a kind that podberth does not know; nothing of it is checked"
        if found:
            message += f"; give the place of its pods: {_shown(found, ' ')}"
        if paths := self.settings.template_paths.get(str(kind)):
            places = " and ".join(".".join(path).replace(".*", "[*]") for path in paths)
            message = f"got no pod template at {places}, the place that --template-path gives; nothing of it is checked"
        elif not names_accelerators(self.content):
            return self._result((), "skipped")
        return self._result((), "skipped", warnings=(self._finding(message, ("kind",)),))

    def _native(self) -> Result | None:
        """Write what MutatingAdmissionPolicies make of the object itself; None if they have no part in it.

        A Pod is the object of its one template.
        """
        natives = self.settings.natives
        if natives is None or (self.source.api_version, self.source.kind) == ("v1", "Pod"):
            return None
        mutated = None if is_part_of_a_tool(self.source) else natives.mutated(self.content)
        if mutated is None or not (mutated.writes or mutated.decisions):
            return None
        content, changes, notes = self.content, list[DocumentChange](), list[Finding]()
        for each in () if mutated.is_denied else mutated.writes:
            try:
                after = carry(content, each.before, each.after)
            except NotCarriedError as error:
                message = f"{each.reason}: what it writes has no place in the document"
                notes.append(self._finding(message, error.steps, each.policy))
                continue
            changes += [self._change(each.policy, operation, each.reason) for operation in operations(content, after)]
            content = after
        self.content, self.changes = content, tuple(changes)
        denials, errors, said = self._said_by(mutated.decisions, ())
        verdict: Verdict = "error" if errors else "denied" if denials else "mutated" if changes else "unchanged"
        made = self._result((), verdict, denials=denials, errors=errors, notes=(*notes, *said))
        return replace(made, changes=tuple(changes), earlier=())

    def _said_by(
        self, decisions: Sequence[NativeDecision], path: Path
    ) -> tuple[tuple[Finding, ...], tuple[Finding, ...], tuple[Finding, ...]]:
        """Return the denials, errors and notes of native policies as findings at a path of the document."""
        found = [finding(self.source, path, each.text, each) for each in decisions]
        denials, errors, notes = (
            tuple(each for each in found if each.action == action) for action in ("deny", "unjudged", "note")
        )
        return denials, errors, notes

    def _change(self, policy: str, operation: Mapping[str, Any], reason: str) -> DocumentChange:
        path = pointer(self.source.root) + operation["path"]
        return DocumentChange(policy=policy, op=operation["op"], path=path, value=operation.get("value"), reason=reason)

    # ---- one template ------------------------------------------------------------------------------------------------

    def _template(
        self, template: Template, unfilled: Sequence[Finding], refused: Sequence[Finding]
    ) -> tuple[Result, Patch]:
        if is_exempt(self.namespace, self.snapshot.facts.namespaces):
            self.pods[template.path] = template.pod
            rest = "nothing of it is checked" if self.settings.natives is None else "only native policies judge it"
            note = f"what is in {self.namespace} never reaches podberth, so {rest}"
            return self._result(template.path, "skipped", notes=(self._finding(note, ("metadata", "namespace")),)), []
        errors = [*(unfilled or self._misshapen(template)), *refused]
        if errors:
            errors.sort(key=lambda each: each.line)
            return self._result(template.path, "error", errors=tuple(errors)), []
        if not (template.pod.get("spec") or {}).get("containers"):
            self._made.append((template, template.pod))
            without = self._finding(_NO_CONTAINERS, place_of(template, ("spec",)))
            return self._result(template.path, "skipped", notes=(without,)), []
        natives = self.settings.natives
        mutated = natives.mutated(template.pod) if natives else None
        earlier = _written(mutated)
        native: tuple[tuple[Finding, ...], ...] = ((), (), ())
        if mutated is not None:
            native = self._said_by(mutated.decisions, template.path)
            if mutated.is_denied or native[1]:
                verdict: Verdict = "error" if native[1] else "denied"
                denials, wrong, notes = native
                return self._result(template.path, verdict, denials=denials, errors=wrong, notes=notes), []
        try:
            decided = decide(template, self.namespace, self.snapshot, earlier)
        except ReviewError as error:
            return self._result(template.path, "error", errors=(self._finding(str(error), template.path),)), []
        if natives and mutated is not None:
            _, wrong, _ = self._said_by(natives.asked_again(mutated, decided.pod), template.path)
            if wrong:
                return self._result(template.path, "error", errors=wrong), []
        self._made.append((template, decided.pod))
        if not any(phase == "mutate" and each.action == "deny" for phase, each in decided.decisions):
            self.pods[template.path] = decided.pod
        found = list(
            skips_once(self._about(template, phase, each) for phase, each in decided.decisions if _is_said(each))
        )
        changes, notes = self._changes(template, decided)
        notes = (*notes, *native[2])
        excepted = [
            self._finding(each.message, template.path, each.policy) for _, each in decided.decisions if each.exception
        ]
        patch = [operation for each in decided.projected for operation in each.operations]
        verdict = "denied" if decided.denied else "mutated" if patch else "unchanged"
        return (
            self._result(
                template.path,
                verdict,
                denials=tuple(each for each in found if each.action == "deny"),
                warnings=tuple(dict.fromkeys(each for each in found if each.action in _WARNINGS)),
                audits=tuple(dict.fromkeys(each for each in found if each.action == "audit")),
                notes=(*notes, *dict.fromkeys(excepted)),
                changes=changes,
                wrote=decided.wrote,
                held_back=decided.held_back,
            ),
            patch,
        )

    def _misshapen(self, template: Template) -> list[Finding]:
        """Return the findings about wrong types and wrong amounts in a template, each at its path in the document."""
        found: list[Finding] = []
        unfilled: dict[str, Path] = {}
        for problem in template.problems:
            where, _, message = problem.partition(": ")
            path = place_of(template, steps_of(where))
            value = value_at(template.own, steps_of(where))
            if is_placeholder(value):
                unfilled.setdefault(f"{value!s:.60}", path)
            else:
                found.append(self._finding(message or problem, path))
        if unfilled:  # one line for all: they are filled in together
            first = next(iter(unfilled))
            what = "placeholders" if len(unfilled) > 1 else "the placeholder"
            found.insert(0, self._finding(f"got {what} {_shown([*unfilled])}; {advice(first)}", unfilled[first]))
        spec = template.pod.get("spec")
        if not found:
            found += [self._finding(wrong, place_of(template, path)) for path, wrong in refused(template.pod)]
        if not found and self.source.api_version in _BUILT_IN and not (spec or {}).get("containers"):
            path = place_of(template, ("spec", "containers"))
            found.append(self._finding("got no containers, want at least one", path))
        return found

    # ---- the report of it -------------------------------------------------------------------------------------------

    def _about(self, template: Template, phase: str, decision: Decision) -> Finding:
        """Return a decision as a finding, at the field of the document that the decision is about."""
        policy = next((each for each in self.snapshot.policies if each.name == decision.policy), None)
        reads = reads_of(policy, phase, decision.message) if policy is not None else frozenset()
        path = field_of(decision.message, reads, template.pod, template.own, gpu_facts(template.pod))
        fatal = phase == "mutate" and decision.action == "deny"
        # The finding has the field with which a message begins.
        said = without_field(decision.message, path, template.pod)
        message = f"cannot be applied: {said} (failurePolicy Fail)" if fatal else said
        place = place_in(template, path) if path else place_of_number(self.content, message) or template.path
        found = self._finding(message, place, decision.policy)
        rule = "mutations" if phase == "mutate" else "validations"
        return replace(found, action=decision.action, rule=rule if decision.policy else "")

    def _changes(self, template: Template, decided: Decided) -> tuple[tuple[DocumentChange, ...], tuple[Finding, ...]]:
        """Return the changes of the document, and findings for the writes that the document cannot hold."""
        changes: list[DocumentChange] = []
        notes: list[Finding] = []
        authors = [(each.policy, each.reason) for each in decided.written] + [_RECORD]
        for (policy, reason), each in zip(authors, decided.projected, strict=False):
            said = " ".join(reason.split())
            if each.left and (policy, reason) != _RECORD:
                place = place_in(template, named_path(each.left))
                notes.append(self._finding(f"{said}; not in the document: {each.left}", place, policy))
            changes += [self._change(policy, operation, said) for operation in each.operations]
        return tuple(changes), tuple(notes)

    def _finding(self, message: str, path: Path, policy: str = "") -> Finding:
        flat = " ".join(message.split())
        return Finding(policy=policy, message=flat, field=self.source.field(path), line=self.source.line(path))

    def _result(self, path: Path, verdict: Verdict, **parts: Any) -> Result:
        source = self.source
        return Result(
            file=source.file,
            line=source.line(path),
            api_version=source.api_version,
            kind=source.kind,
            namespace=self.namespace if source.kind else "",
            name=source.name,
            path=source.field(path),
            verdict=verdict,
            earlier=self.changes,
            source=source.document,
            **parts,
        )


def _written(mutated: Mutated | None) -> list[Written]:
    """Return what MutatingAdmissionPolicies write on a pod, as mutations before podberth's own."""
    writes = mutated.writes if mutated else ()
    return [
        Written(policy=each.policy, mutation="", reason=each.reason, patch=operations(each.before, each.after))
        for each in writes
    ]


def _is_said(decision: Decision) -> bool:
    """Return whether a decision is a finding; that a placeholder is no number is said once for the document."""
    return decision.action in _FINDINGS and not is_of_a_placeholder(decision.message)


def _shown(names: Sequence[str], separator: str = ", ") -> str:
    """Return the first few names, joined, and an ellipsis if there are more."""
    return separator.join([*names[:_MOST_NAMED], *["…"][: len(names) > _MOST_NAMED]])
