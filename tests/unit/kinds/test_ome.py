"""OME's InferenceServices are laid over the runtimes that they name, and their groups have the runtime's nodes."""

from typing import Any

import pytest

from builders import workload
from podberth.workload.gangs import gang_of
from podberth.workload.projection import project
from podberth.workload.templates import Template, templates

JSON = dict[str, Any]
TOLERATED = [{"key": "nvidia.com/gpu", "operator": "Exists"}]
EIGHT = {"limits": {"nvidia.com/gpu": 8}}
SHARED = [{"name": "dshm", "mountPath": "/dev/shm"}]  # noqa: S108 - a path in the pod
RUNNER: JSON = {"name": "ome-container", "image": "a", "args": ["x"], "resources": EIGHT, "volumeMounts": SHARED}
# As in the runtimes of OME (config/runtimes/srt)
POD: JSON = {"tolerations": TOLERATED, "volumes": [{"name": "dshm", "emptyDir": {"medium": "Memory"}}]}
NODES: JSON = {
    "leader": {**POD, "runner": RUNNER},
    "worker": {"size": 1, **POD, "runner": RUNNER},
}


def runtime(engine: object, *, kind: str = "ClusterServingRuntime", group: str = "ome.io") -> JSON:
    return workload(f"{group}/v1beta1", kind, {"engineConfig": engine}, name="srt")


def service(engine: JSON, **more: Any) -> JSON:
    return workload("ome.io/v1beta1", "InferenceService", {"runtime": {"name": "srt"}, "engine": engine, **more})


def found(document: JSON, *known: JSON) -> list[Template]:
    made = templates(document, namespace="default", known=known)
    assert [each.problems for each in made] == [()] * len(made)
    return made


def own(image: str = "b") -> JSON:
    return {"name": "ome-container", "image": image}


def test_a_runner_is_laid_over_the_runner_of_the_runtime() -> None:
    [made] = found(service({"runner": own()}), runtime({**POD, "runner": RUNNER}))
    [main] = made.pod["spec"]["containers"]
    assert (main["image"], main["args"], main["resources"]["limits"]) == ("b", ["x"], {"nvidia.com/gpu": "8"})
    assert main["volumeMounts"] == SHARED
    assert made.pod["spec"]["tolerations"][:1] == TOLERATED


def test_a_part_without_containers_has_the_pods_of_the_runtime_which_is_judged_by_itself() -> None:
    [made] = found(service({"minReplicas": 1}), runtime({**POD, "runner": RUNNER}))
    assert (made.pod["spec"]["containers"], made.replicas) == ([], 1)
    # A leader in the runtime makes a LeaderWorkerSet, and no Deployment of the part itself
    assert found(service({"minReplicas": 1}), runtime(NODES)) == []


@pytest.mark.parametrize("engine", [{"leader": {"runner": own()}}, {"worker": {"runner": own()}}])
def test_a_group_has_the_nodes_that_the_runtime_states(engine: JSON) -> None:
    [made] = found(service({"minReplicas": 3, **engine}), runtime(NODES))
    gang = gang_of(made.pod, "default", made.owners)
    assert (gang.source, gang.size, gang.accelerated, made.replicas) == ("LeaderWorkerSet", 2, 2, 3)


def test_the_services_own_size_comes_before_that_of_the_runtime() -> None:
    [made] = found(service({"worker": {"size": 3, "runner": own()}}), runtime(NODES))
    gang = gang_of(made.pod, "default", made.owners)
    assert (gang.size, gang.accelerated, made.replicas) == (4, 4, 3)


def test_a_toleration_that_would_replace_those_of_the_runtime_is_left_out() -> None:
    [made] = found(service({"runner": own()}), runtime({**POD, "runner": RUNNER}))
    step = [{"op": "add", "path": "/spec/tolerations/-", "value": {"key": "a", "operator": "Exists"}}]
    left, _ = project(made, [step], step)
    assert left.left == "spec.tolerations: the runtime has tolerations, which the service's own would replace"


@pytest.mark.parametrize(
    "known",
    [
        runtime({**POD, "runner": RUNNER}, group="serving.kserve.io"),
        runtime({"runner": {"name": "ome-container", "env": "x"}}),
        runtime("none"),
    ],
    ids=["of KServe", "misshapen", "no object"],
)
def test_another_systems_or_an_unreadable_runtime_changes_nothing(known: JSON) -> None:
    [made] = found(service({"runner": own()}), known)
    assert made.pod["spec"]["containers"][0].get("args") is None
