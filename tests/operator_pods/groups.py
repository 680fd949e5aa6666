"""Pods on which a group stands by name, and what is read of them (``workload.memberships``)."""

from builders import pod
from podberth.workload.gangs import Gang

from .case import JSON

KOORDINATORS = {"name": "g", "min-available": "3"}

GROUPED: tuple[tuple[JSON, Gang], ...] = (
    (
        pod(labels={"kueue.x-k8s.io/pod-group-name": "g"}, annotations={"kueue.x-k8s.io/pod-group-total-count": "4"}),
        Gang(known=True, name="g", size=4, source="Kueue", system="kueue", accounted=True),
    ),
    (
        pod(
            labels={"kueue.x-k8s.io/pod-group-name": "g", "apps.kubernetes.io/pod-index": "3"},
            annotations={"kueue.x-k8s.io/pod-group-pod-index-label": "apps.kubernetes.io/pod-index"},
        ),
        Gang(known=True, name="g", index=3, source="Kueue", system="kueue", accounted=True),
    ),
    (
        pod(annotations={"kueue.x-k8s.io/pod-group-name": "a"}, labels={"kueue.x-k8s.io/pod-group-name": "g"}),
        Gang(known=True, name="a", source="Kueue", system="kueue", accounted=True),
    ),
    (
        pod(annotations={"kueue.x-k8s.io/pod-group-name": "a"}),
        Gang(known=True, name="a", source="Kueue", system="kueue", accounted=True),
    ),
    (
        pod(labels={"pod-group.scheduling.sigs.k8s.io": "g"}),
        Gang(known=True, name="g", source="PodGroup", system="koordinator"),
    ),
    (
        pod(schedulingGroup={"podGroupName": "g"}),
        Gang(known=True, name="g", source="PodGroup", system="native"),
    ),
    (
        pod(workloadRef={"name": "w", "podGroup": "g"}),
        Gang(known=True, name="w-g", source="Workload", system="native"),
    ),
    (
        pod(annotations={"scheduling.k8s.io/group-name": "g"}),
        Gang(known=True, name="g", source="PodGroup", system="volcano", accounted=True),
    ),
    (
        pod(annotations={"scheduling.volcano.sh/group-name": "g"}),
        Gang(known=True, name="g", source="PodGroup", system="volcano", accounted=True),
    ),
    (
        pod(annotations={"pod-group-name": "g"}, schedulerName="kai-scheduler"),
        Gang(known=True, name="g", source="PodGroup", system="kai"),
    ),
    (
        pod(labels={"scheduling.x-k8s.io/pod-group": "g"}),
        Gang(known=True, name="g", source="PodGroup", system="coscheduling"),
    ),
    (
        pod(
            annotations={
                "gang.scheduling.koordinator.sh/name": "g",
                "gang.scheduling.koordinator.sh/min-available": "3",
            }
        ),
        Gang(known=True, name="g", size=3, source="PodGroup", system="koordinator"),
    ),
    (
        pod(labels={f"pod-group.scheduling.sigs.k8s.io/{key}": said for key, said in KOORDINATORS.items()}),
        Gang(known=True, name="g", size=3, source="PodGroup", system="koordinator"),
    ),
    (
        pod(
            labels={"applicationId": "a"},
            annotations={
                "yunikorn.apache.org/task-group-name": "head",
                "yunikorn.apache.org/task-groups": '[{"minMember": 1}, {"name": "w", "minMember": 4}]',
            },
        ),
        Gang(known=True, name="a", size=5, role="head", source="YuniKorn", system="yunikorn", accounted=True),
    ),
)
