"""A decision that is remembered is the decision that would be made: over pods that differ in one thing at a time.

Each example is a set of policies and a handful of pods, decided one after the other with one snapshot. Whatever the
earlier ones left behind, each outcome must be the one that is made afresh.
"""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from builders import gpu_container, job_pod, pod, pod_group, review
from podberth.admission.mutate import afresh, mutate
from podberth.admission.replay import Course
from podberth.admission.review import decode_review
from podberth.admission.snapshot import Snapshot
from podberth.mutation.gang import EXCLUSIVE_TOPOLOGY
from podberth.wellknown import (
    APPLIED_ANNOTATION,
    COLOCATED_LABEL,
    GANG_LABEL,
    GANG_SIZE_ANNOTATION,
    GPU_MEMORY_ANNOTATION,
)
from snapshots import cluster, policy, snapshot

POLICIES = Path(__file__).parents[2] / "policies"
NODES = cluster(hgx_h100_8=1, a100_pcie_4=1, dgx_a100_8_mig_mixed=1, l4_1=1)
GROUP = "a-group-with-a-name-of-its-own"
# Those that write for most pods; compiling the whole library for each set would take minutes.
WRITING = ("mig-right-size", "gpu-tolerations", "multi-gpu-nvlink", "gang-topology")
SHIPPED = [
    file.read_text()
    for name in WRITING
    for file in (POLICIES / name / "policy.yaml", POLICIES / name / "params.yaml")
    if file.exists()
]

LIBRARY = [file.read_text() for file in sorted(POLICIES.glob("*/*.yaml")) if file.name != "tests.yaml"]

LABEL = f"object.metadata.?labels[?'{GANG_LABEL}'].orValue('')"
SLICES = (
    "gpu.requests.map(r, {'container': r.container, 'from': r.resource, 'to': 'nvidia.com/mig-1g.5gb', 'quantity': 1})"
)
SHARES = "['a', 'b'].map(n, {'container': n, 'from': 'nvidia.com/gpumem', 'to': 'nvidia.com/gpu', 'quantity': 1})"
PARAMS = [
    {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "p", "namespace": where}, "data": {"value": where}}
    for where in ("default", "other")
]
LONG, LONGER = "a-container-of-its-own", "b-container-of-its-own"
TO_ITSELF = "gpu.requests.map(r, {'container': r.container, 'from': r.resource, 'to': r.container, 'quantity': 1})"
TO_THAT = f"gpu.requests.map(r, {{'container': '{LONG}', 'from': r.resource, 'to': 'nvidia.com/gpu', 'quantity': 1}})"
OF_THAT = f"gpu.requests.filter(r, r.container == '{LONG}')" + SLICES.removeprefix("gpu.requests")
TO_THEIRS = SLICES.replace("1})", f"r.container == '{LONG}' ? 1 : 2}})")
CONTAINERS = "gpu.requests.map(r, r.container).join('.')"
HOSTNAME = "[{'op': 'add', 'path': '/spec/hostname', 'value': 'h'}]"
EVICTED = "[{'key': 'a', 'operator': 'Exists', 'effect': 'NoExecute', 'tolerationSeconds': 300}]"
TERMS = "[{'matchExpressions': [{'key': 'x', 'operator': 'Exists'}]}]"


def rule(order: int, condition: str = "true", **fields: Any) -> str:
    """Return a policy of one condition; of ``fields``, what is no field of a policy's spec is a mutation.

    ``when`` goes into each mutation.
    """
    own: dict[str, Any] = {key: fields.pop(key) for key in ("scope", "paramKind", "paramRef") if key in fields}
    when = {"when": fields.pop("when")} if "when" in fields else {}
    spec: dict[str, Any] = {
        "failurePolicy": "Ignore",
        "matchConditions": [{"name": "c", "expression": condition}],
        "mutations": [{concern: value, **when} for concern, value in fields.items()],
        **own,
    }
    lines = (f"  {key}: {json.dumps(value)}" for key, value in spec.items())
    return policy(f"rule-{order}", "\n".join(lines), order=order)


