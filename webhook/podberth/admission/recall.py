"""What a policy answered before: its answer again for a pod that is the same in everything the policy reads.

Pods differ in names, images and environment; the policies of GPU clusters read what a pod asks for and whose it is. An
answer is a pure function of what the expressions read, which the compiler knows path by path. So it is remembered under
the values at those paths, within one snapshot. A policy that reads the whole pod or the request is always asked.
"""

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias, TypeVar

from ..cel.typing import DECLARED
from ..kube.paths import ELEMENT

_Answer = TypeVar("_Answer")
_NOTHING: Any = object()


# A cluster's pods ask for a few hundred different things; beyond this somebody plays, and forgetting all is cheap.
_REMEMBERED = 4096
# Of the pods of 2,000 workloads (bench.reviews), 256 have 8 % more of what is shared asked again, and 1,024 have
# 7 % less; each is some 6 KiB.
_ON_TRIAL = 512

_POD, _GPU, _GANG = "object", "gpu", "gang"
_OF_THE_NEED = frozenset({"topology", "mig"})
# Params belong to the question; what variables read is among the paths. There is nothing in the others but functions
# of their arguments.
_ELSEWHERE = frozenset({"params", "variables", "jsonpatch", "shell", "models"})
_REQUESTS = "requests"
_PART_OF_EACH = 3
"""("requests", ELEMENT, <part>)."""
_SHORTEST_PATH = 3
"""("object", "spec", <field>): what is shorter is most of the pod."""


Tree: TypeAlias = "tuple[tuple[str, Tree | None], ...]"
"""Steps of paths, ELEMENT first, each with what lies below it; None below a last one."""


@dataclass(frozen=True)
class Footprint:
    """What expressions read, by field."""

    gpu: tuple[str, ...]
    gang: tuple[str, ...]
    """Fields of these two, as CEL names them; ``requests.kind`` is that of each request."""
    need: bool
    """Whether nodes are asked for."""
    paths: tuple[tuple[str, ...], ...]
    """Paths below the pod."""
    containers: bool = False
    """Whether names and resources of all containers are read: all that ``gpu`` is made from, and changed by."""

    @cached_property
    def tree(self) -> Tree:
        """The paths, those with a common beginning together; without those that lie below another."""
        root: dict[str, Any] = {}
        for path in sorted(self.paths, key=len):
            branch = root
            for step in path[:-1]:
                branch = branch.setdefault(step, {})
                if branch is None:
                    break
            if branch is not None:
                branch[path[-1]] = None
        return _tree(root)


def _tree(branch: Mapping[str, Any]) -> Tree:
    steps = sorted(branch, key=lambda step: step != ELEMENT)
    return tuple((step, None if branch[step] is None else _tree(branch[step])) for step in steps)


def footprint(reads: Iterable[tuple[str, ...]]) -> Footprint | None:
    """Return the footprint of static access paths; None where it is too large to be worth comparing."""
    gpu: set[str] = set()
    gang: set[str] = set()
    paths: set[tuple[str, ...]] = set()
    need = False
    for path in reads:
        name = path[0]
        if name == _GPU and len(path) > 1 and path[1] in DECLARED["podberth.Gpu"]:
            gpu.add(_gpu_field(path))
        elif name == _GANG and len(path) > 1 and path[1] in DECLARED["podberth.Gang"]:
            gang.add(path[1])
        elif name == _POD and len(path) >= _SHORTEST_PATH:
            paths.add(path[1:])
        elif name in _OF_THE_NEED:
            need = True
        elif name not in _ELSEWHERE:
            return None
    if _REQUESTS in gpu:
        gpu = {field for field in gpu if not field.startswith(f"{_REQUESTS}.")}
    return Footprint(tuple(sorted(gpu)), tuple(sorted(gang)), need, tuple(sorted(paths)))


def _gpu_field(path: tuple[str, ...]) -> str:
    """Return the field that a path below ``gpu`` reads; of the requests one part of each, where it reads no more.

    ``requests.`` is how many there are.
    """
    parts = path[1:]
    of_each = len(parts) >= _PART_OF_EACH and parts[:2] == (_REQUESTS, ELEMENT)
    return f"{_REQUESTS}.{parts[2]}" if of_each else parts[0]


class Recall:
    """Answers by what they were made from. Belongs to one snapshot: topology, params and policies are the same.

    An answer that was wanted once is on trial: it makes room for the next ones, and is kept when it is wanted again. So
    what no other pod will repeat, as arguments with the pod's name in them, neither fills the memory nor drives out
    what most pods share.
    """

    __slots__ = ("_kept", "_on_trial")

    def __init__(self) -> None:
        """Remember nothing yet."""
        self._kept: dict[Hashable, Any] = {}
        self._on_trial: OrderedDict[Hashable, Any] = OrderedDict()

    def __len__(self) -> int:
        """Return how many answers are remembered."""
        return len(self._kept) + len(self._on_trial)

    def answer(self, key: Hashable | None, ask: Callable[[], _Answer]) -> _Answer:
        """Return what ``ask`` returned for an equal key, or ask; None always asks. An exception is not remembered.

        The answer must not be changed afterwards.
        """
        if key is None:
            return ask()
        found: _Answer = self.find(key, _NOTHING)
        if found is _NOTHING:
            found = ask()
            self.keep(key, found)
        return found

    def find(self, key: Hashable, default: Any = None) -> Any:
        """Return what was kept under an equal key, or the default."""
        found = self._kept.get(key, _NOTHING)
        if found is not _NOTHING:
            return found
        found = self._on_trial.pop(key, _NOTHING)
        if found is _NOTHING:
            return default
        if len(self._kept) >= _REMEMBERED:
            self._kept.clear()
        self._kept[key] = found
        return found

    def keep(self, key: Hashable, answer: object) -> None:
        """Remember an answer that was not found; it must not be changed afterwards."""
        if len(self._on_trial) >= _ON_TRIAL:
            self._on_trial.popitem(last=False)
        self._on_trial[key] = answer
