"""What Kthena makes of ModelServings and ModelBoosters: the pods of their templates, their gangs, and what starts."""

from typing import Any

import pytest

from builders import gpu_pod, pod, template, workload
from group_scenes import Scene, known, warned
from named_owners import gang_of
from operator_pods.serving import MODEL_SERVING, of_kthena
from podberth.kinds.places import PLACEHOLDER_HASH, PLACEHOLDER_UID
from podberth.workload.gangs import gang_of as gang_in
from podberth.workload.owners import OWNER_KINDS, keep
from podberth.workload.projection import project
from podberth.workload.templates import Template, templates

JSON = dict[str, Any]
VERSION = "workload.serving.volcano.sh/v1alpha1"
KEY = "modelserving.volcano.sh"


def role(name: str, entry: JSON, worker: JSON | None = None, replicas: int = 1, workers: int = 0) -> JSON:
    templated = {"entryTemplate": entry} | ({} if worker is None else {"workerTemplate": worker})
    return {"name": name, "replicas": replicas, "workerReplicas": workers, **templated}


def serving(*roles: JSON, replicas: int = 1, gang: JSON | None = None, **spec: Any) -> JSON:
    policy = {} if gang is None else {"gangPolicy": {"minRoleReplicas": gang}}
    said = {"replicas": replicas, "template": {"roles": list(roles), **policy}, **spec}
    return workload(VERSION, "ModelServing", said)


CPU, EIGHT = template(pod()), template(gpu_pod(8))
PD = (role("prefill", EIGHT, replicas=4), role("decode", EIGHT, EIGHT, replicas=2, workers=3))


def found(document: JSON) -> list[Template]:
    made = templates(document, namespace="ml")
    assert [each.problems for each in made] == [()] * len(made)
    return made


# ---- the pods -------------------------------------------------------------------------------------------------------


def test_an_entry_has_what_kthena_writes_and_the_templates_labels_win() -> None:
    """As createBasePod, GenerateEntryPod (utils.go), AnnotatePodWithPodGroup (podgroupmanager/manager.go)."""
    own = template(gpu_pod(8, labels={f"{KEY}/revision": "mine"}, annotations={"scheduling.k8s.io/group-name": "mine"}))
    document = serving(role("decode", own, EIGHT, workers=1))
    entry, worker = found(document)
    metadata = entry.pod["metadata"]
    assert metadata["labels"] == {
        f"{KEY}/name": document["metadata"]["name"],
        f"{KEY}/group-name": f"{document['metadata']['name']}-0",
        f"{KEY}/role": "decode",
        f"{KEY}/role-id": "decode-0",
        f"{KEY}/entry": "true",
        f"{KEY}/revision": "mine",
        f"{KEY}/role-template-hash": PLACEHOLDER_HASH,
    }
    assert f"{KEY}/entry" not in worker.pod["metadata"]["labels"]
    said = {"scheduling.k8s.io/group-name": f"{document['metadata']['name']}-0", "volcano.sh/task-spec": "decode-0"}
    assert metadata["annotations"] == worker.pod["metadata"]["annotations"] == said
    assert [each.pod["metadata"]["name"].removeprefix(document["metadata"]["name"]) for each in (entry, worker)] == [
        "-0-decode-0-0",
        "-0-decode-0-1",
    ]
    [reference] = metadata["ownerReferences"]
    assert (reference["kind"], reference["uid"]) == ("ModelServing", PLACEHOLDER_UID)
    assert "generateName" not in metadata


def test_the_environment_is_written_over_the_users_own() -> None:
    """As createCommonEnvVars, addEnvVars (utils.go): in init containers, too."""
    own = pod(init=[{"name": "first", "image": "i"}])
    own["spec"]["containers"][0]["env"] = [{"name": "GROUP_SIZE", "value": "9"}, {"name": "A", "value": "b"}]
    document = serving(role("decode", template(own), EIGHT, workers=3))
    entry, worker = found(document)
    names = ["GROUP_SIZE", "ENTRY_ADDRESS", "WORKER_INDEX"]
    main, first = entry.pod["spec"]["containers"][0], entry.pod["spec"]["initContainers"][0]
    values = {each["name"]: each["value"] for each in main["env"]}
    assert [each["name"] for each in main["env"]] == ["A", *names]
    assert [each["name"] for each in first["env"]] == names
    assert (values["GROUP_SIZE"], values["WORKER_INDEX"]) == ("4", "0")
    address = f"{entry.pod['metadata']['name']}.{entry.pod['metadata']['namespace']}"
    others = {each["name"]: each["value"] for each in worker.pod["spec"]["containers"][0]["env"]}
    assert values["ENTRY_ADDRESS"] == others["ENTRY_ADDRESS"] == address
    assert others["WORKER_INDEX"] == "1"


