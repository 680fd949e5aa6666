"""YuniKorn: placeholders are made of the task groups that the application's first pod defines in an annotation.

A placeholder has the affinity, tolerations and node selector of its task group: a pod with others may not fit where
its placeholder is.
"""

from typing import Final

from .system import System, under

SYSTEM: Final = System(
    name="yunikorn",
    title="Apache YuniKorn",
    source="apache/yunikorn-k8shim pkg/common/{constants/constants,utils/utils}.go, pkg/cache/placeholder.go, "
    "pkg/admission/admission_controller.go; apache/yunikorn-site "
    "docs/user_guide/gang_scheduling.md",
    schedulers=frozenset({"yunikorn"}),
    # The bare label queue is anybody's; app-id without a domain stands with it, spelled as nobody else does.
    labels=under("yunikorn.apache.org", "app-id", "queue") | {"applicationId"},
    annotations=under(
        "yunikorn.apache.org", "app-id", "queue", "task-group-name", "task-groups", "schedulingPolicyParameters"
    ),
    reads=(
        "`spec.schedulerName`",
        "labels or annotations `yunikorn.apache.org/{app-id,queue}`",
        "labels `applicationId`, `queue`, `spark-app-selector`",
        "annotations `yunikorn.apache.org/{task-group-name,task-groups}`",
    ),
    elsewhere=("`metadata.annotations[yunikorn.apache.org/task-groups]` of the pod template, or of the first pod",),
    topology="set affinity in annotation yunikorn.apache.org/task-groups of the pod template",
    keeps="affinity, tolerations, nodeSelector and resources of the task groups, in its placeholders",
)
