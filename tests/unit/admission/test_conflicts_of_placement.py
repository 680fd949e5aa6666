"""Two policies that place one pod otherwise: the first stays, and no policy makes another's requirement impossible."""

import copy
import json
from typing import Any

import pytest

from builders import gpu_pod, review
from podberth.admission import decide
from podberth.admission.outcome import Outcome
from podberth.admission.review import decode_review
from podberth.admission.snapshot import Snapshot
from podberth.kube.patch import apply
from podberth.topology.shapes import simulate
from snapshots import policy, snapshot

ZONE, PRODUCT = "topology.kubernetes.io/zone", "nvidia.com/gpu.product"
H100 = "NVIDIA-H100-80GB-HBM3"
# H100s stand in zone a alone, L4s in both.
NODES = [
    document
    for shape, zone in (("hgx-h100-8", "a"), ("l4-1", "a"), ("l4-1", "b"))
    for document in simulate(shape, f"{shape}-{zone}", placement={ZONE: zone})
]
PRODUCT_BY_MEMORY = "nvidia.com/gpu.memory"
MEMORY_OF_H100, MEMORY_OF_L4 = (
    next(each["metadata"]["labels"][PRODUCT_BY_MEMORY] for each in NODES if each["metadata"]["name"] == name)
    for name in ("hgx-h100-8-a", "l4-1-a")
)
TERM = {"topologyKey": "rack", "labelSelector": {"matchLabels": {"a": "b"}}}
PATH = "/spec/affinity/nodeAffinity"


def terms(**wanted: list[str]) -> str:
    keys = {"zone": ZONE, "product": PRODUCT}
    expressions = [{"key": keys[key], "operator": "In", "values": values} for key, values in wanted.items()]
    return json.dumps([{"matchExpressions": [each]} for each in expressions])


def require(**wanted: list[str]) -> dict[str, Any]:
    return {"nodeAffinity": {"required": terms(**wanted)}}


def prefer(**wanted: list[str]) -> dict[str, Any]:
    return {"nodeAffinity": {"preferred": terms(**wanted), "weight": 1}}


def draw(level: str, mode: str = "required") -> dict[str, Any]:
    return {"topology": {"level": f"'{level}'", "mode": mode}}


def known(*mutations: dict[str, Any], nodes: bool = True) -> Snapshot:
    texts = [policy(f"p{n}", f"  mutations: [{json.dumps(each)}]", order=n) for n, each in enumerate(mutations)]
    return snapshot(*texts, objects=NODES if nodes else [])


def mutate(document: dict[str, Any], of: Snapshot) -> Outcome:
    return decide.mutate(decode_review(review(document)), of)


def actions(outcome: Outcome) -> list[tuple[str, str]]:
    return [(each.policy, each.action) for each in outcome.decisions]


def own(*expressions: tuple[str, list[str]]) -> dict[str, Any]:
    term = {"matchExpressions": [{"key": key, "operator": "In", "values": values} for key, values in expressions]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}


def affine(affinity: dict[str, Any]) -> dict[str, Any]:
    return {"jsonPatch": json.dumps([{"op": "add", "path": "/spec/affinity", "value": affinity}])}


def member(**fields: Any) -> dict[str, Any]:
    return gpu_pod(labels={"podberth.io/gang": "g"}, **fields)


def select(**wanted: str) -> dict[str, Any]:
    return {"nodeSelector": {{"zone": ZONE, "product": PRODUCT}[key]: f"'{value}'" for key, value in wanted.items()}}


SELECTED = "/spec/nodeSelector"
CONFLICTS = [
    (require(product=[H100]), require(product=["NVIDIA-L4"]), f"it wants {PRODUCT} in (NVIDIA-L4), not {PRODUCT} in"),
    (require(product=[H100]), require(zone=["b"]), "no known node meets both"),
    (require(product=[H100]), prefer(product=["NVIDIA-L4"]), f"it wants {PRODUCT} in (NVIDIA-L4), not {PRODUCT} in"),
    (
        affine(own((PRODUCT, [H100]))),
        require(zone=["b"]),
        "no known node meets both",
    ),
    (select(product=H100), require(product=["NVIDIA-L4"]), f"it wants {PRODUCT} in (NVIDIA-L4), not {PRODUCT} in"),
    (select(product=H100), prefer(product=["NVIDIA-L4"]), f"it wants {PRODUCT} in (NVIDIA-L4), not {PRODUCT} in"),
    (select(product=H100), require(zone=["b"]), "no known node meets both"),
    (require(product=[H100]), select(product="NVIDIA-L4"), f"it wants {PRODUCT} in (NVIDIA-L4), not {PRODUCT} in"),
    (require(product=[H100]), select(zone="b"), "no known node meets both"),
    (select(product=H100), select(zone="b"), "no known node meets both"),
]


