"""Gangs and owners: every key by which a system, a dialect or an operator is recognised, with values of all sorts."""

from collections.abc import Mapping
from random import Random
from typing import Final

from podberth.wellknown import GANG_ACCELERATED_ANNOTATION, GANG_LABEL, GANG_SIZE_ANNOTATION, JOB_COMPLETION_INDEX
from podberth.workload.dialects import DIALECTS
from podberth.workload.systems import SYSTEMS

from . import values
from .material import material
from .pods import Change, below
from .values import JSON

_VALUES: Final = (*values.NAMES, *values.SIZES)
_LABELS: Final = tuple(sorted({key for row in SYSTEMS for key in row.labels}))
_ANNOTATIONS: Final = tuple(sorted({key for row in SYSTEMS for key in row.annotations}))
_INDEXES: Final = (
    JOB_COMPLETION_INDEX,
    "apps.kubernetes.io/pod-index",
    "leaderworkerset.sigs.k8s.io/worker-index",
    "training.kubeflow.org/replica-index",
    "jobset.sigs.k8s.io/job-global-index",
    "podberth.io/gang-slice",
)
_TASK_GROUPS: Final = (
    "[]",
    '[{"minMember": 4}]',
    '[{"minMember": -1}]',
    "{",
    "[" * 2000,
    '[{"minMember": 1e99}]',
    "null",
)


def _gang(chance: Random, pod: JSON) -> None:
    below(pod, "metadata", "labels")[GANG_LABEL] = chance.choice(values.NAMES)
    annotations = below(pod, "metadata", "annotations")
    if values.percent(chance, 70):  # most gangs say their size
        annotations[GANG_SIZE_ANNOTATION] = chance.choice(values.SIZES)
    if values.percent(chance, 20):
        annotations[GANG_ACCELERATED_ANNOTATION] = chance.choice(values.SIZES)


def _system(chance: Random, pod: JSON) -> None:
    for _ in range(chance.randint(1, 3)):
        if values.percent(chance, 50):
            below(pod, "metadata", "labels")[chance.choice(_LABELS)] = chance.choice(_VALUES)
        else:
            below(pod, "metadata", "annotations")[chance.choice(_ANNOTATIONS)] = chance.choice(_VALUES)
    if values.percent(chance, 10):
        below(pod, "metadata", "annotations")["yunikorn.apache.org/task-groups"] = chance.choice(_TASK_GROUPS)


def _index(chance: Random, pod: JSON) -> None:
    for field in ("labels", "annotations"):
        below(pod, "metadata", field)[chance.choice(_INDEXES)] = chance.choice(values.SIZES)


def _dialect(chance: Random, pod: JSON) -> None:
    row = chance.choice(DIALECTS)
    if row.annotations:
        below(pod, "metadata", "annotations")[chance.choice(sorted(row.annotations))] = chance.choice(_VALUES)
    if row.resources:
        limits = below(pod["spec"]["containers"][0], "resources", "limits") if pod["spec"].get("containers") else {}
        limits[chance.choice(sorted(row.resources))] = chance.choice(values.ODD_QUANTITIES)
    if row.schedulers:
        pod["spec"]["schedulerName"] = chance.choice(sorted(row.schedulers))


def _owners(chance: Random, pod: JSON) -> None:
    references = []
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        owner = chance.choice(material().owners)
        known = {
            "apiVersion": owner.get("apiVersion", "batch/v1"),
            "kind": owner.get("kind", "Job"),
            "name": owner["metadata"]["name"],
            "uid": owner["metadata"]["uid"],
            "controller": True,
        }
        odd = {
            "apiVersion": chance.choice(values.TEXTS),
            "kind": chance.choice(values.NAMES),
            "uid": chance.choice(values.NAMES),
        }
        references.append(
            known | chance.choice(({}, {}, {}, odd, {"controller": False}, {"uid": "nobody"}, {"name": "x" * 400}))
        )
    pod["metadata"]["ownerReferences"] = references


CHANGES: Final[Mapping[str, Change]] = {
    "a gang": _gang,
    "a group system": _system,
    "an index": _index,
    "a dialect": _dialect,
    "owners": _owners,
}
