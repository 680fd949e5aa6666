"""YuniKorn: placeholders are made of the task groups that the application's first pod defines in an annotation.

A placeholder has the affinity, tolerations and node selector of its task group: a pod with others may not fit where
its placeholder is.
"""

from typing import Final

from .system import System, under

SYSTEM: Final = System(
    name="yunikorn",
    title="Apache YuniKorn",
    source="apache/yunikorn-k8shim pkg/common/constants/constants.go, pkg/cache/placeholder.go; apache/yunikorn-site "
    "docs/user_guide/gang_scheduling.md",
    schedulers=frozenset({"yunikorn"}),
    labels=under("yunikorn.apache.org", "app-id", "queue"),
    annotations=under("yunikorn.apache.org", "task-group-name", "task-groups"),
    reads=(
        "`spec.schedulerName`",
        "labels `yunikorn.apache.org/{app-id,queue}` or `applicationId`, `queue`",
        "annotations `yunikorn.apache.org/{task-group-name,task-groups}`",
    ),
    elsewhere=("`metadata.annotations[yunikorn.apache.org/task-groups]` of the pod template, or of the first pod",),
    topology="set affinity in annotation yunikorn.apache.org/task-groups of the pod template",
    keeps="affinity, tolerations, nodeSelector and resources of the task groups, in its placeholders",
)
