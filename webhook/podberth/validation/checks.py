"""The checks, in the order in which they are told, and the one way to ask them all."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from ..kube import pod as pods
from ..workload.groups import GROUP_ROWS
from ..workload.places import Steps
from ..workload.subject import text_at
from ..workload.templates import objects_in
from .case import Case, ClusterFacts, Pods, Wrong
from .domains import too_large_groups
from .exclusive import second_opinions
from .launchers import miscounted_launchers
from .minimums import too_large_minimums
from .namespaces import other_namespaces
from .queues import POD_KEYS, wrong_queues
from .schedulers import mixed_schedulers


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One concern."""

    name: str
    """As docs/groups.md has it."""
    source: str
    find: Callable[[Case], Iterator[Wrong]]
    of_bare_pods: bool = False
    """Whether a Pod by itself shows it."""


CHECKS: Final[tuple[Check, ...]] = (
    Check(
        name="A queue that does not exist",
        source="kubernetes-sigs/kueue apis/kueue/v1beta2; volcano-sh/volcano docs/design/queue; kai-scheduler/"
        "KAI-Scheduler docs/queues",
        find=wrong_queues,
        of_bare_pods=True,
    ),
    Check(
        name="A minimum above the replicas",
        source="volcano-sh/volcano pkg/webhooks/admission/jobs/validate; kubeflow/training-operator "
        "pkg/apis/kubeflow.org/v1/common_types.go; KEP-4671; ai-dynamo/grove operator/internal/webhook/admission/pcs",
        find=too_large_minimums,
    ),
    Check(
        name="A launcher that is not counted",
        source="https://github.com/kubeflow/mpi-operator/issues/608; volcano-sh/volcano pkg/controllers/job",
        find=miscounted_launchers,
    ),
    Check(
        name="Mixed schedulers",
        source="https://github.com/volcano-sh/volcano/issues/1959; KEP-4671",
        find=mixed_schedulers,
    ),
    Check(
        name="Groups across namespaces",
        source="kubernetes/api core/v1/types.go PodSchedulingGroup; kubernetes pkg/controller/controller_utils.go",
        find=other_namespaces,
        of_bare_pods=True,
    ),
    Check(
        name="Exclusive topology with a second opinion",
        source="kubernetes-sigs/jobset pkg/webhooks/pod_mutating_webhook.go; kubernetes-sigs/lws pkg/webhooks; "
        "sgl-project/rbg pkg/reconciler/pod_reconciler.go",
        find=second_opinions,
    ),
    Check(
        name="A size that no domain holds",
        source="KEP-5732; kubernetes-sigs/kueue pkg/cache/scheduler/tas_flavor_snapshot.go",
        find=too_large_groups,
    ),
)


_KEYS: Final = POD_KEYS | {key for row in GROUP_ROWS for key in (row.label, row.annotation) if key}
_FIELDS: Final = tuple(row.field for row in GROUP_ROWS if row.field)


def names_a_group(pod: Mapping[str, Any]) -> bool:
    """Tell whether a Pod by itself names a queue or a group: of one that does not, nothing is ever wrong."""
    return (
        not _KEYS.isdisjoint(pods.labels(pod))
        or not _KEYS.isdisjoint(pods.annotations(pod))
        or any(pods.spec(pod).get(field) for field in _FIELDS)
    )


def wrong_groups(
    document: Mapping[str, Any], namespace: str, made: Sequence[Pods], known: ClusterFacts
) -> tuple[Wrong, ...]:
    """Return what is wrong with the groups of a document, each once.

    ``namespace`` is used where the document names none. Only what asks for devices, or is in a gang by its own word,
    is podberth's business.
    """
    found: list[Wrong] = []
    where = text_at(document, "metadata", "namespace") or namespace
    objects = list(objects_in(document))
    for base, each in objects:
        inner = [path for path, _ in objects if path != base and path[: len(base)] == base]
        own = tuple(one for one in made if _is_of(one, base, inner))
        if not any(one.gpu.kind != "none" for one in own) and not (each.get("kind") == "Pod" and _grouped(own)):
            continue
        above = tuple(outer for path, outer in objects if path != base and base[: len(path)] == path)
        case = Case(document=each, base=base, namespace=where, above=above, pods=own, known=known)
        for check in CHECKS:
            if check.of_bare_pods or not case.is_bare:
                found += check.find(case)
    return tuple(dict.fromkeys(found))


def _is_of(one: Pods, base: Steps, inner: Sequence[Steps]) -> bool:
    path = one.template.path
    return path[: len(base)] == base and not any(path[: len(each)] == each for each in inner)


def _grouped(made: Sequence[Pods]) -> bool:
    return any(each.gang.known for each in made)
