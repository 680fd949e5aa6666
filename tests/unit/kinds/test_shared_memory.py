"""The volume at /dev/shm that operators mount in the pods that they make."""

from typing import Any

import pytest

from podberth.workload.templates import templates

JSON = dict[str, Any]
GPUS: JSON = {"limits": {"nvidia.com/gpu": "2", "memory": "64Gi"}}
MAIN: JSON = {"name": "main", "image": "example.com/serve:1", "resources": GPUS}


def document(api_version: str, kind: str, spec: JSON) -> JSON:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": "serve", "namespace": "team"}, "spec": spec}


def sizes(made: JSON, *known: JSON) -> list[str | None]:
    """Return the size at /dev/shm of the first container of each template, "any" without one, None without a mount."""
    return [_size(each.pod["spec"]) for each in templates(made, namespace="team", known=known)]


def _size(spec: JSON) -> str | None:
    mounts = spec["containers"][0].get("volumeMounts") or ()
    names = [each["name"] for each in mounts if each["mountPath"] == "/dev/shm"]  # noqa: S108 - a path in the pod
    assert len(names) <= 1
    found = [each for each in spec.get("volumes") or () if each["name"] in names]
    assert len(found) == len(names)
    return next((str(each["emptyDir"].get("sizeLimit", "any")) for each in found), None)


def ray(**start: str) -> JSON:
    pod = {"spec": {"containers": [MAIN]}}
    head = {"rayStartParams": start, "template": pod}
    return {
        "headGroupSpec": head,
        "workerGroupSpecs": [{"groupName": "gpus", "rayStartParams": start, "template": pod}],
    }


@pytest.mark.parametrize(
    "made",
    [
        document("ray.io/v1", "RayCluster", ray()),
        document("ray.io/v1", "RayService", {"rayClusterConfig": ray()}),
        document("ray.io/v1", "RayJob", {"rayClusterSpec": ray()}),
        document("orchestration.aibrix.ai/v1alpha1", "RayClusterFleet", {"template": {"spec": ray()}}),
    ],
    ids=lambda made: str(made["kind"]),
)
def test_kuberay_mounts_as_much_as_the_memory_in_heads_and_workers(made: JSON) -> None:
    assert sizes(made) == ["64Gi", "64Gi"]


def test_kuberay_mounts_nothing_where_the_object_store_is_elsewhere() -> None:
    assert sizes(document("ray.io/v1", "RayCluster", ray(**{"plasma-directory": "/tmp"}))) == [None, None]  # noqa: S108


def test_kuberay_leaves_a_mount_of_the_users() -> None:
    spec = ray()
    mount = {"name": "own", "mountPath": "/dev/shm"}  # noqa: S108 - a path in the pod
    volume = {"name": "own", "emptyDir": {"medium": "Memory", "sizeLimit": "8Gi"}}
    spec["headGroupSpec"]["template"] = {
        "spec": {"containers": [{**MAIN, "volumeMounts": [mount]}], "volumes": [volume]}
    }
    assert sizes(document("ray.io/v1", "RayCluster", spec)) == ["8Gi", "64Gi"]


@pytest.mark.parametrize(
    ("said", "size"),
    [
        ({}, "8Gi"),
        ({"sharedMemory": {"size": "80Gi"}}, "80Gi"),
        ({"sharedMemory": {"disabled": True}}, None),
        ({"sharedMemory": {"size": "0"}}, "8Gi"),
    ],
)
def test_dynamo_mounts_what_a_service_says(said: JSON, size: str | None) -> None:
    spec = {"services": {"Worker": {"resources": {"limits": {"gpu": "2"}}, **said}}}
    assert sizes(document("nvidia.com/v1alpha1", "DynamoGraphDeployment", spec)) == [size]


@pytest.mark.parametrize(
    ("said", "size"), [({}, "8Gi"), ({"sharedMemorySize": "16Gi"}, "16Gi"), ({"sharedMemorySize": "0"}, None)]
)
def test_dynamo_mounts_what_a_component_says(said: JSON, size: str | None) -> None:
    spec = {"components": [{"name": "worker", "podTemplate": {"spec": {"containers": [MAIN]}}, **said}]}
    assert sizes(document("nvidia.com/v1beta1", "DynamoGraphDeployment", spec)) == [size]


