"""Gangs of whole workloads against a count by hand: how many pods, how many of them with GPUs, and whether a gang.

The counts follow the operators' sources, which stand beside the readers in kinds/dossiers.
"""

import copy
from typing import Any

import pytest

from builders import container, gpu_pod, job, pod, template, workload
from podberth.workload.gangs import Gang, gang_of
from podberth.workload.templates import templates

JSON = dict[str, Any]
CPU, EIGHT = template(pod()), template(gpu_pod(8))


def gangs(document: JSON, *known: JSON) -> list[Gang]:
    """Return the gang of a pod of each template."""
    made = templates(document, namespace="default", known=known)
    assert [each.problems for each in made if each.problems] == []
    return [gang_of(each.pod, "default", each.owners) for each in made]


def counts(document: JSON, *known: JSON) -> tuple[int, int]:
    """Return the size of the one gang of a workload, and how many of its pods have GPUs."""
    found = gangs(document, *known)
    assert len({each.name for each in found}) == 1
    assert all(each.known for each in found)
    [one] = {(each.size, each.accelerated) for each in found}
    return one


def replicas(document: JSON, *known: JSON) -> list[tuple[str, int]]:
    return [(each.role, each.replicas) for each in templates(document, namespace="default", known=known)]


def job_set(body: JSON) -> JSON:
    row = {"name": "w", "replicas": 2, "template": {"spec": {"parallelism": 2, "completions": 2, "template": body}}}
    return workload("jobset.x-k8s.io/v1alpha2", "JobSet", {"replicatedJobs": [row]})


def pytorch_job(body: JSON) -> JSON:
    roles = {"Master": {"replicas": 1, "template": body}, "Worker": {"replicas": 3, "template": body}}
    return workload("kubeflow.org/v1", "PyTorchJob", {"pytorchReplicaSpecs": roles})


def mpi_job(launcher: JSON, worker: JSON) -> JSON:
    roles = {"Launcher": {"replicas": 1, "template": launcher}, "Worker": {"replicas": 3, "template": worker}}
    return workload("kubeflow.org/v2beta1", "MPIJob", {"mpiReplicaSpecs": roles})


def ray_cluster(head: JSON, worker: JSON) -> JSON:
    groups = [{"groupName": "w", "replicas": 2, "template": worker}]
    spec = {"headGroupSpec": {"rayStartParams": {}, "template": head}, "workerGroupSpecs": groups}
    return workload("ray.io/v1", "RayCluster", spec)


def volcano_job(body: JSON) -> JSON:
    return workload("batch.volcano.sh/v1alpha1", "Job", {"tasks": [{"name": "a", "replicas": 2, "template": body}]})


def clique_set(body: JSON) -> JSON:
    cliques = [{"name": "a", "spec": {"replicas": 2, "podSpec": body["spec"]}}]
    return workload("grove.io/v1alpha1", "PodCliqueSet", {"replicas": 1, "template": {"cliques": cliques}})


def leader_worker_set(size: int, worker: JSON, **leader: JSON) -> JSON:
    inner = {"size": size, "workerTemplate": worker, **leader}
    return workload("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", {"replicas": 2, "leaderWorkerTemplate": inner})


def train_job() -> JSON:
    resources = {"limits": {"nvidia.com/gpu": 1}}
    spec = {"runtimeRef": {"name": "x"}, "trainer": {"numNodes": 3, "resourcesPerNode": resources}}
    return workload("trainer.kubeflow.org/v1alpha1", "TrainJob", spec)


@pytest.mark.parametrize(
    ("document", "size"),
    [
        (job_set(CPU), 4),
        (pytorch_job(CPU), 4),
        (mpi_job(CPU, CPU), 4),
        (ray_cluster(CPU, CPU), 3),
        (volcano_job(CPU), 2),
        (leader_worker_set(3, CPU), 3),
        (job(pod(), indexed=True, parallelism=4), 4),
    ],
    ids=lambda value: value["kind"] if isinstance(value, dict) else "",
)
def test_of_a_gang_of_which_no_pod_asks_none_is_accelerated(document: JSON, size: int) -> None:
    assert counts(document) == (size, 0)


