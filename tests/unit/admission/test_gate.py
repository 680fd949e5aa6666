"""What podberth leaves to the system that schedules a pod's group, where only the result shows what was written."""

import json
from typing import Any

import pytest

from builders import gpu_pod, review, workload, workload_review
from podberth.admission import decide
from podberth.admission.outcome import Outcome
from podberth.admission.review import decode_review
from podberth.admission.workload import validate_workload
from snapshots import cluster, policy, snapshot

KUEUE: dict[str, Any] = {"labels": {"kueue.x-k8s.io/queue-name": "q"}}
KAI = {"schedulerName": "kai-scheduler"}


def patched(path: str, value: Any, **system: Any) -> Outcome:
    operation = json.dumps({"op": "add", "path": path, "value": value}).replace('"', "'")
    known = snapshot(policy("a", f'  mutations:\n  - jsonPatch: "[{operation}]"'))
    return decide.mutate(decode_review(review(gpu_pod(**system))), known)


ACCOUNTED = [
    ("/spec/containers/0/resources/limits/cpu", "2"),
    ("/spec/resources", {"limits": {"cpu": "2"}}),
    ("/spec/resourceClaims", [{"name": "c", "resourceClaimName": "c"}]),
    ("/spec/initContainers", [{"name": "i", "image": "i"}]),
    ("/spec/overhead", {"cpu": "1"}),
]


@pytest.mark.parametrize(("path", "value"), ACCOUNTED)
def test_what_a_system_has_accounted_is_not_written(path: str, value: Any) -> None:
    outcome = patched(path, value, **KUEUE)

    assert outcome.patch == []
    assert [each.action for each in outcome.decisions] == ["skip"]
    assert "kueue has accounted this pod's resources already" in outcome.decisions[0].message


GROUPED = {"schedulerName": "volcano", "annotations": {"scheduling.k8s.io/group-name": "g"}}


def test_volcano_has_accounted_pods_of_a_group_that_is_there_before_them() -> None:
    for path, value in ACCOUNTED:
        assert patched(path, value, **GROUPED).patch == []


def test_volcano_makes_the_group_of_other_pods_from_what_was_admitted() -> None:
    for path, value in ACCOUNTED:
        assert patched(path, value, schedulerName="volcano").verdict == "mutated"


def test_yunikorn_has_placeholders_for_pods_of_a_task_group_alone() -> None:
    task = {"yunikorn.apache.org/task-group-name": "workers"}
    for path, value in ACCOUNTED:
        assert patched(path, value, schedulerName="yunikorn", annotations=task).patch == []
        assert patched(path, value, schedulerName="yunikorn").verdict == "mutated"


TOLERATED = policy("tolerated", "  mutations:\n  - tolerations: topology.nodes(gpu).tolerations")


def tolerations(**system: Any) -> tuple[list[Any], list[str]]:
    known = snapshot(TOLERATED, objects=tainted())
    outcome = decide.mutate(decode_review(review(gpu_pod(**system))), known)
    written = [each["value"] for each in outcome.patch if each["path"] == "/spec/tolerations"]
    return written, list(outcome.warnings)


def tainted() -> list[dict[str, Any]]:
    taint = {"key": "nvidia.com/gpu", "effect": "NoSchedule"}
    return [{**each, "spec": {"taints": [taint]}} if each["kind"] == "Node" else each for each in cluster(hgx_h100_8=1)]


@pytest.mark.parametrize("system", [KUEUE, GROUPED, {"schedulerName": "volcano"}, KAI])
def test_tolerations_of_the_moment_are_written_where_nobody_compares_them(system: dict[str, Any]) -> None:
    [written], _ = tolerations(**system)
    assert [each["key"] for each in written] == ["nvidia.com/gpu"]


def test_what_is_left_out_gets_one_warning() -> None:
    tolerates = [{"key": "nvidia.com/gpu", "operator": "Exists"}]
    assert tolerations(schedulerName="slurm-bridge-scheduler", tolerations=tolerates) == ([], [])
    written, lines = tolerations(schedulerName="slurm-bridge-scheduler")
    assert written == []
    [line] = [line for line in lines if "left out" in line]
    assert line == (
        "podberth tolerated: tolerations left out: slurm-bridge has accounted the pod already, and here it depends on "
        "the cluster; write it in the workload: tolerates nvidia.com/gpu:NoSchedule"
    )


