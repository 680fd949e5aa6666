"""Finds, without evaluating anything, two policies that write the same field from different expressions.

The search covers mutations in which each expression is the value of one field: labels, annotations, node labels,
environment variables, single fields of the spec, and a gang's name and size. Other mutations can only be compared after
their expressions were evaluated. Whether any pod matches both policies depends on their conditions, and cannot be
decided in general: so a clash is a note, never a refusal. On a pod that both policies match, the first policy's value
is kept, and the user gets a warning (``mutation.standing``). A policy whose match conditions name the field sees there
what earlier policies wrote, so its author has decided, and there is no note.
"""

from collections.abc import Iterable, Iterator

from ..cel.engine import Want
from ..errors import Problem
from ..kube.paths import Path
from .model import leaves_of
from .parse import ParsedPolicy

_SCALARS = frozenset({Want.STRING, Want.INT})


def clashes(parsed: Iterable[ParsedPolicy]) -> tuple[Problem, ...]:
    """Return a note for each field of the pod that two policies write from different expressions, sorted.

    The note is at the later of the two policies; the policies are applied in the order of ``sort_key``.
    """
    first: dict[Path, tuple[str, set[str]]] = {}
    notes: list[Problem] = []
    for item in sorted(parsed, key=lambda item: item.policy.sort_key):
        own: dict[Path, set[str]] = {}
        for path, field, text in _fields(item):
            own.setdefault(field, set()).add(text)
            winner, texts = first.get(field, (item.policy.name, {text}))
            if text not in texts and not decides_by(item, field):
                notes.append(item.problem(path, comes_first(winner)))
        for field, texts in own.items():
            first.setdefault(field, (item.policy.name, texts))
    return tuple(sorted(notes))


def decides_by(item: ParsedPolicy, field: Path) -> bool:
    """Return whether a match condition of the policy has the name of the field, which is the last step of its path."""
    return any(str(name) in each.expression for name in field[-1:] for each in item.policy.spec.match_conditions)


def comes_first(winner: str) -> str:
    """Return the text of the note about the later of two policies that write one field.

    ``winner`` is the name of the earlier policy.
    """
    return f"policy {winner} writes it too and comes first; on a pod that both match, its value stays"


def _fields(item: ParsedPolicy) -> Iterator[tuple[Path, Path, str]]:
    """Yield (path in the policy, field of the pod, text of the expression) for each field that a policy writes."""
    for index, mutation in enumerate(item.policy.spec.mutations):
        leaves, literals = leaves_of(mutation)
        if not literals and all(leaf.want in _SCALARS for leaf in leaves):
            for leaf in leaves:
                yield ("spec", "mutations", index, *leaf.path), leaf.path, leaf.source.strip()