def test_an_indexed_job_of_gpu_pods_is_accelerated_as_a_whole() -> None:
    assert counts(job(gpu_pod(8), indexed=True, parallelism=4)) == (4, 4)


def test_a_pod_that_asks_where_its_owners_roles_do_not_makes_all_count() -> None:
    [made, *_] = templates(mpi_job(CPU, CPU), namespace="default")
    asking = {**made.pod, "spec": {**made.pod["spec"], "containers": [*gpu_pod(8)["spec"]["containers"]]}}
    assert gang_of(asking, "default", made.owners).accelerated == 4


@pytest.mark.parametrize(
    ("document", "want"),
    [
        (leader_worker_set(3, EIGHT, leaderTemplate=CPU), (3, 2)),
        (leader_worker_set(3, CPU, leaderTemplate=EIGHT), (3, 1)),
        (leader_worker_set(3, EIGHT), (3, 3)),
        (leader_worker_set(3, EIGHT, leaderTemplate=template(pod(container(), nodeSelector={"a": "b"}))), (3, 2)),
    ],
)
def test_a_leader_of_a_leader_worker_set_asks_for_what_its_own_template_does(
    document: JSON, want: tuple[int, int]
) -> None:
    assert counts(document) == want


@pytest.mark.parametrize(
    ("document", "want"),
    [
        (job_set(EIGHT), (4, 4)),
        (pytorch_job(EIGHT), (4, 4)),
        (mpi_job(CPU, EIGHT), (4, 3)),
        (ray_cluster(CPU, EIGHT), (3, 2)),
        (volcano_job(EIGHT), (2, 2)),
        (leader_worker_set(3, EIGHT, leaderTemplate=CPU), (3, 2)),
        (train_job(), (3, 3)),
    ],
    ids=lambda value: value["kind"] if isinstance(value, dict) else "",
)
def test_an_object_whose_name_is_yet_to_be_made_has_its_gang(document: JSON, want: tuple[int, int]) -> None:
    unnamed = {**document, "metadata": {"generateName": "try-"}}
    assert counts(unnamed) == want
    assert {each.source for each in gangs(unnamed)} == {each.source for each in gangs(document)}


def without_replicas(document: JSON, *path: str | int) -> JSON:
    """Return a copy of a workload whose part at the path states no ``replicas``."""
    document = copy.deepcopy(document)
    part = document["spec"]
    for step in path:
        part = part[step]
    del part["replicas"]
    return document


@pytest.mark.parametrize(
    ("document", "want"),
    [
        (without_replicas(pytorch_job(EIGHT), "pytorchReplicaSpecs", "Worker"), [("Master", 1), ("Worker", 1)]),
        # kubeflow/mpi-operator v2beta1/default.go: no workers, and the launcher alone is no gang
        (without_replicas(mpi_job(CPU, EIGHT), "mpiReplicaSpecs", "Worker"), [("Launcher", 1), ("Worker", 0)]),
        (without_replicas(mpi_job(CPU, EIGHT), "mpiReplicaSpecs", "Launcher"), [("Launcher", 1), ("Worker", 3)]),
        # volcano-sh/volcano: the field has no default, so the task has no pods
        (without_replicas(volcano_job(EIGHT), "tasks", 0), [("a", 0)]),
    ],
    ids=lambda value: value["kind"] if isinstance(value, dict) else "",
)
def test_a_role_without_replicas_has_the_pods_that_its_operator_makes(
    document: JSON, want: list[tuple[str, int]]
) -> None:
    assert replicas(document) == want
    several = sum(number for _, number in want)
    assert {each.size for each in gangs(document)} == {several if several > 1 else 0}