def test_a_request_that_is_left_out_is_named() -> None:
    slices = "[{'container': 'main', 'from': 'nvidia.com/gpu', 'to': 'nvidia.com/mig-1g.10gb', 'quantity': 1}]"
    fits = policy("fits", f'  mutations:\n  - resources: "{slices}"\n    reason: "\'a slice\'"')
    outcome = decide.mutate(decode_review(review(gpu_pod(**KUEUE))), snapshot(fits))
    assert outcome.warnings == (
        "podberth fits: kueue has accounted this pod's resources already; write it in the workload: a slice",
    )


def member(owner: dict[str, Any], **fields: Any) -> tuple[dict[str, Any], Any]:
    """Return a pod of an Indexed Job with its owner, and the cluster that knows the owner."""
    reference = {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "u", "controller": True}
    pod = gpu_pod(labels={"batch.kubernetes.io/job-completion-index": "0"}, **fields)
    pod["metadata"]["ownerReferences"] = [reference]
    spec = {"parallelism": 4, "completions": 4, "template": {"spec": {"subdomain": "s", "containers": [{"name": "m"}]}}}
    job = {"apiVersion": "batch/v1", "kind": "Job", "spec": spec}
    return pod, {**job, "metadata": {"name": "j", "namespace": "default", "uid": "u", **owner}}


TOGETHER = policy(
    "together",
    "  mutations:\n  - gang: {name: gang.name, size: gang.size}\n"
    "  - topology: {level: \"'topology.kubernetes.io/zone'\", mode: required}",
)


@pytest.mark.parametrize(
    ("scheduler", "key"),
    [("volcano", "scheduling.volcano.sh/group-min-member"), ("kai-scheduler", "kai.scheduler/batch-min-member")],
)
def test_a_group_of_one_is_no_group(scheduler: str, key: str) -> None:
    """Both read a Job's minimum from the Job; without one its pods start one by one, and are kept near each other."""

    def placed(owner: dict[str, Any]) -> tuple[bool, bool]:
        pod, job = member(owner, schedulerName=scheduler)
        outcome = decide.mutate(decode_review(review(pod)), snapshot(TOGETHER, objects=[job]))
        paths = [each["path"] for each in outcome.patch]
        return "/spec/affinity" in paths, any("places this pod's group" in line for line in outcome.warnings)

    assert placed({}) == (True, False)
    assert placed({"annotations": {key: "1"}}) == (True, False)
    assert placed({"annotations": {key: "4"}}) == (False, True)


def test_volcano_groups_no_pods_of_an_operator_that_names_no_group() -> None:
    """It reads a minimum of Jobs, StatefulSets, ReplicaSets and DaemonSets; an operator may name its own group."""

    def alone(**annotations: str) -> bool:
        worker = {"training.kubeflow.org/job-name": "j", "training.kubeflow.org/replica-type": "worker"}
        pod = gpu_pod(labels=worker, annotations=annotations, schedulerName="volcano")
        owner = {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "name": "j", "uid": "u", "controller": True}
        pod["metadata"]["ownerReferences"] = [owner]
        outcome = decide.mutate(decode_review(review(pod)), snapshot(TOGETHER))
        return "/spec/affinity" in [each["path"] for each in outcome.patch]

    assert alone()
    assert not alone(**{"scheduling.k8s.io/group-name": "j"})


def job_set(jobs: int, annotations: dict[str, str]) -> dict[str, Any]:
    """Return a JobSet of Jobs of two pods under Volcano."""
    template = {"spec": gpu_pod(8, schedulerName="volcano")["spec"]}
    work = {"parallelism": 2, "completions": 2, "template": template}
    made = {"name": "w", "replicas": jobs, "template": {"metadata": {"annotations": annotations}, "spec": work}}
    return workload("jobset.x-k8s.io/v1alpha2", "JobSet", {"replicatedJobs": [made]})


