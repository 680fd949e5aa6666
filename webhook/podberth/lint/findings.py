"""The input of lint rules, and the findings of lint rules.

A rule gets all policies at once and yields problems. The runner adds the rule's name and level to each problem.
"""

import inspect
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cached_property
from typing import Any, Protocol

from ..cel.engine import Environment
from ..cel.tree import Tree, tree_of, walk
from ..conventions import Conventions
from ..errors import Problem
from ..kube.paths import Path
from ..native.documents import Located
from ..policy.compile import CompiledMutation, CompiledPolicy
from ..policy.expressions import Placed, expressions_of
from ..policy.model import Leaf, Mutation, Spec, leaves_of
from ..policy.parse import ParsedException, ParsedPolicy
from ..topology.node import Node
from .conditions import Conditions, variable
from .formula import TRUE, Formula


class Level(IntEnum):
    """The severity of a finding."""

    NOTE = 1
    """The finding is information; many correct policies have such a finding."""
    WARNING = 2
    """The policy probably does something else than the policy's author meant."""
    ERROR = 3
    """The policy cannot work at all."""

    def __str__(self) -> str:
        return self.name.lower()


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class LintFinding:
    """A problem that a lint rule found, with the problem's position. Findings sort by file and position."""

    problem: Problem
    rule: str
    level: Level = field(compare=False)

    def __str__(self) -> str:
        """Return the finding in the format of compilers: ``file:line:column level rule where: message``."""
        place, _, rest = str(self.problem).partition(" ")
        return f"{place} {self.level} {self.rule} {rest}"


@dataclass(frozen=True, kw_only=True)
class Linted:
    """A policy that compiles, with the syntax trees of the policy's expressions."""

    parsed: ParsedPolicy
    compiled: CompiledPolicy
    environment: Environment
    uncertain: tuple[str, ...] = ()
    """The beginnings of the fields that depend on an expression that does not compile; empty if all compile."""
    _trees: dict[str, Tree] = field(default_factory=dict, init=False, repr=False, compare=False)
    """The syntax trees by the expressions' source text; the trees are cached, because most rules read most expressions.
    """

    @property
    def name(self) -> str:
        """The policy's name."""
        return self.parsed.policy.name

    @property
    def spec(self) -> Spec:
        """The policy's spec."""
        return self.parsed.policy.spec

    @property
    def resources(self) -> set[tuple[str, str]]:
        """The (API group, resource) of each rule of the policy's matchConstraints, as they are written."""
        rules = self.spec.match_constraints.resource_rules
        return {(group, resource) for rule in rules for group in rule.api_groups for resource in rule.resources}

    @cached_property
    def places(self) -> Mapping[str, Path]:
        """A mapping from the name of each variable to the path of its expression in the policy's document."""
        return {item.name: ("spec", "variables", index, "expression") for index, item in enumerate(self.spec.variables)}

    @cached_property
    def variables(self) -> Mapping[str, Tree]:
        """A mapping from the name of each variable to the syntax tree of its expression."""
        return {name: self.tree(each.source) for name, each in self.compiled.variables.items()}

    @cached_property
    def expressions(self) -> tuple[Placed, ...]:
        """Every CEL expression of the policy, with the expression's path in the policy's document."""
        return tuple(expressions_of(self.compiled))

    @cached_property
    def conditions(self) -> Conditions:
        """The matchConditions of the policy as logical formulas."""
        sources = [item.expression for item in self.spec.match_conditions]
        return Conditions(self.variables, tuple(map(self.tree, sources)), for_gpus=self.spec.scope == "GPU")

    @cached_property
    def mutations(self) -> tuple["LintedMutation", ...]:
        """The items of the policy's ``mutations``, for lint rules."""
        pairs = zip(self.spec.mutations, self.compiled.mutations, strict=True)
        return tuple(LintedMutation(self, index, *pair) for index, pair in enumerate(pairs))

    def tree(self, source: str) -> Tree:
        """Return the syntax tree of an expression of the policy, from the expression's source text."""
        if source not in self._trees:
            self._trees[source] = tree_of(source, self.environment, self.compiled.variables)
        return self._trees[source]

    def reached(self, source: str) -> Iterator[tuple[Path | None, Tree]]:
        """Yield (path, tree) for an expression and for each variable that the expression needs, directly or indirectly.

        The path leads to a variable's expression in the policy's document; None for ``source`` itself.
        """
        waiting: list[tuple[Path | None, Tree]] = [(None, self.tree(source))]
        seen: set[str] = set()
        while waiting:
            path, tree = waiting.pop()
            yield path, tree
            for name in map(variable, walk(tree)):
                if name in self.variables and name not in seen:
                    seen.add(name)
                    waiting.append((self.places[name], self.variables[name]))

    def problem(self, path: Path, message: str, *, of_key: bool = False) -> Problem:
        """Return a problem at a path of the policy's document: at the value or, with ``of_key``, at the value's key."""
        return self.parsed.positions.problem(self.parsed.file, path, message, of_key=of_key)

    def within(self, path: Path, part: Tree, message: str) -> Problem:
        """Return a problem at the position of ``part`` in the expression at ``path``."""
        return self.parsed.problem(path, message, part.line, part.column)


