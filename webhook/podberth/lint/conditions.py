"""Translates CEL conditions to logical formulas (``lint.formula``), with the values that podberth's variables can have.

``&&``, ``||``, ``!``, ``? :``, comparisons with constants, ``in`` a list of constants, ``has()`` and optional
selections of fields are translated. Any other expression is one term that is true or false. A formula does not express
that the evaluation of a condition may fail. So "can never be true" is certain, and "is never false" does not exclude an
error.
"""

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final, get_args

from ..cel.tree import Call, Items, Literal, Name, Select, Tree
from ..cel.typing import VARIABLES
from ..kube.paths import Path
from ..workload.gpus import Kind
from ..workload.systems import PLAIN, SYSTEMS
from .formula import (
    FALSE,
    MIRRORED,
    NEGATED,
    TRUE,
    AllOf,
    Among,
    AnyOf,
    Compares,
    Constant,
    Formula,
    Holds,
    Relation,
    possible,
)

_PREFIX: Final = "variables."
_INT64 = range(-(2**63), 2**63)

_NUMBERS: Mapping[str, Callable[[int, int], int]] = {"_+_": operator.add, "_-_": operator.sub, "_*_": operator.mul}
_TEXTS: Mapping[str, Callable[[str, str], str | bool]] = {
    "_+_": operator.add,
    "contains": lambda text, part: part in text,
    "endsWith": lambda text, part: text.endswith(part),
    "startsWith": lambda text, part: text.startswith(part),
}


def variable(tree: Tree) -> str:
    """Return the name of the policy's variable that an expression consists of; empty for any other expression."""
    return tree.name.removeprefix(_PREFIX) if isinstance(tree, Name) and tree.name.startswith(_PREFIX) else ""


def folded(tree: Tree) -> Tree:  # noqa: PLR0911 - one for each kind of call
    """Return the literal to which an expression of constants, such as ``1 + 1``, evaluates.

    Any other expression is returned unchanged, and so is one that overflows or that the CEL engine would refuse.
    """
    if not isinstance(tree, Call):
        return tree
    match tuple(folded(each) for each in tree.operands):
        case (Literal(value=bool()), *_) | (_, Literal(value=bool())):
            return tree
        case (Literal(value=int() as left), Literal(value=int() as right)) if tree.function in _NUMBERS:
            number = _NUMBERS[tree.function](left, right)
            return Literal(value=number) if number in _INT64 else tree
        case (Literal(value=str() as text), Literal(value=str() as part)) if tree.function in _TEXTS:
            return Literal(value=_TEXTS[tree.function](text, part))
        case (Literal(value=str() as text),) if tree.function == "size":
            return Literal(value=len(text))
        case (Items(items=items),) if tree.function == "size":
            return Literal(value=len(items))
        case _:
            return tree


_RELATIONS: Final[Mapping[str, Relation]] = {
    "_==_": "==",
    "_!=_": "!=",
    "_<_": "<",
    "_<=_": "<=",
    "_>_": ">",
    "_>=_": ">=",
}
_STEPS: Final = frozenset({"_[_]", "_[?_]", "_?._"})


@dataclass(frozen=True, slots=True)
class PresentTerm:
    """A term of a logical formula: whether the pod has a value at the path ``where``."""

    where: Path


_KIND: Final[Path] = ("gpu", "kind")
_COUNT: Final[Path] = ("gpu", "count")
_EACH: Final[Path] = ("gpu", "perContainer")
_DEVICES: Final[Path] = ("gpu", "devices")
_GANG: Final = Holds(("gang", "known"))

