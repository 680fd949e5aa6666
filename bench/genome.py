"""Pods made from the table of bounds (``kube.pod_limits``): so many entries of each list, of one kind or another.

A genome says how many entries each list has and of which kind (``bench.entries``); ``build`` makes the pod. The pods
that reach a row that is no list are here (``_OTHERS``). A row of the table that nothing reaches is an error of a test,
so a list that podberth begins to walk comes into ``bench.hostile`` by its row.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any, TypeAlias

import orjson

from podberth.admission.checked import PARSED
from podberth.devices.resources import COUNTED_KINDS, recognise
from podberth.kinds.dossiers.yunikorn import TASK_GROUPS
from podberth.kube.paths import ELEMENT, FieldPath
from podberth.kube.pod_limits import (
    ALL,
    ALL_ENTRIES,
    ANNOTATIONS,
    BOUNDS,
    DEVICES,
    GPU_REQUESTS,
    GPUS,
    LARGEST,
    MAX_BYTES,
    RECORD,
    RECORD_CHANGES,
    Bound,
    entries_in,
    excess,
)
from podberth.kube.shape import CONTAINER_LISTS
from podberth.mutation.record import sealed
from podberth.mutation.seal import OFFLINE, bearer_of
from podberth.wellknown import APPLIED_ANNOTATION

from .entries import KINDS, NODE_TERM, entry_of

Pod: TypeAlias = dict[str, Any]
_ROOM = 16_384  # what policies write has to fit in, too
_LISTED = 0.9  # of all entries those that a genome names; the others are of the lists on the way
_OWN_KEYS = 5  # that ``build`` writes beside those of the lists
_TEXT = '\\"é\n'  # JSON escapes it, and UTF-8 makes more of it


@dataclass(frozen=True, slots=True)
class Gene:
    """The entries of one list."""

    number: int
    kind: int = 0
    spread: bool = True
    """Whether they are spread over all lists of that name, and not all in the first."""


@dataclass(frozen=True, slots=True)
class Genome:
    """A pod to be."""

    lists: Mapping[FieldPath, Gene] = field(default_factory=dict)
    gpus: str = "1"
    """How many the first container asks for."""
    gang: bool = False
    record: int = 0
    """How many changes a record has. It is sealed, so that it is read, and as long as a record may be."""
    text: int = 0
    """How many characters the annotation of task groups has, which podberth parses."""
    annotated: int = 0
    """How many characters all annotations have together."""

    @property
    def name(self) -> str:
        """What it is made of, for people and for ``read``."""
        parts = [
            f"{gene.number} {_LABELS[path]} {gene.kind}{'' if gene.spread else '!'}"
            for path, gene in sorted(self.lists.items())
            if gene.number
        ]
        parts += [f"{self.gpus} GPUs"] if self.gpus != "1" else []
        parts += ["1 gang"] if self.gang else []
        parts += [f"{self.record} claims"] if self.record else []
        parts += [f"{self.text} characters"] if self.text else []
        parts += [f"{self.annotated} annotated"] if self.annotated else []
        return " + ".join(parts) or _NOTHING


PATHS: tuple[FieldPath, ...] = tuple(LARGEST)
"""Every list and map of the table."""
_NOTHING = "nothing"
_SHORT = {
    "requiredDuringSchedulingIgnoredDuringExecution": "required",
    "preferredDuringSchedulingIgnoredDuringExecution": "preferred",
    "matchExpressions": "expressions",
    "matchFields": "fields",
    ELEMENT: "",
}
_LABELS = {
    path: ".".join(filter(None, [_SHORT.get(step, step) for step in path if step not in ("spec", "affinity")]))
    for path in PATHS
}
"""A short name for each list: the kind of its entries stands behind it, with "!" where they are all in one list."""
_PATHS = {label: path for path, label in _LABELS.items()}


def read(name: str) -> Genome:
    """Return the genome of that ``name``."""
    lists: dict[FieldPath, Gene] = {}
    found: dict[str, int] = {}
    for part in name.split(" + ") if name != _NOTHING else ():
        number, label, *kind = part.split()
        if kind:
            lists[_PATHS[label]] = Gene(int(number), int(kind[0].rstrip("!")), not kind[0].endswith("!"))
        else:
            found[label] = int(number)
    gpus, gang = str(found.get("GPUs", 1)), "gang" in found
    others = (found.get(label, 0) for label in ("claims", "characters", "annotated"))
    return Genome(lists, gpus, gang, *others)


def build(genome: Genome, number: int) -> Pod:
    """Return the pod; another ``number`` makes another pod of the same kind."""
    pod: Pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": f"hostile-{number}", "namespace": "default", "labels": {}, "annotations": {}},
        "spec": {
            "containers": [{"name": "main", "image": "i", "resources": {"limits": {"nvidia.com/gpu": genome.gpus}}}]
        },
    }
    for path, gene in sorted(genome.lists.items(), key=lambda item: (len(item[0]), item[0])):
        _put(pod, path, gene)
    _drop_accelerators(pod)
    metadata = pod["metadata"]
    for name in ("labels", "annotations"):
        metadata[name] = dict(list(metadata[name].items())[: LARGEST["metadata", name] - _own_keys(genome)])
    if genome.gang:
        metadata["labels"]["podberth.io/gang"] = f"gang-{number}"
        metadata["annotations"]["podberth.io/gang-size"] = "4"
    if genome.text:
        metadata["annotations"] |= {TASK_GROUPS.path[-1]: _task_groups(genome.text, number), _TASK_GROUP: "g"}
        metadata["labels"]["applicationId"] = "a"
    if genome.record:
        metadata["annotations"][APPLIED_ANNOTATION] = _record(pod, genome.record)
    if genome.annotated:
        taken = sum(len(key) + len(value) for key, value in metadata["annotations"].items())
        left = max(0, genome.annotated - taken - len(_TEXT_KEY))
        metadata["annotations"][_TEXT_KEY] = (_TEXT * (left // len(_TEXT) + 1))[:left]
    return pod


def _own_keys(genome: Genome) -> int:
    return _OWN_KEYS if genome.gang or genome.text or genome.record or genome.annotated else 0


def _drop_accelerators(pod: Pod) -> None:
    """Take the accelerator resources that the bound for them does not permit from the pod's containers."""
    left = GPU_REQUESTS
    for container in (each for name in CONTAINER_LISTS for each in pod["spec"].get(name) or ()):
        amounts = container.get("resources") or {}
        asked = {name for kind in ("limits", "requests") for name in amounts.get(kind) or () if _counts(name)}
        for name in sorted(asked)[max(left, 0) :]:
            for kind in ("limits", "requests"):
                (amounts.get(kind) or {}).pop(name, None)
        left -= len(asked)


