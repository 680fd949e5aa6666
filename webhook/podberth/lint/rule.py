"""A rule: a module with a manual, a level and a check."""

import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from ..errors import Problem
from .model import Level, Library


class RuleModule(Protocol):
    """What the module of a rule has; its docstring is the rule's manual."""

    __name__: str
    LEVEL: Level

    def check(self, library: Library) -> Iterator[Problem]:
        """Yield what is wrong."""
        ...


@dataclass(frozen=True, slots=True)
class Rule:
    """One row of the registry."""

    module: RuleModule

    @property
    def name(self) -> str:
        """The rule's name: its module's, with dashes."""
        return self.module.__name__.rpartition(".")[2].replace("_", "-")

    @property
    def level(self) -> Level:
        """How grave its findings are."""
        return self.module.LEVEL

    @property
    def manual(self) -> str:
        """Its docstring: a line that says what is found, why it matters, a bad and a good example."""
        return inspect.cleandoc(self.module.__doc__ or "")

    def check(self, library: Library) -> Iterator[Problem]:
        """Yield what is wrong."""
        return self.module.check(library)
