"""The load: AdmissionReviews of GPU pods as an API server sends them, all different, always the same ones.

A review holds a marker wherever its pod's name goes; whoever sends it puts a number there, a new one each time. So
going through them again is not sending them again: names, owners' uids and gangs differ, and of half the pods the
container too.

Each is the CREATE of a pod as it reaches a mutating webhook: defaulted, with the built-in admission plugins' additions
(service account volume, default tolerations, priority) and with managedFields, which on a real cluster are a third of
the bytes. `python -m bench.reviews FILE` writes them, one a line.
"""

import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import orjson

from builders import review

JSON = dict[str, Any]

COUNT = 2000
"""Templates."""

SERIAL = b"@SERIAL@"
"""The marker; a number of as many digits replaces it (go/load)."""

BYTES = 8600
"""Size of one review: a training pod with two dozen environment variables, beside which the figures in README stand."""

# Half of GPU pods ask for one device, most others for a whole machine.
_GPUS = (1, 1, 1, 1, 2, 2, 4, 4, 8, 8)
# Who makes them: pods of batch jobs are created the most.
_OWNERS = ("Job", "Job", "Job", "IndexedJob", "IndexedJob", "IndexedJob", "ReplicaSet", "ReplicaSet", "StatefulSet", "")
_API_VERSIONS = {"Job": "batch/v1", "ReplicaSet": "apps/v1", "StatefulSet": "apps/v1"}
# Shares of the pods that name their container as themselves, choose nodes by product, or say what memory they need.
_NAMED_ALIKE, _CHOOSES_NODES, _SAYS_MEMORY = 0.5, 0.15, 0.2
_PRODUCTS = ("NVIDIA-H100-80GB-HBM3", "NVIDIA-A100-SXM4-40GB")
TEAMS = ("vision", "speech", "ranking", "robotics", "search", "fraud", "forecast")
_WORDS = ("bert", "llama", "resnet", "whisper", "diffusion", "recsys", "embed", "rerank", "detector", "policy")
_VARIABLES = (
    *("NCCL_DEBUG", "NCCL_IB_DISABLE", "NCCL_SOCKET_IFNAME", "OMP_NUM_THREADS", "TOKENIZERS_PARALLELISM"),
    *("HF_HOME", "HF_HUB_ENABLE_HF_TRANSFER", "WANDB_PROJECT", "WANDB_MODE", "MLFLOW_TRACKING_URI", "DATASET_URI"),
    *("CHECKPOINT_DIR", "LEARNING_RATE", "GLOBAL_BATCH_SIZE", "MICRO_BATCH_SIZE", "GRADIENT_ACCUMULATION", "SEED"),
    *("MAX_STEPS", "WARMUP_STEPS", "LOG_LEVEL", "LOG_FORMAT", "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_SERVICE_NAME"),
    *("TORCH_DISTRIBUTED_DEBUG", "PYTORCH_CUDA_ALLOC_CONF", "CUDA_DEVICE_MAX_CONNECTIONS", "TRITON_CACHE_DIR"),
)
_TIME = "2026-01-01T00:00:00Z"


def distinct(count: int = COUNT, *, seed: int = 1) -> Iterator[bytes]:
    """Yield reviews of the pods of ``count`` workloads, with the marker."""
    chance = random.Random(seed)  # noqa: S311 - the same load in every run
    for _ in range(count):
        yield _encoded(_pod(chance), chance)


def repeated(count: int = COUNT, *, seed: int = 1) -> Iterator[bytes]:
    """Yield reviews of one template's pods, alike in all but the request's uid: what scaling a Deployment up sends."""
    chance = random.Random(seed)  # noqa: S311 - likewise
    document = _pod(chance, owner="ReplicaSet")
    for _ in range(count):
        yield numbered(_encoded(document, chance), 0)


def numbered(review: bytes, serial: int) -> bytes:
    """Return the review of one pod: the marker replaced."""
    return review.replace(SERIAL, b"%0*d" % (len(SERIAL), serial))


def write(path: Path, reviews: Iterator[bytes]) -> Path:
    """Write reviews one a line, as the generator reads them."""
    path.write_bytes(b"".join(each + b"\n" for each in reviews))
    return path


