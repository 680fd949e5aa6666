"""Facts about KAI Scheduler, whose pod-grouper makes a PodGroup for each workload from its kind and annotations.

The grouper reads the top owner of the pods, and takes the queue from the pod if the top owner names no queue. A pod
without an owner is a workload by itself (default_grouper.go GetPodGroupMetadata). The scheduler puts no pod with whole
GPUs on a node that has MIG slices and whose label ``nvidia.com/mig.strategy`` is ``mixed``
(pkg/scheduler/api/node_info/node_info.go IsMIGEnabled, PredicateByNodeResourcesType).
"""

import re
from collections.abc import Mapping
from typing import Any, Final

from ...kube.pod import annotations, controller, spec
from ...kube.unchecked import mapping_at, number, text_at
from ...wellknown import GANG_LABEL
from ..dossier import Dossier
from ..group_rules import StatedMinimum
from ..members import Member, Membership, Subject, completion_index
from ..name_sets import under
from ..queues import KAI_QUEUE, FullQueue, Queue, QueueForm
from ..systems import Dialect, PodGroupKind, System

_ANOTHER: Final = "wait, ask for less, or name another queue: kubectl get queues.scheduling.run.ai"
# KAI checks a workload's queue, and the queues above it, before it looks at nodes; all pods of the workload get the
# message. The name may be the queue's displayName, which may have spaces. The texts are the same from v0.5 on.
_FULL: Final = (
    FullQueue(
        source="kai-scheduler/KAI-Scheduler pkg/scheduler/api/unschedule_info.go GetBuildOverCapacityMessageForQueue",
        message=re.compile(
            r"Non-preemptible workload is over quota\. (?P<said>Workload requested .*?, but (?P<queue>.+?) quota is "
            r".*? for non-preemptible pods)"
        ),
        title="its quota has no room for this non-preemptible workload",
        # pkg/common/podgroup/preemptible.go
        do=("make the workload preemptible, as a PriorityClass with a value below 100 does", _ANOTHER),
    ),
    FullQueue(
        source="kai-scheduler/KAI-Scheduler pkg/scheduler/api/unschedule_info.go GetJobOverMaxAllowedMessageForQueue",
        message=re.compile(
            r"(?:^|: |\. )(?P<queue>(?:(?!: |\. ).)+?) quota has reached the allowable limit of .+?\. "
            r"(?P<said>Limit is .*? and workload requested [^.]*(?:\.\d[^.]*)?)"
        ),
        title="its limit has no room for this workload",
        do=(_ANOTHER, "or have the limit raised: spec.resources of the Queue"),
    ),
)


def _kai_group(pod: Subject) -> Member | None:
    """Return a pod's membership in a group of KAI's pod-grouper; None if the pod has another scheduler than KAI.

    The pod-grouper reads the annotation ``kai.scheduler/batch-min-member`` from the top owner, a Job or a JobSet
    (kai-scheduler/KAI-Scheduler pkg/podgrouper/podgrouper/plugins/{job,jobset}).
    """
    if pod.spec.get("schedulerName") != "kai-scheduler":
        return None
    name = pod.annotations["pod-group-name"]
    return Member("PodGroup", name, pod.group_size(name, _API_GROUP), completion_index(pod))


def _named(pod: Mapping[str, Any]) -> object:
    # The annotation's key has no domain, so other systems may use it: it counts under KAI's own scheduler only.
    return annotations(pod).get("pod-group-name") if spec(pod).get("schedulerName") == "kai-scheduler" else None


def _starts_alone(pod: Subject) -> bool:
    """Return whether the group that KAI's pod-grouper makes for the pod certainly has a minimum of one pod.

    The minimum is one for a bare pod that is not Spark's, and for a Job of a CronJob, whatever the annotations. It is
    one for a known Job without an owner, unless the Job's annotation ``batch-min-member`` states a higher number. The
    group of an operator's job has all pods of the job. Source: pkg/podgrouper/podgrouper/hub/hub.go,
    plugins/{job/job_grouper,cronjobs/crobjob-grouper,podjob/podjob}.go.
    """
    if pod.spec.get("schedulerName") != "kai-scheduler" or "pod-group-name" in pod.annotations:
        return False
    if pod.controller is None:
        return GANG_LABEL in pod.labels and "spark-app-selector" not in pod.labels
    job = next(pod.lineage(), None)
    if job is None or pod.controller.kind != "Job":
        return False
    above = controller(job)
    # The owner of a pod from a CronJob's template is the CronJob itself, because no Job exists yet.
    if job.get("kind") == "CronJob" or (above is not None and (above.group, above.kind) == ("batch", "CronJob")):
        return True
    if job.get("kind") != "Job" or above is not None:
        return False
    return (number(text_at(job, "metadata", "annotations", _LEAST)) or 1) == 1


def _topology_needs(pod: Subject) -> str:
    """Return the advice to opt out of KAI's pod-grouper; the pod then keeps the group that the pod's author names.

    Empty if the pod keeps the group anyway: the pod has no owner, or the pod or one of its owners opts out. The
    pod-grouper puts any other pod into the group of its workload (pkg/podgrouper/pod_controller.go
    isOrphanPodWithPodGroup, shouldSkipAnyOwner).
    """
    said = (pod.annotations, *(mapping_at(each, "metadata", "annotations") for each in pod.lineage()))
    if pod.controller is None or any(_SKIP in each for each in said):
        return ""
    return f" (an owner of the pods needs annotation {_SKIP})"


