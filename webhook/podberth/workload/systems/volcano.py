"""Volcano: a PodGroup is let in as a whole, by its sum of resources (``minResources``); HyperNodes are its topology.

For pods without a group Volcano's controller makes one of the first pod's annotations, for one pod unless
``group-min-member`` of their owner says more.
"""

from typing import Final

from .system import System, under

SYSTEM: Final = System(
    name="volcano",
    title="Volcano",
    source="volcano-sh/volcano staging/src/volcano.sh/apis/pkg/apis/{scheduling/v1beta1,batch/v1alpha1}/labels.go, "
    "scheduling/v1beta1/types.go PodGroupSpec, pkg/controllers/podgroup",
    schedulers=frozenset({"volcano"}),
    labels=under("volcano.sh", "job-name", "queue-name"),
    annotations=under(
        "scheduling.volcano.sh",
        "group-name",
        "group-min-member",
        "group-min-resources",
        "queue-name",
        "queue-allocation-gate",
    )
    | under(
        "volcano.sh",
        "job-name",
        "queue-name",
        "network-topology-mode",
        "network-topology-highest-tier",
        "numa-topology-policy",
    )
    | {"scheduling.k8s.io/group-name"},
    reads=(
        "`spec.schedulerName`",
        "annotations `scheduling.k8s.io/group-name`, `scheduling.volcano.sh/queue-name`",
        "of pods without a group annotations `volcano.sh/network-topology-{mode,highest-tier}`",
    ),
    elsewhere=(
        "`spec.minMember`, `spec.queue` of the PodGroup or `spec.minAvailable`, `spec.queue` of the Volcano Job",
        "`spec.networkTopology` of either",
        "`metadata.annotations[scheduling.volcano.sh/group-min-member]` of what owns pods without a group",
    ),
    topology="set spec.networkTopology of its PodGroup or Volcano Job",
    keeps="the sum of resources in the PodGroup's `minResources`, made of the first pod or the job's template",
)