@pytest.mark.parametrize(
    ("said", "scheduler", "grouped"),
    [
        ({}, "volcano", True),
        ({"schedulerName": None}, "volcano", True),
        ({"schedulerName": "volcano"}, "volcano", True),
        ({"schedulerName": ""}, "default-scheduler", False),
        ({"schedulerName": "kai-scheduler"}, "kai-scheduler", False),
    ],
)
def test_the_scheduler_is_the_objects_and_volcano_alone_gets_a_group(said: JSON, scheduler: str, grouped: bool) -> None:
    own = template(gpu_pod(8, schedulerName="mine"))
    for each in found(serving(role("decode", own, own, workers=1), **said)):
        assert each.pod["spec"]["schedulerName"] == scheduler
        assert ("scheduling.k8s.io/group-name" in each.pod["metadata"].get("annotations", {})) is grouped


def test_what_kthena_overwrites_or_prunes_is_not_written_into_a_template() -> None:
    [entry] = found(serving(role("decode", EIGHT)))
    for patch, reason in (
        (
            [{"op": "replace", "path": "/spec/schedulerName", "value": "kai-scheduler"}],
            "spec.schedulerName: Kthena writes spec.schedulerName there; change it in the ModelServing",
        ),
        (
            [{"op": "add", "path": "/spec/schedulingGroup", "value": {"podGroupName": "g"}}],
            "spec.schedulingGroup: ModelServing has no place for it",
        ),
        (
            [{"op": "add", "path": "/metadata/finalizers", "value": ["example.com/x"]}],
            "metadata.finalizers: ModelServing has no place for it",
        ),
    ):
        step, _ = project(entry, [patch], patch)
        assert step.left == reason


def test_pods_are_counted_through_groups_and_roles_and_no_workers_have_no_template() -> None:
    made = found(serving(*PD, role("router", CPU, {"spec": {"containers": []}}), replicas=3))
    assert [(each.path[-1], each.role, each.replicas) for each in made] == [
        ("entryTemplate", "prefill", 12),
        ("entryTemplate", "decode", 6),
        ("entryTemplate", "router", 3),
        ("workerTemplate", "decode", 18),
    ]


# ---- gangs ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("document", "index", "alone"),
    [
        (of_kthena("decode", 0, 0, 8), 0, 0),
        (of_kthena("decode", 0, 3, 8), 3, 3),
        (of_kthena("decode", 1, 0, 8), 4, -1),
        (of_kthena("decode", 1, 2, 8), 6, -1),
        (of_kthena("other", 1, 2, 8), -1, -1),
    ],
)
def test_pods_of_a_role_are_numbered_through_its_replicas(document: JSON, index: int, alone: int) -> None:
    assert gang_of(document, "default", {"serving": MODEL_SERVING}).index == index
    assert gang_of(document, "default", {}).index == alone


@pytest.mark.parametrize(("key", "value"), [("role-id", "decode-x"), ("role-id", ""), ("role", "prefill")])
def test_labels_that_are_not_kthenas_number_nothing(key: str, value: str) -> None:
    document = of_kthena("decode", 0, 3, 8)
    document["metadata"]["labels"][f"{KEY}/{key}"] = value
    assert gang_of(document, "default", {"serving": MODEL_SERVING}).index == -1


def test_a_worker_under_another_name_has_no_number() -> None:
    document = of_kthena("decode", 0, 3, 8)
    document["metadata"]["name"] = "somebody-3"
    assert gang_of(document, "default", {}).index == -1


@pytest.mark.parametrize("whole", [True, False])
def test_of_a_groups_pods_those_with_gpus_are_counted(whole: bool) -> None:
    owner = serving(role("router", CPU), role("decode", CPU, EIGHT, replicas=2, workers=3), replicas=5)
    owner["metadata"]["uid"] = "serving"
    [kind] = [each for each in OWNER_KINDS if each.kind == "ModelServing"]
    kept = owner if whole else keep(kind, owner)
    group = gang_of(of_kthena("decode", 0, 1, 8), "default", {"serving": kept})
    assert (group.size, group.accelerated) == (1 + 2 * 4, 2 * 3)


def test_a_leader_worker_set_that_kthena_runs_is_a_model_serving() -> None:
    """plugins/lws_labels_plugin.go: the labels of both, but no size of the LeaderWorkerSet's."""
    document = of_kthena("default", 0, 1, 8)
    lws = {"name": "pd", "group-index": "0", "worker-index": "1", "group-key": "3d5b"}
    document["metadata"]["labels"] |= {f"leaderworkerset.sigs.k8s.io/{key}": value for key, value in lws.items()}
    group = gang_of(document, "default", {"serving": serving(role("default", EIGHT, EIGHT, workers=2))})
    assert (group.source, group.size, group.index) == ("ModelServing", 3, 1)


# ---- what starts together -------------------------------------------------------------------------------------------


