"""Caches the results of policies: a result is used again for a pod with equal values in all fields the policy reads.

Pods differ in names, images and environment, but most policies of GPU clusters read only requests and owners. Within
one snapshot, the result of a policy depends only on the values that its expressions read. The compiler knows the paths
of these values. So the values at the paths are the key of a cached result. A policy that reads the whole pod or the
request is always evaluated.
"""

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

from ..cel.typing import DECLARED
from ..kube.paths import ELEMENT
from ..kube.pruned import Tree, tree_of

_Answer = TypeVar("_Answer")
_NOTHING: Any = object()


# The pods of a cluster have a few hundred different requests. More answers come from misuse, and dropping all is cheap.
_REMEMBERED = 4096
# For the pods of 2,000 workloads (bench.reviews), with 256 instead of 512, 8 % more of the answers that pods share are
# computed again; with 1,024, 7 % fewer. An answer takes some 6 KiB.
_ON_TRIAL = 512

# As for a whole decision (``replay``). A message may have 5 KiB, a policy 64 of them, and an answer all policies.
_LONGEST_TEXTS = 16 * 1024

_POD, _GPU, _GANG = "object", "gpu", "gang"
_OF_THE_NEED = frozenset({"topology", "mig"})
# These names add nothing to a footprint: params are part of the cache key, the reads of a policy's variables are among
# the paths already, and the functions of the others depend only on their arguments.
_ELSEWHERE = frozenset({"params", "variables", "jsonpatch", "shell", "models"})
_REQUESTS = "requests"
_PART_OF_EACH = 3
"""The number of steps in an access path to a part of each request: ("requests", ELEMENT, <part>)."""
_SHORTEST_PATH = 3
"""The least number of steps in an access path that a footprint can have: ("object", "spec", <field>).

The value at a shorter path is most of the pod."""


@dataclass(frozen=True)
class Footprint:
    """The fields of a pod, and the facts about the pod, that some expressions read."""

    gpu: tuple[str, ...]
    gang: tuple[str, ...]
    """The fields of the CEL variable ``gang`` that the expressions read.

    The attribute ``gpu`` has the fields of the variable ``gpu`` that the expressions read, where ``requests.kind`` is
    the kind of each request.
    """
    need: bool
    """Whether an expression calls a function that searches nodes."""
    paths: tuple[tuple[str, ...], ...]
    """The paths in the pod that the expressions read."""
    containers: bool = False
    """Whether the expressions read the names and resources of all containers; reading ``gpu`` counts."""

    @cached_property
    def tree(self) -> Tree:
        """The field ``paths`` as a tree."""
        return tree_of(self.paths)


def read_of_pod(reads: Iterable[tuple[str, ...]]) -> Tree | None:
    """Return a tree of the access paths that lie below the pod, starting with the pod's fields.

    None if an access path reads the whole pod, or a whole part such as ``object.spec``. If only the presence of an
    object is read, the tree has one path below the object: the field "", which no object has. If only the length of a
    list is read, the tree has such a path below the list.
    """
    paths = [path[1:] for path in reads if path[0] == _POD]
    return None if any(len(path) < _SHORTEST_PATH - 1 for path in paths) else tree_of(paths)


def footprint(reads: Iterable[tuple[str, ...]]) -> Footprint | None:
    """Return the footprint of the expressions that read the access paths ``reads``.

    None if an access path reads the whole pod, or a whole part such as ``object.spec``. None as well if an access path
    reads a variable that may differ between equal pods, such as the CEL variable ``request``.
    """
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
    """Return the field of the CEL variable ``gpu`` that an access path reads, such as "requests.kind".

    The result "requests.", with nothing after the dot, means that only the number of requests is read.
    """
    parts = path[1:]
    of_each = len(parts) >= _PART_OF_EACH and parts[:2] == (_REQUESTS, ELEMENT)
    return f"{_REQUESTS}.{parts[2]}" if of_each else parts[0]


class Recall:
    """A cache of results within one snapshot; the key of a result is the values that the result was computed from.

    A new answer is kept on trial: newer answers evict the answer, unless another pod uses the answer first. So an
    answer that only one pod needs, such as one about the pod's name, neither fills the memory nor removes the answers
    that most pods share. An answer with longer texts than ``longest`` characters is not kept.
    """

    __slots__ = ("_kept", "_longest", "_most_kept", "_most_on_trial", "_on_trial")

    def __init__(self, kept: int = _REMEMBERED, on_trial: int = _ON_TRIAL, longest: int = _LONGEST_TEXTS) -> None:
        """Create an empty cache for at most ``kept`` answers that were used again, and ``on_trial`` other answers."""
        self._most_kept, self._most_on_trial, self._longest = kept, on_trial, longest
        self._kept: dict[Hashable, Any] = {}
        self._on_trial: OrderedDict[Hashable, Any] = OrderedDict()

    def __len__(self) -> int:
        return len(self._kept) + len(self._on_trial)

    def answer(
        self, key: Hashable | None, ask: Callable[[], _Answer], texts: Callable[[_Answer], Iterable[str]] | None = None
    ) -> _Answer:
        """Return the cached answer for the key; else call ``ask`` and cache the result. Exceptions are not cached.

        If the key is None, nothing is cached. Callers must not modify the answer. ``texts`` returns the texts in an
        answer that come from policies and may be long; an answer whose texts are too long is not cached.
        """
        if key is None:
            return ask()
        found: _Answer = self.find(key, _NOTHING)
        if found is _NOTHING:
            found = ask()
            if texts is None or sum(map(len, texts(found))) <= self._longest:
                self.keep(key, found)
        return found

    def find(self, key: Hashable, default: Any = None) -> Any:
        """Return the result that is cached under the key; ``default`` if there is none."""
        found = self._kept.get(key, _NOTHING)
        if found is not _NOTHING:
            return found
        found = self._on_trial.pop(key, _NOTHING)
        if found is _NOTHING:
            return default
        if len(self._kept) >= self._most_kept:
            self._kept.clear()
        self._kept[key] = found
        return found

    def keep(self, key: Hashable, answer: object) -> None:
        """Cache an answer under the key in place of an earlier one; callers must not modify the answer afterwards."""
        self._kept.pop(key, None)
        if len(self._on_trial) >= self._most_on_trial:
            self._on_trial.popitem(last=False)
        self._on_trial[key] = answer
