"""Applies the mutations of policies to a draft of the pod under review, and adds the record annotation to the draft.

If one mutation of a policy fails, no mutation of the policy is applied. If a mutation is skipped, or conflicts with an
earlier policy, the policy's other mutations are still applied.
"""

from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

from ..errors import EvaluationError
from ..kube.patch import Draft, Patch
from ..kube.paths import Path
from ..mutation import pipeline, record
from ..mutation.change import Change, Proposal, Record, Skipped
from ..mutation.concern import Surroundings
from ..mutation.conflict import NodeChoice
from ..mutation.earlier import EarlierChanges
from ..mutation.seal import bearer_of
from ..mutation.standing import revived, stand, undone
from ..policy.compile import CompiledPolicy
from ..policy.evaluate import Asked
from ..topology.need import NodeSelection, own_tolerations
from .asking import Asking
from .checked import excess_after_writes
from .gate import refusal, refusal_of_writes
from .matching import Fault, Matched
from .outcome import Action, Decision, Written


class _Chosen(NamedTuple):
    """A change of the pod's node affinity or node selector.

    ``decision`` and ``written`` are indexes into the lists ``decisions`` and ``written`` of the change's ``_Step``.
    """

    change: Change
    decision: int
    written: int

    @property
    def preferred(self) -> list[dict[str, Any]]:
        """The preferred node affinity terms that the change adds, with weights; empty for a required change."""
        wrote: list[dict[str, Any]] = self.change.wrote.get("preferred", [])
        return wrote if self.change.concern == "nodeAffinity" else []


class _Step:
    """The writes of one policy, which are added to the pod only after all mutations of the policy have succeeded."""

    def __init__(self, draft: Draft) -> None:
        self.draft = draft
        self.changes: list[Change] = []
        self.decisions: list[Decision] = []
        self.written: list[Written] = []
        self.chosen: list[_Chosen] = []
        self._before: frozenset[Path] = frozenset()

    @property
    def touched(self) -> frozenset[Path]:
        """The paths of the pod that the policy has written."""
        return self._before | self.draft.touched

    def take(self, draft: Draft, change: Change) -> None:
        """Add the change of one mutation; ``draft``, the pod after the change, becomes the pod of this step."""
        if draft is not self.draft:
            self._before = self.touched
            self.draft = draft
        self.changes.append(change)
        if change.concern in ("nodeAffinity", "nodeSelector"):
            self.chosen.append(_Chosen(change, len(self.decisions), len(self.written) - 1))

    def note(self, policy: CompiledPolicy, action: Action, text: str) -> None:
        """Add a decision of the policy with this action and text; nothing is added if the text is empty."""
        if text:
            self.decisions.append(Decision(policy.name, action, text))