def test_the_apply_of_a_job_set_says_which_of_its_pods_volcano_groups() -> None:
    known = snapshot(TOGETHER, objects=cluster(hgx_h100_8=2))

    def lines(*job: Any) -> str:
        return "\n".join(validate_workload(decode_review(workload_review(job_set(*job), "jobsets")), known).warnings)

    unsaid, said = lines(1, {}), lines(1, {"scheduling.volcano.sh/group-min-member": "2"})
    assert "got none, so Volcano starts the 2 pods of this gang one by one; write 2" in unsaid
    assert "places this pod's group" not in unsaid
    assert "group-min-member" not in said
    assert "volcano places this pod's group" in said
    assert "spec.replicatedJobs: Volcano makes a group for each Job" in lines(3, {})


@pytest.mark.parametrize("stated", [False, True])
def test_the_apply_of_a_cron_job_says_whether_volcano_groups_its_pods(stated: bool) -> None:
    _, job = member({}, schedulerName="volcano")
    spec = {**job["spec"], "completionMode": "Indexed"}
    spec["template"] = {"spec": {**gpu_pod(8, schedulerName="volcano")["spec"], "subdomain": "s"}}
    said = {"annotations": {"scheduling.volcano.sh/group-min-member": "4"}} if stated else {}
    cron = workload("batch/v1", "CronJob", {"schedule": "@daily", "jobTemplate": {"metadata": said, "spec": spec}})
    lines = validate_workload(decode_review(workload_review(cron, "cronjobs")), snapshot(TOGETHER)).warnings
    assert any("volcano places this pod's group" in line for line in lines) is stated
    assert any("got none, so Volcano starts the 4 pods" in line for line in lines) is not stated


CHOOSES = policy("chooses", "  mutations:\n  - schedulerName: \"'volcano'\"")
RING = {"volcano.sh/network-topology-mode": "hard"}


@pytest.mark.parametrize(
    ("pod", "chosen"),
    [
        (gpu_pod(annotations=RING), True),
        (gpu_pod(annotations=RING, schedulerName="default-scheduler"), True),
        (gpu_pod(annotations=RING, schedulerName="another"), False),
        (gpu_pod(schedulerName="kai-scheduler"), False),
        (gpu_pod(**KUEUE), False),  # has no scheduler of its own
    ],
)
def test_a_pod_of_a_system_whose_scheduler_it_does_not_name_may_get_one(pod: dict[str, Any], chosen: bool) -> None:
    outcome = decide.mutate(decode_review(review(pod)), snapshot(CHOOSES))
    assert ("/spec/schedulerName" in [each["path"] for each in outcome.patch]) is chosen


def test_kai_reads_no_minimum_of_the_jobs_of_a_cron_job() -> None:
    above = {"apiVersion": "batch/v1", "kind": "CronJob", "name": "c", "uid": "v", "controller": True}
    stated = {"annotations": {"kai.scheduler/batch-min-member": "4"}, "ownerReferences": [above]}
    pod, job = member(stated, **KAI)
    outcome = decide.mutate(decode_review(review(pod)), snapshot(TOGETHER, objects=[job]))
    assert "/spec/affinity" in [each["path"] for each in outcome.patch]


def test_nobody_asks_for_topology_again_where_the_workload_does() -> None:
    asked = {"kai.scheduler/batch-min-member": "4", "kai.scheduler/topology": "t"}
    pod, job = member({"annotations": asked}, **KAI)
    outcome = decide.mutate(decode_review(review(pod)), snapshot(TOGETHER, objects=[job]))
    assert list(outcome.warnings) == []


def test_slurm_has_reserved_for_what_the_pod_asks() -> None:
    """Its webhook refuses pods with claims, and it counts whole GPUs only."""
    for path, value in ACCOUNTED:
        assert patched(path, value, schedulerName="slurm-bridge-scheduler").patch == []


@pytest.mark.parametrize("system", [{}, KAI])
@pytest.mark.parametrize(("path", "value"), ACCOUNTED)
def test_of_others_it_is(path: str, value: Any, system: dict[str, Any]) -> None:
    assert patched(path, value, **system).verdict == "mutated"