@pytest.mark.parametrize(("first", "second", "why"), CONFLICTS)
def test_terms_that_leave_no_node_are_not_joined_to_the_earlier_policys(
    first: dict[str, Any], second: dict[str, Any], why: str
) -> None:
    of = known(first, second)
    outcome = mutate(gpu_pod(), of)

    assert outcome.patch == mutate(gpu_pod(), known(first)).patch
    assert actions(outcome) == [("p0", "mutate"), ("p1", "conflict")]
    at = SELECTED if "nodeSelector" in second else PATH
    assert outcome.warnings[0].startswith(f"podberth p1: conflict with policy p0 at {at}: {why}")
    assert outcome.warnings[0].endswith("; p0 comes first and its value stays")
    again = mutate(apply(gpu_pod(), outcome.patch), of)
    assert again.patch == []
    assert ("p1", "conflict") in actions(again)
    assert any(at in each and "policy p0" in each for each in again.warnings)


def test_each_alone_and_the_earlier_twice_conflict_with_nothing() -> None:
    for first, second, _ in CONFLICTS:
        for of in (known(first, first), known(second)):
            assert "conflict" not in {action for _, action in actions(mutate(gpu_pod(), of))}


def test_terms_that_leave_nodes_are_joined() -> None:
    outcome = mutate(gpu_pod(), known(require(product=["NVIDIA-L4"]), require(zone=["b"])))

    assert actions(outcome) == [("p0", "mutate"), ("p1", "mutate")]


def test_terms_are_joined_to_a_choice_that_had_no_node_left_before() -> None:
    exists = [{"matchExpressions": [{"key": PRODUCT, "operator": "Exists"}]}]
    of = known(require(zone=["b"]), {"nodeAffinity": {"required": json.dumps(exists)}})
    outcome = mutate(gpu_pod(affinity=own((PRODUCT_BY_MEMORY, [MEMORY_OF_H100]))), of)

    # What both require together is counted once.
    assert [each.message.partition(": ")[2] for each in outcome.decisions] == ["", "0 nodes fit (was 1)"]


def test_what_a_policy_tolerates_itself_counts_for_its_own_terms() -> None:
    nodes = copy.deepcopy(NODES)
    [tainted] = [each for each in nodes if each["metadata"]["name"] == "l4-1-b" and each["kind"] == "Node"]
    tainted["spec"]["taints"].append({"key": "team", "effect": "NoSchedule"})
    first = policy("p0", f"  mutations: [{json.dumps(require(product=['NVIDIA-L4']))}]", order=0)
    tolerate = {"tolerations": "[{'key': 'team', 'operator': 'Exists'}]"}
    second = policy("p1", f"  mutations: {json.dumps([tolerate, require(zone=['b'])])}", order=1)
    more = simulate("a100-pcie-4", "more", placement={ZONE: "b"})
    outcome = mutate(gpu_pod(), snapshot(first, second, objects=[*nodes, *more]))

    assert "conflict" not in {action for _, action in actions(outcome)}
    # Counted by the pod as all policies leave it: its tolerations reach the tainted node, too.
    assert outcome.decisions[-1].message.endswith(": 1 node fits (was 4)"), outcome.decisions


def test_without_known_nodes_only_terms_that_contradict_each_other_conflict() -> None:
    assert actions(mutate(gpu_pod(), known(*(each for each in CONFLICTS[0][:2]), nodes=False)))[1] == ("p1", "conflict")
    assert actions(mutate(gpu_pod(), known(*(each for each in CONFLICTS[1][:2]), nodes=False)))[1] == ("p1", "mutate")


