"""Computes which pods of a gang start together: the stated minimum, else all pods.

If an operator adds and removes pods one by one, or a scheduler places pods one by one, no pods have to start together.
The dossiers of workloads compute this with the classes and functions of this module.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

from ..kube.paths import Path
from ..kube.unchecked import mapping_at
from .forms import find
from .places import Found


class FromTemplate(Protocol):
    """The template of pods that start together: its path in a document, and the owners of its pods."""

    @property
    def path(self) -> Path:
        """The path from the document to the template."""
        ...

    @property
    def owners(self) -> Mapping[str, Found]:
        """A mapping from uid to each owner of the template's pods."""
        ...


class StartingPods(Protocol):
    """The pods of one template, with the fields from which a dossier computes which pods start together."""

    @property
    def replicas(self) -> int:
        """The number of pods that one object makes from the template."""
        ...

    @property
    def template(self) -> FromTemplate:
        """The template of the pods."""
        ...


P = TypeVar("P", bound=StartingPods)


@dataclass(frozen=True, slots=True, kw_only=True)
class Share(Generic[P]):
    """The pods of one template in a gang. ``most`` pods exist, and at least ``least`` of these pods start together."""

    pods: P
    most: int
    least: int
    """The least number of the template's pods that start together, whichever other pods start."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Start(Generic[P]):
    """The least number of pods that start together, for all pods of a gang and for the pods of each template."""

    shares: tuple[Share[P], ...]
    least: int
    """The least number of pods that start together; 0: none have to."""

    def of(self, some: Sequence[P]) -> "Start[P]":
        """Return the least numbers for only the pods ``some``, a part of the gang's pods.

        ``least`` of the result is the number of pods in ``some`` that must start together even if all other pods of the
        gang start.
        """
        wanted = {each.template.path for each in some}
        shares = tuple(each for each in self.shares if each.pods.template.path in wanted)
        others = sum(each.most for each in self.shares if each.pods.template.path not in wanted)
        return Start(shares=shares, least=max(sum(each.least for each in shares), self.least - others, 0))

    def at_least(self, stated: int) -> "Start[P]":
        """Return a copy whose ``least`` is lowered to ``stated``, a workload's minimum; ``self`` if that is not lower.

        In the copy, no template has a minimum of its own, because any of the gang's pods may be the first to start.
        """
        if stated >= self.least:
            return self
        return Start(shares=tuple(Share(pods=each.pods, most=each.most, least=0) for each in self.shares), least=stated)


@dataclass(frozen=True, slots=True, kw_only=True)
class StartingGang:
    """An object that is a gang, and the pods of the gang that run at the same time."""

    document: Found
    base: Path
    """The path from the whole document to the object."""
    pods: Sequence[Any]
    """The pods of each template; all are of one type with the protocol ``StartingPods``."""

    def item(self, pods: StartingPods, end: int | None) -> Found:
        """Return the part of the gang's document that has the template, such as a task, worker group or clique.

        The part is at the template's path, relative to the gang's object. The path is cut as in ``path[:end]``: -1
        removes the last step, and None removes nothing. The result is empty if there is no object at this path.
        """
        return mapping_at(find(self.document, pods.template.path[len(self.base) :][:end]))


Rule: TypeAlias = Callable[[StartingGang], Start[Any]]


def all_of(pods: Sequence[P], number_of: Callable[[P], int] = lambda each: each.replicas) -> Start[P]:
    """Return the ``Start`` in which all ``pods`` start together. ``number_of`` counts a template's pods."""
    shares = tuple(Share(pods=each, most=number_of(each), least=number_of(each)) for each in pods)
    return Start(shares=shares, least=sum(each.least for each in shares))


def none_of(pods: Sequence[P]) -> Start[P]:
    """Return the ``Start`` in which none of ``pods`` have to start together."""
    return all_of(pods).at_least(0)


def together(gang: StartingGang) -> Start[Any]:
    """Return the ``Start`` in which all pods of a gang start together, for workloads that state no minimum."""
    return all_of(gang.pods)