@pytest.mark.parametrize("system", [KUEUE, KAI])
def test_affinity_is_left_to_whoever_places_the_group(system: dict[str, Any]) -> None:
    outcome = patched("/spec/affinity", {"podAntiAffinity": {}}, **system)

    assert outcome.patch == []
    assert "places this pod's group" in outcome.decisions[0].message


NEAR = policy("near", "  mutations:\n  - topology: {level: \"'topology.kubernetes.io/zone'\", mode: required}")
CHOSEN = policy(
    "chosen",
    "  mutations:\n  - nodeAffinity: {required: \"[{'matchExpressions': [{'key': 'a', 'operator': 'Exists'}]}]\"}",
)


def said(document: dict[str, Any], known: Any, *objects: dict[str, Any]) -> list[str]:
    outcome = decide.mutate(decode_review(review(document)), snapshot(known, objects=objects))
    assert outcome.patch == []
    return list(outcome.warnings)


VOLCANO = {"scheduling.k8s.io/group-name": "pd-0"}


@pytest.mark.parametrize(
    ("labels", "where"),
    [
        (
            {"modelserving.volcano.sh/group-name": "pd-0"},
            "spec.template.networkTopology.groupPolicy of the ModelServing",
        ),
        ({"rbg.workloads.x-k8s.io/group-name": "pd"}, ""),
        ({"training.kubeflow.org/job-name": "bert"}, ""),
        ({"volcano.sh/job-name": "bert"}, "spec.networkTopology of the Volcano Job"),
        ({}, "spec.networkTopology of its PodGroup"),
    ],
)
def test_an_author_whose_operator_makes_the_group_is_sent_to_the_own_object_or_nowhere(
    labels: dict[str, str], where: str
) -> None:
    lines = said(gpu_pod(labels=labels, annotations=VOLCANO, schedulerName="volcano"), NEAR)
    assert [line.partition("for topology set ")[2] for line in lines] == ([where] if where else [])


def test_where_topology_is_asked_for_is_said_only_where_topology_was_wanted() -> None:
    [line] = said(gpu_pod(**KAI), NEAR)
    assert line.endswith(
        "kai places this pod's group; for topology set annotations kai.scheduler/topology and "
        "kai.scheduler/topology-preferred-placement of the workload"
    )
    assert said(gpu_pod(**KAI), CHOSEN) == []


def test_of_a_group_that_the_author_made_for_kai_the_group_itself_is_named() -> None:
    """Its pod-grouper reads the workload's annotations only where it makes the group."""
    wanted = "for topology set spec.topologyConstraint of the PodGroup"
    needs = " (an owner of the pods needs annotation kai.scheduler/skip-podgrouper)"
    skips = {"kai.scheduler/skip-podgrouper": "true"}
    owned = {"ownerReferences": [{"apiVersion": "v1", "kind": "X", "name": "x", "uid": "x", "controller": True}]}
    for more, annotations, end in (({}, {}, wanted), (owned, {}, wanted + needs), (owned, skips, wanted)):
        document = gpu_pod(**KAI, annotations={"pod-group-name": "pg", **annotations})
        document["metadata"].update(more)
        [line] = said(document, NEAR)
        assert line.endswith(end)


@pytest.mark.parametrize(
    ("group", "named", "scheduler", "spec"),
    [
        ("scheduling.run.ai/v2alpha2", "pod-group-name", "kai-scheduler", {"topologyConstraint": {"topology": "t"}}),
        (
            "scheduling.run.ai/v2alpha2",
            "pod-group-name",
            "kai-scheduler",
            {"subGroups": [{"name": "s", "topologyConstraint": {"topology": "t"}}]},
        ),
        (
            "scheduling.volcano.sh/v1beta1",
            "scheduling.k8s.io/group-name",
            "volcano",
            {"networkTopology": {"mode": "hard"}},
        ),
    ],
)
def test_nothing_is_said_where_the_named_group_asks_already(
    group: str, named: str, scheduler: str, spec: dict[str, Any]
) -> None:
    document = gpu_pod(schedulerName=scheduler, annotations={named: "pg"})
    made = {"apiVersion": group, "kind": "PodGroup", "metadata": {"name": "pg", "namespace": "default"}, "spec": spec}
    assert said(document, NEAR, {**made, "spec": {}})
    assert said(document, NEAR, made) == []
    assert said(document, NEAR, {**made, "metadata": {"name": "pg", "namespace": "other"}})


