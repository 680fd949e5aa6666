"""An applyConfiguration that sets a field which can only be replaced as a whole.

The user's value of the field would be lost, so the API server refuses such a configuration of a
MutatingAdmissionPolicy. podberth accepts the policy, and the mutation then fails on each pod. Such fields are
tolerations, nodeSelector, terms of affinity, `command` and `args`. The rule also finds fields that a Pod does not have,
and values of a wrong type. It sees only literals.

Bad:

    mutations:
    - applyConfiguration: "{'spec': {'tolerations': [{'key': 'nvidia.com/gpu', 'operator': 'Exists'}]}}"

Good:

    mutations:
    - tolerations: "[{'key': 'nvidia.com/gpu', 'operator': 'Exists'}]"
"""

from collections.abc import Iterator

from ...cel.tree import Entries, Items, Literal, Tree
from ...errors import Problem
from ...kube.schema import PodSchema, Schema
from ...kube.typed import POD_TYPE, MisfitError, step
from ...kube.typed import check as check_type
from ..findings import Library


def check(library: Library) -> Iterator[Problem]:
    """Yield a problem for each literal part of an applyConfiguration that cannot be merged into a Pod.

    The part can only be replaced as a whole, has a wrong type, or is no field of a Pod.
    """
    for mutation, leaf in library.leaves("applyConfiguration"):
        policy, tree = mutation.policy, mutation.policy.tree(leaf.source)
        for part, message in _wrong(policy.environment.schema, POD_TYPE, tree, "applyConfiguration"):
            yield policy.within((*mutation.path, *leaf.path), part, message)


def _wrong(schema: PodSchema, kind: Schema, tree: Tree, where: str) -> Iterator[tuple[Tree, str]]:
    atomic = kind.atomic or (kind.kind == "array" and kind.list_type not in ("map", "set"))
    if atomic and isinstance(tree, Entries | Items):
        message = "is merged as a whole, so the user's would be lost; want a mutation of its own, or jsonPatch"
        yield tree, f"{where}: {message}"
        return
    try:
        if isinstance(tree, Entries):
            for key, value in tree.entries:
                if isinstance(key, Literal) and isinstance(key.value, str):
                    below = step(schema, kind, key.value, where)
                    yield from _wrong(schema, below, value, f"{where}.{key.value}")
        elif isinstance(tree, Items) and kind.element is not None:
            for index, item in enumerate(tree.items):
                yield from _wrong(schema, kind.element, item, f"{where}[{index}]")
        elif isinstance(tree, Literal):
            check_type(schema, kind, tree.value, where)
    except MisfitError as error:
        yield tree, str(error)