def test_a_pod_clique_set_without_replicas_makes_no_pods() -> None:
    # grove.io_podcliquesets.yaml: the default of spec.replicas is 0
    assert replicas(clique_set(EIGHT)) == [("a", 2)]
    assert replicas(without_replicas(clique_set(EIGHT))) == [("a", 0)]


def dynamo(**services: JSON) -> JSON:
    return workload("nvidia.com/v1alpha1", "DynamoGraphDeployment", {"services": services}, name="dyn")


FRONT: JSON = {"replicas": 1}
GPUS: JSON = {"resources": {"limits": {"gpu": "8"}}}


@pytest.mark.parametrize(
    ("services", "want"),
    [
        ({"Frontend": FRONT, "Decode": {"replicas": 4, **GPUS}}, (5, 4)),
        # Of a component of several nodes, the first gang has one replica.
        ({"Frontend": FRONT, "Decode": {"replicas": 2, "multinode": {"nodeCount": 4}, **GPUS}}, (5, 4)),
        ({"Frontend": FRONT, "Decode": {"multinode": {}, **GPUS}}, (3, 2)),
        ({"Frontend": FRONT, "Decode": {"replicas": 2, "scalingAdapter": {"enabled": False}, **GPUS}}, (3, 2)),
        ({"Frontend": FRONT, "Decode": {"replicas": 2, "scalingAdapter": {"enabled": True}, **GPUS}}, (0, 0)),
    ],
)
def test_a_dynamo_graph_is_the_pod_clique_set_that_is_made_of_it(services: JSON, want: tuple[int, int]) -> None:
    assert counts(dynamo(**services)) == want


def test_the_components_of_the_newer_dynamo_are_counted_alike() -> None:
    components = [
        {"name": "Frontend", "podTemplate": CPU},
        {"name": "Decode", "replicas": 3, "multinode": {"nodeCount": 2}, "podTemplate": EIGHT},
    ]
    graph = workload("nvidia.com/v1beta1", "DynamoGraphDeployment", {"components": components}, name="dyn")
    assert counts(graph) == (3, 2)
    assert replicas(graph) == [("Frontend", 1), ("Decode", 6)]
    assert [each.role for each in gangs(graph)] == ["frontend", "decode-wkr"]


def test_a_dynamo_component_of_several_nodes_has_two_where_it_says_no_number() -> None:
    assert replicas(dynamo(Decode={"replicas": 3, "multinode": {}, **GPUS})) == [("Decode", 6)]


@pytest.mark.parametrize("said", ["PLACEHOLDER", "__NUM__", "3", True, [2]])
def test_a_number_that_is_none_makes_the_size_unknown_and_not_smaller(said: object) -> None:
    def with_number(document: JSON, *path: Any) -> JSON:
        inner: Any = document["spec"]
        for step in path[:-1]:
            inner = inner[step]
        inner[path[-1]] = said
        return document

    workers = ("pytorchReplicaSpecs", "Worker", "replicas")
    for document in (
        with_number(job_set(EIGHT), "replicatedJobs", 0, "replicas"),
        with_number(pytorch_job(EIGHT), *workers),
        with_number(mpi_job(CPU, EIGHT), "mpiReplicaSpecs", "Worker", "replicas"),
        with_number(ray_cluster(CPU, EIGHT), "workerGroupSpecs", 0, "replicas"),
        with_number(volcano_job(EIGHT), "tasks", 0, "replicas"),
        with_number(dynamo(Frontend=dict(FRONT), Decode=dict(GPUS)), "services", "Decode", "replicas"),
        with_number(dynamo(Frontend=FRONT, Decode={"multinode": {}}), "services", "Decode", "multinode", "nodeCount"),
    ):
        assert counts(document) == (0, 0), document["kind"]
        assert all("want a whole number" in " ".join(each.problems) for each in gangs(document)), document["kind"]
    indexed = with_number(job(gpu_pod(8), indexed=True, parallelism=4), "parallelism")
    assert counts(indexed) == (0, 0)