_DOMAIN: Final = "kai.scheduler"
_SKIP: Final = f"{_DOMAIN}/skip-podgrouper"
_API_GROUP: Final = "scheduling.run.ai"
_LEAST: Final = f"{_DOMAIN}/batch-min-member"
_TOPOLOGY: Final = under(_DOMAIN, "topology topology-required-placement topology-preferred-placement")

DOSSIER: Final = Dossier(
    name="KAI Scheduler",
    versions={"kai-scheduler/KAI-Scheduler": "d5bc503a, after v0.17.0"},
    system=System(
        name="kai",
        precedence=4,
        title="KAI Scheduler",
        source="kai-scheduler/KAI-Scheduler pkg/common/constants/constants.go, pkg/podgrouper/podgrouper/plugins/"
        "{constants/constants,defaultgrouper/default_grouper,kubeflow/pytorch/pytorch_grouper,leaderworkerset/lws_grouper}.go",
        schedulers=frozenset({"kai-scheduler"}),
        labels=under(_DOMAIN, "queue subgroup-name node-pool preemptibility"),
        annotations=under(
            _DOMAIN,
            "skip-podgrouper topology topology-required-placement topology-preferred-placement segment-size "
            "segment-topology-required-placement segment-topology-preferred-placement batch-min-member "
            "preemption-delay staleness-grace-period",
        ),
        reads=(
            "`spec.schedulerName`",
            "labels `kai.scheduler/{queue,subgroup-name,node-pool}`",
            "annotation `pod-group-name` with `kai.scheduler/skip-podgrouper`",
            (
                "of bare pods annotations "
                "`kai.scheduler/{topology,topology-required-placement,topology-preferred-placement}`"
            ),
            "annotation `kai.scheduler/segment-size` of a PyTorchJob's pods, of a LeaderWorkerSet and its workers",
        ),
        writes="nothing of gangs; where it starts pods one by one, as `plain`",
        elsewhere=(
            "`metadata.labels[kai.scheduler/queue]` of the workload",
            "`metadata.annotations[kai.scheduler/topology]` of the workload, with `topology-preferred-placement`",
            "`metadata.annotations[kai.scheduler/batch-min-member]` of the Job or JobSet",
            "`spec.minMember`, `spec.topologyConstraint` of the PodGroup",
        ),
        asked=_TOPOLOGY,
        asked_above=tuple(("metadata", "annotations", key) for key in sorted(_TOPOLOGY)),
        topology="set annotations kai.scheduler/topology and kai.scheduler/topology-preferred-placement of the "
        "workload",
        starts_alone=_starts_alone,
        topology_needs=_topology_needs,
        run="d5bc503a: scheduler, binder and pod-grouper, on Kubernetes 1.36.3",
    ),
    own_topology={("kai", "PodGroup"): "set spec.topologyConstraint of the PodGroup"},
    groups=(
        Membership(
            name="KAI PodGroup",
            source="kai-scheduler/KAI-Scheduler pkg/common/constants/constants.go PodGroupAnnotationForPod",
            read=_kai_group,
            size="its PodGroup",
            annotation="pod-group-name",
            api_groups=(_API_GROUP,),
        ),
    ),
    pod_groups=PodGroupKind(
        name="kai",
        source="kai-scheduler/KAI-Scheduler pkg/common/constants/constants.go PodGroupAnnotationForPod, "
        "pkg/apis/scheduling/v2alpha2/podgroup_types.go",
        api_groups=(_API_GROUP,),
        versions=("v2alpha2",),
        named_by="annotation pod-group-name",
        read=_named,
        required_level=lambda spec: text_at(spec, "topologyConstraint", "requiredTopologyLevel"),
        asked="topologyConstraint",
        parts="subGroups",
    ),
    stated_minimums=(
        StatedMinimum(
            key=_LEAST,
            # The groupers of all other kinds with gangs take all pods, or read no annotation.
            source="kai-scheduler/KAI-Scheduler pkg/podgrouper/podgrouper/plugins/{constants,job/job_grouper.go}",
            needed_under="kai-scheduler",
            needed_at={("batch", "Job"): ("metadata", "annotations")},
        ),
    ),
    queues=(
        QueueForm(
            source="kai-scheduler/KAI-Scheduler pkg/apis/scheduling/v2/queue_types.go",
            kind=KAI_QUEUE,
            label="kai.scheduler/queue",
            only_leaves=True,  # docs/queues
            title="KAI Queue",
            versions=("v2",),
            read=lambda document: Queue(text_at(document, "spec", "parentQueue")),
            full=_FULL,
        ),
    ),
    dialects=(
        Dialect(
            name="kai",
            source="kai-scheduler/KAI-Scheduler pkg/common/constants/constants.go, docs/gpu-sharing",
            annotations=frozenset({"gpu-fraction", "gpu-fraction-num-devices", "gpu-fraction-container-name"}),
        ),
        Dialect(
            name="kai",
            source="kai-scheduler/KAI-Scheduler pkg/common/constants/constants.go: the key says too little to count "
            "alone",
            annotations=frozenset({"gpu-memory"}),
            only_under="kai-scheduler",
        ),
    ),
    podless_groups=frozenset({"kai.scheduler", _API_GROUP}),
)
