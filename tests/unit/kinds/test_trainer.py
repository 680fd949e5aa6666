"""TrainJobs of Kubeflow Trainer: which pods a runtime makes of them, with MPI and with patches of the runtime."""

from typing import Any

import pytest

from podberth.kube.documents import load_documents
from podberth.workload.gangs import gang_of
from podberth.workload.projection import project
from podberth.workload.templates import Template, templates

JSON = dict[str, Any]

# As kubeflow/trainer manifests/base/runtimes/deepspeed_distributed.yaml, without what runs in the containers.
MPI = """
apiVersion: trainer.kubeflow.org/v1alpha1
kind: ClusterTrainingRuntime
metadata: {name: deepspeed-distributed, labels: {trainer.kubeflow.org/framework: deepspeed}}
spec:
  mlPolicy:
    numNodes: 1
    mpi: {numProcPerNode: 1, mpiImplementation: OpenMPI, sshAuthMountPath: /home/mpiuser/.ssh, runLauncherAsNode: true}
  template:
    spec:
      network: {publishNotReadyAddresses: true}
      successPolicy: {operator: All, targetReplicatedJobs: [launcher]}
      replicatedJobs:
      - name: node
        template:
          spec:
            template:
              spec:
                containers:
                - {name: node, image: "example.com/deepspeed:1", command: [/usr/sbin/sshd], env: [{name: A, value: a}]}
      - name: launcher
        dependsOn: [{name: node, status: Ready}]
        template:
          metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
          spec:
            template:
              spec: {containers: [{name: node, image: "example.com/deepspeed:1"}]}
"""
# As manifests/base/runtimes/torch_distributed.yaml.
TORCH = """
apiVersion: trainer.kubeflow.org/v1alpha1
kind: ClusterTrainingRuntime
metadata: {name: torch-distributed}
spec:
  mlPolicy: {numNodes: 1, torch: {numProcPerNode: auto}}
  template:
    spec:
      replicatedJobs:
      - name: node
        template:
          metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
          spec:
            template:
              spec:
                nodeSelector: {pool: gpu}
                tolerations: [{key: old, operator: Exists}]
                containers: [{name: node, image: "example.com/torch:1", env: [{name: A, value: a}]}]
"""
GPUS = {"limits": {"nvidia.com/gpu": "8"}}


def read(text: str) -> JSON:
    [found] = load_documents(text, "runtime.yaml")[0]
    return dict(found.document)


def train_job(runtime: JSON, trainer: JSON, *patches: Any) -> JSON:
    spec: JSON = {"runtimeRef": {"name": runtime["metadata"]["name"]}, "trainer": trainer}
    if patches:
        spec["runtimePatches"] = list(patches)
    metadata: JSON = {"name": "tune", "namespace": "team"}
    return {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob", "metadata": metadata, "spec": spec}


def found(runtime: JSON, trainer: JSON, *patches: Any) -> list[Template]:
    return templates(train_job(runtime, trainer, *patches), namespace="team", known=[runtime])


def main_of(template: Template) -> JSON:
    return dict(template.pod["spec"]["containers"][0])


def test_with_mpi_the_launcher_is_one_of_the_nodes() -> None:
    """EnforceMLPolicy (kubeflow/trainer pkg/runtime/framework/plugins/mpi/mpi.go): 4 nodes, of which one launches."""
    made = found(read(MPI), {"numNodes": 4, "image": "example.com/mine:1", "resourcesPerNode": GPUS})
    assert [(each.role, each.replicas) for each in made] == [("trainer", 1), ("node", 3)]
    gangs = [gang_of(each.pod, "team", each.owners) for each in made]
    assert [(each.role, each.size) for each in gangs] == [("launcher", 4), ("node", 4)]
    launcher, node = map(main_of, made)
    assert launcher["resources"]["limits"] == node["resources"]["limits"] == GPUS["limits"]
    # The TrainJob says what the launcher runs; the nodes wait for it as the runtime has it.
    assert (launcher["image"], node["image"]) == ("example.com/mine:1", "example.com/deepspeed:1")
    assert node["command"] == ["/usr/sbin/sshd"]
    step = "trainer.kubeflow.org/trainjob-ancestor-step"
    assert [step in each.pod["metadata"]["labels"] for each in made] == [True, False]


def test_the_trainers_variables_are_the_nodes_too() -> None:
    made = found(read(MPI), {"numNodes": 2, "env": [{"name": "B", "value": "b"}]})
    assert [each["name"] for each in main_of(made[1])["env"] if "value" in each] == ["A", "B"]


def test_a_launcher_that_is_no_node_comes_beside_them() -> None:
    runtime = read(MPI)
    del runtime["spec"]["mlPolicy"]["mpi"]["runLauncherAsNode"]
    made = found(runtime, {"numNodes": 4, "resourcesPerNode": GPUS})
    assert [(each.role, each.replicas) for each in made] == [("trainer", 1), ("node", 4)]
    assert gang_of(made[0].pod, "team", made[0].owners).size == 5
    # What it asks for, the TrainJob asks for its trainer (newRuntimeInfo): the nodes are the runtime's own.
    assert "resources" not in main_of(made[1])["resources"]
    assert "limits" not in main_of(made[1])["resources"]


@pytest.mark.parametrize(("nodes", "launchers", "beside"), [(None, 1, 1), (1, 1, 1), (2, 1, 1), (3, 1, 2)])
def test_one_node_at_the_least_is_beside_the_launcher(nodes: int | None, launchers: int, beside: int) -> None:
    made = found(read(MPI), {} if nodes is None else {"numNodes": nodes})
    assert [each.replicas for each in made] == [launchers, beside]


def test_the_runtimes_own_number_is_the_trainers() -> None:
    runtime = read(MPI)
    runtime["spec"]["mlPolicy"]["numNodes"] = 3
    assert [each.replicas for each in found(runtime, {})] == [3, 1]


def test_without_mpi_a_train_job_is_as_many_nodes_as_it_says() -> None:
    [made] = found(read(TORCH), {"numNodes": 4})
    assert (made.role, made.replicas, gang_of(made.pod, "team", made.owners).size) == ("trainer", 4, 4)


def patch(spec: JSON, job: str = "node", **template: Any) -> JSON:
    """As Kueue writes it (kubernetes-sigs/kueue pkg/controller/jobs/trainjob/trainjob_controller.go)."""
    inner = {"template": {"spec": {"template": {"spec": spec, **template}}}}
    return {
        "manager": "kueue.x-k8s.io/manager",
        "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": [{"name": job, **inner}]}}},
    }