ABSENT = object()
USUAL = {
    "apiVersion": "scheduling.k8s.io/v1",
    "kind": "PriorityClass",
    "metadata": {"name": "usual"},
    "value": 1,
    "globalDefault": True,
}
X, Y = (
    {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}
    for term in (
        {"matchExpressions": [{"key": "x", "operator": "Exists"}]},
        {"matchExpressions": [{"key": "y", "operator": "Exists"}]},
    )
)
# What says the name of a gang, where a policy passes it on.
RECORD = json.dumps({"rule-60": {"gang": {"label": "job-a-gang-of-sixteen"}}})
REWRITE = {"container": LONG, "from": "nvidia.com/gpumem", "to": "nvidia.com/gpu", "quantity": 1}
REWRITTEN = json.dumps({"rule-100": {"resources": [REWRITE]}}).replace("a-", r"\u0061-")
MORE_ANNOTATIONS = [
    {APPLIED_ANNOTATION: RECORD},
    {APPLIED_ANNOTATION: REWRITTEN},
    {"nvidia.com/vgpu-mode": "x"},
]
APART = {
    "podAntiAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "job-a-gang-of-sixteen"}],
    }
}
SPEC = (
    "affinity",
    "nodeSelector",
    "tolerations",
    "schedulerName",
    "schedulingGroup",
    "resourceClaims",
    "runtimeClassName",
    "priorityClassName",
    "priority",
    "hostname",
)


