"""The input of rules, and their findings.

A rule sees every policy at once, yields problems and never prints. The runner adds the rule's name and level to them.
"""

import inspect
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cached_property
from typing import Any, Protocol

from ..cel.engine import Environment
from ..cel.tree import Name, Tree, walk
from ..errors import Problem
from ..kube.positions import Path
from ..policy.compile import CompiledMutation, CompiledPolicy
from ..policy.model import Leaf, Mutation, Spec, leaves_of
from ..policy.parse import ParsedPolicy
from ..policy.places import Placed, expressions_of
from ..topology.model import Node
from .conditions import Conditions

_PREFIX = "variables."


class Level(IntEnum):
    """The severity of a finding."""

    NOTE = 1
    """Information; many policies are right as they are."""
    WARNING = 2
    """Probably not what the author meant."""
    ERROR = 3
    """It cannot work."""

    def __str__(self) -> str:
        """Return the name that the command line uses."""
        return self.name.lower()


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Finding:
    """A problem that a rule found, with its place. Findings sort by file and place."""

    problem: Problem
    rule: str
    level: Level = field(compare=False)

    def __str__(self) -> str:
        """Return the line that compilers print: ``file:line:column level rule where: message``."""
        place, _, rest = str(self.problem).partition(" ")
        return f"{place} {self.level} {self.rule} {rest}"


@dataclass(frozen=True, kw_only=True)
class Linted:
    """A policy that compiles, with its expressions as trees."""

    parsed: ParsedPolicy
    compiled: CompiledPolicy
    environment: Environment
    tested: bool
    """Whether tests stand beside the policy's file."""
    _trees: dict[str, Tree] = field(default_factory=dict, init=False, repr=False, compare=False)
    """Trees by source: most rules read most expressions."""

    @property
    def name(self) -> str:
        """The policy's name."""
        return self.parsed.policy.name

    @property
    def spec(self) -> Spec:
        """The policy's spec."""
        return self.parsed.policy.spec

    @cached_property
    def variables(self) -> Mapping[str, Tree]:
        """The policy's variables."""
        return {name: self.tree(bound.expression.source) for name, bound in self.compiled.variables.items()}

    @cached_property
    def expressions(self) -> tuple[Placed, ...]:
        """Every expression of the policy."""
        return tuple(expressions_of(self.compiled))

    @cached_property
    def conditions(self) -> Conditions:
        """The conditions under which the policy is evaluated."""
        sources = [item.expression for item in self.spec.match_conditions]
        return Conditions(self.variables, tuple(map(self.tree, sources)), for_gpus=self.spec.scope == "GPU")

    @cached_property
    def mutations(self) -> tuple["LintedMutation", ...]:
        """The entries of ``mutations``."""
        pairs = zip(self.spec.mutations, self.compiled.mutations, strict=True)
        return tuple(LintedMutation(self, index, *pair) for index, pair in enumerate(pairs))

    def tree(self, source: str) -> Tree:
        """Return the tree of an expression of the policy."""
        if source not in self._trees:
            known = {name: bound.expression for name, bound in self.compiled.variables.items()}
            self._trees[source] = self.environment.tree(source, known)
        return self._trees[source]

    def reached(self, source: str) -> Iterator[tuple[Path | None, Tree]]:
        """Yield an expression's tree (with None), and the trees of the variables that it needs with their paths."""
        paths = {item.name: index for index, item in enumerate(self.spec.variables)}
        waiting: list[tuple[Path | None, Tree]] = [(None, self.tree(source))]
        seen: set[str] = set()
        while waiting:
            path, tree = waiting.pop()
            yield path, tree
            for part in walk(tree):
                name = part.name.removeprefix(_PREFIX) if isinstance(part, Name) else ""
                if name in self.variables and name not in seen and isinstance(part, Name) and part.name != name:
                    seen.add(name)
                    waiting.append((("spec", "variables", paths[name], "expression"), self.variables[name]))

    def problem(self, path: Path, message: str, *, of_key: bool = False) -> Problem:
        """Return a problem at a path of the document: at the value, or at its key."""
        return self.parsed.positions.problem(self.parsed.file, path, message, of_key=of_key)

    def within(self, path: Path, part: Tree, message: str) -> Problem:
        """Return a problem at a part of the expression at ``path``."""
        return self.parsed.problem(path, part.line, part.column, message)


@dataclass(frozen=True)
class LintedMutation:
    """One entry of ``mutations``."""

    policy: Linted
    index: int
    source: Mutation
    compiled: CompiledMutation

    @property
    def path(self) -> Path:
        """The path of the entry."""
        return ("spec", "mutations", self.index)

    @property
    def leaves(self) -> tuple[Leaf, ...]:
        """The expressions of the entry; their paths are relative to it."""
        return tuple(leaves_of(self.source)[0])

    @cached_property
    def when(self) -> Tree | None:
        """The entry's ``when``."""
        return None if self.source.when is None else self.policy.tree(self.source.when)

    def resolved(self, leaf: Leaf) -> Tree:
        """Return a leaf's tree; where the leaf only names a variable, the variable's tree."""
        return self.policy.conditions.resolved(self.policy.tree(leaf.source))


@dataclass(frozen=True, kw_only=True)
class Library:
    """All policies that are linted together."""

    policies: tuple[Linted, ...]
    problems: tuple[Problem, ...]
    """The problems that kept a document from being parsed, or a policy from being compiled."""
    params: Mapping[tuple[str, str], Mapping[str, Any]]
    """The ConfigMaps beside the policies, by namespace and name."""
    nodes: tuple[Node, ...] | None = None
    """The cluster's nodes; None where no cluster is known."""

    @property
    def applicable(self) -> Iterator[Linted]:
        """Yield the policies whose conditions are true for some pod."""
        return (policy for policy in self.policies if policy.conditions.can_hold())

    @property
    def mutations(self) -> Iterator[LintedMutation]:
        """Yield the mutations of all policies."""
        for policy in self.policies:
            yield from policy.mutations

    def parts(self, *concerns: str) -> Iterator[tuple[LintedMutation, Path, Tree]]:
        """Yield each part of the expressions of these concerns and of the variables that they need, with its path."""
        for mutation in self.mutations:
            for leaf in mutation.leaves if mutation.source.concern in concerns else ():
                for path, tree in mutation.policy.reached(leaf.source):
                    place = path or (*mutation.path, *leaf.path)
                    yield from ((mutation, place, part) for part in walk(tree))


class RuleModule(Protocol):
    """The interface of a rule's module; its docstring is the rule's manual."""

    __name__: str
    LEVEL: Level

    def check(self, library: Library) -> Iterator[Problem]:
        """Yield the problems that the rule finds."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One row of the registry."""

    module: RuleModule

    @property
    def name(self) -> str:
        """The rule's name: the module's name, with dashes."""
        return self.module.__name__.rpartition(".")[2].replace("_", "-")

    @property
    def level(self) -> Level:
        """The level of the rule's findings."""
        return self.module.LEVEL

    @property
    def manual(self) -> str:
        """The module's docstring: a summary line, why it matters, a bad and a good example."""
        return inspect.cleandoc(self.module.__doc__ or "")

    def check(self, library: Library) -> Iterator[Problem]:
        """Yield the problems that the rule finds."""
        return self.module.check(library)
