"""All checks of gangs, in the order of their findings, and the function that runs them."""

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from ..kube import pod as pods
from ..kube.paths import Path
from ..kube.unchecked import text_at
from ..wellknown import GANG_LABEL
from ..workload.memberships import GROUPS
from ..workload.templates import objects_in
from .case import MOST_ROLES, GroupCase, KnownCluster, Pods, Wrong
from .domains import too_large_groups
from .exclusive import contradictions
from .in_parts import started_in_parts
from .launchers import miscounted_launchers
from .minimums import too_large_minimums
from .namespaces import other_namespaces
from .queues import POD_KEYS, wrong_queues
from .schedulers import mixed_schedulers


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One check of gangs: its name, its source, the function that finds problems, and the objects it applies to."""

    name: str
    """The name of the check in docs/groups.md."""
    source: str
    find: Callable[[GroupCase], Iterator[Wrong]]
    of_bare_pods: bool = False
    """Whether the check applies to a bare Pod."""
    one_by_one: bool = False
    """Whether the check judges each role by itself; if False, the check compares up to ``MOST_ROLES`` roles."""


CHECKS: Final[tuple[Check, ...]] = (
    Check(
        name="A queue that does not exist",
        source="kubernetes-sigs/kueue apis/kueue/v1beta2; volcano-sh/volcano docs/design/queue; kai-scheduler/"
        "KAI-Scheduler docs/queues",
        find=wrong_queues,
        of_bare_pods=True,
        one_by_one=True,
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
        one_by_one=True,
    ),
    Check(
        name="Exclusive topology with a second topology",
        source="kubernetes-sigs/jobset pkg/webhooks/pod_mutating_webhook.go; kubernetes-sigs/lws pkg/webhooks; "
        "sgl-project/rbg pkg/reconciler/pod_reconciler.go",
        find=contradictions,
    ),
    Check(
        name="A size that no domain holds",
        source="KEP-5732; kubernetes-sigs/kueue pkg/cache/scheduler/tas_flavor_snapshot.go",
        find=too_large_groups,
    ),
    Check(
        name="A gang that starts in parts",
        source="volcano-sh/volcano pkg/controllers/podgroup; kai-scheduler/KAI-Scheduler pkg/podgrouper; KEP-4671",
        find=started_in_parts,
        of_bare_pods=True,
    ),
)


_MANY: Final = f"got {{:,}} pod templates, want {MOST_ROLES} at most to be compared: its groups are not checked"
_KEYS: Final = POD_KEYS | {GANG_LABEL} | {key for row in GROUPS for key in (row.label, row.annotation) if key}
_FIELDS: Final = tuple(row.field for row in GROUPS if row.field)


def names_a_group(pod: Mapping[str, Any]) -> bool:
    """Return whether a bare Pod names a queue or a group; the checks never find a problem in other bare Pods."""
    return (
        not _KEYS.isdisjoint(pods.labels(pod))
        or not _KEYS.isdisjoint(pods.annotations(pod))
        or any(pods.spec(pod).get(field) for field in _FIELDS)
    )


def wrong_groups(
    document: Mapping[str, Any], namespace: str, made: Sequence[Pods], known: KnownCluster
) -> tuple[Wrong, ...]:
    """Return the problems that the checks of gangs find in a document, without duplicates.

    Only objects with a pod that asks for devices, and bare Pods in a gang, are checked. An object with too many
    templates gets a problem about their number, and only the checks that look at one template at a time run.

    Args:
        document: the document.
        namespace: the namespace of the document's objects, if the document names none.
        made: the pods of each template in the document.
        known: the facts of the cluster.
    """
    found: list[Wrong] = []
    where = text_at(document, "metadata", "namespace") or namespace
    objects = dict(objects_in(document))
    of_objects: dict[Path, list[Pods]] = {}
    for one in made:
        of_objects.setdefault(_inside(one.template.path, objects)[-1], []).append(one)
    for base, each in objects.items():
        own = tuple(of_objects.get(base, ()))
        is_grouped = each.get("kind") == "Pod" and any(one.gang.known for one in own)
        if not is_grouped and not any(one.gpu.kind != "none" for one in own):
            continue
        above = tuple(objects[path] for path in _inside(base, objects) if path != base)
        case = GroupCase(document=each, base=base, namespace=where, above=above, pods=own, known=known)
        several = len(own) > MOST_ROLES
        for check in CHECKS:
            if (check.of_bare_pods or not case.is_bare) and (check.one_by_one or not several):
                found += check.find(case)
        if several:
            found.append(case.wrong((), _MANY.format(len(own))))
    return tuple(dict.fromkeys(found))


def _inside(path: Path, objects: Container[Path]) -> list[Path]:
    """Return the paths of the objects that contain ``path``, the outermost first; the document is always included."""
    return [path[:length] for length in range(len(path) + 1) if path[:length] in objects]
