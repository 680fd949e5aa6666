"""What a policy answered before: its answer again for a pod that is the same in everything the policy reads.

Pods differ in names, images and environment; the policies of GPU clusters read what a pod asks for and whose it is. An
answer is a pure function of what the expressions read, which the compiler knows path by path. So it is remembered under
the values at those paths, within one snapshot. A policy that reads the whole pod or the request is always asked.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import orjson

from ..topology.index import Need
from ..workload.gangs import Gang
from ..workload.gpus import GpuFacts

_Answer = TypeVar("_Answer")


class Observed(Protocol):
    """What is known of the pod at hand (``state.PodState``)."""

    @property
    def pod(self) -> Mapping[str, Any]: ...
    @property
    def gpu(self) -> GpuFacts: ...
    @property
    def gang(self) -> Gang: ...
    @property
    def need(self) -> Need: ...


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

    def answer(self, what: tuple[Hashable, Footprint | None], state: Observed, ask: Callable[[], _Answer]) -> _Answer:
        """Return what ``ask`` returned for an equal pod, or ask. An exception is not remembered.

        Args:
            what: names the question (policy and params), with its footprint.
            state: the pod.
            ask: the question. Its answer must not be changed afterwards.
        """
        question, read = what
        key = None if read is None else _key(question, read, state)
        if key is None:
            return ask()
        found: _Answer | None = self._answers.get(key)
        if found is None:
            found = ask()
            if len(self._answers) >= _REMEMBERED:
                self._answers.clear()
            self._answers[key] = found
        return found


def _key(question: Hashable, read: Footprint, state: Observed) -> Hashable:
    values = b""
    if read.paths:
        try:
            values = orjson.dumps([_look_up(state.pod, path) for path in read.paths])
        except TypeError:  # a number beyond 64 bits, which no Pod of an apiserver has
            return None
    return question, state.gpu, state.need, state.gang if read.reads_gang else None, values


def _look_up(value: Any, path: tuple[str, ...]) -> Any:
    """Return the value at ``path`` in a list, [] where it is absent: null and absent are not the same to has()."""
    for step in path:
        if not isinstance(value, Mapping) or step not in value:
            return []
        value = value[step]
    return [value]