def lines(document: JSON, objects: str = "") -> tuple[str, ...]:
    """Return the warnings: the cluster has three nodes of eight GPUs."""
    return tuple(warned(document, known(Scene("", "", "", objects))))


def test_a_group_that_volcano_waits_for_in_vain_is_reported() -> None:
    [line] = lines(serving(*PD))
    assert line.startswith("podberth: decode: spec.containers: 12 pods of 3 roles start together")


@pytest.mark.parametrize(
    "document",
    [
        # calculateRequirements (podgroupmanager/manager.go): a minimum of each role is enough
        serving(
            role("prefill", EIGHT, replicas=4), role("decode", EIGHT, replicas=2), gang={"prefill": 2, "decode": 1}
        ),
        # each of many groups starts by itself
        serving(role("decode", EIGHT, EIGHT, workers=2), replicas=9),
        # shouldCreatePodGroup: of another scheduler's pods nobody waits for all
        serving(*PD, schedulerName="default-scheduler"),
        serving(*PD, replicas=0),
    ],
)
def test_a_group_that_starts_is_not_reported(document: JSON) -> None:
    assert lines(document) == ()


def test_the_queue_is_an_annotation_of_the_object() -> None:
    """As extractQueueName (podgroupmanager/manager.go) reads it."""
    document = serving(role("decode", EIGHT, EIGHT, workers=1))
    document["metadata"]["annotations"] = {"scheduling.volcano.sh/queue-name": "nowhere"}
    queue = "{apiVersion: scheduling.volcano.sh/v1beta1, kind: Queue, metadata: {name: research}}"
    [line] = lines(document, queue)
    assert "got nowhere, no Volcano Queue" in line
    document["spec"]["schedulerName"] = "default-scheduler"
    assert lines(document, queue) == ()


# ---- ModelBooster ---------------------------------------------------------------------------------------------------


def worker(kind: str, replicas: int = 1, **more: Any) -> JSON:
    return {"type": kind, "replicas": replicas, "image": "i", "resources": {"limits": {"nvidia.com/gpu": 8}}, **more}


def booster(*workers: JSON, kind: str = "vLLM", **backend: Any) -> JSON:
    said = {"name": "b", "type": kind, "replicas": 2, "workers": list(workers), **backend}
    return workload(VERSION, "ModelBooster", {"backend": said})


def test_a_server_of_several_pods_is_an_entry_and_workers() -> None:
    """As buildVllmModelServing, templates/vllm.yaml (pkg/model-booster-controller/convert)."""
    [entry] = found(booster(worker("server", 3, pods=4), runtimeClassName="nvidia"))
    assert (entry.role, entry.replicas, entry.pod["spec"]["runtimeClassName"]) == ("leader", 2 * 3 * 4, "nvidia")
    [main] = entry.pod["spec"]["containers"]
    assert (main["name"], main["image"], main["resources"]["limits"]) == ("engine", "i", {"nvidia.com/gpu": "8"})
    labels = entry.pod["metadata"]["labels"]
    assert labels[f"{KEY}/group-name"].endswith("-b-0")
    assert labels["workload.serving.volcano.sh/backend-name"] == "b"
    group = gang_in(entry.pod, "default", entry.owners)
    assert (group.source, group.size, group.role, group.system) == ("ModelServing", 12, "leader", "volcano")


def test_prefill_and_decode_are_roles_and_other_workers_make_no_pods() -> None:
    """As buildVllmDisaggregatedModelServing, templates/vllm-pd.yaml: `pods` counts for servers alone."""
    workers = (worker("prefill", 2), worker("decode", 1, pods=4), worker("server"), worker("coordinator"))
    made = found(booster(*workers, kind="vLLMDisaggregated", schedulerName="default-scheduler"))
    assert [(each.role, each.replicas) for each in made] == [("prefill", 4), ("decode", 2)]
    assert {gang_in(each.pod, "default", each.owners).size for each in made} == {3}
    assert {each.pod["spec"]["schedulerName"] for each in made} == {"default-scheduler"}
    assert found(booster(worker("server"), kind="MindIE")) == []


def test_of_a_boosters_pods_only_the_choice_of_nodes_can_be_written() -> None:
    [entry] = found(booster(worker("server")))
    toleration = {"key": "nvidia.com/gpu", "operator": "Exists"}
    tolerate = [{"op": "add", "path": "/spec/tolerations/-", "value": toleration}]
    step, _ = project(entry, [tolerate], tolerate)
    assert step.operations == [{"op": "add", "path": "/spec/backend/workers/0/tolerations", "value": [toleration]}]
    for path in ("/spec/nodeSelector", "/metadata/annotations"):
        patch = [{"op": "add", "path": path, "value": {"a": "b"}}]
        step, _ = project(entry, [patch], patch)
        assert step.left.endswith("ModelBooster has no place for it")