def _encoded(document: JSON, chance: random.Random) -> bytes:
    user = {
        "username": "system:serviceaccount:kube-system:job-controller",
        "uid": "4d5f8e52-6a3f-4f0e-8e93-0d0f3c1f6a11",
        "groups": ["system:serviceaccounts", "system:serviceaccounts:kube-system", "system:authenticated"],
    }
    namespace = document["metadata"]["namespace"]
    return orjson.dumps(review(document, namespace=namespace, uid=_uid(chance), userInfo=user))


def _pod(chance: random.Random, *, owner: str | None = None) -> JSON:
    """Make a pod and fill its environment up until its review has the size."""
    owner = chance.choice(_OWNERS) if owner is None else owner
    name = f"{chance.choice(_WORDS)}-{chance.choice(TEAMS)}-{SERIAL.decode()}"
    metadata = _metadata(name, owner, chance)
    gpus = chance.choice(_GPUS)
    if gpus == 1 and chance.random() < _SAYS_MEMORY:
        metadata["annotations"]["podberth.io/gpu-memory"] = chance.choice(("5Gi", "10Gi", "20Gi"))
    main = _container(name, gpus, chance)
    document: JSON = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": _spec(owner, [main, _sidecar(chance)]),
        "status": {},
    }
    if chance.random() < _CHOOSES_NODES:
        document["spec"]["nodeSelector"] = {"nvidia.com/gpu.product": chance.choice(_PRODUCTS)}
    for variable in _variables():
        metadata["managedFields"] = _managed_fields(document)
        if len(_encoded(document, random.Random(0))) >= BYTES:  # noqa: S311 - only the length counts
            break
        main["env"].append({"name": variable, "value": f"{variable.lower()}-{name}-{chance.randrange(10**6)}"})
    return document


def _variables() -> Iterator[str]:
    yield from _VARIABLES
    yield from (f"{variable}_{number}" for number in range(2, 9) for variable in _VARIABLES)


def _metadata(name: str, owner: str, chance: random.Random) -> JSON:
    uid = f"{_uid(chance)[:-12]}0000{SERIAL.decode()}"
    team = name.split("-")[1]
    labels = {"app.kubernetes.io/name": name, "app.kubernetes.io/part-of": "training", "team": team}
    annotations = {"prometheus.io/scrape": "true", "cluster-autoscaler.kubernetes.io/safe-to-evict": "false"}
    metadata: JSON = {"namespace": f"team-{team}", "labels": labels, "annotations": annotations}
    if not owner:
        return {"name": name, **metadata}
    kind = "Job" if owner == "IndexedJob" else owner
    if kind == "Job":
        labels |= {"batch.kubernetes.io/controller-uid": uid, "batch.kubernetes.io/job-name": name}
        labels |= {"controller-uid": uid, "job-name": name}
    if owner == "IndexedJob":
        index = str(chance.randrange(8))
        labels["batch.kubernetes.io/job-completion-index"] = index
        annotations["batch.kubernetes.io/job-completion-index"] = index
    if owner == "ReplicaSet":
        labels["pod-template-hash"] = f"{chance.randrange(16**9):09x}"
        name = f"{name}-{labels['pod-template-hash']}"
    reference = {"apiVersion": _API_VERSIONS[kind], "kind": kind, "name": name, "uid": uid}
    metadata["ownerReferences"] = [{**reference, "controller": True, "blockOwnerDeletion": True}]
    if owner == "StatefulSet":
        labels |= {"statefulset.kubernetes.io/pod-name": f"{name}-0", "apps.kubernetes.io/pod-index": "0"}
        return {"name": f"{name}-0", **metadata}
    return {"generateName": f"{name}-", **metadata}


def _container(name: str, gpus: int, chance: random.Random) -> JSON:
    resources = {"cpu": str(8 * gpus), "memory": f"{64 * gpus}Gi", "nvidia.com/gpu": str(gpus)}
    return {
        # Charts call a container as the workload, people call it anything: what a memo of equal questions meets.
        "name": name if chance.random() < _NAMED_ALIKE else chance.choice(("main", "worker", "trainer", "server")),
        "image": f"registry.example.com/{name.partition('-')[0]}/train:1.{chance.randrange(10_000)}",
        "command": ["torchrun"],
        "args": [f"--nproc-per-node={gpus}", "train.py", f"--config=/config/{name}.yaml"],
        "ports": [{"name": "metrics", "containerPort": 9400, "protocol": "TCP"}],
        "env": [
            {"name": "POD_NAME", "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.name"}}},
            {"name": "WANDB_API_KEY", "valueFrom": {"secretKeyRef": {"name": "wandb", "key": "token"}}},
        ],
        "resources": {"limits": resources, "requests": dict(resources)},
        "volumeMounts": [
            {"name": "shm", "mountPath": "/dev/shm"},  # noqa: S108 - a path in the pod
            {"name": "data", "mountPath": "/data"},
            {"name": "config", "readOnly": True, "mountPath": "/config"},
            _TOKEN_MOUNT,
        ],
        **_CONTAINER_DEFAULTS,
    }