# docs/expressions.md lists the same values of these variables; any other value is misspelled.
_KNOWN: Final[tuple[Formula, ...]] = (
    Among(_KIND, frozenset(get_args(Kind))),
    Among(("gang", "system"), frozenset({PLAIN, *(system.name for system in SYSTEMS)})),
    Among(("request", "operation"), frozenset({"CREATE", "UPDATE", "DELETE", "CONNECT"})),
    *(Compares(where, ">=", 0) for where in (_COUNT, _EACH, _DEVICES, ("gpu", "memoryMiB"), ("gang", "size"))),
    Compares(("gang", "index"), ">=", -1),
    AnyOf((Compares(_KIND, "!=", "none"), Compares(_COUNT, "==", 0))),
    AnyOf((Compares(_COUNT, ">", 0), Compares(_EACH, "==", 0))),
    AnyOf((Compares(_COUNT, "==", 0), Compares(_DEVICES, ">", 0))),
    AnyOf((_GANG, Compares(("gang", "size"), "==", 0))),
)
_FOR_GPUS: Final = AnyOf((Compares(_KIND, "!=", "none"), _GANG))
"""The formula that is true for the pods to which a policy with ``scope: GPU`` applies."""


@dataclass(frozen=True)
class Conditions:
    """The matchConditions of a policy as logical formulas."""

    variables: Mapping[str, Tree]
    trees: tuple[Tree, ...]
    for_gpus: bool
    """Whether the policy's scope is GPU."""

    @cached_property
    def formulas(self) -> tuple[Formula, ...]:
        """The logical formula of each matchCondition."""
        return tuple(self.says(tree) for tree in self.trees)

    @property
    def given(self) -> tuple[Formula, ...]:
        """The formulas that are true for every pod for which podberth evaluates the matchConditions."""
        return (*_KNOWN, _FOR_GPUS) if self.for_gpus else _KNOWN

    def can_hold(self, *formulas: Formula) -> bool:
        """Return whether all matchConditions and ``formulas`` can be true for a pod; also True if that is uncertain."""
        return possible(*self.given, *self.formulas, *formulas)

    def can_fail_without_gang(self, tree: Tree) -> bool:
        """Return whether an expression can be false for a pod in no gang; also True if that is uncertain."""
        return possible(*self.given, self.says(tree, wanted=False), Holds(_GANG.term, wanted=False))

    def says(self, tree: Tree, *, wanted: bool = True) -> Formula:  # noqa: PLR0911 - one for each form
        """Return the formula that a CEL expression is true or, if ``wanted`` is False, that it is false."""
        match self.resolved(tree):
            case Literal(value=bool() as value):
                return TRUE if value is wanted else FALSE
            case Call(function="_&&_" | "_||_" as joined, operands=operands):
                parts = tuple(self.says(each, wanted=wanted) for each in operands)
                return AllOf(parts) if (joined == "_&&_") is wanted else AnyOf(parts)
            case Call(function="!_", operands=(operand,)):
                return self.says(operand, wanted=not wanted)
            case Call(function="_?_:_", operands=(test, left, right)):
                return AnyOf(
                    (
                        AllOf((self.says(test), self.says(left, wanted=wanted))),
                        AllOf((self.says(test, wanted=False), self.says(right, wanted=wanted))),
                    )
                )
            case Call(function=function, operands=(left, right)) if function in _RELATIONS:
                return self._compares(_RELATIONS[function], left, right, wanted)
            case Call(function="@in", operands=(item, among)):
                return self._among(item, among, wanted)
            case Select(asks=True) as asked:
                where = _where(Select(operand=asked.operand, field=asked.field, asks=False))
                return Holds(PresentTerm(where) if where else asked, wanted)
            case Call(function="hasValue", operands=(operand,)) as call:
                where = _where(operand)
                return Holds(PresentTerm(where) if where else call, wanted)
            case term:
                return Holds(_where(term) or term, wanted)

    def resolved(self, tree: Tree) -> Tree:
        """Return an expression with the constant parts computed.

        An expression that is only a variable of the policy is replaced by the variable's expression first.
        """
        while (name := variable(tree)) in self.variables:
            tree = self.variables[name]
        return folded(tree)

    def _compares(self, relation: Relation, left: Tree, right: Tree, wanted: bool) -> Formula:
        left, right = self.resolved(left), self.resolved(right)
        if left == right:
            return TRUE if (relation in ("==", "<=", ">=")) is wanted else FALSE
        if isinstance(left, Literal):
            left, right, relation = right, left, MIRRORED[relation]
        if not isinstance(right, Literal) or right.value is None:
            return Holds(Call(function=relation, operands=(left, right)), wanted)
        relation = relation if wanted else NEGATED[relation]
        if isinstance(left, Literal):
            fact = Compares("", relation, right.value)
            return FALSE if left.value is None else _fold_fact(left.value, fact)
        if isinstance(right.value, bool):
            return self.says(left, wanted=(relation == "==") is right.value)
        return self._of_term(left, Compares(left, relation, right.value))

    def _among(self, item: Tree, among: Tree, wanted: bool) -> Formula:
        item, among = self.resolved(item), self.resolved(among)
        if isinstance(among, Items) and all(isinstance(each, Literal) for each in among.items):
            values = [each.value for each in among.items if isinstance(each, Literal)]
            constants = frozenset(each for each in values if each is not None)
            if isinstance(item, Literal):
                return TRUE if (item.value in constants) is wanted else FALSE
            return self._of_term(item, Among(item, constants, wanted))
        where = _where(among)
        if where and isinstance(item, Literal) and isinstance(item.value, str):
            # Depending on the type of ``among``, the item is a key of a map or an element of a list: one term for both
            return Holds(PresentTerm((*where, item.value)), wanted)
        return Holds(Call(function="@in", operands=(item, among)), wanted)

    def _of_term(self, term: Tree, fact: Compares | Among) -> Formula:
        """Return the formula that ``fact`` is true for the CEL expression ``term``.

        In the formula, the path of a field stands for the field's value.
        """
        default: Tree | None = None
        if isinstance(term, Call) and term.function == "orValue" and _where(term.operands[0]):
            term, default = term.operands
        where = _where(term)
        if where is None:
            return _at_least_nothing(term, fact)
        if where[0] not in ("object", "oldObject"):
            return replace(fact, term=where)
        there = AllOf((Holds(PresentTerm(where)), replace(fact, term=where)))
        if isinstance(default, Literal) and default.value is not None:
            return AnyOf((there, AllOf((Holds(PresentTerm(where), wanted=False), _fold_fact(default.value, fact)))))
        return there if default is None else AnyOf((there, Holds(PresentTerm(where), wanted=False)))


