"""Two policies that write one field from different expressions, seen before any pod comes.

For mutations whose fields the policy itself names: labels, annotations, variables, single fields of the spec. Whether
one pod ever meets both policies is in their conditions, which nobody can decide in general: so it is a note, never a
refusal. On a pod that meets both, the first in order wins and the user is told (``mutation.conflict``).
"""

from collections.abc import Iterable, Iterator

from ..errors import Problem
from .compile import Leaf, leaves_of
from .parse import ParsedPolicy

_NAMED = frozenset({"labels", "annotations", "env", "schedulerName", "runtimeClassName", "priorityClassName"})


def clashes(parsed: Iterable[ParsedPolicy]) -> tuple[Problem, ...]:
    """Return a note for each field that a policy writes otherwise than one before it, at its place, sorted."""
    first: dict[tuple[str | int, ...], tuple[str, set[str]]] = {}
    notes: list[Problem] = []
    for item in sorted(parsed, key=lambda item: item.policy.sort_key):
        own: dict[tuple[str | int, ...], set[str]] = {}
        for path, leaf in _leaves(item):
            own.setdefault(leaf.path, set()).add(leaf.source.strip())
            winner, sources = first.get(leaf.path, (item.policy.name, {leaf.source.strip()}))
            if leaf.source.strip() not in sources:
                message = f"policy {winner} writes it too and comes first; on a pod that both match, its value stays"
                notes.append(item.problem(path, 1, 1, message))
        for field, texts in own.items():
            first.setdefault(field, (item.policy.name, texts))
    return tuple(sorted(notes))


def _leaves(item: ParsedPolicy) -> Iterator[tuple[tuple[str | int, ...], Leaf]]:
    for index, mutation in enumerate(item.policy.spec.mutations):
        if mutation.concern in _NAMED:
            for leaf in leaves_of(mutation)[0]:
                yield ("spec", "mutations", index, *leaf.path), leaf