# What could make one pod's decision wrong for another: passing the gang's name on, reading it, reading what was
# written, conditions that a write changes, lists and elements, null and absent, resources and what follows from them.
OTHERS = {
    "passes the name on": rule(410, labels={"copy": "gang.name"}),
    "reads the name": rule(150, labels={"head": "gang.name.contains('-') ? 'a' : 'b'"}),
    "reads the label": rule(450, labels={"seen": f"{LABEL}.size() > 20 ? {LABEL}.substring(0, 9) : 'b'"}),
    "asks for the label": rule(460, f"{LABEL}.startsWith('a') || {LABEL}.startsWith('job-a')", labels={"a": "'1'"}),
    "asks for the name": rule(470, "gang.name.startsWith('job-a')", labels={"job-a": "'1'"}),
    "length of the name": rule(10, annotations={"length": "string(gang.name.size())"}),
    "writes a need": rule(90, annotations={GPU_MEMORY_ANNOTATION: "'10Gi'"}),
    "asks for the need": rule(95, "gpu.memoryMiB > 4096", labels={"large": CONTAINERS}),
    "rewrites resources": rule(100, "gpu.kind == 'whole'", resources=SLICES),
    "rewrites to a name": rule(101, resources=TO_ITSELF),
    "rewrites by a name of its own": rule(102, resources=TO_THAT),
    "rewrites one by name": rule(103, resources=OF_THAT),
    "rewrites by name": rule(104, resources=TO_THEIRS),
    "rewrites if called so": rule(105, resources=SLICES, when="gpu.requests[0].container.startsWith('a')"),
    "reads a container's name": rule(
        535, labels={"own": "object.spec.containers.exists(c, c.name.startsWith('a')) ? 'y' : 'n'"}
    ),
    "asks for a name": rule(
        121, f"gpu.requests.exists(r, r.container == '{LONG}')", labels={"long": "string(gpu.count)"}
    ),
    "asks for another name": rule(
        122, f"object.spec.containers.exists(c, c.name == '{LONGER}')", labels={"longer": "string(gpu.count)"}
    ),
    "asks for slices": rule(120, "gpu.kind == 'mig'", labels={"slices": "string(gpu.claims.size())"}),
    "asks for an element": rule(
        500,
        "object.spec.containers.exists(c, c.name == 'a')",
        labels={"a": "string(object.spec.containers.filter(c, has(c.resources)).size())"},
    ),
    "counts elements": rule(510, labels={"n": "string(object.spec.containers.map(c, 1).size())"}),
    "asks whether it is there": rule(
        520,
        "has(object.spec.nodeSelector) && !has(object.spec.hostname)",
        labels={"b": "has(object.spec.affinity) ? 'y' : 'n'"},
    ),
    "asks for the first": rule(
        530, "object.spec.containers.size() > 0", labels={"first": "object.spec.containers[0].name"}
    ),
    "asks for the first of some": rule(
        540,
        "object.spec.containers.filter(c, c.name != 'a').size() > 0",
        labels={"other": "object.spec.containers.filter(c, c.name != 'a')[0].name"},
    ),
    "asks for what may be there": rule(
        545,
        "object.spec.?tolerations.orValue([]).exists(t, t.key == 'team') || object.spec.?hostname.orValue('') == 'h'",
        labels={"claims": "string(object.spec.?resourceClaims.orValue([]).size())"},
    ),
    "asks for parts of requests": rule(
        550, "gpu.requests[0].quantity > 1", labels={"n": "string(gpu.requests.size())"}
    ),
    "asks for nodes": rule(
        205, "topology.nodes(gpu).count > 1 || gpu.vendor == 'amd'", nodeAffinity={"required": TERMS}
    ),
    "asks whether nodes are left": rule(206, "topology.nodes(gpu).count == 0", labels={"names": CONTAINERS}),
    "asks for nodes and names": rule(
        207, f"topology.nodes(gpu).count == 0 && {CONTAINERS} == 'a'", labels={"none": "'1'"}
    ),
    "tolerates by name": rule(
        208, "topology.nodes(gpu).count == 0", tolerations=f"[{{'key': {CONTAINERS}, 'operator': 'Exists'}}]"
    ),
    "tolerates": rule(20, tolerations="[{'key': 'team', 'operator': 'Exists'}]"),
    "fails": rule(30, labels={"f": "object.metadata.labels['app']"}),
    "joins a group": rule(58, gang={"name": json.dumps(GROUP), "size": "2"}),
    # Against those above: another gang, another level, another resource, another time, no node left.
    "joins another": rule(66, gang={"name": "gang.name.size() > 20 ? gang.name : 'other'", "size": "3"}),
    "moves elsewhere": rule(67, topology={"level": "gpu.count > 1 ? 'zone' : 'rack'", "mode": "required"}),
    "rewrites otherwise": rule(110, resources=SLICES.replace("1g", "2g")),
    "tolerates for long": rule(21, tolerations=EVICTED),
    "tolerates by count": rule(22, tolerations=EVICTED.replace("300", "gpu.count == 1 ? 300 : 60")),
    "asks for other nodes": rule(209, nodeAffinity={"required": TERMS.replace("Exists", "DoesNotExist")}),
    "asks for nodes nobody has": rule(
        210, nodeAffinity={"required": TERMS.replace("'x'", "gpu.count > 1 ? 'y' : 'nvidia.com/gpu.product'")}
    ),
    "moves to its name": rule(420, topology={"level": "gang.name", "mode": "preferred"}),
    "shares become GPUs": rule(35, scope="All", resources=SHARES),
    "joins": rule(60, gang={"name": "gang.name", "size": "gang.size"}),
    "joins and moves": rule(
        65, gang={"name": "gang.name", "size": "gang.size"}, topology={"level": "'zone'", "mode": "required"}
    ),
    "names a scheduler": rule(40, schedulerName="gpu.count > 1 ? 'bins' : ''"),
    "names a scheduler by gang": rule(45, schedulerName="gang.name"),
    "names a runtime class": rule(46, runtimeClassName="'nvidia'"),
    "names a priority class": rule(47, priorityClassName="gpu.kind == 'whole' ? 'urgent' : 'low'"),
    "names another": rule(48, priorityClassName="'third'", labels={"copy": "'x'"}),
    "copies the name again": rule(49, labels={"copy": "gang.name"}),
    "writes variables": rule(50, env={"GANG": "gang.name", "NAMES": CONTAINERS}),
    "claims": rule(55, resourceClaims="[{'name': 'nic', 'template': 'rdma', 'containers': ['a']}]"),
    "configures": rule(
        56, applyConfiguration="{'spec': {'containers': object.spec.containers.map(c, {'name': c.name, 'tty': true})}}"
    ),
    "patches": rule(57, "!has(object.spec.hostname)", jsonPatch=HOSTNAME),
    "for every pod": rule(70, scope="All", labels={"kind": "gpu.kind"}),
    "params of the namespace": rule(
        80,
        paramKind={"apiVersion": "v1", "kind": "ConfigMap"},
        paramRef={"name": "p", "parameterNotFoundAction": "Allow"},
        labels={"value": "params.data['value']"},
    ),
}

