"""Workloads of as many roles as fit in an object, for ``bench.hostile`` and tests that count what is done."""

from collections.abc import Mapping, Sequence
from typing import Any

_Json = dict[str, Any]


def workloads(roles: int, *, alike: bool = True) -> Mapping[str, _Json]:
    """Return a workload of each shape with so many roles of one pod, which ask for the same or for different things.

    One table of shapes, and so longer than a function should be.
    """
    templates = [_template(number, alike=alike) for number in range(roles)]
    return {
        "JobSet": job_set(templates),
        "RayCluster": _workload(
            "ray.io/v1",
            "RayCluster",
            {
                "headGroupSpec": {"template": templates[0]},
                "workerGroupSpecs": [
                    {"groupName": f"g{number}", "replicas": 1, "template": each}
                    for number, each in enumerate(templates[1:])
                ],
            },
        ),
        "Volcano Job": _workload(
            "batch.volcano.sh/v1alpha1",
            "Job",
            {
                "tasks": [
                    {"name": f"t{number}", "replicas": 1, "template": each} for number, each in enumerate(templates)
                ]
            },
        ),
        "PodCliqueSet": _workload(
            "grove.io/v1alpha1",
            "PodCliqueSet",
            {
                "template": {
                    "cliques": [
                        {"name": f"c{number}", "spec": {"replicas": 1, "podSpec": each["spec"]}}
                        for number, each in enumerate(templates)
                    ]
                }
            },
        ),
        "RoleBasedGroup": _workload(
            "workloads.x-k8s.io/v1alpha1",
            "RoleBasedGroup",
            {
                "roles": [
                    {"name": f"r{number}", "replicas": 1, "template": each} for number, each in enumerate(templates)
                ]
            },
        ),
        "MPIJob": _workload(
            "kubeflow.org/v2beta1",
            "MPIJob",
            {
                "mpiReplicaSpecs": {
                    f"R{number}": {"replicas": 1, "template": each} for number, each in enumerate(templates)
                }
            },
        ),
        "TrainingRuntime": _workload(
            "trainer.kubeflow.org/v1alpha1",
            "TrainingRuntime",
            {
                "template": {
                    "spec": {
                        "replicatedJobs": [
                            {"name": f"a{number}", "template": _job(each)} for number, each in enumerate(templates)
                        ]
                    }
                }
            },
        ),
        "AppWrapper": _workload(
            "workload.codeflare.dev/v1beta2",
            "AppWrapper",
            {"components": [{"template": _workload("batch/v1", "Job", _job(each)["spec"])} for each in templates]},
        ),
    }


def job_set(templates: Sequence[_Json]) -> _Json:
    """Return a JobSet with one replicated job of each template."""
    jobs = [{"name": f"a{number}", "template": _job(each)} for number, each in enumerate(templates)]
    return _workload("jobset.x-k8s.io/v1alpha2", "JobSet", {"replicatedJobs": jobs})


def _workload(api_version: str, kind: str, spec: _Json) -> _Json:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": "many", "namespace": "default"}, "spec": spec}


def _job(template: _Json) -> _Json:
    return {"spec": {"parallelism": 1, "completions": 1, "completionMode": "Indexed", "template": template}}


def _template(number: int, *, alike: bool) -> _Json:
    limits = {"nvidia.com/gpu": 8} if alike else {"nvidia.com/gpu": 8, "example.com/other": number + 1}
    container = {"name": "c", "image": "i", "resources": {"limits": limits}}
    return {"spec": {"restartPolicy": "Never", "containers": [container]}}
