"""A decision that is remembered is the decision that would be made: over pods that differ in one thing at a time.

Each example is a set of policies and a handful of pods, decided one after the other with one snapshot. Whatever the
earlier ones left behind, each outcome must be the one of a snapshot that remembers nothing.
"""

import json
from collections import Counter
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from builders import gpu_container, gpu_pod, job_pod, pod, pod_group, review
from misleading import GROUP, LONG, LONGER, OTHERS
from podberth.admission.decide import mutate
from podberth.admission.outcome import Outcome
from podberth.admission.replay import KeptDecision
from podberth.admission.review import AdmissionRequest, decode_review
from podberth.admission.snapshot import Snapshot
from podberth.kube.patch import apply
from podberth.mutation import record
from podberth.mutation.record import sealed
from podberth.mutation.seal import OFFLINE, Bearer
from podberth.wellknown import (
    APPLIED_ANNOTATION,
    COLOCATED_LABEL,
    GANG_LABEL,
    GANG_LEVEL_ANNOTATION,
    GANG_SIZE_ANNOTATION,
    GANG_SLICE_LABEL,
    GPU_MEMORY_ANNOTATION,
)
from podberth.workload.systems import AFFINITY_KEYS
from properties import is_thorough, thinned
from records import annotation_of, claims_of, with_annotation, with_record, without_seals
from replays import assert_decided_right
from snapshots import cluster, forgetful, policy, snapshot
from tenants import limits

POLICIES = Path(__file__).parents[2] / "policies"
NODES = cluster(hgx_h100_8=1, a100_pcie_4=1, dgx_a100_8_mig_mixed=1, l4_1=1)
# Those that write for most pods; compiling the whole library for each set would take minutes.
WRITING = ("mig-right-size", "gpu-tolerations", "multi-gpu-nvlink", "gang-topology")
SHIPPED = [
    file.read_text()
    for name in WRITING
    for file in (POLICIES / name / "policy.yaml", POLICIES / name / "params.yaml")
    if file.exists()
]

LIBRARY = [file.read_text() for file in sorted(POLICIES.glob("*/*.yaml")) if file.name != "tests.yaml"]