class Writing:
    """Applies the writes of policies, in order, to the draft of one new pod."""

    def __init__(self, asking: Asking, *, keep_writes: bool = False) -> None:
        """Create the object with the unchanged pod.

        ``keep_writes`` says whether the changes of each mutation are kept.
        """
        under = asking.under
        snapshot, request = under.snapshot, under.request
        self.asking = asking
        self.under = under
        self.keep_writes = keep_writes
        self.draft = Draft(under.pod)
        self.decisions: list[Decision] = []
        self.written: list[Written] = []
        """The changes of each mutation; empty without ``keep_writes``."""
        self._chosen: list[_Chosen] = []
        self._own: Mapping[str, Any] = under.pod.get("spec") or {}
        """The pod's spec as it was in the request."""
        self.record_text = ""
        """The text of the record that was written, without its seal; empty if no record was written."""
        self.seal = partial(snapshot.sealer.seal, bearer_of(under.pod, request.namespace))
        self.surroundings = Surroundings(
            gang=lambda: under.gang_facts,
            default_priority_class=snapshot.facts.default_priority_class,
            priority_classes=snapshot.known_priority_classes,
            schema=snapshot.environment.schema,
            devices=snapshot.devices,
            is_claimless=snapshot.facts.is_claimless,
            namespace=request.namespace,
            nodes_left=self._nodes_left,
            record=lambda: record.add(self.record, "", self.step.changes),
        )
        held = record.held(self.draft, under.found.record)
        self.before = held if under.found.standing else {}
        # A record from an unknown sender does not count in this review, but it is kept for later updates.
        self.kept = held if under.found.sent is None else {}
        self.record: Record = self.before
        self.nodes = NodeChoice(self._nodes_left, self.before)
        self.step = _Step(self.draft)

    def write(self, matched: Matched) -> Fault | None:
        """Apply the mutations of one policy and return None; if one fails, apply none and return the fault."""
        policy = matched.policy
        self.step = step = _Step(self.draft.fork())
        try:
            for each in self.asking.mutations(policy, matched.params):
                self._apply(policy, each, step)
            if any(change.concern in pipeline.ANYTHING for change in step.changes):
                self._prove_stable(matched, step)
        except EvaluationError as error:
            return Fault(policy, str(error))
        if step.changes and (found := excess_after_writes(step.draft.document, self.under.request)):
            return Fault(policy, f"with what it writes, {found}")
        self._chosen += [
            _Chosen(each.change, each.decision + len(self.decisions), each.written + len(self.written))
            for each in step.chosen
        ]
        self.decisions += step.decisions
        self.written += step.written
        if step.changes:
            self.draft = step.draft
            self.record = record.add(self.record, policy.name, step.changes)
            self.under.wrote(step.draft.document, tuple(step.touched))
        return None

    def finish(self) -> Patch:
        """Write the record annotation, after all policies have been applied, and return the patch of the pod.

        The messages about node affinity get the numbers of nodes ("12 nodes fit"), which are known only now.
        """
        self._count_nodes()
        self.record_text = record.write(self.draft, self._final_record(), self.under.found, self.seal)
        return self.draft.patch()

    def _final_record(self) -> Record:
        """Return the record of all changes, without changes whose values a later policy has replaced."""
        written: Record = record.merged(record.held(self.draft, self.kept), self.record)
        if not any(concern in pipeline.ANYTHING for concerns in written.values() for concern in concerns):
            return written
        return record.held(self.draft, written)

    def _apply(self, policy: CompiledPolicy, asked: Asked, step: _Step) -> None:
        """Apply one mutation to the policy's draft, and add the decision about the result."""
        concern = asked.mutation.concern
        gang = self.under.description.gang
        refused = refusal(policy, asked.mutation, step.draft, self.under.gang_facts)
        if refused is not None:
            self._refused(policy, asked, step, refused)
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
        trial = step.draft.fork() if guarded or self.keep_writes else step.draft
        change = self._build(trial, proposal)
        if isinstance(change, Skipped):
            step.note(policy, "skip", f"{concern} left as it is: {change.reason}")
        elif change is None:
            lacked = kind.lacks(trial)
            self._left_out(policy, asked, lacked or "the pod has this already, or a value of its own, which stays")
        else:
            if guarded:
                too_far = refusal_of_writes(gang, trial.touched) if anything else ""
                conflict = (undone if anything else revived)(step.draft, trial, change, policy.name, self.record)
                if too_far or conflict is not None:
                    step.note(policy, "skip" if too_far else "conflict", too_far or str(conflict))
                    return
            reason = asked.reason or change.describe()
            if self.keep_writes:
                # A copy, because later writes change these objects.
                patch = deepcopy(trial.changes(step.draft))
                step.written.append(
                    Written(policy=policy.name, mutation=asked.mutation.name, reason=reason, patch=patch)
                )
            step.take(trial, change)
            step.note(policy, "mutate", reason)

    def _refused(self, policy: CompiledPolicy, asked: Asked, step: _Step, reason: str) -> None:
        """Add the decision about a mutation that ``gate.refusal`` refuses for a reason, which may be empty.

        A mutation that decides placement gets the reason alone, as a note if it only prefers a place. Any other also
        gets what it would have written; it gets no decision if it would have written nothing.
        """
        if not reason:
            self._left_out(policy, asked, f"{self.under.description.gang.system} places this pod's group")
        elif pipeline.CONCERNS[asked.mutation.concern].decides == "placement":
            step.note(policy, "note" if asked.leaves.get("mode") == "preferred" else "skip", reason)
        else:
            proposal = Proposal(concern=asked.mutation.concern, leaves=asked.leaves)
            change = self._build(step.draft.fork(), proposal)
            if isinstance(change, Change):
                step.note(policy, "skip", f"{reason}: {asked.reason or change.describe()}")

    def _left_out(self, policy: CompiledPolicy, asked: Asked, why: str) -> None:
        """Report why a mutation writes nothing to who watches the decision; the user gets no warning."""
        if self.asking.watch is not None:
            self.asking.watch.left_out(policy, asked.mutation, why)

    def _came_too_early(self, policy: CompiledPolicy, awaits: Callable[[EarlierChanges, str], bool]) -> bool:
        """Return whether a policy later than ``policy`` made the change that ``policy``'s mutation needs.

        Then an earlier call of /mutate for the pod skipped the mutation, because the change was still missing. This
        call skips the mutation, too: a reinvocation must change nothing. ``self.before`` has the changes of the earlier
        call. ``awaits`` (``Concern.awaits``) returns whether a named policy made the needed change among them.
        """
        earlier = pipeline.earlier(self.before)
        later = {each.name for each in self.under.snapshot.policies if each.source.sort_key > policy.source.sort_key}
        return any(name in later and awaits(earlier, name) for name in self.before)

    def _remaining(self, policy: CompiledPolicy, asked: Asked, step: _Step) -> Proposal | None:
        """Return the part of a mutation that does not conflict with earlier policies; None if nothing remains.

        A decision is added for each conflict.
        """
        proposal = Proposal(concern=asked.mutation.concern, leaves=asked.leaves)
        conflicts, remains = stand(step.draft, proposal, policy.name, self.record, self.nodes)
        for each in conflicts:
            step.note(policy, "conflict", str(each))
        if remains is not proposal:
            self._build(step.draft.fork(), proposal)  # raises the error of an invalid mutation, conflicts or not
        return remains

    def _prove_stable(self, matched: Matched, step: _Step) -> None:
        """Check that a policy whose mutations can write any field would change nothing when applied a second time.

        Raises:
            EvaluationError: a second application would change the pod again, or fail.
        """
        for asked in self.asking.mutations_after(
            matched.policy, matched.params, step.draft.document, tuple(step.touched)
        ):
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

    def _nodes_left(self, draft: Draft) -> int:
        """Return the number of known nodes, transient nodes aside, that could run the pod of the draft."""
        spec = draft.document["spec"]
        tolerations = own_tolerations(spec, self.under.snapshot.conventions)
        need = replace(self.under.description.need, selector=NodeSelection.of(spec), tolerations=tolerations)
        return self.under.snapshot.topology.nodes(need).count

    def _count_nodes(self) -> None:
        """Append to messages the number of nodes that remain: "12 nodes fit (was 40)", "prefers 12 of 40 nodes".

        The message of each change that prefers nodes gets the number of nodes that it prefers. Of the changes that
        require something of a node, only the last gets a number: of the nodes that fit after all changes. The number
        after "was" counts the nodes that the pod's own terms select and that the pod's final tolerations allow.
        """
        if not self._chosen or not self.under.snapshot.topology.known:
            return
        need, topology = self.under.description.need, self.under.snapshot.topology
        nodes = topology.nodes(need)
        required = [each for each in self._chosen if not each.preferred]
        for each in self._chosen:
            if each.preferred:
                terms = [item["preference"] for item in each.preferred]
                self._add(each, f": prefers {nodes.count_selected(terms)} of {nodes.count} nodes")
            elif each is required[-1]:
                before = topology.nodes(replace(need, selector=NodeSelection.of(self._own)))
                fit = "1 node fits" if nodes.count == 1 else f"{nodes.count} nodes fit"
                self._add(each, f": {fit} (was {before.count})")

    def _add(self, chosen: _Chosen, effect: str) -> None:
        decision = self.decisions[chosen.decision]
        self.decisions[chosen.decision] = replace(decision, message=decision.message + effect)
        if self.keep_writes:
            written = self.written[chosen.written]
            self.written[chosen.written] = replace(written, reason=written.reason + effect)