@dataclass(frozen=True)
class LintedMutation:
    """A mutation of a policy, with the policy."""

    policy: Linted
    index: int
    source: Mutation
    compiled: CompiledMutation

    @property
    def path(self) -> Path:
        """The path of the mutation in the policy's document."""
        return ("spec", "mutations", self.index)

    @property
    def leaves(self) -> tuple[Leaf, ...]:
        """The CEL expressions of the mutation, with paths relative to the mutation."""
        return tuple(leaves_of(self.source)[0])

    @cached_property
    def when(self) -> Tree | None:
        """The syntax tree of the mutation's condition ``when``; None if the mutation has no condition."""
        return None if self.source.when is None else self.policy.tree(self.source.when)

    @property
    def applies(self) -> Formula:
        """The formula that the mutation's condition ``when`` is true; TRUE if the mutation has no condition."""
        return TRUE if self.when is None else self.policy.conditions.says(self.when)

    def placed(self, leaf: Leaf) -> tuple[Path, Tree]:
        """Return (path in the policy's document, syntax tree) of an expression of the mutation.

        If the expression is only the name of a variable, path and tree belong to the variable's expression.
        """
        place: Path = (*self.path, *leaf.path)
        tree = self.policy.tree(leaf.source)
        while (name := variable(tree)) in self.policy.variables:
            place, tree = self.policy.places[name], self.policy.variables[name]
        return place, tree

    def resolved(self, leaf: Leaf) -> Tree:
        """Return the syntax tree of an expression of the mutation, with the constant parts computed.

        If the expression is only the name of a variable, the variable's tree is used.
        """
        return self.policy.conditions.resolved(self.policy.tree(leaf.source))


@dataclass(frozen=True, kw_only=True)
class Library:
    """All policies that are linted together."""

    policies: tuple[Linted, ...]
    problems: tuple[Problem, ...]
    """The problems of documents that could not be parsed and of policies that could not be compiled."""
    halves: tuple[Linted, ...] = ()
    """The policies of which some expression does not compile (``lint.halves``)."""
    params: Mapping[tuple[str, str], Mapping[str, Any]]
    """The ConfigMaps in the policies' folders (params), by namespace and name."""
    names: frozenset[str] = frozenset()
    """The names of all GPUPolicies, also of those with problems."""
    untested: tuple[ParsedPolicy, ...] = ()
    """The policies without tests in the folder of their file, also those with problems."""
    exceptions: tuple[ParsedException, ...] = ()
    """The exceptions beside the policies, also those with problems."""
    natives: tuple[Linted, ...] = ()
    """The native policies that compile. Rules about mutations and about podberth's own fields do not read them."""
    native_documents: tuple[Located, ...] = ()
    """The native policies and bindings as they are written."""
    nodes: tuple[Node, ...] | None = None
    """The cluster's nodes; None if no cluster is known."""
    conventions: Conventions = field(default_factory=Conventions)

    @property
    def every(self) -> tuple[Linted, ...]:
        """The GPUPolicies and the native policies."""
        return (*self.policies, *self.natives)

    @property
    def on_pods(self) -> tuple[Linted, ...]:
        """The GPUPolicies, and the native policies about pods alone, whose object has the fields of a Pod."""
        return (*self.policies, *(each for each in self.natives if each.resources == {("", "pods")}))

    @property
    def applicable(self) -> Iterator[Linted]:
        """Yield the policies whose matchConditions can be true of some object."""
        return (policy for policy in self.every if policy.conditions.can_hold())

    @property
    def mutations(self) -> Iterator[LintedMutation]:
        """Yield the mutations of all policies."""
        for policy in self.policies:
            yield from policy.mutations

    def leaves(self, *concerns: str) -> Iterator[tuple[LintedMutation, Leaf]]:
        """Yield every expression of the mutations that belong to a concern, such as ``tolerations``."""
        for mutation in self.mutations:
            yield from ((mutation, leaf) for leaf in mutation.leaves if mutation.source.concern in concerns)

    def parts(self, *concerns: str) -> Iterator[tuple[LintedMutation, Path, Tree]]:
        """Yield every subexpression of the mutations that belong to a concern, such as ``tolerations``.

        Subexpressions of the variables that these mutations need are yielded, too. Each item is (mutation, path of the
        whole expression in the policy's document, subexpression).
        """
        for mutation, leaf in self.leaves(*concerns):
            for path, tree in mutation.policy.reached(leaf.source):
                place = path or (*mutation.path, *leaf.path)
                yield from ((mutation, place, part) for part in walk(tree))


class RuleModule(Protocol):
    """The interface of a lint rule's module; the module's docstring is the rule's manual."""

    __name__: str

    def check(self, library: Library) -> Iterator[Problem]:
        """Yield the problems that the rule finds in the policies."""


@dataclass(frozen=True, slots=True)
class LintRule:
    """A lint rule: a module, and the severity of its findings."""

    module: RuleModule
    level: Level
    """The severity of the rule's findings."""

    @property
    def name(self) -> str:
        """The rule's name: the name of the rule's module, with dashes in place of underscores."""
        return self.module.__name__.rpartition(".")[2].replace("_", "-")

    @property
    def manual(self) -> str:
        """The rule's manual: a summary line, the reason for the rule, a bad and a good example."""
        return inspect.cleandoc(self.module.__doc__ or "")