PARAMS = [limits(where, "p", value=where) for where in ("default", "other")]

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
SPREAD = [{"topologyKey": "rack", "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {}}]
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
    "topologySpreadConstraints",
)


# What distinguishes one pod from another: everything that policies or builders look at.
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
    "index": [0, 3],
    "size": ["", "2", "64"],
    "memory": ["", "4Gi", "6Gi"],
    "labels": [
        None,
        {},
        {"app": "a"},
        {"app": "b"},
        {COLOCATED_LABEL: "a"},
        {GANG_SLICE_LABEL: "a"},
        {"copy": "a"},
        {"scheduling.x-k8s.io/pod-group": "a"},
    ],
    "annotations": [
        None,
        {},
        {APPLIED_ANNOTATION: "{}"},
        {"gpu-memory": "1"},
        {AFFINITY_KEYS[0]: "rack"},
        {GANG_LEVEL_ANNOTATION: "rack"},
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
    "topologySpreadConstraints": [ABSENT, None, SPREAD],
    "name": [{"name": "pod"}, {"name": "other"}, {"generateName": "pod-"}],
    "sealed for": ["pod", "other", "", None],
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
        member = job_pod(aspects["index"], job="j", uid=gang)["metadata"]
        labels = {**member["labels"], **(labels or {})}
        annotations |= member["annotations"]
        metadata["ownerReferences"] = member["ownerReferences"]
    annotations |= aspects["annotations"] or {}
    metadata |= {
        "namespace": aspects["namespace"],
        "labels": labels,
        "annotations": annotations or aspects["annotations"],
    }
    del metadata["name"]
    metadata |= aspects["name"]
    text, bearer = annotations.get(APPLIED_ANNOTATION, "{}"), aspects["sealed for"]
    if text != "{}" and bearer is not None:
        text = sealed(text, OFFLINE.seal(Bearer(aspects["namespace"], bearer), text))
        return with_annotation(document, text)
    return document


FIRST = {aspect: values[0] for aspect, values in ASPECTS.items()}
BASES = [
    {**FIRST, "gang": "a-gang-of-sixteen"},
    {**FIRST, "gang": "g", "said": True, "gpus": 2, "containers": ["a", "b"]},
    {**FIRST, "memory": "4Gi", "labels": {"app": "a"}},
    {**FIRST, "memory": "4Gi", "containers": [LONG]},
    {**FIRST, "resource": "nvidia.com/gpumem", "annotations": {"nvidia.com/vgpu-mode": "x"}},
]


@cache
def alike(number: int, *, with_record: bool = False) -> tuple[AdmissionRequest, ...]:
    """Return reviews of every pod that differs from a base, by its number, in at most one aspect.

    The base itself comes between the others again and again, as one review.
    """
    base = {**BASES[number], "annotations": {APPLIED_ANNOTATION: RECORD}} if with_record else BASES[number]
    documents = [made({**base, aspect: value}) for aspect, values in ASPECTS.items() for value in values]
    reviews = {
        json.dumps(each): decode_review(review(each, namespace=each["metadata"]["namespace"])) for each in documents
    }
    return tuple(reviews[json.dumps(each)] for each in documents)


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
    [OTHERS[name] for name in ("tolerates", "asks for nodes", "tolerates by name")],
    [OTHERS[name] for name in ("shares become GPUs", "counts elements")],
    [OTHERS[name] for name in ("tolerates for long", "tolerates by count")],
    [OTHERS[name] for name in ("asks for other nodes", "asks for nodes nobody has")],
    [OTHERS[name] for name in ("chooses a system", "prefers a rack", "draws a pod's own slices")],
    [OTHERS[name] for name in ("chooses a group", "draws a pod's own slices", "prefers a rack")],
]
BESIDE_SHIPPED = [[*SHIPPED, rule] for rule in OTHERS.values()]
# A rule meets each base alone, and on one base the shipped policies; on each by hand, which takes as long as all else.
CASES = [
    *product(SETS, range(len(BASES))),
    *(
        product(BESIDE_SHIPPED, range(len(BASES)))
        if is_thorough()
        else ((texts, number % len(BASES)) for number, texts in enumerate(BESIDE_SHIPPED))
    ),
]


@pytest.mark.parametrize(("texts", "base"), thinned(CASES))
def test_what_was_decided_for_one_pod_is_right_for_one_that_differs_in_one_thing(texts: list[str], base: int) -> None:
    assert_decided_right(known(texts), alike(base))


@pytest.mark.parametrize("texts", [SHIPPED, *([OTHERS[name]] for name in WRITERS)])
def test_what_was_decided_for_a_pod_with_a_record_is_right_for_the_next(texts: list[str]) -> None:
    assert_decided_right(known(texts), alike(0, with_record=True))


@pytest.mark.parametrize("pair", thinned(PAIRS))
def test_what_was_decided_under_two_policies_is_right_for_the_next_pod(pair: tuple[str, str]) -> None:
    assert_decided_right(known([OTHERS[name] for name in pair]), alike(0))


# What fails, and what can write anywhere.
ALWAYS_DECIDED = {
    "fails",
    "chooses a group",
    "writes variables",
    "claims",
    "configures",
    "patches",
}


def decided_again(texts: list[str], base: int, monkeypatch: pytest.MonkeyPatch) -> int:
    """Return how many of the pods like ``base`` get a decision that was kept of another."""
    turns = Counter[str]()

    def for_pod(self: KeptDecision, *args: Any) -> Outcome:
        turns["again"] += 1
        return play(self, *args)

    play = KeptDecision.for_pod
    monkeypatch.setattr(KeptDecision, "for_pod", for_pod)
    warm = known(texts)
    for request in alike(base):
        mutate(request, warm)
    return turns["again"]


@pytest.mark.parametrize("base", range(len(BASES)))
def test_of_pods_that_differ_in_one_thing_a_good_part_is_not_decided_again(
    base: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise the comparisons above would compare two new decisions with each other."""
    assert decided_again(SHIPPED, base, monkeypatch) >= len(alike(base)) * 0.45


@pytest.mark.parametrize("name", OTHERS)
def test_nor_under_a_policy_that_misleads(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    again = decided_again([OTHERS[name]], 0, monkeypatch)
    assert (again == 0) if name in ALWAYS_DECIDED else (again >= len(alike(0)) / 2)


@pytest.mark.parametrize("document", [gpu_pod(4), job_pod()], ids=["alone", "of a gang"])
def test_of_the_shipped_policies_a_decision_is_kept(document: dict[str, Any]) -> None:
    warm = known(LIBRARY)
    outcome = mutate(decode_review(review(document)), warm)
    assert outcome.patch
    assert any(isinstance(answer, KeptDecision) for answer in warm.recall._on_trial.values())


@pytest.mark.parametrize("texts", [SHIPPED, LIBRARY], ids=["four", "library"])
def test_a_pod_of_the_same_gang_is_not_decided_again(texts: list[str]) -> None:
    warm = known(texts)
    annotations = {GANG_SIZE_ANNOTATION: "2"}
    first, second = (decode_review(review(job_pod(index, uid="a-job", annotations=annotations))) for index in (0, 1))
    mutate(first, warm)
    remembered = len(warm.recall)

    outcome = mutate(second, warm)

    assert len(warm.recall) == remembered
    assert outcome == mutate(second, forgetful(warm))


@pytest.mark.parametrize(
    ("read", "label", "values"),
    [
        ("gang.role", "replica-type", ("worker", "worker", "worker", "launcher", "worker")),
        ("string(gang.index)", "replica-index", ("0", "0", "0", "3")),
    ],
)
def test_what_is_read_of_a_gang_after_the_writes_is_the_pods_own(
    read: str, label: str, values: tuple[str, ...]
) -> None:
    joins = """
  mutations:
  - labels: {training.kubeflow.org/job-name: "'j'"}
  - gang: {name: "'j'"}
"""
    reads = f"""
  mutations:
  - annotations: {{seen: {read}}}
"""
    warm = known([policy("joins", joins, order=1), policy("reads", reads, order=2)])
    for value in values:
        labels = {"replica-type": "worker", label: value}
        document = pod(gpu_container(), labels={f"training.kubeflow.org/{key}": text for key, text in labels.items()})
        outcome = mutate(decode_review(review(document)), warm)
        assert apply(document, outcome.patch)["metadata"]["annotations"]["seen"] == value


def test_a_record_of_operations_is_believed_of_one_pod_and_not_of_the_next() -> None:
    claim = {"op": "add", "path": "/spec/hostname", "value": "h"}
    claims = {"another": {"jsonPatch": [claim]}}
    warm = known([OTHERS["tolerates"]])
    for hostname in ("h", "i"):
        document = with_record(pod(gpu_container(), labels={GANG_LABEL: "g"}, hostname=hostname), claims)
        request = decode_review(review(document))
        assert mutate(request, warm) == mutate(request, forgetful(warm))


def test_each_pod_of_one_decision_gets_a_seal_of_its_own() -> None:
    warm = known(SHIPPED)
    requests = [decode_review(review(gpu_pod(4, name=f"pod-{number}"))) for number in range(3)]
    outcomes = [mutate(request, warm) for request in requests]

    assert len({str(outcome.patch) for outcome in outcomes}) == 3
    assert len({str(without_seals(outcome.patch)) for outcome in outcomes}) == 1
    for request, outcome in zip(requests, outcomes, strict=True):
        final = apply(request.object or {}, outcome.patch)
        assert record.find(final, "default", warm.sealer).record == claims_of(final) != {}


def test_the_seal_of_another_pod_in_a_label_is_left_alone() -> None:
    warm = known(SHIPPED)
    first = decode_review(review(gpu_pod(4, name="pod")))
    seen = annotation_of(apply(first.object or {}, mutate(first, warm).patch))[-24:-2]
    again = decode_review(review(gpu_pod(4, name="pod", labels={GANG_LABEL: f"g{seen}g"})))

    assert mutate(again, warm) == mutate(again, warm) == mutate(again, forgetful(warm))
