"""Sizes that no known domain of a required level holds, or no known nodes at all.

Counted are nodes that fit a pod, empty and well. What is known is not all there may be: an autoscaler may bring nodes,
so this is said of known ones, and never denied (docs/rules.md, rule 13).
"""

from collections.abc import Iterator
from typing import Final

from ..workload.training_kinds import KUBEFLOW_KINDS
from .case import Case, Pods, Wrong
from .levels import Level, affinity_levels, exclusive_levels, kueue_levels, native_levels

# Kinds of which one object is one gang, or of LeaderWorkerSet one for each of its replicas.
_ONE_GANG: Final = frozenset(
    {
        ("batch", "Job"),
        ("batch", "CronJob"),
        ("batch.volcano.sh", "Job"),
        ("jobset.x-k8s.io", "JobSet"),
        ("ray.io", "RayCluster"),
        ("ray.io", "RayJob"),
        ("trainer.kubeflow.org", "TrainJob"),
        *(("kubeflow.org", kind) for kind in KUBEFLOW_KINDS),
    }
)


def too_large_groups(case: Case) -> Iterator[Wrong]:
    """Find groups that no known domain holds, and of those without a level, ones that no known nodes hold together."""
    if not case.known.topology.known:
        return
    told = set()
    for level in (*kueue_levels(case), *exclusive_levels(case), *native_levels(case), *affinity_levels(case)):
        found = _of_level(case, level)
        if found is not None:
            told.add(level.pods.template.path)
            yield found
    if case.kind not in _ONE_GANG:
        return
    for pods in case.pods:
        if pods.gang.known and pods.template.path not in told and (found := _of_cluster(case, pods)):
            yield found


def _of_level(case: Case, level: Level) -> Wrong | None:
    if level.members < 1 or not level.pods.need.requests:
        return None
    nodes = case.known.topology.nodes(level.pods.need)
    if not nodes.exist:
        return None
    room = nodes.room(level.key)
    if not room:
        return level.wrong(f"got {level.key}, a label that no known node has that fits; write one that nodes have")
    if room[0] < level.members:
        return level.wrong(
            f"{level.members} pods in one {level.key}: no known one holds more than {room[0]}; "
            "write a wider level or fewer pods"
        )
    holding = sum(each >= level.members for each in room)
    if holding < level.domains:
        return level.wrong(
            f"{level.domains} groups, each alone in one {level.key}: {holding} known hold one; "
            "write a narrower level or fewer groups"
        )
    return None


def _of_cluster(case: Case, pods: Pods) -> Wrong | None:
    if not (pods.replicas and pods.need.requests):
        return None
    nodes = case.known.topology.nodes(pods.need)
    if not nodes.exist:
        return None
    [room] = nodes.room()
    if pods.replicas <= room:
        return None
    return pods.wrong(
        ("spec", "containers"),
        f"{pods.replicas} pods start together, and all known nodes hold {room} such; "
        "write fewer, or they wait for nodes",
    )