def _at_least_nothing(term: Tree, fact: Compares | Among) -> Formula:
    """Return the formula that ``fact`` is true for the expression ``term``, which reads no field.

    For a call of ``size()``, the formula also says that the size is not negative. The value of any other expression may
    be a fraction. So an integer in ``fact`` becomes a float: for an integer, a formula would allow only whole numbers.
    """
    if isinstance(term, Call) and term.function == "size":
        return AllOf((fact, Compares(term, ">=", 0)))
    if isinstance(fact, Compares) and isinstance(fact.value, int):
        return Compares(term, fact.relation, float(fact.value))
    return fact


def _fold_fact(value: Constant, fact: Compares | Among) -> Formula:
    """Return TRUE or FALSE: whether the constant ``value`` satisfies ``fact``."""
    if isinstance(fact, Among):
        return TRUE if (value in fact.values) is fact.wanted else FALSE
    return TRUE if possible(Compares("", "==", value), Compares("", fact.relation, fact.value)) else FALSE


def _where(tree: Tree) -> Path | None:
    """Return the path of the field that a CEL expression reads; None if the expression does more than read a field."""
    match tree:
        case Name(name=name) if name.partition(".")[0] in VARIABLES:
            return tuple(name.split("."))
        case Select(operand=operand, field=field, asks=False):
            before = _where(operand)
            return None if before is None else (*before, field)
        case Call(function=function, operands=(operand, Literal(value=str() | int() as key))) if function in _STEPS:
            before = _where(operand)
            return None if before is None else (*before, key)
        case _:
            return None
