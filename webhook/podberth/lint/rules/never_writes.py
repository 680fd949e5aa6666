"""A mutation that can never write anything.

There are three causes: the value is always empty or null; the value is one that the pod has anyway
(`default-scheduler`, or a resource that replaces itself); or the matchConditions and `when` are true only for pods
whose user has set the field, and podberth keeps the user's value.

Bad:

    matchConditions:
    - {name: has-a-runtime-class, expression: has(object.spec.runtimeClassName)}
    mutations:
    - runtimeClassName: "'nvidia'"

Good:

    matchConditions:
    - {name: no-runtime-class, expression: "!has(object.spec.runtimeClassName)"}
    mutations:
    - runtimeClassName: "'nvidia'"
"""

from collections.abc import Iterator, Mapping

from ...cel.tree import Call, Entries, Items, Literal, Tree
from ...errors import Problem
from ...kube.paths import Path
from ...mutation.concerns.scheduler_name import DEFAULT_SCHEDULER
from ...policy.model import Leaf
from ..conditions import PresentTerm
from ..findings import Library, LintedMutation
from ..formula import AnyOf, Compares, Formula, Holds

_SCHEDULER: Path = ("object", "spec", "schedulerName")
_RUNTIME: Path = ("object", "spec", "runtimeClassName")
_EMPTY = (None, "")
_UNSET: Mapping[str, Formula] = {
    "schedulerName": AnyOf(
        (
            Holds(PresentTerm(_SCHEDULER), wanted=False),
            Compares(_SCHEDULER, "==", DEFAULT_SCHEDULER),
            Compares(_SCHEDULER, "==", ""),
        )
    ),
    "runtimeClassName": Holds(PresentTerm(_RUNTIME), wanted=False),
}
"""A mapping from a field to the formula that a policy may write the field, because the user has not set it.
``priorityClassName`` is missing, because the cluster's default class is unknown to the linter.
"""


def check(library: Library) -> Iterator[Problem]:
    """Yield a problem for each expression of a mutation that never writes anything."""
    for mutation in library.mutations:
        for leaf in mutation.leaves:
            why = _constant(mutation, leaf) or _taken(mutation, leaf)
            if why:
                yield mutation.policy.problem((*mutation.path, *leaf.path), f"it never writes anything: {why}")


def _constant(mutation: LintedMutation, leaf: Leaf) -> str:
    tree = mutation.resolved(leaf)
    concern = mutation.source.concern
    if _says_nothing(tree) and not (
        concern in ("annotations", "env", "labels", "nodeSelector") and tree == Literal(value="")
    ):
        return "its value is always empty"
    if concern == "schedulerName" and tree == Literal(value=DEFAULT_SCHEDULER):
        return f"{DEFAULT_SCHEDULER} is the value of a pod that sets none"
    if concern == "resources" and isinstance(tree, Items) and tree.items and all(map(_for_itself, tree.items)):
        return "every resource is replaced by itself"
    return ""


def _says_nothing(tree: Tree) -> bool:
    match tree:
        case Literal(value=value):
            return value in _EMPTY
        case Items(items=()) | Entries(entries=()):
            return True
        case Call(function="optional.none"):
            return True
        case Call(function="_?_:_", operands=(_, left, right)):
            return _says_nothing(left) and _says_nothing(right)
        case _:
            return False


def _for_itself(item: Tree) -> bool:
    if not isinstance(item, Entries):
        return False
    before = item.get("from")
    return before is not None and before == item.get("to")


def _taken(mutation: LintedMutation, leaf: Leaf) -> str:
    """Return a message if the mutation applies only to pods whose user has set the field already; else empty."""
    concern = mutation.source.concern
    if concern in ("labels", "annotations"):
        unset: Formula = Holds(PresentTerm(("object", "metadata", concern, leaf.name)), wanted=False)
    elif concern == "nodeSelector":
        unset = Holds(PresentTerm(("object", "spec", concern, leaf.name)), wanted=False)
    elif concern in _UNSET:
        unset = _UNSET[concern]
    else:
        return ""
    conditions = mutation.policy.conditions
    if not conditions.can_hold(mutation.applies) or conditions.can_hold(unset, mutation.applies):
        return ""
    return "it applies only where the user has set a value, and the user's stays"
