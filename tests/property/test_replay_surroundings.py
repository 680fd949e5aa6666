"""A decision that is remembered is the decision that would be made: for equal pods that the cluster knows otherwise.

``test_replay`` varies the pod. Here it is what stands around it: the namespace, the claims and groups in it, the owner,
and what the cluster learns from one review to the next, in snapshots that share what was remembered where they may.
"""

import json
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

from builders import container, gpu_container, gpu_pod, job, job_pod, pod, pod_group, review
from misleading import GROUP, SLICES, rule
from podberth.admission.decide import mutate
from podberth.admission.review import AdmissionRequest, decode_review
from podberth.admission.snapshot import Snapshot
from podberth.facts.cluster import SYSTEM_CLASS, collect
from podberth.kube.patch import apply
from podberth.wellknown import GANG_LABEL, GANG_SIZE_ANNOTATION
from properties import thinned
from replays import assert_decided_right, assert_judged_right
from snapshots import cluster, policy, snapshot

JSON = dict[str, Any]

TO_NO_GPU = SLICES.replace("nvidia.com/mig-1g.5gb", "example.com/foo")
NAMESPACES = ("default", "other")


def judge(order: int, expression: str, condition: str = "true", said: str = "gang.name") -> str:
    """Return a policy of one validation, whose denial says more than its verdict."""
    spec = {
        "validationActions": ["Warn"],
        "matchConditions": [{"name": "c", "expression": condition}],
        "validations": [{"expression": expression, "message": "no", "messageExpression": f"'of ' + {said}"}],
    }
    return policy(f"judge-{order}", "\n".join(f"  {key}: {json.dumps(value)}" for key, value in spec.items()))


def thing(version: str, kind: str, name: str, namespace: str = "default", **fields: Any) -> JSON:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name, "namespace": namespace}, **fields}


def device_class(name: str, driver: str) -> JSON:
    selectors = [{"cel": {"expression": f"device.driver == '{driver}'"}}]
    return thing("resource.k8s.io/v1", "DeviceClass", name, spec={"selectors": selectors})