# What tells one pod from another: everything that policies or builders look at.
GANGS = [
    "",
    "a-gang-of-sixteen",
    "b-gang-of-sixteen",
    "a-gang-of-eighteen",
    "g",
    "h",
    GROUP,
    "no label value!",
]
ASPECTS: dict[str, list[Any]] = {
    "namespace": ["default", "other"],
    "list": ["containers", "initContainers"],
    "containers": [
        ["b"],
        ["a"],
        ["a", "b"],
        ["b", "a"],
        [LONG],
        [LONGER],
        [LONG, LONGER],
        [LONGER, LONG],
        [LONG, "b"],
        [LONG, LONG],
        [f"{LONG}-too"],
        [f'{LONG}"'],
    ],
    "gpus": [1, 2, 0],
    "resource": [
        "nvidia.com/gpu",
        "nvidia.com/mig-1g.5gb",
        "amd.com/gpu",
        "nvidia.com/gpu.shared",
        "nvidia.com/gpumem",
    ],
    "gang": GANGS,
    "said": [False, True],
    "size": ["", "2", "64"],
    "memory": ["", "4Gi", "6Gi"],
    "labels": [None, {}, {"app": "a"}, {"app": "b"}, {COLOCATED_LABEL: "a"}, {"copy": "a"}],
    "annotations": [
        None,
        {},
        {APPLIED_ANNOTATION: "{}"},
        {"gpu-memory": "1"},
        {EXCLUSIVE_TOPOLOGY[0]: "rack"},
        *MORE_ANNOTATIONS,
    ],
    "affinity": [ABSENT, None, {}, {"nodeAffinity": None}, {"podAffinity": {}}, {"podAntiAffinity": {}}, X, Y, APART],
    "nodeSelector": [ABSENT, None, {}, {"nvidia.com/gpu.product": "NVIDIA-L4"}],
    "tolerations": [ABSENT, None, [], [{"key": "nvidia.com/gpu", "operator": "Exists"}], [{"key": "team"}]],
    "schedulerName": [ABSENT, "default-scheduler", "volcano"],
    "schedulingGroup": [ABSENT, None, {"podGroupName": GROUP}],
    "resourceClaims": [ABSENT, [{"name": "a", "resourceClaimName": "b"}], [{"name": "nic", "resourceClaimName": "b"}]],
    "runtimeClassName": [ABSENT, "nvidia", "kata"],
    "priorityClassName": [ABSENT, "", "usual", "urgent"],
    "priority": [ABSENT, 1],
    "hostname": [ABSENT, "h"],
}


def made(aspects: dict[str, Any]) -> dict[str, Any]:
    """Return the pod of these aspects."""
    containers = [
        gpu_container(name, aspects["gpus"] if not index else 1, resource=aspects["resource"])
        for index, name in enumerate(aspects["containers"])
    ]
    fields = {key: aspects[key] for key in SPEC if aspects[key] is not ABSENT}
    document = pod(*containers, **fields)
    document["spec"][aspects["list"]] = document["spec"].pop("containers")
    metadata, gang = document["metadata"], aspects["gang"]
    marks = {GANG_SIZE_ANNOTATION: aspects["size"], GPU_MEMORY_ANNOTATION: aspects["memory"]}
    labels, annotations = aspects["labels"], {key: text for key, text in marks.items() if text}
    if gang and aspects["said"]:
        labels = {GANG_LABEL: gang, **(labels or {})}
    elif gang:
        member = job_pod(job="j", uid=gang)["metadata"]
        labels = {**member["labels"], **(labels or {})}
        annotations |= member["annotations"]
        metadata["ownerReferences"] = member["ownerReferences"]
    annotations |= aspects["annotations"] or {}
    metadata |= {
        "namespace": aspects["namespace"],
        "labels": labels,
        "annotations": annotations or aspects["annotations"],
    }
    return document


FIRST = {aspect: values[0] for aspect, values in ASPECTS.items()}
BASES = [
    {**FIRST, "gang": "a-gang-of-sixteen"},
    {**FIRST, "gang": "g", "said": True, "gpus": 2, "containers": ["a", "b"]},
    {**FIRST, "memory": "4Gi", "labels": {"app": "a"}},
    {**FIRST, "memory": "4Gi", "containers": [LONG]},
    {**FIRST, "resource": "nvidia.com/gpumem", "annotations": {"nvidia.com/vgpu-mode": "x"}},
]


