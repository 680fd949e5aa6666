"""Pods of LeaderWorkerSet, RoleBasedGroup, Grove with Dynamo, KServe and kthena, as they are made."""

from builders import gpu_container, gpu_pod, owned, pod, workload

from .case import JSON, Case


def of_lws(index: int) -> JSON:
    """As the StatefulSets of a group (kubernetes-sigs/lws pkg/controllers/pod_controller.go), the leader's first."""
    key = "55c0d1a8fbd7a8a5da27d64f7bbdd7a5e4e1a1d0"
    labels = {
        "leaderworkerset.sigs.k8s.io/name": "serve",
        "leaderworkerset.sigs.k8s.io/group-index": "0",
        "leaderworkerset.sigs.k8s.io/group-key": key,
        "apps.kubernetes.io/pod-index": str(index),
    }
    if index == 0:
        labels["leaderworkerset.sigs.k8s.io/worker-index"] = "0"
    size = {"leaderworkerset.sigs.k8s.io/size": "3"}
    made = gpu_pod(8 if index else 0, labels=labels, annotations=size)
    return owned(made, "StatefulSet", api_version="apps/v1", name="serve-0", uid="set")


def of_llm_service(index: int) -> JSON:
    """As of the LeaderWorkerSet that expectedMainMultiNodeLWS makes (kserve pkg/controller/v1alpha2/llmisvc)."""
    made = of_lws(index)
    labels = made["metadata"]["labels"]
    labels["leaderworkerset.sigs.k8s.io/name"] = "llama-kserve-mn"
    labels["app.kubernetes.io/part-of"] = "llminferenceservice"
    labels["app.kubernetes.io/name"] = "llama"
    made["metadata"]["ownerReferences"][0]["name"] = "llama-kserve-mn-0"
    return made


def of_rbg(role: str, gpus: int, **more: str) -> JSON:
    """As GetCommonLabelsFromRole (sgl-project/rbg api/workloads/v1alpha2/helper.go), a RoleInstance between."""
    said = {"group-name": "pd", "role-name": role, "group-uid": "c0ffee"}
    labels = {f"rbg.workloads.x-k8s.io/{key}": value for key, value in said.items()} | more
    return owned(gpu_pod(gpus, labels=labels), "RoleInstance", api_version="workloads.x-k8s.io/v1alpha2", uid="i")


def of_older_rbg(role: str, index: int, gpus: int) -> JSON:
    """As GetCommonLabelsFromRole (sgl-project/rbg api/workloads/v1alpha1/helper.go), of a StatefulSet."""
    said = {"name": "pd", "role": role, "group-unique-key": "c0ffee"}
    labels = {f"rolebasedgroup.workloads.x-k8s.io/{key}": value for key, value in said.items()}
    labels["apps.kubernetes.io/pod-index"] = str(index)
    return owned(gpu_pod(gpus, labels=labels), "StatefulSet", api_version="apps/v1", name=f"pd-{role}", uid="set")


def of_grove(clique: str, index: int, gpus: int, *, scaled: int | None = None, group: str = "") -> JSON:
    """As buildResource of pods (ai-dynamo/grove operator/internal/controller/podclique/components/pod/pod.go)."""
    labels = {
        "app.kubernetes.io/managed-by": "grove-operator",
        "app.kubernetes.io/part-of": "dyn",
        "grove.io/podclique": f"dyn-0-{clique}",
        "grove.io/podcliqueset-replica-index": "0",
        "grove.io/podgang": "dyn-0",
        "grove.io/podclique-pod-index": str(index),
    }
    if group:
        number = 0 if scaled is None else scaled + 1
        labels |= {
            "grove.io/podclique": f"dyn-0-{group}-{number}-{clique}",
            "grove.io/podcliquescalinggroup": f"dyn-0-{group}",
            "grove.io/podcliquescalinggroup-replica-index": str(number),
        }
    if scaled is not None:
        labels |= {"grove.io/podgang": f"dyn-0-{group}-{scaled}", "grove.io/base-podgang": "dyn-0"}
    uid = "of-group" if group else "clique"
    return owned(gpu_pod(gpus, labels=labels), "PodClique", api_version="grove.io/v1alpha1", uid=uid)


