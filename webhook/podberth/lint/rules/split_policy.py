"""A policy that asks `topology` or `mig` for nodes, and writes tolerations on which the answer depends.

All expressions of a policy are evaluated before any of its mutations is applied (docs/policy.md, "Order, and what a
policy sees"). `topology` and `mig` return the nodes whose taints the pod tolerates at that time, without the
tolerations that the same policy writes. Two kinds of tolerations make no difference: `topology.nodes(gpu).tolerations`,
and tolerations of taints that mark accelerators, because `topology` and `mig` count these taints as tolerated. Put
other tolerations into a policy with a lower `order`.

Bad, if nodes have the taint example.com/spot:

    mutations:
    - tolerations: "[{'key': 'example.com/spot', 'operator': 'Exists', 'effect': 'NoSchedule'}]"
    - nodeAffinity: {preferred: topology.nodes(gpu).preferredTerms, weight: 50}

Good, if another policy with a lower `order` writes the tolerations:

    order: 200
    mutations:
    - nodeAffinity: {preferred: topology.nodes(gpu).preferredTerms, weight: 50}
"""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final

from ...cel.functions import FUNCTIONS
from ...cel.tree import Call, Entries, Literal, Name, Tree, walk
from ...errors import Problem
from ..findings import Library, Linted, LintedMutation

if TYPE_CHECKING:
    from ...kube.paths import Path

_BY_TOLERATIONS: Final = frozenset(
    (each.parameters[0].removeprefix("podberth.").lower(), each.name)
    for each in FUNCTIONS
    if ("object", "spec", "tolerations") in each.reads
)
"""(receiver, function) for each function whose results depend on the pod's tolerations: ("topology", "nodes")."""


def check(library: Library) -> Iterator[Problem]:
    """Yield a problem for each call of ``topology`` or ``mig`` that depends on tolerations which the policy writes."""
    marks = library.conventions.tolerable_taints
    for policy in library.policies:
        writers = [each for each in policy.mutations if _writes_its_own(each, marks)]
        for mutation in policy.mutations if writers else ():
            others = (each for each in writers if each is not mutation)
            writer = next((each for each in others if policy.conditions.can_hold(each.applies, mutation.applies)), None)
            if writer is not None:
                yield from _questions(policy, mutation, writer)


def _writes_its_own(mutation: LintedMutation, marks: Mapping[str, str | None]) -> bool:
    """Return whether a mutation's expressions make a toleration of a taint that does not mark accelerators.

    ``marks`` has the taints that mark accelerators: a mapping from key to value, or to None for any value.
    """
    if mutation.source.concern != "tolerations":
        return False
    trees = (tree for leaf in mutation.leaves for _, tree in mutation.policy.reached(leaf.source))
    made = (part for tree in trees for part in walk(tree) if isinstance(part, Entries))
    return any(part.get("operator") is not None and not _of_a_mark(part, marks) for part in made)


def _of_a_mark(toleration: Entries, marks: Mapping[str, str | None]) -> bool:
    key, value = toleration.get("key"), toleration.get("value")
    if not isinstance(key, Literal) or not isinstance(key.value, str) or key.value not in marks:
        return False
    wanted = marks[key.value]
    return wanted is None or (isinstance(value, Literal) and value.value == wanted)


def _questions(policy: Linted, mutation: LintedMutation, writer: LintedMutation) -> Iterator[Problem]:
    sources: list[tuple[Path, str]] = [((*mutation.path, *leaf.path), leaf.source) for leaf in mutation.leaves]
    if mutation.source.when is not None:
        sources.append(((*mutation.path, "when"), mutation.source.when))
    for own, source in sources:
        for path, tree in policy.reached(source):
            for part in filter(_asks, walk(tree)):
                yield policy.within(
                    path or own,
                    part,
                    f"the answer does not know the tolerations that mutations[{writer.index}] writes, "
                    "and leaves out the nodes behind these taints; put the tolerations into an earlier policy",
                )


def _asks(part: Tree) -> bool:
    match part:
        case Call(function=function, operands=(Name(name=receiver), *_)):
            return (receiver, function) in _BY_TOLERATIONS
        case _:
            return False