def test_a_train_jobs_patches_are_laid_over_its_runtime() -> None:
    """As mergeRuntimePatches (pkg/runtime/core/trainingruntime.go), strategically."""
    affinity: JSON = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": []}}}
    env = [{"name": "A", "value": "z"}, {"name": "B", "value": "b"}]
    spec = {
        "affinity": affinity,
        "nodeSelector": {"zone": "a"},
        "tolerations": [{"key": "gpu", "operator": "Exists"}],
        "schedulingGates": [{"name": "kueue.x-k8s.io/topology"}],
        "containers": [{"name": "node", "env": env}],
    }
    labels = {"labels": {"kueue.x-k8s.io/podset": "node"}}
    [made] = found(read(TORCH), {"numNodes": 2}, patch(spec, metadata=labels), patch({"nodeSelector": {"pool": "b"}}))
    pod = made.pod["spec"]
    assert pod["affinity"] == affinity
    assert pod["nodeSelector"] == {"pool": "b", "zone": "a"}
    assert [each["key"] for each in pod["tolerations"] if "/" not in each["key"]] == ["gpu"]
    assert pod["schedulingGates"] == [{"name": "kueue.x-k8s.io/topology"}]
    assert [each for each in main_of(made)["env"] if "value" in each] == env
    assert main_of(made)["image"] == "example.com/torch:1"
    assert gang_of(made.pod, "team", made.owners).system == "kueue"


def test_null_takes_away_what_the_runtime_says() -> None:
    [made] = found(read(TORCH), {}, patch({"nodeSelector": {"pool": None}}))
    assert not made.pod["spec"].get("nodeSelector")


def test_what_the_schema_prunes_and_other_jobs_are_nothing() -> None:
    said = [
        patch({"schedulerName": "kai-scheduler", "hostNetwork": True}),
        patch({"nodeSelector": {"a": "b"}}, "other"),
    ]
    [made] = found(read(TORCH), {}, *said)
    assert made.pod["spec"]["schedulerName"] == "default-scheduler"
    assert made.pod["spec"]["nodeSelector"] == {"pool": "gpu"}
    assert "hostNetwork" not in made.pod["spec"]


@pytest.mark.parametrize("rubbish", [None, 3, "x", [], {}, [None], {"name": "node", "template": 3}])
def test_patches_of_any_shape_are_accepted(rubbish: Any) -> None:
    whole = {"trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": [rubbish]}}}}
    for said in (rubbish, whole, patch(rubbish), patch({"containers": rubbish}), patch({"containers": [rubbish]})):
        assert len(found(read(TORCH), {}, said)) == 1


OVERRIDE: JSON = {
    "targetJobs": [{"name": "node"}],
    "spec": {
        "volumes": [{"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": "64Gi"}}],
        "containers": [{"name": "node", "volumeMounts": [{"name": "shm", "mountPath": "/dev/shm"}]}],  # noqa: S108
    },
}


@pytest.mark.parametrize("known", [[read(TORCH)], []], ids=["its runtime is known", "its runtime is not known"])
def test_the_overrides_of_older_trainers_are_laid_over_the_runtime(known: list[JSON]) -> None:
    job = train_job(read(TORCH), {"numNodes": 2, "resourcesPerNode": GPUS})
    job["spec"]["podTemplateOverrides"] = [OVERRIDE, {"targetJobs": [{"name": "other"}], "spec": {"volumes": []}}, 3]
    [template] = templates(job, namespace="team", known=known)
    spec = template.pod["spec"]
    assert [each["name"] for each in spec["volumes"]] == ["shm"]
    assert [each["mountPath"] for each in spec["containers"][0]["volumeMounts"]] == ["/dev/shm"]  # noqa: S108
    assert spec["containers"][0]["resources"]["limits"]["nvidia.com/gpu"] == "8"
    assert template.replicas == 2


def test_a_train_job_names_the_place_of_a_field_that_it_has_in_its_patches() -> None:
    train_job = {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": "t"},
        "spec": {"runtimeRef": {"name": "x"}, "trainer": {"numNodes": 2}},
    }
    [made] = templates(train_job, namespace="ml")
    place = "spec.runtimePatches[].trainingRuntimeSpec.template.spec.replicatedJobs[].template.spec.template"
    for key, value, left in (
        ("nodeSelector", {"a": "b"}, f"spec.nodeSelector: write it in {place}.spec.nodeSelector"),
        ("runtimeClassName", "nvidia", "spec.runtimeClassName: TrainJob has no place for it"),
    ):
        added = {"op": "add", "path": f"/spec/{key}", "value": value}
        assert project(made, [[added]], [added])[0].left == left
