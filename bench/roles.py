"""Workloads made from the table of bounds: roles whose pods are those of ``bench.genome``, for ``bench.hostile``.

A shape says how many roles there are, what the pod of each is made of, and in what they differ. As pods are, workloads
are made for each list of the table: each at its bound, shared out among the roles.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from random import Random
from typing import Any, Final

from podberth.admission.workload import MOST_ENTRIES
from podberth.kube.pod_limits import ALL_ENTRIES

from . import genome
from .genome import Genome
from .many_roles import job_set

KINDS: Final = ("nothing", "devices", "memory", "choice", "company")
"""In what the pods of the roles differ: what they ask for, what they choose nodes by, whom they want beside them."""
NUMBERS: Final = (1, 4, 64)
"""Of roles: as long as one pod may be, as many as may choose nodes in ways of their own, and more than are judged."""
_NAME: Final = re.compile(
    r"(?P<roles>\d+) roles( with (?P<company>\d+) terms to all)?, differing in (?P<differing>\w+): (?P<pod>.+)"
)
# Of all entries those that a list is given: the others are of the lists on the way, and of what makes roles differ.
_SHARE: Final = 0.8


@dataclass(frozen=True, slots=True)
class Shape:
    """A workload to be."""

    pod: Genome
    roles: int
    differing: str = "nothing"
    company: int = 0
    """How many terms of pod affinity each pod has to all of the workload."""

    @property
    def name(self) -> str:
        """What it is made of, for people."""
        company = f" with {self.company} terms to all" if self.company else ""
        return f"{self.roles} roles{company}, differing in {self.differing}: {self.pod.name}"


def read(name: str) -> Shape:
    """Return the shape of that ``name``; a ``ValueError`` for a text that is none."""
    found = _NAME.fullmatch(name)
    if found is None:
        raise ValueError(name)
    return Shape(genome.read(found["pod"]), int(found["roles"]), found["differing"], int(found["company"] or 0))


def build(shape: Shape, number: int) -> dict[str, Any]:
    """Return the workload; another ``number`` makes another of the same kind, which nobody has been asked about."""
    return job_set([_template(shape, role, number) for role in range(shape.roles)])


def _template(shape: Shape, role: int, number: int) -> dict[str, Any]:
    pod = genome.build(shape.pod, number)
    metadata, spec = pod["metadata"], pod["spec"]
    if shape.company:
        terms = spec.setdefault("affinity", {}).setdefault("podAffinity", {})
        keys = (f"example.com/l{each}" for each in range(shape.company - 1))
        terms["requiredDuringSchedulingIgnoredDuringExecution"] = [
            {"labelSelector": {}, "topologyKey": key} for key in ("kubernetes.io/hostname", *keys)
        ]
    match shape.differing:
        case "devices":
            spec["containers"][0]["resources"]["limits"]["nvidia.com/gpu"] = str(role + 1)
        case "memory":
            metadata["annotations"]["podberth.io/gpu-memory"] = f"{1_000 + 97 * role + number}Mi"
        case "choice":
            spec.setdefault("tolerations", []).append({"key": f"t{role}-{number}", "operator": "Exists"})
        case "company":
            preferred = {"labelSelector": {"matchLabels": {f"l{role}": "g"}}, "topologyKey": f"t{number}"}
            company = spec.setdefault("affinity", {}).setdefault("podAffinity", {})
            wanted = company.setdefault("preferredDuringSchedulingIgnoredDuringExecution", [])
            wanted.append({"weight": 1, "podAffinityTerm": preferred})
    labels, annotations = metadata["labels"], metadata["annotations"]
    return {"metadata": {"labels": labels, "annotations": annotations}, "spec": {**spec, "restartPolicy": "Never"}}


def plain() -> Iterator[Shape]:
    """Yield workloads of ordinary pods that differ in one thing each, alone and with terms to each other."""
    for differing in KINDS:
        for company in (0, 8):
            for gpus in ("1", "8"):
                yield Shape(Genome(gpus=gpus), 64, differing, company)


def of_lists() -> Iterator[Shape]:
    """Yield workloads with each list at its bound, in one role or shared out among many."""
    for row in genome.LISTS:
        for alone in genome.alone(row):
            for roles in NUMBERS:
                yield Shape(_shared(alone, roles), roles, "choice" if roles > 1 else "nothing")


def _shared(pod: Genome, roles: int) -> Genome:
    """Return a pod of which so many are together as long as a workload's templates may be."""
    most = int((MOST_ENTRIES if roles > 1 else ALL_ENTRIES) * _SHARE) // roles
    total = sum(gene.number for gene in pod.lists.values())
    if total <= most:
        return pod
    lists = {path: replace(gene, number=max(1, gene.number * most // total)) for path, gene in pod.lists.items()}
    return replace(pod, lists=lists)


def changed(shape: Shape, random: Random) -> Shape:
    """Return the shape with one thing changed, and within the bounds of a workload."""
    match random.randrange(4):
        case 0:
            shape = replace(shape, roles=random.choice((1, 2, 4, 8, 16, 32, 64)))
        case 1:
            shape = replace(shape, differing=random.choice(KINDS))
        case 2:
            shape = replace(shape, company=random.choice((0, 1, 8)))
        case _:
            shape = replace(shape, pod=genome.changed(shape.pod, random))
    return within(shape)


def within(shape: Shape) -> Shape:
    """Return the shape with so few entries in its lists that all of its pods are judged."""
    return replace(shape, pod=_shared(shape.pod, shape.roles))