def _counts(resource: str) -> bool:
    accelerator = recognise(resource)
    return accelerator is not None and accelerator.kind in COUNTED_KINDS


_TASK_GROUP = "yunikorn.apache.org/task-group-name"
_TEXT_KEY = "example.com/text"


def _task_groups(characters: int, number: int) -> str:
    """Return task groups of so many characters; another for each ``number``, because podberth remembers the last."""
    group = f'{{"minMember":{number % 9 + 1}}}'
    return f"[{','.join([group] * ((characters - 1) // (len(group) + 1)))}]".ljust(characters)


def fits(pod: Pod) -> bool:
    """Return whether a pod is within its bounds, and has room for what policies add."""
    return not excess(pod) and len(orjson.dumps(pod)) <= MAX_BYTES - _ROOM


def _put(pod: Pod, path: FieldPath, gene: Gene) -> None:
    """Give the pod that many entries at a path, in the lists that are there or in one that is made."""
    holders: list[Any] = [pod]
    for place, step in enumerate(path[:-1]):
        if step == ELEMENT:
            for each in holders[:1]:
                if not each:
                    each.append(entry_of(path[:place])(0, 0))
            holders = [item for each in holders for item in each]
        else:
            kind: Callable[[], Any] = list if path[place + 1] == ELEMENT else dict
            for each in holders:
                if not isinstance(each.get(step), kind):  # type: ignore[arg-type]
                    each[step] = kind()
            holders = [each[step] for each in holders]
    elsewhere = 0 if gene.spread else sum(len(each.get(path[-1]) or ()) for each in holders[1:])
    chosen = holders if gene.spread else holders[:1]
    for at, holder in enumerate(chosen):
        numbers = range(at, gene.number - elsewhere, len(chosen))
        _fill(holder, path, [entry_of(path)(number, gene.kind) for number in numbers])
        if path[-1] == "values" and numbers and holder.get("operator") not in ("In", "NotIn"):
            holder["operator"] = ("NotIn", "In")[gene.kind % 2]


