"""Compiles a parsed policy for evaluation: every expression is compiled and type-checked once.

All problems of all policies are reported together, each with its line in the file. No expression is evaluated.
"""

import re
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, TypeVar

from ..cel.cost import MAX_MICROSECONDS, Cost, comparing, too_expensive, total_of
from ..cel.engine import CelType, CompileError, Environment, Expression, Late, Room, Want, never
from ..cel.types import DYN
from ..errors import PolicyError, Problem
from ..kube.paths import Path
from .match import is_static
from .model import GPUPolicy, Mutation, Validation, leaves_of
from .parse import ParsedPolicy

# As in VAP and MAP, matchConditions have no variables and no namespace (apiserver plugin/policy/generic).
_CONDITION_NAMES = frozenset(
    {"object", "oldObject", "request", "params", "gpu", "gang", "topology", "mig", "jsonpatch", "shell", "models"}
)
_ALL_NAMES = _CONDITION_NAMES | {"namespaceObject", "variables"}


@dataclass(frozen=True, slots=True)
class Names:
    """The names (CEL variables) that the expressions of a policy may use."""

    conditions: frozenset[str] = _CONDITION_NAMES
    """The names that matchConditions may use."""
    others: frozenset[str] = _ALL_NAMES
    """The names that all other expressions may use, including ``variables``."""
    hidden_from_messages: frozenset[str] = frozenset()
    """The names among these that messageExpressions may not use."""


OF_GPU_POLICIES: Final = Names()

LATE: Final = "not compiled: the time for compiling was over; make the policies smaller, or try again"

# The time that each params object takes besides the cost of the expressions.
_EVALUATION_MICROSECONDS: Final = 500
"""The microseconds of overhead for a ConfigMap of 500 KB, measured with an expression that reads one value of the
ConfigMap.
"""
_POD_MICROSECONDS: Final = 5_000
"""The microseconds that each further evaluation of a policy takes for the conversion of the pod, with 6,800 environment
variables in all: 3.8 ms, measured with ``object == object`` and nine policies."""
_WHOLE_OBJECTS: Final = frozenset({"object", "oldObject"})

_WORD = re.compile(r"\w+")
_FACT = re.compile(r"(gpu)\.(count|devices|perContainer|kind|vendor|memoryMiB)|(gang)\.(name|size|index|source|system)")
_SNAPSHOT_NAMES = frozenset({"topology", "mig", "namespaceObject", "params"})


def depends_on_snapshot(path: tuple[str, ...]) -> bool:
    """Return whether the value of a field of a CEL variable depends on the cluster's state, and not on the pod alone.

    ``path`` is the path of the field, such as ("gang", "size"). The size of a gang may be read from its owner or
    PodGroup, the field ``job`` from the Job, and the devices of a claim from the claim or its template. podberth may
    not know these objects yet.
    """
    if path[:2] == ("gpu", "claims"):
        return path[3:] != ("name",)
    whole = path in {("gang",), ("gang", "size"), ("gpu",), ("gpu", "devices")}
    return path[0] in _SNAPSHOT_NAMES or whole or path[:2] == ("gang", "job")


@dataclass(frozen=True, kw_only=True)
class CompiledMutation:
    """An item of a policy's ``mutations``, with its compiled expressions and its literal values.

    ``leaves`` has the compiled expressions. ``facts`` has the expressions that are just one field of ``gpu`` or
    ``gang``, which are read without CEL. ``literals`` has the values that are no expressions. Each is a mapping by the
    name of the field in the item, such as ``size`` of a ``gang``. The name is "" if the mutation has only one
    expression or value.
    """

    name: str
    concern: str
    when: Expression | None
    reason: Expression | None
    leaves: Mapping[str, Expression]
    facts: Mapping[str, tuple[str, str]]
    """The expressions that are just one scalar field of ``gpu`` or ``gang``, such as ``gang.name``; these are read
    without CEL.
    """
    literals: Mapping[str, Any]
    nullable: frozenset[str]
    """The names of the expressions for which null is a valid value. If any other expression is null, the entry does
    nothing.
    """
    templates: Mapping[str, str]
    """For the mutation ``resourceClaims``: the object's name of each claim template, by the template's name."""

    @property
    def reads(self) -> frozenset[tuple[str, ...]]:
        """The paths of the CEL fields that the mutation's expressions read, such as ("gpu", "count")."""
        every = (*self.leaves.values(), self.when, self.reason)
        return frozenset().union(*(each.reads for each in every if each is not None))

    @cached_property
    def reads_snapshot(self) -> bool:
        """Whether the value that the mutation writes depends on the cluster's state."""
        return any(map(depends_on_snapshot, (*self.reads, *self.facts.values())))