@pytest.mark.parametrize(
    "made",
    [
        workload("batch.volcano.sh/v1alpha1", "CronJob", {"jobTemplate": {"spec": volcano_job(EIGHT)["spec"]}}),
        workload("flow.volcano.sh/v1alpha1", "JobTemplate", {**volcano_job(EIGHT)["spec"], "queue": "q"}),
    ],
    ids=lambda made: str(made["kind"]),
)
def test_a_job_that_volcano_makes_of_a_template_is_a_gang(made: JSON) -> None:
    assert counts(made) == (2, 2)
    assert [each.system for each in gangs(made)] == ["volcano"]
    [one] = templates(made, namespace="default")
    assert one.pod["metadata"]["ownerReferences"][0]["kind"] == "Job"
    assert one.pod["metadata"]["labels"]["volcano.sh/queue-name"] == (
        "q" if made["kind"] == "JobTemplate" else "default"
    )


def role_based_group(*roles: JSON, **more: Any) -> JSON:
    return workload("workloads.x-k8s.io/v1alpha2", "RoleBasedGroup", {"roles": list(roles), **more}, name="rbg")


def test_a_patch_of_labels_leaves_what_a_leader_asks_for() -> None:
    router = {"name": "router", "standalonePattern": {"template": CPU}}
    pattern = {"size": 8, "template": EIGHT, "leaderTemplatePatch": {"metadata": {"labels": {"a": "b"}}}}
    assert counts(role_based_group(router, {"name": "w", "replicas": 2, "leaderWorkerPattern": pattern})) == (17, 16)


def nim(**more: Any) -> JSON:
    image = {"repository": "nvcr.io/nim/a", "tag": "1"}
    return workload("apps.nvidia.com/v1alpha1", "NIMService", {"image": image, **more}, name="nim")


GPU_LIMIT: JSON = {"limits": {"nvidia.com/gpu": 8}}


@pytest.mark.parametrize("resources", [{"resources": GPU_LIMIT}, {"resources": {"limits": {"cpu": "1"}}}, {}])
def test_a_nim_over_several_nodes_is_a_leader_worker_set(resources: JSON) -> None:
    service = nim(multiNode={"parallelism": {"pipeline": 2, "tensor": 8}}, replicas=3, **resources)
    assert counts(service) == (2, 2)
    assert replicas(service) == [("", 6)]
    [made] = templates(service, namespace="default")
    assert made.pod["spec"]["containers"][0]["resources"]["limits"]["nvidia.com/gpu"] in (8, "8")
    assert "pod-template-hash" not in made.pod["metadata"]["labels"]


def test_a_nim_with_a_pipeline_of_one_is_a_deployment_and_claims_get_no_gpus_beside() -> None:
    service = nim(multiNode={"parallelism": {"tensor": 8}}, replicas=3, resources=GPU_LIMIT)
    assert not gangs(service)[0].known
    assert replicas(service) == [("", 3)]
    assert replicas(nim(multiNode={"parallelism": {"pipeline": "X"}})) == [("", 0)]
    claiming = nim(multiNode={"parallelism": {"pipeline": 2, "tensor": 8}}, draResources=[{}])
    assert counts(claiming) == (2, 2)
    assert "limits" not in templates(claiming, namespace="default")[0].pod["spec"]["containers"][0].get("resources", {})


BASE = [{"name": "base", "template": EIGHT}]


def of_template(name: str, **more: Any) -> JSON:
    return {"name": name, "standalonePattern": {"templateRef": {"name": "base", **more}}}


def test_a_role_of_a_role_template_asks_for_what_that_says() -> None:
    router = {"name": "router", "standalonePattern": {"template": CPU}}
    labels = {"patch": {"metadata": {"labels": {"a": "b"}}}}
    group = role_based_group(router, of_template("w", **labels), roleTemplates=BASE)
    assert [(each.size, each.accelerated) for each in gangs(group)] == [(2, 1)] * 2
    assert replicas(group) == [("router", 1), ("w", 1)]
    assert gangs(group)[1].role == "w"


