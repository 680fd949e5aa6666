"""/mutate: let the policies write on a pod that is being created, and give back on update what they wrote.

It denies for one reason only: a policy with mutations that could not be asked, under failurePolicy Fail. Judging pods
is ``validate``'s.
"""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from functools import partial

from ..errors import EvaluationError, ReviewError
from ..kube.patch import Draft, Path
from ..mutation import pipeline, record
from ..mutation.change import Change, Proposal, Record, Skipped
from ..mutation.concern import Surroundings
from ..mutation.earlier import EarlierChanges
from ..mutation.narrowing import Nodes
from ..mutation.seal import bearer_of
from ..mutation.standing import revived, stand, undone
from ..policy.compile import CompiledPolicy
from ..policy.evaluate import Asked, Evaluation, Watch
from ..topology.need import NodeSelection, own_tolerations
from . import messages, response
from .checked import checked, outgrown
from .gate import overreach, refusal
from .matching import Fault, Matcher, known_of
from .outcome import Action, Decision, Outcome, Written
from .replay import Course, basis_of, course_of
from .restore import restore
from .review import AdmissionRequest
from .snapshot import Snapshot


def mutate(request: AdmissionRequest, snapshot: Snapshot, watch: Watch | None = None) -> Outcome:
    """Decide on one review; a ``watch`` sees how a creation is decided on, and then nothing is remembered.

    Raises:
        ReviewError: the review's object is no pod.
    """
    if (request.group, request.version, request.resource, request.sub_resource) != ("", "v1", "pods", ""):
        return _untouched(request)
    if request.operation == "UPDATE":
        return _restore(request, snapshot)
    if request.operation != "CREATE":
        return _untouched(request)
    matcher = _matcher(request, snapshot, watch)
    basis = basis_of(matcher) if watch is None else None
    known: Course | None = None if basis is None else snapshot.recall.find(basis.key)
    if known is not None:
        return known.again(request, matcher.pod, snapshot.sealer)
    run = _Run(matcher)
    outcome = run.outcome()
    if basis is not None and (made := course_of(outcome, run.record_text, matcher, run.draft, basis)) is not None:
        snapshot.recall.keep(basis.key, made)
    return outcome


def afresh(request: AdmissionRequest, snapshot: Snapshot) -> Outcome:
    """Decide on the creation of a pod as ``mutate`` does, without what was decided before.

    Raises:
        ReviewError: the review's object is no pod.
    """
    return _Run(_matcher(request, snapshot)).outcome()


def traced(
    request: AdmissionRequest, snapshot: Snapshot, watch: Watch | None = None
) -> tuple[Outcome, tuple[Written, ...]]:
    """Decide on the creation of a pod as ``mutate`` does, and say which mutation wrote what.

    Raises:
        ReviewError: the review's object is no pod.
    """
    run = _Run(_matcher(request, snapshot, watch), traced=True)
    return run.outcome(), tuple(run.written)


def _matcher(request: AdmissionRequest, snapshot: Snapshot, watch: Watch | None = None) -> Matcher:
    """Return the matcher of a creation.

    Raises:
        ReviewError: the review's object is no pod.
    """
    return Matcher("mutate", checked(request), snapshot, watch=watch)


def _untouched(request: AdmissionRequest) -> Outcome:
    return Outcome(response=response.allowed(request.uid), verdict="allowed", patch=[])


def _restore(request: AdmissionRequest, snapshot: Snapshot) -> Outcome:
    if request.old_object is None:
        raise ReviewError(400, "request.oldObject: got null, want the Pod before the update")
    this = checked(request)
    if this.excess:
        return _not_restored(request, this.excess)
    draft = Draft(this.pod)
    # The record is the pod's: a name that no policy has is not repeated into metrics and logs.
    names = {policy.name for policy in snapshot.policies}
    found = record.find(request.old_object, request.namespace, snapshot.sealer)
    restored = restore(draft, request.old_object, found.claims)
    decisions = tuple(Decision(policy, "restore", text) for policy, text in restored if policy in names)
    patch = draft.patch()
    return Outcome(
        response=response.patched(request.uid, patch),
        verdict="mutated" if patch else "allowed",
        decisions=decisions,
        patch=patch,
    )


def _not_restored(request: AdmissionRequest, excess: str) -> Outcome:
    """Allow an update of which nothing is read, and say why nothing of policies' is given back."""
    decision = Decision("", "warn", f"nothing is restored: {excess}")
    warnings = messages.within_budget([messages.line("", decision.message)])
    return Outcome(
        response=response.allowed(request.uid, warnings),
        verdict="allowed",
        decisions=(decision,),
        patch=[],
        warnings=warnings,
    )