@pytest.mark.parametrize(("storage", "size"), [({}, "any"), ({"sharedMemorySizeLimit": "16Gi"}, "16Gi")])
def test_the_nim_operator_mounts_it_always(storage: JSON, size: str) -> None:
    assert sizes(document("apps.nvidia.com/v1alpha1", "NIMService", {"storage": storage, "resources": GPUS})) == [size]


@pytest.mark.parametrize(("said", "size"), [({}, None), ({"shmSize": "24Gi"}, "24Gi")])
def test_the_production_stack_mounts_what_a_runtime_says(said: JSON, size: str | None) -> None:
    spec = {"deploymentConfig": {"resources": {"gpu": "2"}, **said}}
    assert sizes(document("production-stack.vllm.ai/v1alpha1", "VLLMRuntime", spec)) == [size]


def test_ome_mounts_it_in_engines_and_decoders_and_only_what_a_runtime_itself_says() -> None:
    spec = {"engine": {"runner": MAIN}, "decoder": {"runner": MAIN}, "router": {"runner": MAIN}}
    assert sizes(document("ome.io/v1beta1", "InferenceService", spec)) == ["any", "any", None]
    assert sizes(document("ome.io/v1beta1", "ServingRuntime", {"engineConfig": {"runner": MAIN}})) == [None]


def test_kserve_mounts_it_in_the_main_container_of_an_llm_and_not_in_its_scheduler() -> None:
    pod = {"containers": [MAIN]}
    spec = {"template": pod, "worker": pod, "prefill": {"template": pod}, "router": {"scheduler": {"template": pod}}}
    made = document("serving.kserve.io/v1alpha1", "LLMInferenceService", spec)
    assert sizes(made) == ["1Gi", "1Gi", "1Gi", None]
    other = document(
        "serving.kserve.io/v1alpha1", "LLMInferenceService", {"template": {"containers": [{**MAIN, "name": "x"}]}}
    )
    assert sizes(other) == [None]


def test_kserve_mounts_it_in_the_parts_that_an_llm_takes_from_a_config_too() -> None:
    pod = {"containers": [MAIN]}
    spec = {"template": pod, "worker": pod, "prefill": {"worker": pod}, "router": {"scheduler": {"template": pod}}}
    assert sizes(document("serving.kserve.io/v1alpha1", "LLMInferenceServiceConfig", spec)) == [
        "1Gi",
        "1Gi",
        "1Gi",
        None,
    ]


def runtime(kind: str, *mounts: str) -> JSON:
    container = {
        "name": "kserve-container",
        "image": "example.com/vllm:1",
        "args": ["--port=8080"],
        "volumeMounts": [{"name": "shm", "mountPath": each} for each in mounts],
    }
    volumes = [{"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": "16Gi"}}]
    return document("serving.kserve.io/v1alpha1", kind, {"containers": [container], "volumes": volumes})


SERVICE = document(
    "serving.kserve.io/v1beta1",
    "InferenceService",
    {"predictor": {"model": {"runtime": "serve", "args": ["--tensor-parallel-size=2"], "resources": GPUS}}},
)


def test_a_predictor_is_laid_over_the_runtime_that_it_names() -> None:
    known = runtime("ClusterServingRuntime", "/dev/shm")  # noqa: S108 - a path in the pod
    assert sizes(SERVICE, known) == ["16Gi"]
    [found] = templates(SERVICE, namespace="team", known=[known])
    [main] = found.pod["spec"]["containers"]
    assert main["image"] == "example.com/vllm:1"
    assert main["args"] == ["--port=8080", "--tensor-parallel-size=2"]
    assert main["resources"]["limits"]["nvidia.com/gpu"] == "2"


def test_the_namespaces_runtime_comes_before_the_clusters() -> None:
    assert sizes(SERVICE, runtime("ClusterServingRuntime", "/dev/shm"), runtime("ServingRuntime")) == [None]  # noqa: S108


def test_of_a_runtime_that_is_not_known_the_volume_of_kserves_own_is_assumed() -> None:
    assert sizes(SERVICE) == ["any"]
    assert sizes(SERVICE, {**runtime("ServingRuntime"), "spec": {"containers": "none"}}) == ["any"]
    own = document("serving.kserve.io/v1beta1", "InferenceService", {"predictor": {"containers": [MAIN]}})
    assert sizes(own) == [None]