CLIQUES = {
    "template": {
        "cliques": [
            {"name": "frontend", "spec": {"replicas": 1}},
            {"name": "leader", "spec": {"replicas": 1}},
            {"name": "worker", "spec": {"replicas": 3}},
        ],
        "podCliqueScalingGroups": [
            {"name": "decode", "cliqueNames": ["leader", "worker"], "replicas": 4, "minAvailable": 2}
        ],
    }
}
GROVE_OWNERS = {
    "u": workload("grove.io/v1alpha1", "PodCliqueSet", CLIQUES),
    "group": owned(workload("grove.io/v1alpha1", "PodCliqueScalingGroup", {}), "PodCliqueSet", uid="u"),
    "of-group": owned(workload("grove.io/v1alpha1", "PodClique", {}), "PodCliqueScalingGroup", uid="group"),
    "clique": owned(workload("grove.io/v1alpha1", "PodClique", {}), "PodCliqueSet", uid="u"),
}


def of_dynamo(clique: str, gpus: int, group: str = "") -> JSON:
    """As of the PodCliqueSet that GenerateGrovePodCliqueSet makes (ai-dynamo/dynamo deploy/operator, graph.go).

    Where KAI runs it says so in each clique (grove.go injectKaiSchedulerIfEnabled).
    """
    made = of_grove(clique, 0, gpus, group=group)
    component = group or clique
    made["metadata"]["labels"] |= {
        "nvidia.com/dynamo-graph-deployment-name": "dyn",
        "nvidia.com/dynamo-component": component,
        "nvidia.com/dynamo-component-type": "frontend" if component == "frontend" else "worker",
    }
    return made


def on_kai(document: JSON) -> JSON:
    """The same where KAI runs, whose backend Grove has prepare the pod (operator/internal/scheduler/kai)."""
    metadata, labels = document["metadata"], document["metadata"]["labels"]
    labels = {**labels, "kai.scheduler/queue": "dynamo", "kai.scheduler/subgroup-name": labels["grove.io/podclique"]}
    said = {"pod-group-name": labels["grove.io/podgang"], "kai.scheduler/skip-podgrouper": "true"}
    metadata = {**metadata, "labels": labels, "annotations": said}
    return {**document, "metadata": metadata, "spec": {**document["spec"], "schedulerName": "kai-scheduler"}}


# Each service is a clique; one of several nodes is two, in a scaling group of its own (graph.go expandRolesForService).
GRAPH = {
    "template": {
        "cliques": [
            {"name": "frontend", "spec": {"replicas": 1}},
            {"name": "prefill", "spec": {"replicas": 2}},
            {"name": "decode-ldr", "spec": {"replicas": 1}},
            {"name": "decode-wkr", "spec": {"replicas": 3}},
        ],
        "podCliqueScalingGroups": [
            {"name": "decode", "cliqueNames": ["decode-ldr", "decode-wkr"], "replicas": 1, "minAvailable": 1}
        ],
    }
}
DYNAMO_OWNERS = {
    **{uid: owner for uid, owner in GROVE_OWNERS.items() if uid != "u"},
    "u": owned(workload("grove.io/v1alpha1", "PodCliqueSet", GRAPH), "DynamoGraphDeployment", uid="graph"),
}


def of_kserve(name: str) -> JSON:
    """As multiNodeProcess and createRawWorkerDeployment (kserve/kserve pkg/controller/v1beta1/inferenceservice)."""
    labels = {
        "app": "isvc.llama-predictor" + ("-worker" if name == "worker-container" else ""),
        "component": "predictor",
        "isvc.generation": "2",
        "serving.kserve.io/inferenceservice": "llama",
    }
    env = [{"name": "PIPELINE_PARALLEL_SIZE", "value": "2"}, {"name": "RAY_NODE_COUNT", "value": "3"}]
    made = pod(gpu_container(name, 8, env=env), labels=labels)
    return owned(made, "ReplicaSet", api_version="apps/v1", uid="set")