class _Step:
    """What one policy does to the pod, until it is known whether all of it applies."""

    def __init__(self, draft: Draft) -> None:
        self.draft = draft
        self.changes: list[Change] = []
        self.decisions: list[Decision] = []
        self.written: list[Written] = []
        self._before: frozenset[Path] = frozenset()

    @property
    def touched(self) -> frozenset[Path]:
        """The paths written."""
        return self._before | self.draft.touched

    def take(self, draft: Draft, change: Change) -> None:
        """Go on from ``draft``: this step's own, or a fork of it."""
        if draft is not self.draft:
            self._before = self.touched
            self.draft = draft
        self.changes.append(change)

    def tell(self, policy: CompiledPolicy, action: Action, text: str) -> None:
        """Take down a decision; one without words is none."""
        if text:
            self.decisions.append(Decision(policy.name, action, text))


class _Run:
    """One creation: the policies in order over one draft."""

    def __init__(self, matcher: Matcher, *, traced: bool = False) -> None:
        self.traced = traced
        self.seal = partial(matcher.snapshot.sealer.seal, bearer_of(matcher.pod, matcher.request.namespace))
        self.record_text = ""
        self.written: list[Written] = []
        self.request = matcher.request
        self.snapshot = matcher.snapshot
        self.draft = Draft(matcher.pod)
        self.matcher = matcher
        self.surroundings = Surroundings(
            gang=partial(known_of, matcher),
            default_priority_class=matcher.snapshot.facts.default_priority_class,
            priority_classes=matcher.snapshot.known_priority_classes,
            schema=matcher.snapshot.environment.schema,
            devices=matcher.snapshot.devices,
            namespace=matcher.request.namespace,
            record=self._written,
        )
        held = record.held(self.draft, matcher.found.claims)
        self.before = held if matcher.found.standing else {}
        # Kept for updates, if it counts for nothing here only because nobody can tell who sent it.
        self.kept = held if matcher.found.sent is None else {}
        self.record: Record = self.before
        self.nodes = Nodes(self._nodes_left, self.before)
        self.step = _Step(self.draft)
        self.decisions: list[Decision] = []

    def outcome(self) -> Outcome:
        """Ask every policy and build the answer."""
        for item in self.matcher:
            fault = item if isinstance(item, Fault) else self._let_write(item)
            if fault is not None:
                action: Action = "deny" if fault.fatal else "error"
                self.decisions.append(Decision(fault.policy.name, action, fault.message, fault=True))
                if fault.fatal:
                    return self._denied(fault)
        self.record_text = record.write(self.draft, self._final_record(), self.matcher.found, self.seal)
        patch = self.draft.patch()
        warnings = messages.of_mutations(self.decisions, patch)
        return Outcome(
            response=response.patched(self.request.uid, patch, warnings),
            verdict="mutated" if patch else "allowed",
            decisions=tuple(self.decisions),
            patch=patch,
            warnings=warnings,
        )

    def _final_record(self) -> Record:
        """Return the record without what later policies have written over, in a list that a policy set as a whole."""
        written = record.joined(record.held(self.draft, self.kept), self.record) if self.kept else self.record
        if not any(concern in pipeline.ANYTHING for concerns in written.values() for concern in concerns):
            return written
        return record.held(self.draft, written)

    def _denied(self, fault: Fault) -> Outcome:
        text = messages.line(fault.policy.name, f"cannot be applied: {fault.message} (failurePolicy Fail)")
        return Outcome(
            response=response.denied(self.request.uid, text),
            verdict="denied",
            decisions=tuple(self.decisions),
            patch=[],
        )

    def _let_write(self, evaluation: Evaluation) -> Fault | None:
        """Apply all mutations of one policy, or none."""
        policy = evaluation.policy
        self.step = step = _Step(self.draft.fork())
        try:
            for asked in self.matcher.mutations(evaluation):
                self._follow(policy, asked, step)
            if any(change.concern in pipeline.ANYTHING for change in step.changes):
                self._prove_stable(evaluation, step)
        except EvaluationError as error:
            return Fault(policy, str(error))
        if step.changes and (found := outgrown(step.draft.document, self.request)):
            return Fault(policy, f"with what it writes, {found}")
        self.decisions += step.decisions
        self.written += step.written
        if step.changes:
            self.draft = step.draft
            self.record = record.add(self.record, policy.name, step.changes)
            self.matcher.wrote(step.draft.document, tuple(step.touched))
        return None

    def _follow(self, policy: CompiledPolicy, asked: Asked, step: _Step) -> None:
        """Let one mutation write, and take down what came of it."""
        concern = asked.mutation.concern
        system = self.matcher.state.gang.system
        refused = refusal(policy, asked.mutation, step.draft, known_of(self.matcher))
        if refused is not None:
            step.tell(policy, "skip", refused)
            return
        kind = pipeline.CONCERNS[concern]
        if kind.decides == "placement" and concern in self.before.get(policy.name, {}):
            return
        if kind.awaits is not None and self._came_too_early(policy, kind.awaits):
            return
        proposal = self._remaining(policy, asked, step)
        if proposal is None:
            return
        anything = concern in pipeline.ANYTHING
        guarded = anything or bool(pipeline.earlier(self.record).removals())
        trial = step.draft.fork() if guarded or self.traced else step.draft
        change = self._build(trial, proposal)
        if isinstance(change, Skipped):
            step.tell(policy, "skip", f"{concern} left as it is: {change.reason}")
        elif change is not None:
            if guarded:
                too_far = overreach(system, trial.touched) if anything else ""
                conflict = (undone if anything else revived)(step.draft, trial, change, policy.name, self.record)
                if too_far or conflict is not None:
                    step.tell(policy, "skip" if too_far else "conflict", too_far or str(conflict))
                    return
            reason = (asked.reason or change.describe()) + self._effect(change)
            if self.traced:
                # What is written next goes into the same objects.
                patch = deepcopy(trial.changes(step.draft))
                step.written.append(
                    Written(policy=policy.name, mutation=asked.mutation.name, reason=reason, patch=patch)
                )
            step.take(trial, change)
            step.tell(policy, "mutate", reason)

    def _came_too_early(self, policy: CompiledPolicy, awaits: Callable[[EarlierChanges, str], bool]) -> bool:
        """Tell whether on an earlier pass the awaited change was not there yet: a later policy made it."""
        earlier = pipeline.earlier(self.before)
        later = {each.name for each in self.snapshot.policies if each.source.sort_key > policy.source.sort_key}
        return any(name in later and awaits(earlier, name) for name in self.before)

    def _remaining(self, policy: CompiledPolicy, asked: Asked, step: _Step) -> Proposal | None:
        """Return what earlier policies leave of a mutation, and tell what they do not; None: nothing."""
        proposal = Proposal(concern=asked.mutation.concern, leaves=asked.leaves)
        standing = stand(step.draft, proposal, policy.name, self.record, self.nodes)
        for each in standing.conflicts:
            step.tell(policy, "conflict", str(each))
        if standing.proposal is not proposal:
            self._build(step.draft.fork(), proposal)  # a policy's fault stays one, whoever came first
        return standing.proposal

    def _prove_stable(self, evaluation: Evaluation, step: _Step) -> None:
        """Ask a policy that can write anything once more, about its own result: it must want nothing else.

        Raises:
            EvaluationError: a second application would change the pod again, or fail.
        """
        for asked in self.matcher.again(evaluation, step.draft.document, tuple(step.touched)):
            concern = asked.mutation.concern
            if concern not in pipeline.ANYTHING:
                continue
            proposal = Proposal(concern=concern, leaves=asked.leaves)
            advice = "guard it with when, or with a test operation"
            try:
                change = self._build(step.draft.fork(), proposal)
            except EvaluationError as error:
                raise EvaluationError(f"{asked.mutation.name}: fails when applied twice: {error}; {advice}") from error
            if isinstance(change, Change):
                paths = ", ".join(each["path"] for each in change.wrote)
                raise EvaluationError(f"{asked.mutation.name}: applied twice, it changes {paths} again; {advice}")

    def _build(self, draft: Draft, proposal: Proposal) -> Change | Skipped | None:
        return pipeline.apply(draft, proposal, self.surroundings)

    def _written(self) -> Record:
        """Return the record with what the policy has written whose turn it is."""
        return record.add(self.record, "", self.step.changes)

    def _nodes_left(self, draft: Draft) -> int:
        """Return how many known nodes could run the pod of a draft."""
        pod_spec = draft.document["spec"]
        need = replace(
            self.matcher.state.need,
            selector=NodeSelection.of(pod_spec),
            tolerations=own_tolerations(pod_spec, self.snapshot.conventions),
        )
        return self.snapshot.topology.nodes(need).count

    def _effect(self, change: Change) -> str:
        """Say what new node affinity does to the choice of nodes.

        ": 12 nodes fit (was 40)", ": prefers 12 of 40 nodes".
        """
        if change.concern != "nodeAffinity" or not self.snapshot.topology.known:
            return ""
        nodes = self.snapshot.topology.nodes(self.matcher.state.need)
        preferred = [item["preference"] for item in change.wrote.get("preferred", ())]
        if preferred:
            return f": prefers {nodes.count_selected(preferred)} of {nodes.count} nodes"
        return f": {nodes.count_selected(change.wrote['required'])} nodes fit (was {nodes.count})"
