"""What roles of a gang ask for by their templates, and how many of its pods have GPUs."""

from typing import Any

import pytest

from builders import container, gpu_container, gpu_pod, owned, pod, sidecar, template, workload
from calls import calls_of
from named_owners import gang_of
from podberth.devices.claims import ClaimRequest, KnownDevices
from podberth.kinds.roles import asks_in
from podberth.kinds.roles import counted as pods_of
from podberth.workload.gangs import Gang
from podberth.workload.gpus import facts_of
from podberth.workload.owners import OWNER_KINDS, keep

JSON = dict[str, Any]
CPU, EIGHT, ONE = template(pod()), template(gpu_pod(8)), template(gpu_pod(1))
KINDS = {kind.kind: kind for kind in OWNER_KINDS if kind.group != "batch.volcano.sh"}


def mpi(workers: JSON = EIGHT, launcher: JSON = CPU, count: int = 2) -> JSON:
    roles = {"Launcher": {"replicas": 1, "template": launcher}, "Worker": {"replicas": count, "template": workers}}
    return workload("kubeflow.org/v2beta1", "MPIJob", {"mpiReplicaSpecs": roles})


def of_mpi(owner: JSON, *, annotations: JSON | None = None, label: str = "", **known: Any) -> Gang:
    labels = {"training.kubeflow.org/job-name": "bert", **({"podberth.io/gang": label} if label else {})}
    document = gpu_pod(8, labels=labels, annotations=annotations or {})
    return gang_of(owned(document, "MPIJob", api_version="kubeflow.org/v2beta1", uid="u"), "ml", {"u": owner}, **known)


def kept(owner: JSON) -> JSON:
    found = keep(KINDS[owner["kind"]], {**owner, "metadata": {**owner["metadata"], "uid": "u"}})
    assert found is not None
    return found


@pytest.mark.parametrize("whole", [True, False])
def test_of_a_launcher_and_its_workers_the_workers_have_gpus(whole: bool) -> None:
    owner = mpi() if whole else kept(mpi())
    found = of_mpi(owner)
    assert (found.size, found.accelerated, found.roles) == (3, 2, ())
    assert found.as_cel()["accelerated"] == 2


def test_roles_that_ask_for_different_things_are_listed_and_alike_ones_are_not() -> None:
    assert of_mpi(mpi(launcher=EIGHT)).roles == ()
    found = of_mpi(mpi(launcher=ONE))
    assert found.accelerated == pods_of(found.roles) == 3
    assert [(role.count, role.asks and role.asks.amounts) for role in found.roles] == [
        (1, (("nvidia.com/gpu", 1),)),
        (2, (("nvidia.com/gpu", 8),)),
    ]


@pytest.mark.parametrize(
    "owner",
    [
        mpi(workers={}),
        mpi(workers={"spec": {"containers": "x"}}),
        mpi(workers=CPU),
        workload("kubeflow.org/v2beta1", "MPIJob", {"mpiReplicaSpecs": {"Launcher": {}, "Worker": {"replicas": 2}}}),
    ],
)
def test_where_a_template_is_not_known_or_none_has_gpus_all_pods_count(owner: JSON) -> None:
    found = of_mpi(owner)
    assert (found.size, found.accelerated, found.roles) == (3, 3, ())


def test_a_role_without_pods_is_not_asked_for() -> None:
    found = of_mpi(mpi(workers={}, launcher=ONE, count=0), annotations={"podberth.io/gang-size": "1"}, label="x")
    assert found.known
    owner = mpi(launcher={}, count=2)
    owner["spec"]["mpiReplicaSpecs"]["Launcher"]["replicas"] = 0
    assert of_mpi(owner).accelerated == 2


def test_the_users_word_on_the_size_counts_all_pods_unless_it_is_the_owners() -> None:
    assert of_mpi(mpi(), annotations={"podberth.io/gang-size": "3"}).accelerated == 2
    found = of_mpi(mpi(), annotations={"podberth.io/gang-size": "5"})
    assert (found.size, found.accelerated) == (5, 5)
    mine = of_mpi(mpi(), annotations={"podberth.io/gang-size": "3"}, label="mine")
    assert (mine.source, mine.size, mine.accelerated) == ("label", 3, 3)