def test_of_three_the_one_is_named_that_leaves_no_node() -> None:
    outcome = mutate(gpu_pod(), known(require(zone=["a", "b"]), require(product=[H100]), require(zone=["b"])))

    assert actions(outcome) == [("p0", "mutate"), ("p1", "mutate"), ("p2", "conflict")]
    assert "conflict with policy p1" in outcome.warnings[0]


HERE_OR_THERE = [
    {"matchExpressions": [{"key": PRODUCT, "operator": "In", "values": [H100]}]},
    {"matchExpressions": [{"key": ZONE, "operator": "In", "values": ["b"]}]},
]


@pytest.mark.parametrize(
    ("key", "value", "again"),
    [(PRODUCT, "NVIDIA-L4", "skip"), (PRODUCT_BY_MEMORY, MEMORY_OF_L4, "conflict")],
    ids=["contradiction", "no node"],
)
def test_policies_that_only_together_with_the_user_leave_no_node_are_found(key: str, value: str, again: str) -> None:
    document = gpu_pod(affinity=own((ZONE, ["a"])))
    term = {"matchExpressions": [{"key": key, "operator": "In", "values": [value]}]}
    of = known(
        {"nodeAffinity": {"required": json.dumps(HERE_OR_THERE)}}, {"nodeAffinity": {"required": json.dumps([term])}}
    )
    first = mutate(document, of)
    second = mutate(apply(document, first.patch), of)

    assert actions(first) == [("p0", "mutate"), ("p1", "conflict")]
    assert second.patch == []
    # The user's words can no longer be distinguished from what the policy made of them.
    assert actions(second) == [("p1", again)]


@pytest.mark.parametrize(
    ("document", "action", "said"),
    [
        (gpu_pod(nodeSelector={ZONE: "a"}), "skip", "the pod's nodeSelector says"),
        (gpu_pod(affinity=own((ZONE, ["a"]))), "skip", "the pod's node affinity says"),
        (gpu_pod(nodeSelector={PRODUCT: H100}), "mutate", "0 nodes fit (was 1)"),
    ],
)
def test_what_the_user_alone_makes_impossible_is_no_conflict_of_policies(
    document: dict[str, Any], action: str, said: str
) -> None:
    outcome = mutate(document, known(require(product=[H100, "other"]), require(zone=["b"])))

    assert actions(outcome)[-1] == ("p1", action)
    assert said in outcome.decisions[-1].message


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (draw("rack"), draw("zone")),
        (draw("rack", "preferred"), draw("rack")),
        (affine({"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [TERM]}}), draw("zone")),
    ],
)
def test_a_gang_is_drawn_together_as_the_first_policy_says(first: dict[str, Any], second: dict[str, Any]) -> None:
    of = known(first, second, nodes=False)
    outcome = mutate(member(), of)

    assert outcome.patch == mutate(member(), known(first, nodes=False)).patch
    assert actions(outcome) == [("p0", "mutate"), ("p1", "conflict")]
    assert outcome.warnings[0].startswith(
        "podberth p1: conflict with policy p0 at /spec/affinity/podAffinity: p0 comes"
    )
    again = mutate(apply(member(), outcome.patch), of)
    assert again.patch == []
    assert ("p1", "conflict") in actions(again)


def test_what_is_required_already_is_no_conflict_and_neither_is_no_level() -> None:
    for second in (draw("rack"), draw("rack", "preferred"), draw("", "preferred")):
        assert actions(mutate(member(), known(draw("rack"), second, nodes=False))) == [("p0", "mutate")]


MARK = {"labels": {"podberth.io/colocated": "'x'"}}


@pytest.mark.parametrize(("first", "second"), [(draw("rack"), MARK), (MARK, draw("rack"))])
def test_the_label_that_a_gang_is_drawn_by_is_a_field_too(first: dict[str, Any], second: dict[str, Any]) -> None:
    outcome = mutate(member(), known(first, second, nodes=False))

    assert actions(outcome) == [("p0", "mutate"), ("p1", "conflict")]
    assert "at /metadata/labels/podberth.io~1colocated:" in outcome.warnings[0]


def test_what_the_user_has_drawn_together_is_no_conflict_of_policies() -> None:
    document = gpu_pod(labels={"podberth.io/gang": "g", "podberth.io/colocated": "g"})
    first = affine({"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [TERM]}})

    assert actions(mutate(document, known(first, draw("zone"), nodes=False))) == [("p0", "mutate")]