def alike(base: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield every pod that differs from ``base`` in at most one aspect."""
    yield from (made({**base, aspect: value}) for aspect, values in ASPECTS.items() for value in values)


def known(texts: list[str]) -> Snapshot:
    return snapshot(*texts, objects=[*NODES, *PARAMS, USUAL, pod_group(GROUP, 2, "kubernetes.io/zone")])


# What the one writes, the other may read, be asked about, or write too.
WRITERS = (
    "passes the name on",
    "writes a need",
    "rewrites resources",
    "asks for nodes",
    "joins and moves",
    "configures",
)
PAIRS = [(one, other) for one in WRITERS for other in OTHERS if one != other]
SETS = [
    SHIPPED,
    *([rule] for rule in OTHERS.values()),
    *([*SHIPPED, rule] for rule in OTHERS.values()),
    [OTHERS[name] for name in ("tolerates", "asks for nodes", "tolerates by name")],
    [OTHERS[name] for name in ("shares become GPUs", "counts elements")],
    [OTHERS[name] for name in ("tolerates for long", "tolerates by count")],
    [OTHERS[name] for name in ("asks for other nodes", "asks for nodes nobody has")],
]


@pytest.mark.parametrize("texts", SETS)
@pytest.mark.parametrize("base", BASES)
def test_what_was_decided_for_one_pod_is_right_for_one_that_differs_in_one_thing(
    texts: list[str], base: dict[str, Any]
) -> None:
    warm = known(texts)
    for document in alike(base):
        request = decode_review(review(document, namespace=document["metadata"]["namespace"]))
        assert mutate(request, warm) == afresh(request, replace(warm))


@pytest.mark.parametrize("pair", PAIRS)
def test_what_was_decided_under_two_policies_is_right_for_the_next_pod(pair: tuple[str, str]) -> None:
    warm = known([OTHERS[name] for name in pair])
    for document in alike(BASES[0]):
        request = decode_review(review(document, namespace=document["metadata"]["namespace"]))
        assert mutate(request, warm) == afresh(request, replace(warm))


@pytest.mark.parametrize("texts", [SHIPPED, LIBRARY], ids=["four", "library"])
def test_a_pod_of_another_gang_is_not_decided_again(texts: list[str]) -> None:
    warm = known(texts)
    first, second = (
        decode_review(review(job_pod(uid=f"a-job-of-the-number-{number}", annotations={GANG_SIZE_ANNOTATION: "2"})))
        for number in (1, 2)
    )
    mutate(first, warm)
    remembered = len(warm.recall)
    assert any(isinstance(answer, Course) for answer in warm.recall._answers.values())

    outcome = mutate(second, warm)

    assert len(warm.recall) == remembered
    assert "a-job-of-the-number-2" in str(outcome.patch)
    assert outcome == afresh(second, replace(warm))


def test_a_pod_whose_container_is_called_otherwise_is_not_decided_again() -> None:
    warm = known(SHIPPED)
    annotations = {GPU_MEMORY_ANNOTATION: "4Gi"}
    first, second = (
        decode_review(review(pod(gpu_container(f"training-number-{number}"), annotations=annotations)))
        for number in (1, 2)
    )
    mutate(first, warm)
    remembered = len(warm.recall)

    outcome = mutate(second, warm)

    assert len(warm.recall) == remembered
    assert "training-number-2" in str(outcome.patch)
    assert outcome == afresh(second, replace(warm))


def test_a_record_of_operations_is_believed_of_one_pod_and_not_of_the_next() -> None:
    claim = {"op": "add", "path": "/spec/hostname", "value": "h"}
    annotations = {APPLIED_ANNOTATION: json.dumps({"another": {"jsonPatch": [claim]}})}
    warm = known([OTHERS["tolerates"]])
    for hostname in ("h", "i"):
        document = pod(gpu_container(), labels={GANG_LABEL: "g"}, annotations=annotations, hostname=hostname)
        request = decode_review(review(document))
        assert mutate(request, warm) == afresh(request, replace(warm))