def test_the_annotation_says_how_many_have_gpus_where_no_owner_does() -> None:
    noted = {"podberth.io/gang-size": "5", "podberth.io/gang-accelerated": "4"}
    found = of_mpi(mpi(launcher=ONE), annotations=noted)
    assert (found.size, found.accelerated, found.roles, found.problems) == (5, 4, (), ())


@pytest.mark.parametrize(("text", "want"), [("0", "1 to 3"), ("4", "1 to 3"), ("x", "1 to 3"), ("-1", "1 to 3")])
def test_a_number_that_cannot_be_is_reported_and_passed_over(text: str, want: str) -> None:
    found = of_mpi(mpi(), annotations={"podberth.io/gang-accelerated": text})
    assert found.accelerated == 2
    said = f'got "{text}", want {want}: how many of the pods ask for accelerators'
    assert found.problems == (f"metadata.annotations[podberth.io/gang-accelerated]: {said}",)


def test_a_claim_without_a_name_is_passed_over() -> None:
    nameless = pod(container(claims=[""]), resourceClaims=[{"name": "", "resourceClaimName": "x"}, {}])
    assert of_mpi(mpi(launcher=template(nameless))).accelerated == 2


def test_a_claim_for_a_nic_is_no_accelerator_and_one_that_is_not_known_may_be() -> None:
    claims = [{"name": "one", "resourceClaimTemplateName": "nic"}]
    claiming = template(pod(container(claims=["one"]), resourceClaims=claims))
    assert of_mpi(mpi(launcher=claiming)).accelerated == 3
    asked = {("ml", "nic"): (ClaimRequest("nic.example.com", 1),)}
    devices = KnownDevices(templates=asked, others=frozenset({"nic.example.com"}))
    assert of_mpi(mpi(launcher=claiming), devices=devices).accelerated == 2


CASES: list[tuple[str, JSON, JSON, str, tuple[int, int]]] = [
    (
        "JobSet with initializers",
        workload(
            "jobset.x-k8s.io/v1alpha2",
            "JobSet",
            {
                "replicatedJobs": [
                    {"name": "dataset-initializer", "template": {"spec": {"template": CPU}}},
                    {"name": "model-initializer", "template": {"spec": {"template": CPU}}},
                    {"name": "node", "template": {"spec": {"parallelism": 2, "template": EIGHT}}},
                ]
            },
        ),
        {"jobset.sigs.k8s.io/jobset-name": "js", "jobset.sigs.k8s.io/jobset-uid": "u"},
        "Job",
        (4, 2),
    ),
    (
        "RayCluster",
        workload(
            "ray.io/v1",
            "RayCluster",
            {
                "headGroupSpec": {"template": CPU},
                "workerGroupSpecs": [
                    {"replicas": 2, "numOfHosts": 2, "template": EIGHT},
                    {"replicas": 3, "suspend": True, "template": EIGHT},
                ],
            },
        ),
        {"ray.io/cluster": "rc", "ray.io/node-type": "worker"},
        "RayCluster",
        (5, 4),
    ),
    (
        "PodCliqueSet",
        workload(
            "grove.io/v1alpha1",
            "PodCliqueSet",
            {
                "template": {
                    "cliques": [
                        {"name": "frontend", "spec": {"replicas": 2, "podSpec": CPU["spec"]}},
                        {"name": "decode", "spec": {"replicas": 3, "podSpec": EIGHT["spec"]}},
                    ]
                }
            },
        ),
        {"grove.io/podgang": "serve-0", "grove.io/podclique": "serve-0-decode"},
        "PodCliqueSet",
        (5, 3),
    ),
    (
        "RoleBasedGroup v1alpha2",
        workload(
            "workloads.x-k8s.io/v1alpha2",
            "RoleBasedGroup",
            {
                "roles": [
                    {"name": "router", "replicas": 1, "standalonePattern": {"template": CPU}},
                    {"name": "decode", "replicas": 2, "leaderWorkerPattern": {"size": 2, "template": EIGHT}},
                ]
            },
        ),
        {"rbg.workloads.x-k8s.io/group-name": "rbg"},
        "RoleBasedGroup",
        (5, 4),
    ),
]


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize(("name", "owner", "labels", "kind", "expected"), CASES, ids=[case[0] for case in CASES])
def test_every_operators_roles_are_counted(
    name: str, owner: JSON, labels: JSON, kind: str, expected: tuple[int, int], whole: bool
) -> None:
    assert name
    known = owner if whole else kept(owner)
    document = owned(gpu_pod(8, labels=labels), kind, api_version=owner["apiVersion"], uid="u")
    found = gang_of(document, "ml", {"u": known})
    assert (found.size, found.accelerated) == expected