def test_a_role_template_has_the_pods_of_all_roles_that_refer_to_it_and_none_if_no_role_does() -> None:
    leads = {"name": "x", "replicas": 2, "leaderWorkerPattern": {"size": 3, "templateRef": {"name": "base"}}}
    group = role_based_group({**of_template("w"), "replicas": 2}, leads, roleTemplates=BASE)
    assert replicas(group) == [("base", 8)]
    assert counts(group) == (8, 8)
    scaled = {**of_template("w"), "scalingAdapter": {"enable": True}}
    assert replicas(role_based_group(scaled, roleTemplates=BASE)) == [("base", 0)]
    assert replicas(role_based_group(roleTemplates=BASE)) == []


def test_replicas_that_a_scaling_adapter_writes_are_unknown() -> None:
    scaled = {"name": "w", "standalonePattern": {"template": EIGHT}, "replicas": 2, "scalingAdapter": {"enable": True}}
    assert counts(role_based_group(scaled)) == (0, 0)
    assert replicas(role_based_group(scaled)) == [("w", 0)]
    assert counts(role_based_group({**scaled, "scalingAdapter": {"enable": False}})) == (2, 2)


@pytest.mark.parametrize("version", ["v1alpha1", "v1alpha2"])
@pytest.mark.parametrize("groups", [1, 3])
def test_the_groups_of_a_set_are_gangs_of_their_own(version: str, groups: int) -> None:
    roles = [{"name": "prefill", "template": CPU}, {"name": "decode", "replicas": 2, "template": EIGHT}]
    inner = {"template": {"roles": roles}} if version == "v1alpha1" else {"groupTemplate": {"spec": {"roles": roles}}}
    spec = {"replicas": groups, **inner}
    made = workload(f"workloads.x-k8s.io/{version}", "RoleBasedGroupSet", spec, name="set")
    assert counts(made) == (3, 2)
    assert replicas(made) == [("prefill", groups), ("decode", 2 * groups)]
    assert {each.name for each in gangs(made)} == {"rbg-set-0" if groups == 1 else "rbg-set-0000000000"}


def test_a_role_of_a_storm_service_has_all_pods_of_its_replicas_in_all_role_sets() -> None:
    role = {"name": "decode", "replicas": 2, "podGroupSize": 4, "template": EIGHT}
    storm = {"replicas": 3, "template": {"spec": {"roles": [role]}}}
    version = "orchestration.aibrix.ai/v1alpha1"
    assert replicas(workload(version, "StormService", storm)) == [("decode", 24)]
    assert replicas(workload(version, "RoleSet", {"roles": [role]})) == [("decode", 8)]


STORM = "orchestration.aibrix.ai/v1alpha1"


@pytest.mark.parametrize("size", [1, 4])
def test_a_role_set_is_a_gang_with_all_pods_of_its_roles(size: int) -> None:
    roles = [
        {"name": "prefill", "template": CPU},
        {"name": "decode", "replicas": 2, "podGroupSize": size, "template": EIGHT},
    ]
    storm = workload(STORM, "StormService", {"replicas": 3, "template": {"spec": {"roles": roles}}}, name="pd")
    assert counts(storm) == (1 + 2 * size, 2 * size)
    assert {each.name for each in gangs(storm)} == {"roleset-pd-roleset-0000000000"}
    owners = [each.pod["metadata"]["ownerReferences"][0]["kind"] for each in templates(storm, namespace="default")]
    assert owners == ["RoleSet", "RoleSet" if size == 1 else "PodSet"]


