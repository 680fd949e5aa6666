"""An applyConfiguration or jsonPatch that writes a field which no policy may write.

Such fields are the pod's name, its namespace, its node, its status and podberth's record. The policy fails for every
pod that it matches (docs/mutations.md, "Not to be touched"). The rule sees only literals.

Bad:

    mutations:
    - applyConfiguration: "{'spec': {'nodeName': 'gpu-7'}}"

Good:

    mutations:
    - applyConfiguration: "{'spec': {'terminationGracePeriodSeconds': 120}}"
"""

from collections.abc import Iterator
from contextlib import suppress

from ...cel.tree import Entries, Items, Literal, Tree
from ...errors import Problem
from ...kube.json_patch import PatchError, steps_of
from ...mutation.forbidden_fields import FORBIDDEN
from ..findings import Library

_READS = ("test",)


def check(library: Library) -> Iterator[Problem]:
    """Yield a problem for each place where a policy writes a field that no policy may write."""
    for mutation, leaf in library.leaves("applyConfiguration", "jsonPatch"):
        tree = mutation.policy.tree(leaf.source)
        written = _set(tree, ()) if mutation.source.concern == "applyConfiguration" else _patched(tree)
        for part, path in written:
            for forbidden in FORBIDDEN:
                if path[: len(forbidden)] == forbidden:
                    message = f"may not write {'.'.join(map(str, forbidden))}; no policy may"
                    yield mutation.policy.within((*mutation.path, *leaf.path), part, message)


def _set(tree: Tree, path: tuple[str, ...]) -> Iterator[tuple[Tree, tuple[str, ...]]]:
    """Yield (syntax tree of the key, path) for each path that a map literal sets."""
    for key, value in tree.entries if isinstance(tree, Entries) else ():
        if isinstance(key, Literal) and isinstance(key.value, str):
            yield key, (*path, key.value)
            yield from _set(value, (*path, key.value))


def _patched(tree: Tree) -> Iterator[tuple[Tree, tuple[str, ...]]]:
    for operation in tree.items if isinstance(tree, Items) else ():
        if not isinstance(operation, Entries):
            continue
        kind, pointer = operation.get("op"), operation.get("path")
        reads = isinstance(kind, Literal) and kind.value in _READS
        if not reads and isinstance(pointer, Literal) and isinstance(pointer.value, str):
            with suppress(PatchError):  # the rule refused-value reports it
                yield pointer, steps_of(pointer.value)
