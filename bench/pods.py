"""Pods of simulated workloads, shaped as public manifests of GPU workloads are; each as its controller creates it.

The figures are of 444 pod templates with accelerators in 796 public manifests (docs/precision.md, the second set):
quantiles of how many arguments, variables, volumes and tolerations a template has, and of how long they are. What is
drawn by them is made here. Of the kinds of owners each stands for those that make their pods alike.
"""

import random
from bisect import bisect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import UUID

JSON = dict[str, Any]

SERIAL: Final = b"@SERIAL@"
"""The marker in names and uids of a workload; a number of as many digits replaces it."""
TEAMS: Final = ("vision", "speech", "ranking", "robotics", "search", "fraud", "forecast")

_MARK = SERIAL.decode()
# The quantiles that the figures below are given at.
_AT = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 1.0)
_IMAGE_LENGTH = (9, 12, 26, 35, 58, 78, 89, 112)
_VARIABLES = (0, 0, 0, 2, 7, 12, 17, 25)
_VALUE_LENGTH = (1, 1, 2, 7, 12, 24, 40, 90)
_MOUNTS = (0, 0, 0, 1, 2, 3, 4, 6)
_SCRIPT_LENGTH = (20, 30, 58, 120, 240, 550, 900, 1700)
_FLAGS = (1, 2, 3, 5, 8, 11, 13, 17)
# Devices of a pod: three in five ask for one, and beyond a machine's eight there are shares and Neuron cores.
_DEVICES = (*(1,) * 14, *(2,) * 2, *(4,) * 3, *(8,) * 3)
_MODELS = ("meta-llama/Llama-3.1-8B-Instruct", "Qwen/Qwen2.5-7B-Instruct", "mistralai/Mistral-7B-v0.1", "gpt2")
_LARGE_MODEL = "meta-llama/Llama-3.3-70B-Instruct"
_PRODUCTS = ("NVIDIA-H100-80GB-HBM3", "NVIDIA-A100-SXM4-40GB")
_WORDS = (
    *("train", "data", "config", "eval", "cache", "steps", "batch", "lora", "rank", "shard", "dtype", "seed", "epochs"),
    *("bf16", "checkpoint", "tokens", "queue", "metrics", "workers", "profile", "resume", "warmup", "stage", "loader"),
)
# Shares of the templates: with a shared memory volume, a node selector, a toleration, a probe, a stated memory; and of
# those that the library denies (a device that nobody serves) or warns of (a container that sleeps, a model too large).
_SHARED_MEMORY, _SELECTS, _TOLERATES, _PROBED, _STATES_MEMORY = 0.33, 0.3, 0.3, 0.2, 0.05
_PROCESSES = (7, 5, 4, 4)  # what the image starts, a script, torchrun, an inference server
_SECRET = 0.1  # of the variables
_DENIED, _SLEEPS, _TOO_LARGE = 0.02, 0.03, 0.03


def pods(chance: random.Random, count: int) -> Iterator[JSON]:
    """Yield the pods of one workload, each as its controller creates it, before the API server's defaults."""
    owner = chance.choices(list(_SHARES), weights=list(_SHARES.values()))[0]
    team = chance.choice(TEAMS)
    workload = _Workload(
        name=f"{chance.choice(_WORDS)}-{team}-{_MARK}",
        uid=f"{uid(chance)[:-12]}0000{_MARK}",
        team=team,
        hash=f"{chance.randrange(16**9):09x}",
        count=count,
    )
    template = _template(owner, chance)
    for index in range(count):
        yield _pod(owner, template, workload, index)


def _template(owner: str, chance: random.Random) -> JSON:
    """Return a pod template's spec and annotations."""
    devices = chance.choice(_DEVICES)
    fault = chance.random()
    volumes, mounts = _volumes(chance)
    resource = "nvidia.com/gpus" if fault < _DENIED else "nvidia.com/gpu"
    resources = {"cpu": str(8 * devices), "memory": f"{64 * devices}Gi", resource: str(devices)}
    main: JSON = {
        "name": chance.choice(("main", "worker", "trainer", "server", "pytorch", "ray-worker", "vllm")),
        "image": _image(chance),
        **_process(devices, fault - _DENIED, chance),
        "resources": {"limits": resources, "requests": dict(resources)},
        "volumeMounts": mounts,
    }
    if variables := _environment(chance):
        main["env"] = variables
    if chance.random() < _PROBED:
        main["ports"] = [{"name": "http", "containerPort": 8000, "protocol": "TCP"}]
        main["readinessProbe"] = {"httpGet": {"path": "/health", "port": 8000}, "periodSeconds": 10}
    spec: JSON = {"containers": [main], "volumes": volumes}
    if chance.random() < _SELECTS:
        spec["nodeSelector"] = {"nvidia.com/gpu.product": chance.choice(_PRODUCTS)}
    if chance.random() < _TOLERATES:
        spec["tolerations"] = [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}]
    annotations = {"prometheus.io/scrape": "true"} if chance.random() < _PROBED else {}
    if devices == 1 and chance.random() < _STATES_MEMORY:
        annotations["podberth.io/gpu-memory"] = chance.choice(("5Gi", "10Gi", "20Gi"))
    spec["restartPolicy"] = "Always" if owner in ("ReplicaSet", "StatefulSet", "RayCluster") else "Never"
    return {"spec": spec, "annotations": annotations}