def _fill(holder: dict[str, Any], path: FieldPath, entries: list[Any]) -> None:
    """Put entries into a list or map, behind those that are there, so that there are as many as ``entries``."""
    name, most = path[-1], len(entries)
    present = holder.get(name)
    if name == "values":
        holder[name] = entries
    elif isinstance(entry_of(path)(0, 0), tuple):
        holder[name] = dict([*(present or {}).items(), *entries][:most]) if entries else present or {}
    else:
        holder[name] = [*(present or ()), *entries][:most] if entries else present or []


def _record(pod: Pod, changes: int) -> str:
    """Return a sealed record of so many changes, of things that the pod has as far as it goes, as long as it may be."""
    present: list[dict[str, Any]] = list(pod["spec"].get("tolerations") or [])
    record: dict[str, Any] = {}
    length = 0
    for number in range(changes - 1):
        toleration = present[number] if number < len(present) else {"key": f"k{number}"}
        wrote = {"nodeAffinity": {"required": [NODE_TERM]}} if number % 2 else {"tolerations": [toleration]}
        length += len(orjson.dumps({f"p{number}": wrote}))
        if length > RECORD.most * _LISTED:
            break
        record[f"p{number}"] = wrote
    bearer = bearer_of(pod, pod["metadata"]["namespace"])
    annotation = ""
    for _ in range(2):  # the second time with the characters that are missing
        record["text"] = {"labels": {"l": "v" * (RECORD.most - len(annotation) if annotation else 0)}}
        text = orjson.dumps(record).decode()
        annotation = sealed(text, OFFLINE.seal(bearer, text))
    return annotation


ROWS: tuple[Bound, ...] = (*BOUNDS, *PARSED)
"""All limits of a pod."""
LISTS: tuple[Bound, ...] = tuple(each for each in BOUNDS if each.unit == "entries" and each.path in LARGEST)
"""The rows of the table that are a list or map of the pod."""


def alone(row: Bound) -> Iterator[Genome]:
    """Yield pods that reach one row's bound: of a list, with each kind of entries, spread and in one."""
    if row not in LISTS:
        yield from _OTHERS[row]()
        return
    path = row.path
    for kind in range(KINDS):
        yield Genome({path: Gene(row.most, kind)})
    if ELEMENT in path:
        yield Genome({**_above(path), path: Gene(row.most)})
        yield Genome({path: Gene(row.most, spread=False)})


def _of_devices() -> Iterator[Genome]:
    """Yield pods with claims from small templates, and with some from the largest, which containers use."""
    for claims, kind in ((LARGEST[_CLAIMS], 1), (20, 2)):
        yield Genome({_CLAIMS: Gene(claims, kind), (*_RESOURCES_OF, "claims"): Gene(claims)})


def _of_all() -> Iterator[Genome]:
    """Yield a pod with as many entries as all lists may have together: tolerations, and environment."""
    lists = {("spec", "tolerations"): Gene(LARGEST["spec", "tolerations"]), _ENVIRONMENT: Gene(1)}
    left = ALL_ENTRIES - entries_in(build(Genome(lists), 0))
    yield Genome({**lists, _ENVIRONMENT: Gene(1 + left)})


