"""Facts about AscendJobs of Huawei MindCluster. The operator is derived from Kubeflow's; Volcano places the pods."""

from typing import Any, Final

from ...kube.paths import ELEMENT
from ...kube.unchecked import text
from ..dossier import Dossier, KindNote
from ..places import Scene, TemplatePlace, WorkloadKind, item_replicas
from ..replica_specs import (
    ASCEND,
    JOB_NAME,
    REPLICA_SPECS,
    replica_finished,
    replica_owner,
    replica_rules,
    stamp_replica,
)
from ..stamping import add_annotations

_OPERATOR: Final = "Ascend/mind-cluster component/ascend-operator"


def _stamp(pod: dict[str, Any], scene: Scene) -> None:
    """Add to a pod the fields that Huawei's ascend-operator writes if gang scheduling is on, which is the default.

    Source: pkg/controllers/v1/{labels,pod}.go of the operator; main.go has the default.
    """
    stamp_replica(pod, scene)
    spec = pod["spec"]
    spec["schedulerName"] = spec.get("schedulerName") or text(scene.spec.get("schedulerName")) or "volcano"
    group = f"{scene.name}-{scene.uid}"
    add_annotations(pod, {"scheduling.k8s.io/group-name": group, "volcano.sh/task-spec": scene.key.lower()})


DOSSIER: Final = Dossier(
    name="AscendJob",
    versions={
        "Ascend/mind-cluster": "22bb3d98, after v26.1.0",
        "kubeflow/mpi-operator": "caa3c47f, after v0.8.0",
        "kubeflow/training-operator": "v1.9.4",
    },
    kinds=(
        WorkloadKind(
            api_versions=frozenset({f"{ASCEND}/v1"}),
            kind="AscendJob",
            source=f"{_OPERATOR}/pkg/api/v1/ascendjob_types.go",
            places=(
                TemplatePlace(
                    path=("spec", REPLICA_SPECS["AscendJob"], ELEMENT, "template"),
                    stamp=_stamp,
                    replicas=item_replicas,
                ),
            ),
        ),
    ),
    notes=(
        KindNote(
            key=JOB_NAME,
            kind=f"{ASCEND}/AscendJob",
            keeps="`schedulerName` and group, where its operator runs with gang scheduling, as by default",
            source=f"{_OPERATOR}/pkg/controllers/v1/pod.go setGangScheduleInfo",
            templates=f"`spec.{REPLICA_SPECS['AscendJob']}.*.template`",
        ),
    ),
    owners=(replica_owner("AscendJob", "v1", group=ASCEND),),
    finished=(replica_finished("AscendJob", ASCEND),),
    group_rules=(replica_rules("AscendJob", {"chief", "master", "scheduler"}, ASCEND),),
)