@dataclass(frozen=True, slots=True, kw_only=True)
class CompiledValidation:
    """A compiled item of a policy's ``validations``."""

    expression: Expression
    message: str
    message_expression: Expression | None
    reason: str

    @property
    def fixed_message(self) -> str:
        """The message of a failed validation without a messageExpression; the message is equal for all pods."""
        return self.message.strip() or f"failed expression: {self.expression.source.strip()}"

    @property
    def reads(self) -> frozenset[tuple[str, ...]]:
        """The paths of the CEL fields that the validation's expressions read, such as ("gpu", "count")."""
        return self.expression.reads | (self.message_expression.reads if self.message_expression else frozenset())


_Part = TypeVar("_Part")
_PARTS: Final = ("conditions", "variables", "mutations", "validations", "audit_annotations", "patches")


class CompiledPolicy:
    """A policy that is ready for evaluation. ``source`` has all fields of the policy that are not expressions.

    Each part is compiled when it is first used; ``check`` compiles all of them. If the policy was not checked, a part
    that does not compile raises PolicyError at its first use.
    """

    def __init__(
        self, parsed: ParsedPolicy, environment: Environment, room: Room, names: Names = OF_GPU_POLICIES
    ) -> None:
        """Create the policy without compiling it.

        ``room`` limits the number of syntax-tree nodes that may be compiled, and ``names`` are the variables that the
        policy's expressions may use.
        """
        self.source: GPUPolicy = parsed.policy
        self._names = names
        self._parsed = parsed
        self._environment = environment
        self._room = room
        self._checking = False
        self._late: Late = never
        self._in_time = True
        self._problems: list[Problem] = []
        self._priced: list[tuple[Path, Expression]] = []
        self._variables: dict[str, Expression] = {}
        self._order = {item.name: index for index, item in enumerate(self.source.spec.variables)}
        self.broken: dict[Path, Want] = {}
        """The wanted type of each expression that does not compile, or that needs a variable that does not compile.

        The key is the path of the expression in the spec.
        """
        self._begun: set[str] = set()
        """The names of the variables whose compilation has begun, even if the compilation failed."""

    @property
    def name(self) -> str:
        """The policy's name."""
        return self.source.metadata.name

    @property
    def file(self) -> str:
        """The policy's file name in messages; for an object of the cluster, its kind and name: ``gpupolicy/NAME``."""
        return self._parsed.file

    @cached_property
    def matches_statically(self) -> bool:
        """Whether a request's operation and resource alone determine if the policy matches."""
        return is_static(self.source)

    @cached_property
    def conditions(self) -> tuple[tuple[str, Expression], ...]:
        """The compiled matchConditions: (name, expression) for each."""
        found = (
            (
                item.name,
                self._expression(
                    ("matchConditions", index, "expression"), item.expression, Want.BOOL, self._names.conditions
                ),
            )
            for index, item in enumerate(self.source.spec.match_conditions)
        )
        return self._part((name, each) for name, each in found if each is not None)

    @cached_property
    def conditions_read(self) -> frozenset[tuple[str, ...]]:
        """The paths of the fields that the matchConditions read (``cel.reads``)."""
        return frozenset().union(*(each.reads for _, each in self.conditions))

    @cached_property
    def variables(self) -> Mapping[str, Expression]:
        """A mapping from name to compiled variable."""
        self._part(map(self._variable, self._order))
        return self._variables

    @cached_property
    def mutations(self) -> tuple[CompiledMutation, ...]:
        """The compiled mutations; an expression that does not compile is a problem, and is left out of its mutation."""
        return self._part(self._mutation(index, item) for index, item in enumerate(self.source.spec.mutations))

    @cached_property
    def validations(self) -> tuple[CompiledValidation, ...]:
        """The compiled validations of the policy."""
        found = (self._validation(index, item) for index, item in enumerate(self.source.spec.validations))
        return self._part(each for each in found if each is not None)

    @cached_property
    def audit_annotations(self) -> tuple[tuple[str, Expression], ...]:
        """The compiled auditAnnotations: (key, expression) for each."""
        found = (
            (
                item.key,
                self._expression(("auditAnnotations", index, "valueExpression"), item.value_expression, Want.STRING),
            )
            for index, item in enumerate(self.source.spec.audit_annotations)
        )
        return self._part((key, each) for key, each in found if each is not None)

    @cached_property
    def patches(self) -> tuple[tuple[str, Path, Expression], ...]:
        """The compiled mutations of a MutatingAdmissionPolicy: (patchType, path in the spec, expression) for each."""
        return ()

    @cached_property
    def reads_namespace(self) -> bool:
        """Whether an expression may read namespaceObject: whether the name occurs in any text of the policy."""
        return "namespaceObject" in self.source.spec.model_dump_json()

    @cached_property
    def cost_microseconds(self) -> float:
        """The maximum time that the policy's expressions take in one review (``cel.cost``), in microseconds.

        The time includes variables and conditions. The time is that of the more expensive of the two reviews, /mutate
        and /validate.
        """
        phases = (("matchConditions", "mutations"), ("matchConditions", "validations", "auditAnnotations"))
        return max(map(self._cost_of, phases))

    @cached_property
    def conditions_microseconds(self) -> float:
        """The part of ``cost_microseconds`` for the matchConditions."""
        return self._cost_of(("matchConditions",))

    @cached_property
    def comparing_microseconds(self) -> float:
        """The maximum time of searches in the worst texts, which ``cost_microseconds`` leaves out (``comparisons``)."""
        self._compile()
        phases = (("matchConditions",), {path[0] for path, _ in self._priced})  # conditions may be evaluated twice
        return sum(comparing(self._in(fields)) for fields in phases)

    @property
    def expression_count(self) -> int:
        """The number of expressions, those of variables and messages included."""
        self._compile()
        return len(self._priced)

    @cached_property
    def most_params(self) -> int:
        """The largest number of params objects for which the policy's cost in one review stays within the limit."""
        return max(1, int(MAX_MICROSECONDS // self.cost_with_params))

    @cached_property
    def cost_with_params(self) -> float:
        """The maximum time of evaluating the policy for one pod and one params object, in microseconds.

        The time includes the conversion of the pod and the params object to CEL.
        """
        cost = self.cost_microseconds + _EVALUATION_MICROSECONDS
        if any(path[0] in _WHOLE_OBJECTS for _, each in self._priced for path in each.reads):
            cost += _POD_MICROSECONDS
        return cost

    def check(self, late: Late, *, priced: bool = True) -> tuple[Problem, ...]:
        """Compile all expressions and compute their cost; return the policy's problems, empty if there are none.

        ``late`` is called before each expression. Once it returns True, no more is compiled, and a problem says so. If
        ``priced`` is False, a high cost is no problem: no webhook evaluates the policy.
        """
        self._checking, self._late = True, late
        self._compile()
        self._checking, self._late = False, never
        if priced:
            self._price()
        return tuple(self._problems)

    @property
    def is_compiled(self) -> bool:
        """Whether all parts of the policy have been compiled."""
        return all(part in self.__dict__ for part in _PARTS)

    def _compile(self) -> None:
        for part in _PARTS:
            getattr(self, part)

    def _cost_of(self, fields: Container[object]) -> float:
        """Return the cost of all expressions in the fields ``fields`` of the policy's spec, in microseconds."""
        self._compile()
        return total_of(self._in(fields))

    def _in(self, fields: Container[object]) -> Iterator[Cost]:
        """Yield the costs of all expressions in the fields ``fields``, and of the variables that they need."""
        for path, each in self._priced:
            if path[0] in fields:
                yield from _costs(path, each).values()

    def _price(self) -> None:
        """Add a problem at the most expensive expression of the policy if the policy's cost exceeds the limit."""
        if self.cost_microseconds > MAX_MICROSECONDS:
            found = [(path, _costs(path, each)[""]) for path, each in self._priced]
            path, cost = max(found, key=lambda each: each[1].worst)
            message = too_expensive(self.cost_microseconds, cost)
            self._problems.append(self._parsed.problem(("spec", *path), message, cost.line, cost.column))

    def _part(self, compiled: Iterable[_Part]) -> tuple[_Part, ...]:
        found = tuple(compiled)
        if self._problems and not self._checking:
            raise PolicyError(tuple(sorted(self._problems)))
        return found

    def _variable(self, name: str) -> None:
        if name not in self._begun:
            self._begun.add(name)
            index = self._order[name]
            found = self._expression(
                ("variables", index, "expression"), self.source.spec.variables[index].expression, Want.ANY
            )
            if found is not None:
                self._variables[name] = found

    def _validation(self, index: int, item: Validation) -> CompiledValidation | None:
        path: Path = ("validations", index)
        expression = self._expression((*path, "expression"), item.expression, Want.BOOL)
        names = self._names.others - self._names.hidden_from_messages
        message = self._expression((*path, "messageExpression"), item.message_expression, Want.MESSAGE, names)
        if expression is None:
            return None
        return CompiledValidation(
            expression=expression, message=item.message or "", message_expression=message, reason=item.reason
        )

    def _mutation(self, index: int, item: Mutation) -> CompiledMutation:
        path: Path = ("mutations", index)
        sources, literals = leaves_of(item)
        leaves: dict[str, Expression] = {}
        facts: dict[str, tuple[str, str]] = {}
        for leaf in sources:
            found = self._expression((*path, *leaf.path), leaf.source, leaf.want)
            fact = _FACT.fullmatch(leaf.source.strip())
            if found is not None and fact is not None:
                variable, field = filter(None, fact.groups())
                facts[leaf.name] = (variable, field)
            elif found is not None:
                leaves[leaf.name] = found
        when = self._expression((*path, "when"), item.when, Want.BOOL)
        reason = self._expression((*path, "reason"), item.reason, Want.STRING)
        templates = {each.name: each.written_name for each in self.source.spec.claim_templates}
        return CompiledMutation(
            name=item.name or f"mutations[{index}]",
            concern=item.concern,
            when=when,
            reason=reason,
            leaves=leaves,
            facts=facts,
            literals=literals,
            nullable=frozenset(leaf.name for leaf in sources if leaf.may_be_null),
            templates=templates if item.concern == "resourceClaims" else {},
        )

    def _expression(
        self, path: Path, source: str | None, want: Want, names: frozenset[str] | None = None
    ) -> Expression | None:
        """Return the compiled expression; None if there is no ``source``, or if it does not compile."""
        if source is None:
            return None
        names = self._names.others if names is None else names
        if self._late():
            if self._in_time:
                self._problems.append(self._parsed.problem(("spec", *path), LATE))
            self._in_time = False
            return None
        variables = self._before(path, source) if "variables" in names else {}
        try:
            expression = self._environment.compile(source, want=want, variables=variables, names=names, room=self._room)
            if path[0] != "variables":
                expression.load(self._room)
        except CompileError as error:
            self._problems += [
                self._parsed.problem(("spec", *path), each.message, each.line, each.column) for each in error.problems
            ]
            self.broken[path] = want
            return None
        if not expression.variables <= self._variables.keys():
            self.broken[path] = want
            return None
        self._priced.append((path, expression))
        return expression

    def _before(self, path: Path, source: str) -> dict[str, Expression | CelType]:
        """Return the variables that the expression at ``path`` may use, by name.

        The variables that ``source``, the text of the expression, names are compiled first. The value is the variable's
        expression; for a variable that does not compile, it is the type ``dyn``.
        """
        of_variable = path[0] == "variables"
        seen = [name for name, index in self._order.items() if not of_variable or ("variables", index) < path[:2]]
        for name in sorted(set(_WORD.findall(source)).intersection(seen), key=self._order.__getitem__):
            self._variable(name)
        # A variable that did not compile gets the type ``dyn``: its own problem is reported, and the expressions that
        # use it have none because of it.
        return {name: self._variables.get(name, DYN) for name in seen if name in self._begun}


def _costs(path: Path, expression: Expression) -> Mapping[str, Cost]:
    """Return the cost of evaluating ``expression`` (key ""), and of each variable that it needs (by its name).

    ``path`` is the place of the expression in the policy's spec. The cost of the expression includes the conversion of
    its value to Python, unless the expression is itself a variable.
    """
    costs = expression.costs
    return costs if path[0] == "variables" else {**costs, "": costs[""].with_result}


def compile_policies(
    parsed: Iterable[ParsedPolicy], environment: Environment, *, checked: bool = False, late: Late | None = None
) -> tuple[tuple[CompiledPolicy, ...], tuple[Problem, ...]]:
    """Return (policies that compile, problems of the policies that do not compile).

    Args:
        parsed: the policies.
        environment: the names and functions that the policies' expressions may use.
        checked: whether the policies have compiled before without problems. Then each part is compiled only when it is
            used.
        late: called before each expression; returns True when the time is over. If None, the time limit is that of
            ``environment.deadline``.

    Returns:
        The policies, sorted by their field ``order`` and then by name, and the sorted problems. A caller that needs all
        policies must check that there are no problems.
    """
    compiled: list[CompiledPolicy] = []
    problems: list[Problem] = []
    room = Room.of_set()
    is_late = late or environment.deadline()
    for item in parsed:
        policy = CompiledPolicy(item, environment, Room.of_policy(None if checked else room))
        found = () if checked else policy.check(is_late)
        problems += found
        if not found:
            compiled.append(policy)
    return tuple(sorted(compiled, key=lambda policy: policy.source.sort_key)), tuple(sorted(problems))
