"""A rule: a module with a manual, a level and a check."""

import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from ..errors import Problem
from .model import Level, Library


class RuleModule(Protocol):
    """The interface of a rule's module; its docstring is the rule's manual."""

    __name__: str
    LEVEL: Level

    def check(self, library: Library) -> Iterator[Problem]:
        """Yield the problems that the rule finds."""
        ...


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