_CLAIMS: FieldPath = ("spec", "resourceClaims")
_ENVIRONMENT: FieldPath = ("spec", "containers", ELEMENT, "env")
_RESOURCES_OF: FieldPath = ("spec", "containers", ELEMENT, "resources")
_OTHERS: Mapping[Bound, Callable[[], Iterator[Genome]]] = {
    ALL: _of_all,
    ANNOTATIONS: lambda: iter([Genome(annotated=ANNOTATIONS.most)]),
    TASK_GROUPS: lambda: iter([Genome(text=TASK_GROUPS.most)]),
    GPUS: lambda: iter([Genome({(*_RESOURCES_OF, "limits"): Gene(LARGEST[*_RESOURCES_OF, "limits"])})]),
    DEVICES: _of_devices,
    RECORD: lambda: iter([Genome(record=RECORD_CHANGES.most)]),
    RECORD_CHANGES: lambda: iter([Genome(record=RECORD_CHANGES.most)]),
}
"""The pods that reach the rows that are no list: each is the first of ``alone``."""


def _above(path: FieldPath) -> dict[FieldPath, Gene]:
    """Return the lists on the way to one, at their bounds."""
    above = [path[:place] for place, step in enumerate(path) if step == ELEMENT]
    return {each: Gene(LARGEST[each]) for each in above if each in LARGEST}


def together(one: Bound, other: Bound) -> Genome:
    """Return a pod that reaches two bounds, with the lists on the way to them; as far as the bound of all goes."""
    first, second = (_with_above(next(alone(each))) for each in (one, other))
    lists = {**first.lists, **second.lists}
    text, record = max(first.text, second.text), max(first.record, second.record)
    annotated = max(first.annotated, second.annotated)
    return within(Genome(lists, "4", gang=True, record=record, text=text, annotated=annotated))


def _with_above(genome: Genome) -> Genome:
    above = {each: gene for path in genome.lists for each, gene in _above(path).items()}
    return replace(genome, lists={**above, **genome.lists})


def within(genome: Genome) -> Genome:
    """Return the genome with its longest list shortened until all together are within their bound."""
    while "all lists together" in excess(build(genome, 0)):
        genome = replace(genome, lists=_shortened(genome.lists, 9 / 10))
    return genome


def _shortened(lists: Mapping[FieldPath, Gene], share: float) -> dict[FieldPath, Gene]:
    longest = max(lists, key=lambda path: lists[path].number)
    gene = lists[longest]
    return {**lists, longest: Gene(int(gene.number * share), gene.kind, gene.spread)}


def changed(genome: Genome, random: Random) -> Genome:
    """Return the genome with one to three things changed."""
    for _ in range(random.randint(1, 3)):
        genome = _changed_once(genome, random)
    return genome


def _changed_once(genome: Genome, random: Random) -> Genome:
    lists = dict(genome.lists)
    match random.randrange(9):
        case 0:
            return replace(genome, gpus=random.choice(("1", "2", "4", "8")))
        case 1:
            return replace(genome, gang=not genome.gang)
        case 2:
            return replace(genome, record=random.choice((0, 20, RECORD_CHANGES.most)))
        case 3:
            return replace(genome, annotated=random.choice((0, ANNOTATIONS.most)))
        case 4 if lists:
            del lists[random.choice(sorted(lists))]
        case _:
            path = random.choice(PATHS)
            for each in (*_above(path), path):
                number = random.choice((LARGEST[each], LARGEST[each], LARGEST[each] // 2, LARGEST[each] // 10, 8))
                lists[each] = Gene(number, random.randrange(KINDS), random.random() < 0.8)  # noqa: PLR2004 - mostly
    text = random.choice((genome.text, genome.text, 0, TASK_GROUPS.most))
    while sum(gene.number for gene in lists.values()) > ALL_ENTRIES * _LISTED:
        lists = _shortened(lists, 1 / 2)
    return replace(genome, lists=lists, text=text)


def families() -> tuple[Bound, ...]:
    """Return one row of each kind: what holds of containers holds of init containers, and so on."""
    same = {
        "initContainers": "containers",
        "ephemeralContainers": "containers",
        "podAntiAffinity": "podAffinity",
        "namespaceSelector": "labelSelector",
    }
    return tuple(each for each in ROWS if same.keys().isdisjoint(each.path))