def _process(devices: int, fault: float, chance: random.Random) -> JSON:
    """Return the command and arguments of the main container; ``fault`` below a share chooses what is warned of."""
    if 0 <= fault < _SLEEPS:
        return {"command": ["/bin/sh", "-c", "sleep infinity"]}
    if 0 <= fault - _SLEEPS < _TOO_LARGE:
        return {"command": ["vllm", "serve", _LARGE_MODEL], "args": ["--tensor-parallel-size", str(devices)]}
    kind = chance.choices(("image", "script", "torchrun", "server"), weights=_PROCESSES)[0]
    if kind == "image":
        return {}
    if kind == "script":
        text = " ".join(_flag(chance) for _ in range(40))
        return {
            "command": ["/bin/bash", "-c"],
            "args": [f"set -e; python run.py {text}"[: _drawn(_SCRIPT_LENGTH, chance)]],
        }
    if kind == "torchrun":
        flags = [_flag(chance) for _ in range(_drawn(_FLAGS, chance))]
        return {"command": ["torchrun", f"--nproc-per-node={devices}", "train.py", *flags]}
    flags = [_flag(chance) for _ in range(_drawn(_FLAGS, chance) // 2)]
    sized = ["--tensor-parallel-size", str(devices), "--max-model-len", "8192"]
    return {"args": ["--model", chance.choice(_MODELS), *sized, *flags]}


def _flag(chance: random.Random) -> str:
    return f"--{chance.choice(_WORDS)}-{chance.choice(_WORDS)}={chance.randrange(10**4)}"


def _image(chance: random.Random) -> str:
    length = _drawn(_IMAGE_LENGTH, chance)
    path = "/".join(chance.choice(_WORDS) for _ in range(12))
    return f"example.com/{path}"[: max(length - 8, 12)].rstrip("/") + f":v1.{chance.randrange(10_000)}"


def _environment(chance: random.Random) -> list[JSON]:
    names = list(dict.fromkeys(f"{chance.choice(_WORDS)}_{chance.choice(_WORDS)}".upper() for _ in range(40)))
    found: list[JSON] = []
    for name in names[: _drawn(_VARIABLES, chance)]:
        if chance.random() < _SECRET:
            found.append({"name": name, "valueFrom": {"secretKeyRef": {"name": "tokens", "key": name.lower()}}})
        else:
            text = f"{chance.randrange(10**6)}{'-'.join(_WORDS)}"
            found.append({"name": name, "value": text[: _drawn(_VALUE_LENGTH, chance)]})
    return found


def _volumes(chance: random.Random) -> tuple[list[JSON], list[JSON]]:
    volumes: list[JSON] = []
    mounts: list[JSON] = []
    if chance.random() < _SHARED_MEMORY:
        volumes.append({"name": "dshm", "emptyDir": {"medium": "Memory", "sizeLimit": "64Gi"}})
        mounts.append({"name": "dshm", "mountPath": "/dev/shm"})  # noqa: S108 - a path in the pod
    for word in chance.sample(_WORDS, max(_drawn(_MOUNTS, chance) - len(mounts), 0)):
        volumes.append({"name": word, "persistentVolumeClaim": {"claimName": f"{word}-claim"}})
        mounts.append({"name": word, "mountPath": f"/mnt/{word}"})
    return volumes, mounts


def _drawn(quantiles: Sequence[int], chance: random.Random) -> int:
    """Return a number drawn by its quantiles, straight between two of them."""
    share = chance.random()
    place = bisect(_AT, share) - 1
    within = (share - _AT[place]) / (_AT[place + 1] - _AT[place])
    return round(quantiles[place] + within * (quantiles[place + 1] - quantiles[place]))


def uid(chance: random.Random) -> str:
    """Return a uid of version 4."""
    return str(UUID(int=chance.getrandbits(128), version=4))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Workload:
    """What the pods of one workload have in common, besides their template."""

    name: str
    uid: str
    team: str
    hash: str
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Added:
    """What a controller adds to one pod."""

    identity: JSON
    owner: tuple[str, str, str] | None
    """API version, kind and name."""
    labels: JSON = field(default_factory=dict)
    annotations: JSON = field(default_factory=dict)
    spec: JSON = field(default_factory=dict)
    variables: JSON = field(default_factory=dict)


def _pod(owner: str, template: JSON, of: _Workload, index: int) -> JSON:
    added = _CONTROLLERS[owner](of, index)
    spec = {**template["spec"], **added.spec}
    if added.variables:
        main = dict(spec["containers"][0])
        main["env"] = [*main.get("env", ()), *({"name": key, "value": value} for key, value in added.variables.items())]
        spec["containers"] = [main]
    labels = {"app.kubernetes.io/name": of.name, "team": of.team, **added.labels}
    metadata: JSON = {**added.identity, "namespace": f"team-{of.team}", "labels": labels}
    if annotations := {**template["annotations"], **added.annotations}:
        metadata["annotations"] = annotations
    if added.owner:
        api_version, kind, name = added.owner
        reference = {"apiVersion": api_version, "kind": kind, "name": name, "uid": of.uid}
        metadata["ownerReferences"] = [{**reference, "controller": True, "blockOwnerDeletion": True}]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def _alone(of: _Workload, index: int) -> _Added:
    return _Added(identity={"name": f"{of.name}-{index}"}, owner=None)


def _of_replica_set(of: _Workload, _: int) -> _Added:
    name = f"{of.name}-{of.hash}"
    identity = {"generateName": f"{name}-"}
    return _Added(identity=identity, owner=("apps/v1", "ReplicaSet", name), labels={"pod-template-hash": of.hash})


def _of_stateful_set(of: _Workload, index: int) -> _Added:
    name = f"{of.name}-{index}"
    return _Added(
        identity={"name": name},
        owner=("apps/v1", "StatefulSet", of.name),
        labels={"statefulset.kubernetes.io/pod-name": name, "apps.kubernetes.io/pod-index": str(index)},
        spec={"hostname": name, "subdomain": of.name},
    )


def _of_job(of: _Workload, index: int) -> _Added:
    """Return what the Job controller adds; a Job of several pods is an indexed one."""
    prefixes = ("batch.kubernetes.io/", "")
    labels = {f"{prefix}{key}": value for prefix in prefixes for key, value in _of_this_job(of)}
    if of.count == 1:
        return _Added(identity={"generateName": f"{of.name}-"}, owner=("batch/v1", "Job", of.name), labels=labels)
    completion = {"batch.kubernetes.io/job-completion-index": str(index)}
    return _Added(
        identity={"generateName": f"{of.name}-{index}-"},
        owner=("batch/v1", "Job", of.name),
        labels={**labels, **completion},
        annotations=completion,
        spec={"hostname": f"{of.name}-{index}"},
        variables={"JOB_COMPLETION_INDEX": str(index)},
    )


def _of_this_job(of: _Workload) -> Iterator[tuple[str, str]]:
    yield "controller-uid", of.uid
    yield "job-name", of.name


def _of_pytorch_job(of: _Workload, index: int) -> _Added:
    role = "worker" if index else "master"
    master = f"{of.name}-master-0"
    return _Added(
        identity={"name": f"{of.name}-{role}-{max(index - 1, 0)}"},
        owner=("kubeflow.org/v1", "PyTorchJob", of.name),
        labels=_of_training(of, role, max(index - 1, 0), "pytorchjob-controller"),
        variables={
            "PYTHONUNBUFFERED": "1",
            "MASTER_PORT": "23456",
            "PET_MASTER_PORT": "23456",
            "MASTER_ADDR": master,
            "PET_MASTER_ADDR": master,
            "WORLD_SIZE": str(of.count),
            "RANK": str(index),
            "PET_NODE_RANK": str(index),
        },
    )


def _of_mpi_job(of: _Workload, index: int) -> _Added:
    name = f"{of.name}-worker-{index}"
    return _Added(
        identity={"name": name},
        owner=("kubeflow.org/v2beta1", "MPIJob", of.name),
        labels=_of_training(of, "worker", index, "mpi-operator"),
        spec={"hostname": name, "subdomain": of.name},
    )


def _of_training(of: _Workload, role: str, index: int, operator: str) -> JSON:
    facts = {"job-name": of.name, "replica-type": role, "replica-index": str(index), "operator-name": operator}
    return {f"training.kubeflow.org/{key}": value for key, value in facts.items()}


def _of_ray_cluster(of: _Workload, index: int) -> _Added:
    role, group = ("worker", "gpus") if index else ("head", "headgroup")
    facts = {"cluster": of.name, "is-ray-node": "yes", "node-type": role, "group": group}
    return _Added(
        identity={"generateName": f"{of.name}-gpus-worker-"} if index else {"name": f"{of.name}-head"},
        owner=("ray.io/v1", "RayCluster", of.name),
        labels={f"ray.io/{key}": value for key, value in {**facts, "identifier": f"{of.name}-{role}"}.items()},
        variables={
            "FQ_RAY_IP": f"{of.name}-head-svc.team-{of.team}.svc.cluster.local",
            "RAY_PORT": "6379",
            "RAY_CLUSTER_NAME": of.name,
            "RAY_USAGE_STATS_KUBERAY_IN_USE": "1",
        },
    )


# Each kind of owner with what its controller adds and the share of the templates that it has.
_CONTROLLERS: Final[Mapping[str, Callable[[_Workload, int], _Added]]] = {
    "ReplicaSet": _of_replica_set,
    "Pod": _alone,
    "Job": _of_job,
    "PyTorchJob": _of_pytorch_job,
    "RayCluster": _of_ray_cluster,
    "MPIJob": _of_mpi_job,
    "StatefulSet": _of_stateful_set,
}
_SHARES: Final = {"ReplicaSet": 8, "Pod": 4, "Job": 3, "PyTorchJob": 4, "RayCluster": 4, "MPIJob": 2, "StatefulSet": 1}
