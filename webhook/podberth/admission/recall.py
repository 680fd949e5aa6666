"""What a policy answered before: its answer again for a pod that is the same in everything the policy reads.

Pods differ in names, images and environment; the policies of GPU clusters read what a pod asks for and whose it is. An
answer is a pure function of what the expressions read, which the compiler knows path by path. So it is remembered under
the values at those paths, within one snapshot. A policy that reads the whole pod or the request is always asked.
"""

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

_Answer = TypeVar("_Answer")


# A cluster's pods ask for a few hundred different things; beyond this somebody plays, and forgetting all is cheap.
_REMEMBERED = 4096

_DERIVED = frozenset({"gpu", "gang", "topology", "mig", "params", "variables"})
_SHORTEST_PATH = 3
"""("object", "spec", <field>): what is shorter is most of the pod."""


@dataclass(frozen=True, slots=True)
class Footprint:
    """What expressions read: which derived variables, and which paths of the pod."""

    reads_gang: bool
    paths: tuple[tuple[str, ...], ...]
    """Paths below the pod."""


def footprint(reads: Iterable[tuple[str, ...]]) -> Footprint | None:
    """Return the footprint of static access paths; None where it is too large to be worth comparing."""
    names = {path[0] for path in reads}
    paths = tuple(sorted(path[1:] for path in reads if path[0] == "object"))
    if not names <= _DERIVED | {"object"} or any(len(path) + 1 < _SHORTEST_PATH for path in paths):
        return None
    return Footprint("gang" in names, paths)


class Recall:
    """Answers by what they were made from. Belongs to one snapshot: topology, params and policies are the same."""

    __slots__ = ("_answers",)

    def __init__(self) -> None:
        """Remember nothing yet."""
        self._answers: dict[Hashable, Any] = {}

    def answer(self, key: Hashable | None, ask: Callable[[], _Answer]) -> _Answer:
        """Return what ``ask`` returned for an equal key, or ask; None always asks. An exception is not remembered.

        The answer must not be changed afterwards.
        """
        if key is None:
            return ask()
        found: _Answer | None = self._answers.get(key)
        if found is None:
            found = ask()
            if len(self._answers) >= _REMEMBERED:
                self._answers.clear()
            self._answers[key] = found
        return found