def test_a_pod_set_with_a_scheduling_strategy_of_its_role_is_a_gang_of_its_own() -> None:
    role = {"name": "decode", "replicas": 2, "podGroupSize": 4, "template": EIGHT}
    strategy = {"schedulingStrategy": {"coschedulingSchedulingStrategy": {"minMember": 4}}}
    [gang] = gangs(workload(STORM, "RoleSet", {"roles": [role | strategy]}, name="pd"))
    assert (gang.source, gang.name, gang.size, gang.system) == (
        "PodSet",
        "podset-pd-decode-0000000000",
        4,
        "coscheduling",
    )
    # The other roles are a gang without its pods.
    router = {"name": "router", "replicas": 3, "template": CPU}
    both = gangs(workload(STORM, "RoleSet", {"roles": [router, role | strategy]}, name="pd"))
    assert [(each.source, each.size) for each in both] == [("RoleSet", 3), ("PodSet", 4)]
    # A strategy of the whole role set makes one group of all its pods.
    [whole] = gangs(workload(STORM, "RoleSet", {"roles": [role], **strategy}, name="pd"))
    assert (whole.source, whole.size, whole.system) == ("RoleSet", 8, "coscheduling")


def test_pods_with_a_role_sets_label_that_aibrix_did_not_make_are_no_gang() -> None:
    stranger = gpu_pod(8, labels={"roleset-name": "pd", "role-name": "decode"})
    assert not gang_of(stranger, "default", {}).known


def test_a_job_of_a_trial_has_a_name_that_begins_with_its_experiments() -> None:
    job = {
        "apiVersion": "kubeflow.org/v1",
        "kind": "MPIJob",
        "spec": {"mpiReplicaSpecs": {"Worker": {"replicas": 2, "template": EIGHT}}},
    }
    tune = workload("kubeflow.org/v1beta1", "Experiment", {"trialTemplate": {"trialSpec": job}}, name="tune")
    assert [(each.name, each.size) for each in gangs(tune)] == [("mpijob-tune-0000000000", 2)]


def test_the_labels_of_a_workspaces_nodes_replace_the_affinity_of_its_template() -> None:
    template = {"spec": {"affinity": {"podAntiAffinity": {}}, "containers": EIGHT["spec"]["containers"]}}
    space: JSON = {"apiVersion": "kaito.sh/v1beta1", "kind": "Workspace", "metadata": {"name": "w"}}
    space |= {"resource": {"labelSelector": {"matchLabels": {"apps": "llm"}}}, "inference": {"template": template}}
    [made] = templates(space, namespace="default")
    [term] = made.pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"][
        "nodeSelectorTerms"
    ]
    assert term == {"matchExpressions": [{"key": "apps", "operator": "In", "values": ["llm"]}]}
    assert "podAntiAffinity" not in made.pod["spec"]["affinity"]
    space["resource"] = {}
    assert "affinity" not in templates(space, namespace="default")[0].pod["spec"]


def test_a_leader_of_ome_without_a_template_of_its_own_is_the_engine() -> None:
    runner = EIGHT["spec"]["containers"][0]
    engine = {"runner": runner, "worker": {"size": 3, "runner": runner}}
    service = workload("ome.io/v1beta1", "InferenceService", {"engine": engine}, name="llm")
    assert replicas(service) == [("engine", 1), ("engine-worker", 3)]
    assert {(each.size, each.role) for each in gangs(service)} == {(4, "leader"), (4, "worker")}


def indexed(**more: Any) -> JSON:
    """An Indexed Job whose pods do not find each other."""
    made = job(gpu_pod(8), indexed=True, parallelism=4)
    del made["spec"]["template"]["spec"]["subdomain"]
    made["spec"] |= more
    return made


TOPOLOGY = {"kueue.x-k8s.io/podset-preferred-topology": "rack"}
DECLARED = {"podberth.io/gang-size": "4"}


def test_an_indexed_job_is_a_gang_only_if_its_pods_find_or_need_each_other() -> None:
    template_of = {
        name: {"metadata": {"annotations": said}, "spec": EIGHT["spec"]}
        for name, said in (("topology", TOPOLOGY), ("declared", DECLARED))
    }
    named = {"spec": {**EIGHT["spec"], "subdomain": "train"}}
    assert not gangs(indexed())[0].known
    assert counts(indexed(template=named)) == (4, 4)
    assert counts(indexed(template=template_of["topology"])) == (4, 4)
    assert counts(indexed(template=template_of["declared"])) == (4, 4)
    assert counts(indexed(scheduling={"schedulingPolicy": {"gang": {}}})) == (4, 4)
    # Each index fails, and is made again, by itself.
    assert not gangs(indexed(template=named, backoffLimitPerIndex=1))[0].known


