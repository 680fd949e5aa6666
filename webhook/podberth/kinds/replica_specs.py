"""Jobs with replica specs: those of Training Operator, mpi-operator and Ascend, which have common fields and labels."""

from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

from ..kube.paths import ELEMENT, Path
from ..kube.unchecked import at, count, mapping_at, text, text_at
from .dossier import TEMPLATE_ASKS, Finished, OwnerKind
from .group_rules import GroupRules, above
from .places import Found, Scene
from .stamping import add_labels, owned_by_workload, set_name
from .starts import Start, StartingGang, all_of, none_of

REPLICA_SPECS: Final[Mapping[str, str]] = {
    "PyTorchJob": "pytorchReplicaSpecs",
    "TFJob": "tfReplicaSpecs",
    "XGBoostJob": "xgbReplicaSpecs",
    "PaddleJob": "paddleReplicaSpecs",
    "JAXJob": "jaxReplicaSpecs",
    "MPIJob": "mpiReplicaSpecs",
    "AscendJob": "replicaSpecs",
}
"""A mapping from the kind of a job to the field of the spec that has the job's roles. All these kinds have a
``runPolicy``, too.
"""
_MINIMUM: Final = ("spec", "runPolicy", "schedulingPolicy", "minAvailable")
"""The path of the minimum in jobs with a run policy.

Source: kubeflow/training-operator pkg/apis/kubeflow.org/v1/common_types.go, kubeflow/mpi-operator v2beta1/types.go.
"""
ASCEND: Final = "mindxdl.gitee.com"
REPLICA_GROUPS: Final = frozenset({"kubeflow.org", ASCEND})
"""The API groups of the kinds with replica specs."""
TRAINING: Final = "training.kubeflow.org"
JOB_NAME: Final = f"{TRAINING}/job-name"
EXIT_CODE: Final = "ExitCode"
"""The restart policy by which the operator itself restarts the pods of a role, depending on how they ended."""
LAUNCHER_LAST: Final = "WaitForWorkersReady"
"""The launcherCreationPolicy that delays the launcher until the workers run.

Source: kubeflow/mpi-operator pkg/apis/kubeflow/v2beta1/types.go LauncherCreationPolicyWaitForWorkersReady.
"""
LEFT_ALONE: Final = "`schedulerName` and group, where the operator runs with a gang scheduler"
LEFT_ALONE_SOURCE: Final = "kubeflow/training-operator pkg/controller.v1/control/podgroup_control.go"


def set_restart_policy(pod: dict[str, Any], scene: Scene) -> None:
    """Write the restart policy of a pod's role on the pod; nothing if the role has no restart policy.

    For ExitCode the pod's policy is Never, because the operator itself restarts the pods.
    """
    policy = text(scene.item.get("restartPolicy"))
    if policy:
        pod["spec"]["restartPolicy"] = "Never" if policy == EXIT_CODE else policy


def stamp_replica(pod: dict[str, Any], scene: Scene) -> None:
    """Add to a pod the fields that createNewPod writes (kubeflow/training-operator pkg/controller.v1/common/pod.go)."""
    kind = text(scene.document.get("kind"))
    role = (scene.key or _role_type(scene.item)).lower()
    labels = {
        "operator-name": f"{kind.lower()}-controller",
        "job-name": scene.name,
        "replica-type": role,
        "replica-index": "0",
    }
    if role in {"master", "chief", "launcher"}:
        labels["job-role"] = "launcher" if role == "launcher" else "master"
    add_labels(pod, {f"{TRAINING}/{key}": value for key, value in labels.items()})
    owned_by_workload(pod, scene)
    set_name(pod, f"{scene.name}-{role}-0")
    set_restart_policy(pod, scene)


def replica_owner(kind: str, *versions: str, group: str = "kubeflow.org") -> OwnerKind:
    """Return the facts about a Kubeflow job kind, such as PyTorchJob, as an owner of pods.

    The facts include the fields of a job that podberth keeps.
    """
    return OwnerKind(
        source="kubeflow/training-operator pkg/apis/kubeflow.org/v1, kubeflow/mpi-operator pkg/apis/kubeflow/v2beta1",
        group=group,
        versions=versions,
        kind=kind,
        spec={
            REPLICA_SPECS[kind]: {ELEMENT: {"replicas": None, "template": TEMPLATE_ASKS}},
            "launcherCreationPolicy": None,
            "elasticPolicy": {},
            "enableDynamicWorker": None,
        },
    )


