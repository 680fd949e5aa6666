"""Facts about YuniKorn, which makes placeholder pods from task groups in an annotation of an application's first pod.

A placeholder has the affinity, tolerations and node selector of its task group. A pod with other values may not fit on
the placeholder's node.
"""

from functools import lru_cache
from typing import Final

import orjson

from ...kube.pod import annotations
from ...kube.pod_limits import Bound
from ...kube.unchecked import at, count
from ..dossier import Dossier
from ..members import Member, Membership, Subject
from ..name_sets import under
from ..systems import System


@lru_cache(maxsize=64)
def _of_task_groups(text: str) -> int:
    """Return the number of pods of all task groups in an annotation's text.

    The result is cached, because a review needs the number several times for each template. The length of the text is
    limited, so the cache has a megabyte at most.
    """
    try:
        groups = orjson.loads(text)
    except ValueError:
        return 0
    return sum(count(at(group, "minMember")) for group in (groups if isinstance(groups, list) else ()))


TASK_GROUPS: Final = Bound(
    ("metadata", "annotations", "yunikorn.apache.org/task-groups"),
    16_384,
    "a hundred task groups; it is the one annotation that is parsed as JSON beside the record",
    "characters",
)
_TASK_GROUPS: Final = under("yunikorn.apache.org", "task-group-name task-groups")


def _yunikorn_application(pod: Subject) -> Member | None:
    """Return a pod's membership in an application whose pods start together; None without task groups.

    An application states its task groups, and so its size, only on its first pod. Source: apache/yunikorn-k8shim
    pkg/common/utils/utils.go GetApplicationIDFromPod.
    """
    name = pod.labels.get("yunikorn.apache.org/app-id") or pod.annotations.get("yunikorn.apache.org/app-id")
    name = name or pod.labels.get("applicationId") or pod.labels.get("spark-app-selector")
    if not name:
        return None
    size = _of_task_groups(pod.annotations.get("yunikorn.apache.org/task-groups") or "[]")
    return Member("YuniKorn", name, size, role=pod.annotations["yunikorn.apache.org/task-group-name"])


DOSSIER: Final = Dossier(
    name="Apache YuniKorn",
    versions={
        "apache/yunikorn-k8shim": "23b6b47f, after v1.9.0",
        "apache/yunikorn-site": "66ef06cc",
    },
    system=System(
        name="yunikorn",
        precedence=8,
        title="Apache YuniKorn",
        source="apache/yunikorn-k8shim pkg/common/{constants/constants,utils/utils}.go, pkg/cache/placeholder.go, "
        "pkg/admission/admission_controller.go; apache/yunikorn-site "
        "docs/user_guide/gang_scheduling.md",
        schedulers=frozenset({"yunikorn"}),
        # The label queue without a domain is no sign, because others use it, too; nobody else spells applicationId so.
        labels=under("yunikorn.apache.org", "app-id queue") | {"applicationId"},
        annotations=under("yunikorn.apache.org", "app-id queue task-group-name task-groups schedulingPolicyParameters"),
        reads=(
            "`spec.schedulerName`",
            "labels or annotations `yunikorn.apache.org/{app-id,queue}`",
            "labels `applicationId`, `queue`, `spark-app-selector`",
            "annotations `yunikorn.apache.org/{task-group-name,task-groups}`",
        ),
        elsewhere=("`metadata.annotations[yunikorn.apache.org/task-groups]` of the pod template, or of the first pod",),
        topology="set affinity in annotation yunikorn.apache.org/task-groups of the pod template",
        keeps="affinity, tolerations, nodeSelector and resources of the task groups, in its placeholders; of pods "
        "without a task group nothing",
        keeps_of=lambda pod: not _TASK_GROUPS.isdisjoint(annotations(pod)),
    ),
    parsed=(TASK_GROUPS,),
    groups=(
        Membership(
            name="YuniKorn application",
            source="apache/yunikorn-site docs/user_guide/gang_scheduling.md",
            read=_yunikorn_application,
            size="the annotation `yunikorn.apache.org/task-groups`, on the first pod",
            annotation="yunikorn.apache.org/task-group-name",
            role_from="annotation `yunikorn.apache.org/task-group-name`",
        ),
    ),
)