def asking(gpus: int) -> JSON:
    return {"requests": {"nvidia.com/gpu": str(gpus)}} if gpus else {}


@pytest.mark.parametrize(
    ("head", "worker", "backend", "size"),
    [
        (2, 2, "", 4),
        (0, 4, "", 2),
        (3, 0, "", 6),
        (0, 0, "", 8),
        # One node has all GPUs, so that there is no gang.
        (8, 4, "", 0),
        (1, 1, "mp", 4),
    ],
)
def test_a_model_over_several_nodes_has_as_many_as_hold_its_pipeline_and_tensors(
    head: int, worker: int, backend: str, size: int
) -> None:
    model = {"runtime": "r", "resources": asking(head)}
    workers = {"tensorParallelSize": 2, "containers": [{"name": "worker-container", "resources": asking(worker)}]}
    service = workload(
        "serving.kserve.io/v1beta1",
        "InferenceService",
        {"predictor": {"model": model, "workerSpec": workers}},
        name="m",
    )
    spec = {"annotations": {"multinode/executor-backend": backend}, "workerSpec": {"pipelineParallelSize": 4}}
    runtime = workload("serving.kserve.io/v1alpha1", "ServingRuntime", spec, name="r")
    assert {each.size for each in gangs(service, runtime)} == {size}
    workers["tensorParallelSize"] = "TP"
    assert {each.size for each in gangs(service, runtime)} == ({4} if backend else {0})


def test_a_pod_template_that_only_says_a_size_to_an_autoscaler_is_not_read() -> None:
    sized: JSON = {"apiVersion": "v1", "kind": "PodTemplate", "metadata": {"name": "size"}, "template": EIGHT}
    pods = [{"count": 2, "podTemplateRef": {"name": "size"}}]
    request = workload("autoscaling.x-k8s.io/v1", "ProvisioningRequest", {"podSets": pods})
    assert replicas(sized) == [("", 1)]
    assert replicas(sized, request) == []
    request["metadata"]["namespace"] = "other"
    assert replicas(sized, request) == [("", 1)]


@pytest.mark.parametrize(("labels", "size"), [({}, 0), ({"kueue.x-k8s.io/queue-name": "q"}, 3)])
def test_a_stateful_set_is_a_gang_where_kueue_admits_it_as_a_whole(labels: JSON, size: int) -> None:
    made = workload("apps/v1", "StatefulSet", {"replicas": 3, "template": EIGHT})
    made["metadata"]["labels"] = labels
    [gang] = gangs(made)
    assert (gang.known, gang.size, gang.system) == (bool(size), size, "kueue" if size else "plain")


@pytest.mark.parametrize(
    ("mode", "where"),
    [
        ("Required", "requiredDuringSchedulingIgnoredDuringExecution"),
        (None, "preferredDuringSchedulingIgnoredDuringExecution"),
    ],
)
def test_a_topology_policy_of_a_storm_service_is_pod_affinity(mode: str | None, where: str) -> None:
    policy = {"scope": "RoleSet", "key": "rack", **({"mode": mode} if mode else {})}
    spec = {"topologyPolicy": policy, "roles": [{"name": "decode", "template": EIGHT}]}
    [made] = templates(workload(STORM, "StormService", {"template": {"spec": spec}}, name="pd"), namespace="default")
    [term] = made.pod["spec"]["affinity"]["podAffinity"][where]
    term = term.get("podAffinityTerm", term)
    chosen = {"storm-service-name": "pd", "roleset-name": "pd-roleset-0000000000"}
    assert term == {"topologyKey": "rack", "labelSelector": {"matchLabels": chosen}}
    assert chosen.items() <= made.pod["metadata"]["labels"].items()
