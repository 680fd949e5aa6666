"""Names that policies only pass on, and what stands for them in a decision that is kept (``replay``).

Every gang has a name of its own, and many a container is called as its pod. A decision in which nothing depends on
such a name is made for a stand-in of the same length, and the name takes its place wherever it went: into labels,
terms, the record and messages.
"""

from collections.abc import Iterable
from secrets import token_hex, token_urlsafe
from typing import Any

from ..kube.paths import ELEMENT
from ..kube.pod import annotations, spec
from ..kube.shape import RESOURCED_LISTS
from ..mutation.leaf import is_label_value
from ..mutation.seal import SEAL_LENGTH
from ..policy.compile import CompiledMutation
from ..wellknown import APPLIED_ANNOTATION

Path = tuple[str, ...]

# Beyond anybody's guess, and label values like the names.
_GANG = token_hex(32)
_CONTAINERS = tuple(token_hex(32) for _ in range(8))
# In the place of a record's seal, which every pod has its own of.
SEAL = token_urlsafe(SEAL_LENGTH)[:SEAL_LENGTH]
# 64 bits: what is shorter might stand in a pod by chance, and is part of the basis instead.
_SHORTEST = 16
_NAMES_OF_CONTAINERS: tuple[Path, ...] = (
    ("gpu", "requests", ELEMENT, "container"),
    *(("object", "spec", kind, ELEMENT, "name") for kind in RESOURCED_LISTS),
)


def for_gang(name: str) -> str:
    """Return what stands for a gang's name; the name itself where nothing does."""
    return _GANG[: len(name)] if _is_long(name) else name


def weigh_names(mutations: Iterable[CompiledMutation], conditions: Iterable[Path]) -> bool:
    """Say whether what mutations write, or conditions that read so much say, may depend on containers' names."""
    weighed = set(conditions)
    for mutation in mutations:
        if mutation.concern != "resources":
            weighed |= mutation.reads
            continue
        # Its builder looks for containers: by the names that it is handed, or by others.
        if not all(leaf.handed_on for leaf in mutation.leaves.values()):
            return True
        weighed = weighed.union(*(bound.reads - bound.handed_on for bound in mutation.bounds))
    return any(path[: len(name)] == name[: len(path)] for path in weighed for name in _NAMES_OF_CONTAINERS)


def rename(pod: dict[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the pod with stand-ins for the long names of its containers, and the names by what stands for them.

    A pod with a record keeps its names, for the record may hold them, too.
    """
    lists = {kind: spec(pod)[kind] for kind in RESOURCED_LISTS if spec(pod).get(kind)}
    names = dict.fromkeys(each.get("name") or "" for containers in lists.values() for each in containers)
    stand_ins = {name: token[: len(name)] for name, token in zip(filter(_is_long, names), _CONTAINERS, strict=False)}
    if not stand_ins or APPLIED_ANNOTATION in annotations(pod):
        return pod, {}
    renamed = {
        kind: [
            {**each, "name": stand_ins[each["name"]]} if each.get("name") in stand_ins else each for each in containers
        ]
        for kind, containers in lists.items()
    }
    return {**pod, "spec": {**pod["spec"], **renamed}}, {token: name for name, token in stand_ins.items()}


def _is_long(name: str) -> bool:
    return len(name) >= _SHORTEST and is_label_value(name)
