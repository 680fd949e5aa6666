"""Facts about LeaderWorkerSets: each leader and its workers are a gang."""

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any, Final

from ...kube.paths import Path
from ...kube.unchecked import at, count, mapping_at, number, text_at
from ..dossier import TEMPLATE_ASKS, Dossier, KindNote, OwnerKind
from ..group_rules import GroupRules, above
from ..leader_workers import group_places, group_size, stamp_group
from ..members import STATEFUL_SET_INDEX, Member, Membership, Subject, index_of, named
from ..places import Found, Scene, WorkloadKind
from ..roles import Role, asks_of, counted, read_once
from ..stamping import add_annotations
from ..starts import Start, StartingGang, all_of


def _stamp(pod: dict[str, Any], scene: Scene) -> None:
    for key in ("exclusive-topology", "subgroup-exclusive-topology"):
        said = at(scene.document, "metadata", "annotations", f"{_LWS}/{key}")
        if isinstance(said, str):
            add_annotations(pod, {f"{_LWS}/{key}": said})
    stamp_group(pod, scene.name, group_size(scene), leader=scene.path[-1] == "leaderTemplate")


def _leader_worker_set(pod: Subject) -> Member | None:
    """Return a pod's membership in a group of a LeaderWorkerSet, named by the group key; None if the pod has no key.

    LWS's webhook writes the key on a leader as a label, but may run after podberth's webhook. So podberth computes the
    key, as LWS does, if a leader has a name and no label yet. The key of any other pod is read from the label.
    """
    key = pod.labels.get("leaderworkerset.sigs.k8s.io/group-key")
    worker = pod.labels.get("leaderworkerset.sigs.k8s.io/worker-index")
    if not key and worker == "0" and pod.name:
        key = hashlib.sha1(
            f"{pod.namespace}/{pod.name}".encode(errors="surrogatepass"), usedforsecurity=False
        ).hexdigest()
    if not key:
        return None
    size = number(pod.annotations.get("leaderworkerset.sigs.k8s.io/size")) or 0
    # A worker's StatefulSet starts at ordinal 1, so its ordinal is the worker index that LWS's webhook writes.
    index = index_of(worker or pod.labels.get(STATEFUL_SET_INDEX))
    roles = read_once(pod.owner("LeaderWorkerSet"), _group)
    role = "leader" if index == 0 else "worker"
    return Member(
        "LeaderWorkerSet", named("lws", key), size, index, role, roles=roles if counted(roles) == size else ()
    )


def _group(owner: Mapping[str, Any] | None) -> tuple[Role, ...]:
    """Return the roles of one group of a LeaderWorkerSet: the leader and the workers.

    Without a template of its own, the leader has the workers' template (types.go).
    """
    template = mapping_at(owner, "spec", "leaderWorkerTemplate")
    workers = template.get("workerTemplate")
    leader = workers if template.get("leaderTemplate") is None else template["leaderTemplate"]
    size = count(template.get("size"), 1)
    return (Role(1, asks_of(leader)), Role(size - 1, asks_of(workers))) if template and size else ()


def _stages(owner: Mapping[str, Any]) -> str:
    # kubernetes-sigs/lws pkg/controllers/pod_controller.go Reconcile; LeaderCreated is the default.
    waits = text_at(owner, "spec", "startupPolicy") == "LeaderReady"
    return "spec.startupPolicy LeaderReady; want LeaderCreated" if waits else ""


_LWS: Final = "leaderworkerset.sigs.k8s.io"


def _minimums(document: Found) -> Iterator[tuple[Path, str]]:
    """Yield (path, message) for each subgroup size above the size of the group.

    Source: kubernetes-sigs/lws api SubGroupPolicy.
    """
    base = ("spec", "leaderWorkerTemplate")
    size = count(at(document, *base, "size"), 1)
    subgroup = count(at(document, *base, "subGroupPolicy", "subGroupSize"))
    if subgroup > size:
        yield (*base, "subGroupPolicy", "subGroupSize"), above(subgroup, size, "the size of a group")


def _groups_of(document: Found, _place: Path) -> int:
    return count(at(document, "spec", "replicas"), 1)


def _starts(gang: StartingGang) -> Start[Any]:
    """Return the pods that start together: the leader and all workers of a group."""
    groups = _groups_of(gang.document, ())
    return all_of(gang.pods, lambda each: each.replicas // groups if groups else 0)


DOSSIER: Final = Dossier(
    name="LeaderWorkerSet",
    versions={"kubernetes-sigs/lws": "060ab4da, after v0.10.0"},
    kinds=(
        WorkloadKind(
            api_versions=frozenset({"leaderworkerset.x-k8s.io/v1"}),
            kind="LeaderWorkerSet",
            source="kubernetes-sigs/lws api/leaderworkerset/v1/leaderworkerset_types.go",
            places=tuple(group_places("spec", "leaderWorkerTemplate", stamp=_stamp)),
        ),
    ),
    memberships=(
        Membership(
            name="LeaderWorkerSet, and LLMInferenceService over several nodes, which makes one",
            source="kubernetes-sigs/lws api/leaderworkerset/v1/leaderworkerset_types.go, pkg/webhooks/pod_webhook.go",
            read=_leader_worker_set,
            size="the annotation `leaderworkerset.sigs.k8s.io/size`",
            label="leaderworkerset.sigs.k8s.io/name",
            role_from="leader or worker, by the index",
        ),
    ),
    pod_keys=frozenset(f"{_LWS}/{key}" for key in ("group-key", "size", "worker-index")),
    notes=(
        KindNote(
            key=f"{_LWS}/name",
            kind="leaderworkerset.x-k8s.io/LeaderWorkerSet",
            keeps="the spec of leaders without GPUs; the affinity of pods with "
            "`leaderworkerset.sigs.k8s.io/exclusive-topology` or `subgroup-exclusive-topology`, and the labels of "
            "group and index, which its webhook writes; the group that it names for Volcano",
            source="kubernetes-sigs/lws pkg/webhooks/pod_webhook.go, pkg/schedulerprovider/volcano_provider.go",
        ),
    ),
    owners=(
        OwnerKind(
            source="kubernetes-sigs/lws api/leaderworkerset/v1/leaderworkerset_types.go",
            group="leaderworkerset.x-k8s.io",
            versions=("v1",),
            stages=_stages,
            kind="LeaderWorkerSet",
            spec={
                "startupPolicy": None,
                "leaderWorkerTemplate": {
                    "size": None,
                    "leaderTemplate": TEMPLATE_ASKS,
                    "workerTemplate": TEMPLATE_ASKS,
                },
            },
            followed=False,
        ),
    ),
    # kubernetes-sigs/lws api/leaderworkerset/v1
    affinity_keys=frozenset({f"{_LWS}/exclusive-topology", f"{_LWS}/subgroup-exclusive-topology"}),
    group_rules=(
        GroupRules(
            kind=("leaderworkerset.x-k8s.io", "LeaderWorkerSet"),
            minimums=_minimums,
            starts=_starts,
            # A group is its leader and its workers (pkg/webhooks/pod_webhook.go).
            groups=_groups_of,
            whole_groups=True,
            exclusive={f"{_LWS}/exclusive-topology": ""},
        ),
    ),
)