def asks(kind: str, name: str, device_class: str, namespace: str) -> JSON:
    asked = {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": device_class}}]}}
    spec = {"spec": asked} if kind == "ResourceClaimTemplate" else asked
    return thing("resource.k8s.io/v1", kind, name, namespace, spec=spec)


def priority_classes(*names: str) -> list[JSON]:
    return [thing("scheduling.k8s.io/v1", "PriorityClass", name, value=1) for name in (SYSTEM_CLASS, *names)]


def compute_domain(namespace: str) -> JSON:
    channel = {"resourceClaimTemplate": {"name": "t"}}
    return thing("resource.nvidia.com/v1beta1", "ComputeDomain", "domain", namespace, spec={"channel": channel})


def sharing(namespace: str) -> JSON:
    """Return a PodGroup whose pods have one claim together."""
    made = pod_group(GROUP, 2, "zone")
    made["metadata"]["namespace"] = namespace
    made["spec"]["resourceClaims"] = [{"name": "c", "resourceClaimTemplateName": "t"}]
    return made


def grouped(name: str, members: int, group: str = "scheduling.x-k8s.io") -> JSON:
    return thing(f"{group}/v1alpha1", "PodGroup", name, spec={"minMember": members})


def owner(pods: int) -> JSON:
    metadata = {"name": "train", "uid": "a-job-of-a-long-uid"}
    return {**job(gpu_pod(), indexed=True, parallelism=pods), "metadata": metadata}


def fleet() -> JSON:
    return thing("kueue.x-k8s.io/v1beta1", "LocalQueue", "q", spec={"clusterQueue": "c"})


NIC = device_class("nic.example.com", "nic.example.com")
KOORDINATOR = grouped("another", 2, "scheduling.sigs.k8s.io")
# What the cluster knows, one after the other; pods and policies stay what they are.
WORLDS: dict[str, list[JSON]] = {
    "nothing": [],
    "a NIC here, a GPU there": [
        NIC,
        asks("ResourceClaimTemplate", "t", "nic.example.com", "default"),
        asks("ResourceClaimTemplate", "t", "gpu.nvidia.com", "other"),
        asks("ResourceClaim", "t", "nic.example.com", "default"),
    ],
    "a GPU here, a NIC there": [
        NIC,
        asks("ResourceClaimTemplate", "t", "gpu.nvidia.com", "default"),
        asks("ResourceClaimTemplate", "t", "nic.example.com", "other"),
        asks("ResourceClaim", "t", "nic.example.com", "other"),
    ],
    "no class says what": [
        asks("ResourceClaimTemplate", "t", "nic.example.com", "default"),
        asks("ResourceClaimTemplate", "t", "gpu.nvidia.com", "other"),
    ],
    "a class of another driver": [
        device_class("nic.example.com", "gpu.nvidia.com"),
        asks("ResourceClaimTemplate", "t", "nic.example.com", "default"),
    ],
    "a channel here": [compute_domain("default"), asks("ResourceClaimTemplate", "t", "gpu.nvidia.com", "other")],
    "a group that shares here": [sharing("default"), asks("ResourceClaimTemplate", "t", "gpu.nvidia.com", "default")],
    "a group that shares there": [sharing("other"), asks("ResourceClaimTemplate", "t", "gpu.nvidia.com", "default")],
    "groups are served": [grouped("another", 2), KOORDINATOR, owner(4)],
    "the gang has its group": [grouped("job-a-job-of-a-long-uid", 4), KOORDINATOR, owner(4)],
    "a larger owner": [grouped("another", 2), KOORDINATOR, owner(8)],
    "an owner of one": [owner(1)],
    "classes": priority_classes("urgent"),
    "other classes": priority_classes("usual"),
    "queues": [fleet()],
}
RULES = {
    "rewrites to no GPU": rule(1, resources=TO_NO_GPU),
    "rewrites to slices": rule(1, resources=SLICES),
    "asks for claims": rule(70, "gpu.kind == 'claim'", scope="All", labels={"example.com/kind": "gpu.kind"}),
    "counts claims": rule(71, labels={"claims": "string(gpu.claims.size())"}),
    "asks who shares": rule(72, "gpu.claims.exists(c, c.shared)", labels={"shared": "'1'"}),
    "joins": rule(73, "gang.known", gang={"name": "gang.name", "size": "gang.size"}),
    "chooses": rule(74, "gang.known", gang={"name": "gang.name", "size": "gang.size", "system": "'koordinator'"}),
    "draws slices": rule(430, topology={"level": "'rack'", "mode": "required", "slice": "2"}),
    "says the size": rule(75, labels={"size": "string(gang.size)"}),
    "names a priority class": rule(47, priorityClassName="'urgent'"),
    "patches a priority class": rule(
        48,
        "!has(object.spec.priorityClassName)",
        jsonPatch="[{'op': 'add', 'path': '/spec/priorityClassName', 'value': 'usual'}]",
    ),
}
# After a rewrite `gpu` is computed again for the policies behind it.
SETS = [
    *([text] for text in RULES.values()),
    *([RULES["rewrites to no GPU"], text] for text in list(RULES.values())[2:]),
    [RULES["joins"], RULES["draws slices"]],
    [RULES["asks for claims"], RULES["names a priority class"], RULES["chooses"]],
]


def claiming(**fields: Any) -> list[JSON]:
    """Return pods that ask by claim, alone and beside a GPU."""
    template = [{"name": "c", "resourceClaimTemplateName": "t"}]
    resources = {"limits": {"nvidia.com/gpu": 1}, "claims": [{"name": "c"}]}
    return [
        pod(container(claims=["c"]), resourceClaims=template, **fields),
        pod(container(claims=["c"]), resourceClaims=[{"name": "c", "resourceClaimName": "t"}], **fields),
        pod({**gpu_container(), "resources": resources}, resourceClaims=template, **fields),
    ]


PODS = [
    *claiming(),
    *claiming(schedulingGroup={"podGroupName": GROUP}),
    *claiming(labels={"kueue.x-k8s.io/queue-name": "q"}),
    *(
        job_pod(index, uid="a-job-of-a-long-uid", labels=labels)
        for labels in ({}, {GANG_LABEL: "job-a-job-of-a-long-uid"})
        for index in (0, 1, 2, 3)
    ),
    *(
        gpu_pod(labels={GANG_LABEL: "a-gang-of-sixteen", **worker}, annotations={GANG_SIZE_ANNOTATION: "4"})
        for worker in ({}, {"training.kubeflow.org/replica-type": "master"})
    ),
    gpu_pod(2),
]


@cache
def requests() -> tuple[AdmissionRequest, ...]:
    """Return a review of each pod in each namespace, more than once: an answer is kept when it is wanted again."""
    found: list[AdmissionRequest] = []
    for document in PODS:
        made = ({**document, "metadata": {**document["metadata"], "namespace": each}} for each in NAMESPACES)
        found += 2 * [decode_review(review(each, namespace=each["metadata"]["namespace"])) for each in made]
    return tuple(found)


def worlds(first: Snapshot) -> Iterator[Snapshot]:
    """Yield what the webhook has as the cluster changes, there and back."""
    known = first
    for objects in (*WORLDS.values(), *reversed(WORLDS.values())):
        known = known.with_workloads(collect(objects, now=None))
        yield known


@pytest.mark.parametrize("texts", thinned(SETS))
def test_what_was_decided_is_right_for_an_equal_pod_elsewhere_and_later(texts: list[str]) -> None:
    for warm in worlds(snapshot(*texts, objects=cluster(hgx_h100_8=1))):
        assert_decided_right(warm, requests())


JUDGES = {
    "what claims ask for": judge(10, "gpu.kind != 'claim'", said="gpu.kind"),
    "which claims": judge(20, "gpu.claims.all(c, c.count == 1)", said="gpu.claims.map(c, c.deviceClass).join('.')"),
    "who shares": judge(30, "!gpu.claims.exists(c, c.shared)"),
    "how many": judge(40, "gang.size == 4", "gang.known", said="gang.name + string(gang.size) + gang.system"),
    "which member": judge(50, "gang.index > 1", said="gang.role + string(gang.index)"),
}


@pytest.mark.parametrize("text", JUDGES.values(), ids=JUDGES)
def test_what_was_said_is_right_for_an_equal_pod_elsewhere_and_later(text: str) -> None:
    for warm in worlds(snapshot(text)):
        assert_judged_right(warm, requests())


def test_the_case_that_a_rewrite_hid() -> None:
    """Behind a rewrite ``gpu.kind`` follows from the claims, which are others in another namespace."""
    objects = WORLDS["a NIC here, a GPU there"]
    warm = snapshot(RULES["rewrites to no GPU"], RULES["asks for claims"], objects=objects)
    *_, beside_a_gpu = claiming()
    for namespace, labels in [("default", {})] * 3 + [("other", {"example.com/kind": "claim"})]:
        outcome = mutate(decode_review(review(beside_a_gpu, namespace=namespace)), warm)
        assert apply(beside_a_gpu, outcome.patch)["metadata"].get("labels", {}) == labels