def test_amounts_are_what_the_scheduler_reserves() -> None:
    document = pod(
        gpu_container("a", 2),
        container("b", limits={"cpu": "4", "example.com/x": "3", "bad.com/y": "1.5"}),
        init=[gpu_container("first", "9"), sidecar(limits={"nvidia.com/gpu": 1}), gpu_container("last", 1)],
    )
    found = asks_in(document["spec"])
    assert found is not None
    assert dict(found.amounts) == {"nvidia.com/gpu": 9, "example.com/x": 3}
    assert facts_of(found).totals == (("nvidia.com/gpu", 9),)


def test_the_choice_of_nodes_is_kept_and_nothing_that_may_be_secret() -> None:
    required = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "x", "operator": "Exists"}]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}, "podAffinity": {}}
    made = gpu_pod(8, nodeSelector={"pool": "a"}, affinity=affinity, tolerations=[{"key": "team"}])
    made["spec"]["containers"][0]["env"] = [{"name": "TOKEN", "value": "secret"}]
    found = asks_in(made["spec"])
    assert found is not None
    assert found.chosen() == {
        "nodeSelector": {"pool": "a"},
        "tolerations": [{"key": "team"}],
        "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}},
    }
    assert "secret" not in str(kept(mpi(workers=template(made))))


def test_a_choice_that_is_too_long_is_not_known() -> None:
    assert asks_in(gpu_pod(8, nodeSelector={"x": "y" * 5000})["spec"]) is None
    assert asks_in(gpu_pod(8, nodeSelector={"x": 2**70})["spec"]) is None


def test_what_thousands_of_owners_say_alike_is_kept_once() -> None:
    first, second = (kept(mpi())["spec"]["mpiReplicaSpecs"]["Worker"]["template"] for _ in range(2))
    assert first is second


@pytest.mark.parametrize(
    "spec",
    [
        {"containers": [{}] * 25},
        {"containers": [{}] * 100_000},
        {"containers": [{"name": "c"}], "tolerations": [{}] * 401},
        {"containers": [{"name": "c"}], "initContainers": [{}] * 24},
        {"containers": [{"name": "c", "env": [{}] * 100_000}]},
        {"containers": {"a": 1}},
    ],
)
def test_a_template_that_is_long_is_not_read(spec: dict[str, Any]) -> None:
    """An owner has 256 templates, and all are read at once."""
    assert asks_in(spec) is None
    assert calls_of(lambda: asks_in(spec)) < 200


def test_a_patch_of_a_leader_is_read_in_a_file_and_makes_what_is_kept_of_an_owner_unknown() -> None:
    patched = {"name": "decode", "template": EIGHT, "leaderWorkerSet": {"size": 2, "patchLeaderTemplate": {"spec": {}}}}
    spec = {"roles": [{"name": "router", "template": CPU}, patched]}
    owner = workload("workloads.x-k8s.io/v1alpha1", "RoleBasedGroup", spec)
    document = owned(
        gpu_pod(8, labels={"rolebasedgroup.workloads.x-k8s.io/name": "rbg"}),
        "RoleBasedGroup",
        api_version=owner["apiVersion"],
        uid="u",
    )
    counts = [gang_of(document, "ml", {"u": each}) for each in (owner, kept(owner))]
    assert [(each.size, each.accelerated) for each in counts] == [(3, 2), (3, 3)]