def replica_finished(kind: str, group: str = "kubeflow.org") -> Finished:
    """Return the conditions that show that a Kubeflow job is finished."""
    return Finished(
        source="kubeflow/training-operator pkg/apis/kubeflow.org/v1/common_types.go JobConditionType",
        group=group,
        kind=kind,
        words=frozenset({"Failed", "Succeeded"}),
    )


def _launcher_waits(document: Found, _role: object) -> str:
    return "launcherCreationPolicy" if at(document, "spec", "launcherCreationPolicy") == LAUNCHER_LAST else ""


def _role_type(part: object) -> str:
    """Return the role that an item in a list of replica specs names (v1alpha1 TFJob, PyTorchJob)."""
    return text_at(part, "tfReplicaType") or text_at(part, "replicaType")


def specs_of(job: object) -> Mapping[str, object]:
    """Return a mapping from role to replica spec of a Kubeflow job; empty if the job has no replica specs.

    In v1alpha1 the replica specs are a list. The key of an item is then the item's role with its index, such as
    ``WORKER1``.
    """
    spec = mapping_at(job, "spec")
    found: object = next((spec[key] for key in spec if str(key).lower().endswith("replicaspecs")), {})
    if isinstance(found, list):
        return {f"{_role_type(each)}{place}": each for place, each in enumerate(found)}
    return mapping_at(found)


def default_replicas(kind: object, role: str) -> int:
    """Return the number of pods of a role that states no ``replicas``: 1, but 0 for the workers of an MPIJob.

    Source: kubeflow/training-operator pkg/apis/kubeflow.org/v1/{defaulting_utils,mpi_defaults}.go,
    kubeflow/mpi-operator pkg/apis/kubeflow/v2beta1/default.go.
    """
    return 0 if kind == "MPIJob" and role == "Worker" else 1


def replicas_of(scene: Scene) -> int:
    """Return the number of pods of a role of a Kubeflow job."""
    return count(scene.item.get("replicas"), default_replicas(scene.document.get("kind"), scene.key))


def is_elastic(job: object) -> bool:
    """Return whether the number of a Kubeflow job's workers may change, so that the job starts with any number of them.

    Source: kubeflow/training-operator pkg/apis/kubeflow.org/v1 ElasticPolicy, TFJobSpec.EnableDynamicWorker.
    """
    return at(job, "spec", "elasticPolicy") is not None or at(job, "spec", "enableDynamicWorker") is True


def _minimums(job: Found) -> Iterator[tuple[Path, str]]:
    """Yield (path, message) for each minimum in a Kubeflow job that the job cannot reach.

    A job cannot reach ``minReplicas`` above ``maxReplicas``, or ``minAvailable`` above the number of its pods. Source:
    kubeflow/training-operator pkg/apis/kubeflow.org/v1 SchedulingPolicy, ElasticPolicy.
    """
    kind, specs = job.get("kind"), specs_of(job)
    roles = {str(role): count(at(each, "replicas"), default_replicas(kind, role)) for role, each in specs.items()}
    elastic = mapping_at(job, "spec", "elasticPolicy")
    low, high = count(elastic.get("minReplicas")), count(elastic.get("maxReplicas"))
    if high and low > high:
        yield ("spec", "elasticPolicy", "minReplicas"), above(low, high, "maxReplicas")
    if high and "Worker" in roles:
        roles["Worker"] = max(high, roles["Worker"])
    least, total = count(at(job, *_MINIMUM)), sum(roles.values())
    if roles and least > total:
        yield _MINIMUM, above(least, total, "the pods of its roles")


def _starts(gang: StartingGang) -> Start[Any]:
    """Return how many pods of a Kubeflow job start together: the stated minimum, or else all pods.

    In an elastic job, or a TFJob with dynamic workers, no pods have to start together.
    """
    if is_elastic(gang.document):
        return none_of(gang.pods)
    start = all_of(gang.pods)
    return start.at_least(count(at(gang.document, *_MINIMUM)) or start.least)


def replica_rules(kind: str, fronts: Collection[str], group: str = "kubeflow.org") -> GroupRules:
    """Return the rules for the gangs of a Kubeflow job kind, such as PyTorchJob.

    ``fronts`` are the roles besides the workers, in lower case, that are members of the gang. ``group`` is the kind's
    API group.
    """
    return GroupRules(
        kind=(group, kind),
        minimums=_minimums,
        starts=_starts,
        fronts=frozenset(fronts),
        queue=("spec", "runPolicy", "schedulingPolicy", "queue"),
        queue_scheduler="volcano",
        minimum=_MINIMUM,
        # An elastic job may start with fewer pods, so a minimum without the fronts is valid.
        workers_alone=lambda document: at(document, "spec", "elasticPolicy") is not None,
        front_waits=_launcher_waits,
    )
