"""LeaderWorkerSets: groups of a leader and its workers, each group a gang."""

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any, Final

from ...kube.unchecked import at, count, number, text_at
from ..dossier import Dossier, KindNote, OwnerKind
from ..group_rules import GroupRules, above
from ..leader_workers import stamp_group
from ..members import STATEFUL_SET_INDEX, Member, Membership, Subject, index_of, named
from ..places import Found, Place, Scene, Steps, WorkloadKind
from ..stamping import add_annotations


def _group_size(scene: Scene) -> int:
    return count(at(scene.spec, "leaderWorkerTemplate", "size"), 1)


def _groups(scene: Scene) -> int:
    return count(scene.spec.get("replicas"), 1)


def _stamp(pod: dict[str, Any], scene: Scene) -> None:
    for key in ("exclusive-topology", "subgroup-exclusive-topology"):
        said = at(scene.document, "metadata", "annotations", f"{_LWS}/{key}")
        if isinstance(said, str):
            add_annotations(pod, {f"{_LWS}/{key}": said})
    stamp_group(pod, scene.name, _group_size(scene), leader=scene.path[-1] == "leaderTemplate")


def _worker_pods(scene: Scene) -> int:
    """Return the workers of all groups, and their leaders where these are made of the same template."""
    leaders = at(scene.spec, "leaderWorkerTemplate", "leaderTemplate") is not None
    return _groups(scene) * max(_group_size(scene) - leaders, 0)


def _places() -> Iterator[Place]:
    base = ("spec", "leaderWorkerTemplate")
    stamp = _stamp
    yield Place(path=(*base, "leaderTemplate"), stamp=stamp, optional=True, role="leader", replicas=_groups)
    yield Place(path=(*base, "workerTemplate"), stamp=stamp, role="worker", replicas=_worker_pods)


def _leader_worker_set(pod: Subject) -> Member | None:
    """A group of a LeaderWorkerSet, named by its group key.

    The leader gets its key from LWS's own webhook, which may come after us: the key is computed as there.
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
    return Member("LeaderWorkerSet", named("lws", key), size, index, "leader" if index == 0 else "worker")


def _stages(owner: Mapping[str, Any]) -> str:
    # kubernetes-sigs/lws pkg/controllers/pod_controller.go Reconcile; LeaderCreated is the default.
    waits = text_at(owner, "spec", "startupPolicy") == "LeaderReady"
    return "spec.startupPolicy LeaderReady; want LeaderCreated" if waits else ""


_LWS: Final = "leaderworkerset.sigs.k8s.io"


def _minimums(document: Found) -> Iterator[tuple[Steps, str]]:
    """Find subgroups that are larger than their group (kubernetes-sigs/lws api SubGroupPolicy)."""
    base = ("spec", "leaderWorkerTemplate")
    size = count(at(document, *base, "size"), 1)
    subgroup = count(at(document, *base, "subGroupPolicy", "subGroupSize"))
    if subgroup > size:
        yield (*base, "subGroupPolicy", "subGroupSize"), above(subgroup, size, "the size of a group")


DOSSIER: Final = Dossier(
    name="LeaderWorkerSet",
    kinds=(
        WorkloadKind(
            api_versions=frozenset({"leaderworkerset.x-k8s.io/v1"}),
            kind="LeaderWorkerSet",
            source="kubernetes-sigs/lws api/leaderworkerset/v1/leaderworkerset_types.go",
            places=tuple(_places()),
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
            spec={"startupPolicy": None},
            followed=False,
        ),
    ),
    group_rules=(
        GroupRules(
            kind=("leaderworkerset.x-k8s.io", "LeaderWorkerSet"),
            minimums=_minimums,
            exclusive={f"{_LWS}/exclusive-topology": ""},
        ),
    ),
)
