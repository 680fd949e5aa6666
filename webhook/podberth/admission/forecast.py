"""Finds conflicts between constant values of policies when the policies are loaded, before any pod is reviewed.

An expression that reads no variable is constant. A mutation with only constant expressions can be applied to an example
pod, by the same rules as in a review (``mutation.standing``). The example pod has a gang, and the resources that the
policies would rewrite. ``policy.clashes`` compares mutations by the texts of their expressions instead. Both modules
report notes, never errors.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from ..cel.engine import Environment, ReviewContext
from ..errors import EvaluationError, Problem
from ..kube.patch import Draft
from ..kube.paths import parse_pointer
from ..mutation import pipeline, record
from ..mutation.change import Change, Proposal, Record
from ..mutation.concern import Surroundings
from ..mutation.conflict import NodeChoice
from ..mutation.membership import NOTHING_KNOWN
from ..mutation.standing import stand
from ..policy.clashes import comes_first, decides_by
from ..policy.compile import CompiledPolicy
from ..policy.parse import ParsedPolicy
from ..wellknown import GANG_LABEL


def forecasts(
    parsed: Iterable[ParsedPolicy], policies: Iterable[CompiledPolicy], environment: Environment, review: ReviewContext
) -> tuple[Problem, ...]:
    """Return a problem for each mutation whose constant conflicts with the constant of an earlier policy's mutation.

    The problems are sorted by file. A constant that the mutation refuses as invalid gets no problem; the first pod will
    show the error.

    Args:
        parsed: the policies with their positions in files.
        policies: the policies of ``parsed``, compiled, in the order of evaluation.
        environment: evaluates the constant expressions.
        review: the known nodes, for expressions that use the topology.
    """
    places = {item.policy.name: item for item in parsed}
    constants = [
        (policy.name, index, proposal)
        for policy in policies
        for index, proposal in _constants(policy, environment, review)
    ]
    surroundings = Surroundings(lambda: NOTHING_KNOWN, "", None, environment.schema)
    draft, known = Draft(_pod(proposal for _, _, proposal in constants)), Record()
    notes: list[Problem] = []
    for name, index, proposal in constants:
        trial = draft.fork()
        try:
            conflicts, remains = stand(draft, proposal, name, known, NodeChoice(lambda _: 0))
            change = remains and pipeline.apply(trial, remains, surroundings)
        except EvaluationError:
            continue
        side = [side for side in ("required", "preferred") if side in proposal.leaves]
        notes += [
            places[name].problem(("spec", "mutations", index, proposal.concern, *side), comes_first(each.other))
            for each in conflicts
            if not decides_by(places[name], parse_pointer(each.path))
        ]
        if isinstance(change, Change):
            draft, known = trial, record.add(known, name, [change])
    return tuple(sorted(set(notes)))


def _constants(
    policy: CompiledPolicy, environment: Environment, review: ReviewContext
) -> Iterator[tuple[int, Proposal]]:
    """Yield (index in the policy, the mutation's values) for each mutation that has only constant expressions."""
    nothing = environment.activation({}, review)
    for index, mutation in enumerate(policy.mutations):
        reads = mutation.facts or any(each.reads for each in mutation.leaves.values())
        if pipeline.CONCERNS[mutation.concern].forecast and not reads:
            try:
                leaves = {name: each.evaluate(nothing) for name, each in mutation.leaves.items()}
            except EvaluationError:
                continue
            yield index, Proposal(concern=mutation.concern, leaves={**leaves, **mutation.literals})


def _pod(proposals: Iterable[Proposal]) -> dict[str, Any]:
    """Return the example pod: a gang's member, with the containers and resources that the mutations would rewrite."""
    limits: dict[str, dict[str, str]] = {}
    for proposal in proposals:
        items = proposal.leaves[""] if proposal.concern == "resources" else ()
        for item in items or ():
            if isinstance(item.get("container"), str) and isinstance(item.get("from"), str):
                limits.setdefault(item["container"], {})[item["from"]] = "1"
    containers = [{"name": name, "resources": {"limits": held}} for name, held in limits.items()]
    return {"metadata": {"labels": {GANG_LABEL: "gang"}}, "spec": {"containers": containers}}