def _sidecar(chance: random.Random) -> JSON:
    return {
        "name": "log-shipper",
        "image": f"registry.example.com/platform/log-shipper:3.{chance.randrange(10)}",
        "env": [],
        "resources": {"limits": {"memory": "128Mi"}, "requests": {"cpu": "50m", "memory": "128Mi"}},
        "volumeMounts": [_TOKEN_MOUNT],
        **_CONTAINER_DEFAULTS,
    }


_TOKEN_MOUNT = {
    "name": "kube-api-access-x2x4z",
    "readOnly": True,
    "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount",
}
_CONTAINER_DEFAULTS = {
    "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File",
    "imagePullPolicy": "IfNotPresent",
    "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
}


def _spec(owner: str, containers: list[JSON]) -> JSON:
    token = {
        "defaultMode": 420,
        "sources": [
            {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
            {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
            {
                "downwardAPI": {
                    "items": [
                        {"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}
                    ]
                }
            },
        ],
    }
    return {
        "volumes": [
            {"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": "64Gi"}},
            {"name": "data", "persistentVolumeClaim": {"claimName": "datasets"}},
            {"name": "config", "configMap": {"name": "train-config", "defaultMode": 420}},
            {"name": "kube-api-access-x2x4z", "projected": token},
        ],
        "containers": containers,
        "restartPolicy": "Never" if owner.endswith("Job") else "Always",
        "terminationGracePeriodSeconds": 30,
        "dnsPolicy": "ClusterFirst",
        "serviceAccountName": "default",
        "serviceAccount": "default",
        "securityContext": {"runAsUser": 1000, "fsGroup": 1000},
        "schedulerName": "default-scheduler",
        "tolerations": [
            {
                "key": f"node.kubernetes.io/{state}",
                "operator": "Exists",
                "effect": "NoExecute",
                "tolerationSeconds": 300,
            }
            for state in ("not-ready", "unreachable")
        ],
        "priority": 0,
        "enableServiceLinks": True,
        "preemptionPolicy": "PreemptLowerPriority",
    }


def _managed_fields(document: JSON) -> list[JSON]:
    """Say who owns what, as the API server does for the first write of an object."""
    fields: JSON = {f"f:{key}": {} for key in document["spec"]}
    del fields["f:tolerations"]  # added by the API server itself, after it has seen to managedFields
    fields["f:containers"] = {
        f'k:{{"name":"{each["name"]}"}}': {".": {}, **{f"f:{key}": _owned(key, each[key]) for key in each}}
        for each in document["spec"]["containers"]
    }
    fields["f:volumes"] = {
        ".": {},
        **{
            f'k:{{"name":"{each["name"]}"}}': {".": {}, **{f"f:{key}": {} for key in each}}
            for each in document["spec"]["volumes"]
        },
    }
    metadata = document["metadata"]
    about: JSON = {
        f"f:{key}": {".": {}, **{f"f:{name}": {} for name in metadata[key]}} for key in ("annotations", "labels")
    }
    return [
        {
            "manager": "kube-controller-manager",
            "operation": "Update",
            "apiVersion": "v1",
            "time": _TIME,
            "fieldsType": "FieldsV1",
            "fieldsV1": {"f:metadata": {"f:generateName": {}, **about}, "f:spec": fields},
        }
    ]


def _owned(key: str, value: Any) -> JSON:
    if key == "env":
        return {".": {}, **{f'k:{{"name":"{each["name"]}"}}': {".": {}, "f:name": {}, "f:value": {}} for each in value}}
    if key == "resources":
        return {".": {}, **{f"f:{part}": {".": {}, **{f"f:{name}": {} for name in value[part]}} for part in value}}
    return {}


def _uid(chance: random.Random) -> str:
    return str(UUID(int=chance.getrandbits(128), version=4))


if __name__ == "__main__":
    write(Path(sys.argv[1]), distinct())
