"""Checks the workloads of a cluster as if the workloads' pods were created now, and counts the results by effect.

If a live pod's record has the writes of a policy already, the writes count as no change. This module reads nothing from
the cluster.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import Final, Literal, TypeAlias, get_args

from ..admission.snapshot import Snapshot
from ..kube.patch import Draft
from ..kube.shape import shape_problems
from ..mutation import record
from ..policy.parse import ParsedPolicies, ParsedPolicy
from .owners import TopOwner, TopOwners, as_created
from .result import VERDICTS, Finding, Live, PolicyCount, Report, Result, Verdict, Wrote
from .run import CheckSettings, check_object
from .sources import Document, without_place

Supposition: TypeAlias = Literal["deny", "rolled-out"]
SUPPOSITIONS: Final[tuple[Supposition, ...]] = get_args(Supposition)
"""The assumptions that a user can make about policies: all validationActions are Deny, or no policy has a rollout."""

_ALL: Final = 100
_PODBERTH: Final = "podberth"


def suppose(parsed: ParsedPolicies, as_if: Collection[Supposition]) -> ParsedPolicies:
    """Return the policies, changed by the assumptions ``as_if``.

    With "deny", the validationActions of every policy with validations are Deny. With "rolled-out", no policy has a
    rollout.
    """
    return replace(parsed, policies=tuple(_supposed(each, as_if) for each in parsed.policies)) if as_if else parsed


def _supposed(parsed: ParsedPolicy, as_if: Collection[Supposition]) -> ParsedPolicy:
    spec = parsed.policy.spec
    changes: dict[str, object] = {}
    if "deny" in as_if and spec.validations:
        changes["validation_actions"] = ("Deny",)
    if "rolled-out" in as_if:
        changes["rollout"] = None
    if not changes:
        return parsed
    return replace(parsed, policy=parsed.policy.model_copy(update={"spec": spec.model_copy(update=changes)}))


def check_workload(
    owner: TopOwner, snapshot: Snapshot, settings: CheckSettings, known: Sequence[Document]
) -> tuple[Result, ...]:
    """Return one result for each pod template of a workload, without the changes that a live pod already has.

    ``known`` are further objects that the workload may refer to, such as a TrainingRuntime.
    """
    found = check_object(owner.source, snapshot, settings, known, unseen=owner.unseen)
    sound = [pod for pod in owner.pods if not shape_problems(pod)]
    held, none = frozenset[str](), frozenset[str]()
    natives = frozenset(wrote.policy for each in found for wrote in each.wrote if wrote.native)
    if natives and sound and settings.natives is not None:
        created = (as_created(without_place("", pod)).content for pod in sound)
        held = natives - settings.natives.writing_on(created)
    pods = [Draft(pod) for pod in sound]
    is_pod = owner.source.kind == "Pod"
    return tuple(_settled(each, pods, held if each.path or is_pod else none) for each in found)


def has_effect(result: Result) -> bool:
    """Return whether a policy has any effect on a live workload, or cannot be judged."""
    return bool(result.denials or result.warnings or result.audits or result.errors or result.wrote)


def _settled(result: Result, pods: Sequence[Draft], held: frozenset[str]) -> Result:
    """Return a result without the policies' writes that the workload's live pods already have.

    A write of a GPUPolicy is left out if any of ``pods`` has it, and a write of a native policy if the policy's name is
    in ``held``. A verdict "mutated" or "unchanged" is decided again: "mutated" if a policy has a write left, even if
    the write changes no field of the workload's document.
    """
    done = {
        each.policy: Finding(policy=each.policy, message="this is on its live pods already", field="", line=0)
        for each in result.wrote
        # ``recorded`` is empty if the record was too long to be written
        if (each.policy in held if each.native else each.recorded and any(_holds(pod, each) for pod in pods))
    }
    left = tuple(each for each in result.wrote if each.policy not in done)
    policies = {each.policy for each in left} | ({_PODBERTH} if left else set())
    verdict: Verdict = result.verdict
    if verdict in ("mutated", "unchanged"):
        verdict = "mutated" if left else "unchanged"
    return replace(
        result,
        verdict=verdict,
        wrote=left,
        changes=tuple(each for each in result.changes if each.policy in policies),
        notes=(*(each for each in result.notes if each.policy not in done), *done.values()),
        in_force=tuple(done),
        source=None,
    )


def _holds(pod: Draft, wrote: Wrote) -> bool:
    """Return whether a live pod has everything that one policy would write, according to the pod's record."""
    recorded = {wrote.policy: dict(wrote.recorded)}
    return record.held(pod, recorded) == recorded


def live_report(
    found: Sequence[tuple[Result, ...]],
    tops: TopOwners,
    policies: Iterable[ParsedPolicy],
    *,
    unread: Sequence[Result] = (),
    missing: Sequence[str] = (),
) -> Report:
    """Return the report about all live workloads: the results of each workload, and counts.

    ``found`` has the results of each workload. ``tops`` has the counts of the objects that were not checked.
    ``policies`` are the policies as written, without assumptions. ``unread`` are results for objects that could not be
    read, and ``missing`` are the kinds of objects that could not be listed.
    """
    verdicts = [min((one.verdict for one in each), key=VERDICTS.index, default="skipped") for each in found]
    live = Live(
        workloads=len(found),
        denied=verdicts.count("denied"),
        error=verdicts.count("error"),
        changed=verdicts.count("mutated"),
        unchanged=verdicts.count("unchanged") + verdicts.count("skipped"),
        warned=sum(any(each.warnings for each in one) for one in found),
        owned=tops.owned,
        finished=tops.finished,
        exempt=tops.exempt,
        unknown=tops.unknown,
        missing=tuple(missing),
        policies=_counts(found, policies),
    )
    results = (*unread, *(each for one in found for each in one))
    return Report(results=results, files=len({each.file for each in results}), documents=len(found), live=live)


def _counts(found: Sequence[tuple[Result, ...]], policies: Iterable[ParsedPolicy]) -> tuple[PolicyCount, ...]:
    """Return, for each policy, the numbers of workloads that the policy denies, changes and so on."""
    named = {each.policy.name: each.policy.spec for each in policies}
    columns = {
        name: dict.fromkeys(("denied", "changed", "warned", "audited", "in_force", "held_back"), 0) for name in named
    }
    for results in found:
        for column, names in _columns(results).items():
            for name in names & columns.keys():
                columns[name][column] += 1
    return tuple(
        PolicyCount(
            policy=name,
            actions=spec.validation_actions,
            percent=_ALL if spec.rollout is None else spec.rollout.percent,
            **columns[name],
        )
        for name, spec in sorted(named.items())
    )


def _columns(results: Sequence[Result]) -> dict[str, set[str]]:
    """Return a mapping from each effect, such as "denied", to the names of the policies with that effect."""
    return {
        "denied": {each.policy for one in results for each in one.denials},
        "changed": {each.policy for one in results for each in one.wrote},
        "warned": {each.policy for one in results for each in one.warnings},
        "audited": {each.policy for one in results for each in one.audits},
        "in_force": {name for one in results for name in one.in_force},
        "held_back": {name for one in results for name in one.held_back},
    }
