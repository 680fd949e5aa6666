"""A comparison with a string that the field never has.

The rule knows the values of podberth's own variables (`gpu.kind`, `gpu.vendor`, `gang.system` ...) and of the fields of
a Pod that have one of a few values. For `gang.source` it reports only a known value in the wrong case. The argument of
`mig.known()`, `offered()`, `capacity()` and `gpuNodes()` has to be a MIG profile of a known GPU.

Bad:

    validations:
    - {expression: "gpu.vendor != 'Nvidia' || gpu.count < 9", message: at most 8 GPUs}
    validationActions: [Deny]

Good:

    validations:
    - {expression: "gpu.vendor != 'nvidia' || gpu.count < 9", message: at most 8 GPUs}
    validationActions: [Deny]
"""

from collections.abc import Collection, Iterator, Mapping
from typing import Final, get_args

from ...cel.tree import Call, Items, Literal, Tree
from ...devices import mig
from ...devices.mig_tables import TABLES
from ...devices.resources import COUNTED_KINDS, DEVICE_CLASSES, TABLE
from ...errors import Problem
from ...kube.paths import ELEMENT, FieldPath
from ...kube.schema import PodSchema
from ...words import did_you_mean
from ...workload.gpus import Kind
from ...workload.memberships import MEMBERSHIPS
from ...workload.systems import PLAIN, SYSTEMS
from ..findings import Library, Linted
from ..places import Scope, holder, parts_of, shown, type_of, where

_VENDORS: Final = frozenset({"", "mixed", *(each.vendor for each in (*TABLE.values(), *DEVICE_CLASSES.values()))})
_OURS: Final[Mapping[FieldPath, frozenset[str]]] = {
    ("gpu", "kind"): frozenset(get_args(Kind)),
    ("gpu", "vendor"): _VENDORS,
    ("gpu", "requests", ELEMENT, "kind"): frozenset(COUNTED_KINDS),
    ("gpu", "requests", ELEMENT, "vendor"): _VENDORS,
    ("gpu", "claims", ELEMENT, "kind"): frozenset({"", "whole", "mig", "passthrough", "none"}),
    ("gang", "system"): frozenset({PLAIN, *(each.name for each in SYSTEMS)}),
    ("request", "operation"): frozenset({"CREATE", "UPDATE", "DELETE", "CONNECT"}),
}
# kubernetes/apimachinery meta/v1 types.go: the API server's OpenAPI does not list them
_SELECTING: Final = ("In", "NotIn", "Exists", "DoesNotExist")
_SOURCES: Final = frozenset({"label", *(kind for row in MEMBERSHIPS for kind in row.sized_by)})
_COMPARISONS: Final = frozenset({"_==_", "_!=_"})
_OF_PROFILES: Final = frozenset({"known", "offered", "capacity", "gpuNodes"})
_PROFILES: Final = sorted({profile for table in TABLES for profile in table.rows})


def check(library: Library) -> Iterator[Problem]:
    """Yield a problem for each literal that the compared field never equals, and each unknown MIG profile."""
    for policy in library.on_pods:
        for path, part, scope in parts_of(policy):
            if isinstance(part, Call):
                for literal, message in (*_compared(policy, part, scope), *_profiles(policy, part, scope)):
                    yield policy.within(path, literal, message)


def _compared(policy: Linted, call: Call, scope: Scope) -> Iterator[tuple[Tree, str]]:
    match call:
        case Call(function=function, operands=(left, right)) if function in _COMPARISONS:
            literals = [(left, right), (right, left)]
        case Call(function="@in", operands=(item, Items(items=items))):
            literals = [(item, each) for each in items]
        case _:
            return
    for side, literal in literals:
        if isinstance(literal, Literal) and isinstance(literal.value, str):
            found = where(policy, side, scope)
            wrong = _wrong(policy, found, literal.value) if found and literal.value != _default(side) else ""
            if wrong:
                yield literal, wrong


def _wrong(policy: Linted, found: FieldPath, value: str) -> str:
    if found == ("gang", "source"):
        meant = {each.lower(): each for each in _SOURCES}.get(value.lower(), value)
        return "" if meant == value else f"gang.source is never {value!r}; did you mean {meant}?"
    known = _OURS.get(found) or _of_pods(policy.environment.schema, found)
    # The empty string is allowed, because authors compare a field with it to find pods that lack the field.
    if not known or value in known or not value:
        return ""
    same = [each for each in known if each.lower() == value.lower()]
    meant = f"; did you mean {same[0]}?" if same else did_you_mean(value, known)
    return f"{shown(found)} is never {value!r}" + (meant or f"; want one of {', '.join(sorted(filter(None, known)))}")


def _of_pods(schema: PodSchema, found: FieldPath) -> Collection[str]:
    if holder(schema, found) == "LabelSelectorRequirement" and found[-1] == "operator":
        return _SELECTING
    kind = type_of(schema, found)
    return kind.values if kind is not None else ()


def _default(side: Tree) -> object:
    """Return the literal that is the argument of ``orValue`` in ``side``; None if ``side`` is no such call."""
    match side:
        case Call(function="orValue", operands=(_, Literal(value=value))):
            return value
        case _:
            return None


def _profiles(policy: Linted, call: Call, scope: Scope) -> Iterator[tuple[Tree, str]]:
    match call:
        case Call(function=function, operands=(receiver, Literal(value=str() as name) as literal)):
            if function in _OF_PROFILES and where(policy, receiver, scope) == ("mig",) and not mig.known(name):
                yield literal, f"no known GPU has the MIG profile {name!r}{_nearest(mig.bare(name))}"


def _nearest(name: str) -> str:
    """Return "; want one of ...", with the known MIG profiles of as many compute slices as the profile ``name``.

    Empty if there is no such profile.
    """
    slices = name.partition("g.")[0]
    found = [each for each in _PROFILES if each.partition("g.")[0] == slices and each.replace(".", "").isalnum()]
    return f"; want one of {', '.join(found)}" if found else ""