@pytest.mark.parametrize(
    ("system", "key"),
    [
        (KAI, "kai.scheduler/topology-required-placement"),
        ({"schedulerName": "volcano"}, "volcano.sh/network-topology-mode"),
        ({"schedulerName": "slurm-bridge-scheduler"}, "slurmjob.slinky.slurm.net/constraints"),
        ({"schedulerName": "koord-scheduler"}, "gang.scheduling.koordinator.sh/network-topology-spec"),
    ],
)
def test_nothing_is_said_where_the_pod_asks_its_system_already(system: dict[str, Any], key: str) -> None:
    assert said(gpu_pod(**system), NEAR)
    assert said(gpu_pod(**system, annotations={key: "x"}), NEAR) == []


def test_nothing_is_said_where_the_pod_has_affinity_to_others_of_its_own() -> None:
    assert said(gpu_pod(**KAI, affinity={"podAffinity": {}}), NEAR) == []


def test_nothing_is_said_about_kueue_whose_flavors_nobody_knows() -> None:
    """Without topologyName in the ResourceFlavor Kueue refuses a workload that asks for topology."""
    assert said(gpu_pod(**KUEUE), NEAR) == []


@pytest.mark.parametrize("topology", [None, {"mode": "hard", "highestTierAllowed": 1}])
def test_a_volcano_job_is_asked_for_topology_unless_it_says_it(topology: dict[str, Any] | None) -> None:
    task = {"name": "worker", "replicas": 2, "template": {"spec": gpu_pod(8)["spec"]}}
    spec = {"schedulerName": "volcano", "tasks": [task], **({"networkTopology": topology} if topology else {})}
    asked = workload_review(workload("batch.volcano.sh/v1alpha1", "Job", spec), "jobs")
    lines = [line for line in validate_workload(decode_review(asked), snapshot(NEAR)).warnings if "topology" in line]
    assert [line.partition("for topology ")[2] for line in lines] == (
        [] if topology else ["set spec.networkTopology of the Volcano Job"]
    )


@pytest.mark.parametrize(("least", "asked"), [(1, False), (3, False), (4, True), (5, True)])
def test_a_volcano_job_that_starts_with_fewer_pods_than_a_task_has_is_not_asked_for_topology(
    least: int, asked: bool
) -> None:
    tasks = [
        {"name": name, "replicas": replicas, "template": {"spec": gpu_pod(8)["spec"]}}
        for name, replicas in (("worker", 4), ("master", 1))
    ]
    spec = {"schedulerName": "volcano", "minAvailable": least, "tasks": tasks}
    review = workload_review(workload("batch.volcano.sh/v1alpha1", "Job", spec), "jobs")
    lines = [line for line in validate_workload(decode_review(review), snapshot(NEAR)).warnings if "topology" in line]
    assert bool(lines) is asked


@pytest.mark.parametrize("topology", [None, {"groupPolicy": {"mode": "hard", "highestTierAllowed": 1}}])
def test_a_model_serving_is_asked_for_topology_unless_it_says_it(topology: dict[str, Any] | None) -> None:
    role = {"name": "decode", "replicas": 2, "workerReplicas": 0, "entryTemplate": {"spec": gpu_pod(8)["spec"]}}
    template = {"roles": [role], "gangPolicy": {"minRoleReplicas": {"decode": 2}}}
    spec = {
        "replicas": 1,
        "schedulerName": "volcano",
        "template": template | ({"networkTopology": topology} if topology else {}),
    }
    asked = workload_review(workload("workload.serving.volcano.sh/v1alpha1", "ModelServing", spec), "modelservings")
    lines = [line for line in validate_workload(decode_review(asked), snapshot(NEAR)).warnings if "topology" in line]
    assert bool(lines) is not bool(topology)
