"""Facts about Spark: applications that spark-submit or spark-operator starts."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from ...kube.paths import Path
from ...kube.unchecked import at, count, mapping_at, number, text
from ..dossier import Dossier, Finished, KindNote, OwnerKind
from ..forms import COMPONENT
from ..group_rules import GroupRules
from ..members import Member, Membership, Subject
from ..name_sets import words
from ..places import PLACEHOLDER_HASH, Scene, TemplatePlace, WorkloadKind
from ..stamping import add_labels, owned_by_workload, set_name

# kubeflow/spark-operator api/v1beta2/sparkapplication_types.go SparkPodSpec, DriverSpec, ExecutorSpec
_POD: Final = replace(
    COMPONENT,
    fields=words(
        "affinity dnsConfig hostAliases hostNetwork initContainers nodeSelector priorityClassName "
        "schedulerName shareProcessNamespace terminationGracePeriodSeconds tolerations"
    ),
    front=((),),
    front_name="spark-kubernetes",
    front_fields={name: name for name in ("env", "envFrom", "image", "lifecycle", "volumeMounts")},
    front_always=True,
)


def _stamp(pod: dict[str, Any], scene: Scene) -> None:
    """Add to a pod the fields that the operator's webhook and spark-submit write.

    Sources: kubeflow/spark-operator pkg/common/spark.go (labels), internal/webhook/sparkpod_defaulter.go (addGPU: a
    limit of the container), api/v1beta2/sparkapplication_types.go GPUSpec.
    """
    role = str(scene.path[-1])
    add_labels(
        pod,
        {
            # Spark's own label, computed from the time of the submission
            "spark-app-selector": f"spark-{PLACEHOLDER_HASH}",
            "sparkoperator.k8s.io/app-name": scene.name,
            "spark-role": role,
            "sparkoperator.k8s.io/launched-by-spark-operator": "true",
        },
    )
    owned_by_workload(pod, scene)
    set_name(pod, f"{scene.name}-{role}")
    item = mapping_at(scene.spec, role)
    spec, main = pod["spec"], pod["spec"]["containers"][0]
    main["image"] = main.get("image") or text(scene.spec.get("image"))
    name, quantity = at(item, "gpu", "name"), at(item, "gpu", "quantity")
    if isinstance(name, str) and type(quantity) is int and quantity > 0:
        main["resources"] = {"limits": {name: str(quantity)}}
    spec["restartPolicy"] = "Never"
    spec["schedulerName"] = spec.get("schedulerName") or text(scene.spec.get("batchScheduler")) or "default-scheduler"


def _gpu(scene: Scene) -> Iterator[tuple[Path, str]]:
    if at(scene.spec, str(scene.path[-1]), "gpu") is not None:
        yield (
            ("spec", "containers", 0, "resources"),
            f"asked for in {'.'.join(map(str, scene.path))}.gpu; change it there",
        )


def _instances(scene: Scene) -> int:
    return count(at(scene.spec, str(scene.path[-1]), "instances"), 1)


def _place(*path: str) -> TemplatePlace:
    return TemplatePlace(
        path=path, form=_POD, stamp=_stamp, optional=True, role=path[-1], replicas=_instances, fixed=_gpu
    )


# kubeflow/spark-operator pkg/common/spark.go LabelSparkAppName: on drivers and executors alike.
_OPERATORS: Final = "sparkoperator.k8s.io/app-name"


def _spark_application(pod: Subject) -> Member | None:
    """Return the membership of a driver's or executor's pod in a Spark application; None for other pods.

    The driver's pod owns the executors, but is seldom known. An application with dynamic allocation has no size.
    Executors have numbers from 1, which are never used again. spark-operator writes the name of the SparkApplication on
    the pods of driver and executors (internal/controller/sparkapplication/submission.go).
    """
    role = pod.labels.get("spark-role") or ""
    if role not in {"driver", "executor"}:
        return None
    app = pod.labels.get(_OPERATORS)
    spec = at(pod.owner("SparkApplication") or pod.named_owner("SparkApplication", app), "spec")
    size = 0
    if isinstance(spec, Mapping) and at(spec, "dynamicAllocation", "enabled") is not True:
        size = 1 + count(at(spec, "executor", "instances"), 1)
    number_of = number(pod.labels.get("spark-exec-id")) or 0
    staged = _EXECUTORS if _OPERATORS in pod.labels else ""
    return Member("Spark", pod.labels["spark-app-selector"], size, number_of - 1, role, staged)


_EXECUTORS: Final = "spec.executor"
"""The field that makes executors wait for the driver, even if the SparkApplication is unknown."""


def _stages(owner: Mapping[str, Any]) -> str:
    # The driver asks for its executors once it runs (apache/spark ExecutorPodsAllocator).
    return _EXECUTORS if isinstance(owner.get("spec"), Mapping) else ""


DOSSIER: Final = Dossier(
    name="Spark",
    versions={
        "kubeflow/spark-operator": "38082f33, after v2.5.2",
        "apache/spark": "48abf9f5",
    },
    kinds=(
        WorkloadKind(
            api_versions=frozenset({"sparkoperator.k8s.io/v1beta2", "sparkoperator.k8s.io/v1beta1"}),
            kind="SparkApplication",
            source="kubeflow/spark-operator api/v1beta2/sparkapplication_types.go",
            places=(_place("spec", "driver"), _place("spec", "executor")),
        ),
    ),
    memberships=(
        Membership(
            name="Spark application (spark-submit, SparkApplication)",
            source="apache/spark resource-managers/kubernetes/core Constants.scala; kubeflow/spark-operator "
            "pkg/common/spark.go; api/v1beta2/sparkapplication_types.go",
            read=_spark_application,
            size="the SparkApplication: its driver and `executor.instances`, unless it allocates dynamically",
            label="spark-app-selector",
            role_from="label `spark-role`",
        ),
    ),
    pod_keys=frozenset({"spark-exec-id", "spark-role", _OPERATORS}),
    notes=(
        KindNote(
            key="spark-app-selector",
            kind="sparkoperator.k8s.io/SparkApplication",
            keeps="the driver's spec where it has no GPU; affinity, node selector, tolerations, GPUs and scheduler "
            "of the SparkApplication, which its operator's webhook writes on the pods",
            source="kubeflow/spark-operator internal/webhook/sparkpod_defaulter.go, internal/scheduler",
        ),
        KindNote(
            key="spark-app-selector",
            kind="",
            title="spark-submit",
            keeps="the driver's spec where it has no GPU",
            source="apache/spark resource-managers/kubernetes/core BasicDriverFeatureStep.scala",
            size="unknown: no object says it",
        ),
    ),
    owners=(
        OwnerKind(
            # The SparkApplication owns the driver, and the driver's Pod owns the executors. All have the application's
            # name in a label, so the driver's Pod need not be known.
            source="kubeflow/spark-operator internal/controller/sparkapplication/submission.go "
            "(buildDriverPodTemplate, executorConfOption)",
            group="sparkoperator.k8s.io",
            versions=("v1beta2",),
            stages=_stages,
            kind="SparkApplication",
            spec={"dynamicAllocation": {"enabled": None}, "executor": {"instances": None}},
            by_name=True,
        ),
    ),
    finished=(
        # An application whose submission failed (SUBMISSION_FAILED), or that will run again, is not finished.
        Finished(
            source="kubeflow/spark-operator api/v1beta2/sparkapplication_types.go ApplicationStateType",
            group="sparkoperator.k8s.io",
            kind="SparkApplication",
            field=("applicationState", "state"),
            words=frozenset({"COMPLETED", "FAILED"}),
        ),
    ),
    group_rules=(GroupRules(kind=("sparkoperator.k8s.io", "SparkApplication"), fronts=frozenset({"driver"})),),
)