def of_kthena(role: str, replica: int, index: int, gpus: int, *, scheduler: str = "volcano", name: str = "pd") -> JSON:
    """As CreatePodsByRole (volcano-sh/kthena pkg/model-serving-controller/controller/model_serving_controller.go)."""
    identity = f"{role}-{replica}"
    said = {"name": name, "group-name": f"{name}-0", "role": role, "role-id": identity, "revision": "6f8c7d"}
    labels = {f"modelserving.volcano.sh/{key}": value for key, value in said.items()}
    if index == 0:
        labels["modelserving.volcano.sh/entry"] = "true"
    on_volcano = {"scheduling.k8s.io/group-name": f"{name}-0", "volcano.sh/task-spec": identity}
    made = gpu_pod(gpus, labels=labels, annotations=on_volcano if scheduler == "volcano" else {})
    made["metadata"]["name"] = f"{name}-0-{identity}-{index}"
    made["spec"]["schedulerName"] = scheduler
    version = "workload.serving.volcano.sh/v1alpha1"
    return owned(made, "ModelServing", api_version=version, name=name, uid="serving")


def of_storm(role: str, replica: int, within: int | None = None) -> JSON:
    """As renderStormServicePod and createPodFromTemplate (vllm-project/aibrix pkg/controller/{roleset,podset})."""
    storm = "stormservice.orchestration.aibrix.ai"
    labels = {"storm-service-name": "pd", "roleset-name": "pd-roleset-x7k2p", "role-name": role}
    labels |= {"role-template-hash": "6f8c7d", f"{storm}/role-replica-index": str(replica)}
    version = "orchestration.aibrix.ai/v1alpha1"
    if within is None:
        return owned(gpu_pod(8, labels=labels), "RoleSet", api_version=version, name="pd-roleset-x7k2p", uid="roles")
    name = f"pd-roleset-x7k2p-{role}-6f8c7d-{replica}"
    labels |= {f"{storm}/podset-name": name, f"{storm}/pod-group-index": str(within)}
    return owned(gpu_pod(8, labels=labels), "PodSet", api_version=version, name=name, uid="pods")


STORM_ROLES = [{"name": "prefill", "replicas": 2}, {"name": "decode", "replicas": 2, "podGroupSize": 4}]
STORM_OWNERS = {
    "roles": workload("orchestration.aibrix.ai/v1alpha1", "RoleSet", {"roles": STORM_ROLES}),
    "pods": owned(
        workload("orchestration.aibrix.ai/v1alpha1", "PodSet", {}),
        "RoleSet",
        api_version="orchestration.aibrix.ai/v1alpha1",
        uid="roles",
    ),
}
KTHENA_ROLES = [
    {"name": "router", "replicas": 1, "workerReplicas": 0},
    {"name": "decode", "replicas": 2, "workerReplicas": 3},
]
MODEL_SERVING = workload("workload.serving.volcano.sh/v1alpha1", "ModelServing", {"template": {"roles": KTHENA_ROLES}})

ROLES = [
    {"name": "router", "replicas": 1, "standalonePattern": {}},
    {"name": "decode", "replicas": 2, "leaderWorkerPattern": {"size": 4}},
    {"name": "cache", "customComponentsPattern": {"components": [{"size": 2}, {}]}},
]
OLDER_ROLES = [{"name": "router"}, {"name": "decode", "replicas": 2, "leaderWorkerSet": {"size": 3}}]

SERVING_CASES = (
    Case(
        maker="LeaderWorkerSet",
        name="lws-55c0d1a8fbd7a8a5da27d64f7bbdd7a5e4e1a1d0",
        size=3,
        source="LeaderWorkerSet",
        members=((of_lws(0), "leader", 0), (of_lws(2), "worker", 2)),
        owners={
            "set": owned(workload("apps/v1", "StatefulSet", {}), "LeaderWorkerSet", uid="u"),
            "u": workload("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", {"leaderWorkerTemplate": {"size": 3}}),
        },
        alone=3,
    ),
    Case(
        maker="LLMInferenceService over several nodes (KServe)",
        name="lws-55c0d1a8fbd7a8a5da27d64f7bbdd7a5e4e1a1d0",
        size=3,
        source="LeaderWorkerSet",
        members=((of_llm_service(0), "leader", 0), (of_llm_service(2), "worker", 2)),
        owners={},
        alone=3,
    ),
    Case(
        maker="RoleBasedGroup (v1alpha2)",
        name="rbg-pd",
        size=12,
        source="RoleBasedGroup",
        members=(
            (of_rbg("router", 0), "router", -1),
            (of_rbg("decode", 8, **{"leaderworkerset.sigs.k8s.io/name": "pd-decode"}), "decode", -1),
        ),
        owners={
            "i": owned(workload("workloads.x-k8s.io/v1alpha2", "RoleInstance", {}), "RoleInstanceSet", uid="is"),
            "is": owned(workload("workloads.x-k8s.io/v1alpha2", "RoleInstanceSet", {}), "RoleBasedGroup", uid="u"),
            "u": workload("workloads.x-k8s.io/v1alpha2", "RoleBasedGroup", {"roles": ROLES}),
        },
    ),
    Case(
        maker="RoleBasedGroup (v1alpha1)",
        name="rbg-pd",
        size=7,
        source="RoleBasedGroup",
        members=((of_older_rbg("router", 0, 0), "router", 0), (of_older_rbg("decode", 1, 8), "decode", 1)),
        owners={
            "set": owned(workload("apps/v1", "StatefulSet", {}), "RoleBasedGroup", uid="u"),
            "u": workload("workloads.x-k8s.io/v1alpha1", "RoleBasedGroup", {"roles": OLDER_ROLES}),
        },
    ),
    Case(
        maker="PodCliqueSet (Grove)",
        name="dyn-0",
        size=9,
        source="PodCliqueSet",
        members=(
            (of_grove("frontend", 0, 0), "frontend", 0),
            (of_grove("worker", 2, 8, group="decode"), "worker", 2),
        ),
        owners=GROVE_OWNERS,
    ),
    Case(
        maker="PodCliqueSet (Grove)",
        name="dyn-0-decode-1",
        size=4,
        source="PodCliqueSet",
        members=(
            (of_grove("leader", 0, 0, scaled=1, group="decode"), "leader", 0),
            (of_grove("worker", 2, 8, scaled=1, group="decode"), "worker", 2),
        ),
        owners=GROVE_OWNERS,
    ),
    Case(
        maker="DynamoGraphDeployment, with Grove",
        name="dyn-0",
        size=7,
        source="PodCliqueSet",
        members=(
            (of_dynamo("frontend", 0), "frontend", 0),
            (of_dynamo("decode-ldr", 8, "decode"), "decode-ldr", 0),
            (of_dynamo("decode-wkr", 8, "decode"), "decode-wkr", 0),
        ),
        owners=DYNAMO_OWNERS,
    ),
    Case(
        maker="DynamoGraphDeployment, with Grove",
        name="dyn-0",
        size=7,
        source="PodCliqueSet",
        system="kai",
        members=(
            (on_kai(of_dynamo("frontend", 0)), "frontend", 0),
            (on_kai(of_dynamo("decode-wkr", 8, "decode")), "decode-wkr", 0),
        ),
        owners=DYNAMO_OWNERS,
    ),
    Case(
        maker="InferenceService over several nodes (KServe)",
        name="isvc-llama-2",
        size=3,
        source="InferenceService",
        members=((of_kserve("kserve-container"), "head", -1), (of_kserve("worker-container"), "worker", -1)),
        owners={},
        alone=3,
    ),
    Case(
        maker="ModelServing (Kthena)",
        name="modelserving-pd-0",
        size=9,
        source="ModelServing",
        system="volcano",
        members=((of_kthena("router", 0, 0, 0), "router", 0), (of_kthena("decode", 0, 3, 8), "decode", 3)),
        owners={"serving": MODEL_SERVING},
    ),
    Case(
        maker="ModelServing (Kthena)",
        name="modelserving-pd-0",
        size=9,
        source="ModelServing",
        members=(
            (of_kthena("router", 0, 0, 0, scheduler="default-scheduler"), "router", 0),
            (of_kthena("decode", 0, 1, 8, scheduler="default-scheduler"), "decode", 1),
        ),
        owners={"serving": MODEL_SERVING},
    ),
    Case(
        maker="ModelBooster (Kthena)",
        name="modelserving-llama-vllm-0",
        size=9,
        source="ModelServing",
        system="volcano",
        members=((of_kthena("decode", 0, 0, 8, name="llama-vllm"), "decode", 0),),
        owners={"serving": owned(MODEL_SERVING, "ModelBooster", uid="booster")},
    ),
    Case(
        maker="StormService (AIBrix)",
        name="roleset-pd-roleset-x7k2p",
        size=10,
        source="RoleSet",
        members=((of_storm("prefill", 1), "prefill", 1), (of_storm("decode", 0, 3), "decode", 3)),
        owners=STORM_OWNERS,
    ),
)
