import json
from collections.abc import Callable
from typing import Any

import pytest

from node_builders import GPU, PRODUCT, index_of, machines, need_of, node_manifest
from podberth.cel.engine import Environment, Want
from podberth.cel.functions import FUNCTIONS, ReviewContext
from podberth.cel.typing import DECLARED
from podberth.topology.index import Need
from podberth.topology.whole_gang import Roles
from podberth.wellknown import HOSTNAME_LABEL

ZONE = "topology.kubernetes.io/zone"


def test_overload_names_are_unique() -> None:
    assert len({row.id for row in FUNCTIONS}) == len(FUNCTIONS)


def test_a_receiver_is_a_declared_type() -> None:
    assert {row.parameters[0] for row in FUNCTIONS} <= set(DECLARED)


def test_equal_questions_of_one_review_get_the_same_number(review: ReviewContext) -> None:
    own = ReviewContext(review.index, review.need)
    first, second = own.index.nodes(need_of(1)), own.index.nodes(need_of(8))
    assert [own.handle(first), own.handle(second), own.handle(first)] == [0, 1, 0]
    assert own.nodes(1) is second


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("topology.known", True),
        ("topology.nodes(gpu).count", 4),  # four GPUs: two HGX machines and two with pairs
        ("topology.nodes(gpu).exist", True),
        ("topology.nodes(gpu).withLinkDomain(4).count", 2),
        ("topology.nodes(gpu).withLinkDomain(9).exist", False),
        ("topology.nodes(gpu).withLinkDomain(-1).count", 4),
        ("topology.nodes(gpu).withLinkDomain(4) == topology.nodes(gpu).withLinkDomain(gpu.perContainer)", True),
        ("topology.nodes(gpu).withLinkDomain(4) == topology.nodes(gpu)", False),
        ("topology.nodes(gpu).anyOffers('nvidia.com/gpu')", True),
        ("topology.nodes(gpu).anyOffers('nvidia.com/mig-1g.5gb')", False),  # only nodes for other pods have it
        ("topology.nodes(gpu).narrowestLevel(2)", "kubernetes.io/hostname"),
        ("topology.nodes(gpu).narrowestLevel(1000)", ""),
        ("topology.nodes(gpu).narrowestSafeLevel(1000)", ""),
        ("topology.nodes(gpu).narrowestLevel(-3)", "kubernetes.io/hostname"),
        ("topology.nodes(gpu).withLinkDomain(9).separable", True),
        ("topology.nodes(gpu).missingLabel", ""),
        ("has(topology.nodes(gpu).exist)", True),
        ("[topology.nodes(gpu)][0].count", 4),
        ("{'n': topology.nodes(gpu)}.n.count", 4),
        ("[1, 2, 4, 8].map(k, topology.nodes(gpu).withLinkDomain(k).count)", [4, 4, 2, 2]),
        ("mig.known('1g.5gb')", True),
        ("mig.known('nvidia.com/mig-1g.5gb')", True),
        ("mig.known('9g.5gb')", False),
        ("mig.offered('1g.5gb')", True),
        ("mig.offered('nvidia.com/mig-1g.5gb')", True),
        ("mig.offered('7g.80gb')", False),
        ("mig.offered('nonsense')", False),
        ("mig.offered('')", False),
        ("mig.nearest('')", ""),
        ("topology.offers('nvidia.com/gpu')", True),
        ("topology.offers('nvidia.com/mig-1g.5gb')", True),
        ("topology.offers('amd.com/gpu')", False),
        ("topology.memoryMiB('NVIDIA-L4')", 23034),
        ("topology.memoryMiB('NVIDIA-B200')", 183359),  # no node has it
        ("topology.memoryMiB('1g.10gb')", 10240),
        ("topology.memoryMiB('none')", 0),
        ("topology.nodes(gpu).linksKnown", True),
        ("topology.nodes(gpu).cut", False),
        ("topology.nodes(gpu).instance", ""),
        ("topology.nodes(gpu).leastMemoryMiB", 81559),
        ("topology.nodes(gpu).mostMemoryMiB", 95830),
        ("shell.commands(['sh', '-c', 'a b; c'])", [["a", "b"], ["c"]]),
        ("shell.commands([dyn(1)])", []),
        ("shell.commands(['a', 'b'])[0].size()", 2),
        ("shell.flag(['a', '--tp', '4'], ['--tensor-parallel-size', '--tp'])", "4"),
        ("shell.flag(['a', '--tp', '4'], [dyn(4)])", ""),
        ("int(shell.flag(shell.commands(['sh', '-c', 'a --tp=4'])[0], ['--tp']))", 4),
        ("models.named('llama-70b').millions", 67200),
        ("models.named('llama-3-70b').dense", True),
        ("mig.nearest('2g.11gb')", "2g.10gb"),
        ("mig.nearest('nvidia.com/mig-2g.11gb')", "nvidia.com/mig-2g.10gb"),
        ("mig.smallest(1).profile", "1g.5gb"),
        ("mig.smallest(6000).resource", "nvidia.com/mig-2g.10gb"),
        ("mig.smallest(9000000).exist", False),
        ("mig.smallest(-9223372036854775807).exist", True),
        ("mig.smallest(0, 2).profile", "2g.10gb"),
        ("mig.smallest(6000, 3).resource", "nvidia.com/mig-3g.20gb"),
        ("mig.smallest(0, 3).slices", 3),
        ("mig.smallest(0, 7).exist", False),
        ("mig.parse('nvidia.com/mig-1g.10gb.me').profile", "1g.10gb+me"),
        ("mig.parse('1g.10gb+me').resource", "nvidia.com/mig-1g.10gb.me"),
        ("mig.parse('nvidia.com/mig-1g.5gb.shared').profile", "1g.5gb"),
        ("mig.parse('3g.20gb').slices", 3),
        ("mig.parse('3g.24gb').memoryMiB", 20480),
        ("mig.parse('2c.3g.20gb').slices", 2),
        ("mig.parse('2c.3g.20gb').resource", ""),
        ("mig.parse('nvidia.com/gpu').exist", False),
        ("mig.parse('').profile", ""),
        ("mig.capacity('1g.5gb')", 7),
        ("mig.capacity('nvidia.com/mig-1g.10gb')", 7),  # four on the A100 of 40 GB, seven on the H100
        ("mig.capacity('9g.5gb')", 0),
        ("mig.capacity('')", 0),
        ("mig.fits(['3g.20gb', '3g.20gb'])", True),
        ("mig.fits(['3g.20gb', '3g.20gb', '1g.5gb'])", False),
        ("mig.fits(['1g.5gb', '1g.12gb'])", False),  # of two models
        ("mig.fits([])", True),
        ("mig.fits(dyn([1, 'x']))", False),
        ("mig.fits(gpu.requests.map(r, r.profile))", False),
        ("mig.suggestions('2g.11gb')", ["2g.10gb", "3g.20gb", "1g.5gb"]),
        (
            "mig.suggestions('nvidia.com/mig-7g.140gb')",
            [f"nvidia.com/mig-{p}" for p in ("3g.20gb", "7g.94gb", "7g.80gb")],
        ),
        ("mig.suggestions('nonsense')", []),
        ("mig.nearest('nvidia.com/mig-2g.11gb.shared')", "nvidia.com/mig-2g.10gb.shared"),
        ("topology.nodes(gpu).shared", False),
    ],
)
def test_questions_have_answers(evaluate: Callable[..., Any], source: str, value: Any) -> None:
    assert evaluate(source) == value


def test_terms_and_taints_are_those_of_the_index(evaluate: Callable[..., Any], review: ReviewContext) -> None:
    nodes = review.index.nodes(review.need)
    assert evaluate("topology.nodes(gpu).terms") == list(nodes.placement.terms)
    assert evaluate("topology.nodes(gpu).taints") == [taint._asdict() for taint in nodes.taints]


def test_the_pods_own_choice_of_nodes_counts(environment: Environment, review: ReviewContext) -> None:
    count = environment.compile("topology.nodes(gpu).count", want=Want.INT)
    chosen = need_of(4, GPU, pod_spec={"nodeSelector": {PRODUCT: "NVIDIA-H100-80GB-HBM3"}})
    activation = environment.activation({"gpu": {}}, ReviewContext(review.index, chosen))
    assert count.evaluate(activation) == 2


@pytest.mark.parametrize(
    ("members", "roles", "level", "safe"),
    [
        # Four GPUs: two to each HGX machine, one to each of the others.
        (2, (), HOSTNAME_LABEL, ZONE),
        (0, (), HOSTNAME_LABEL, ZONE),
        (1000, (), "", ""),
        (2, ((1, need_of(1)), (1, need_of(4))), HOSTNAME_LABEL, ZONE),
        (3, ((1, need_of(1)), (2, need_of(8))), "", ""),
    ],
)
def test_the_level_of_a_gang_is_one_for_all_its_members(
    environment: Environment, review: ReviewContext, members: int, roles: Roles, level: str, safe: str
) -> None:
    for need in (review.need, *(need for _, need in roles)):
        context = ReviewContext(review.index, need, members=members, roles=roles)
        activation = environment.activation({"gpu": {}, "gang": {}}, context)
        for source, expected in (("narrowestLevel", level), ("narrowestSafeLevel", safe)):
            asked = environment.compile(f"topology.{source}(gang)", want=Want.STRING)
            assert asked.evaluate(activation) == expected


def test_a_pod_without_accelerators_has_no_level(environment: Environment, review: ReviewContext) -> None:
    for roles in ((), ((1, need_of(1)), (1, need_of(4)))):
        context = ReviewContext(review.index, Need(), members=2, roles=roles)
        activation = environment.activation({"gpu": {}, "gang": {}}, context)
        assert environment.compile("topology.narrowestLevel(gang)", want=Want.STRING).evaluate(activation) == ""


def test_without_data_nothing_is_known(environment: Environment) -> None:
    empty = ReviewContext(index_of(), need_of(1))
    activation = environment.activation({"gpu": {}}, empty)
    source = "topology.known || topology.nodes(gpu).exist || mig.smallest(1).exist ? 1 : 0"
    assert environment.compile(source, want=Want.INT).evaluate(activation) == 0


def answer(environment: Environment, source: str, *documents: Any, want: Want = Want.ANY, amount: int = 1) -> Any:
    """Evaluate where these nodes are all, for a pod that asks for so many GPUs."""
    activation = environment.activation({"gpu": {}}, ReviewContext(index_of(*documents), need_of(amount)))
    return environment.compile(source, want=want).evaluate(activation)


def test_the_live_node_wins_over_the_table(environment: Environment) -> None:
    """A driver that knows other names, and fewer instances, than the tables: what the node reports is the answer."""
    node, document = machines("dgx-a100-8-mig-mixed", 1)
    topology = json.loads(document["data"]["topology.json"])
    topology["migProfiles"] = [
        {"profile": "1g.6gb", "pciId": "20B0", "max": 3, "memoryMiB": 5000},
        {"profile": "7g.41gb", "pciId": "20B0", "max": 1, "memoryMiB": 41000},
    ]
    changed = {**document, "data": {"topology.json": json.dumps(topology)}}
    sources = ("mig.capacity('1g.5gb')", "mig.capacity('1g.6gb')", "mig.known('7g.41gb')", "mig.fits(['7g.41gb'])")
    assert [answer(environment, source, node, document) for source in sources] == [7, 0, False, False]
    assert [answer(environment, source, node, changed) for source in sources] == [0, 3, True, True]


def test_nodes_that_the_pod_does_not_choose_do_not_count(environment: Environment) -> None:
    chosen = need_of(1, GPU, pod_spec={"nodeSelector": {PRODUCT: "NVIDIA-L4"}})
    index = index_of(machines("dgx-a100-8-mig-mixed", 1), machines("l4-1", 1))
    activation = environment.activation({"gpu": {}}, ReviewContext(index, chosen))
    source = "mig.fits(['1g.5gb']) || mig.capacity('1g.5gb') > 0 || mig.smallest(0, 1).exist ? 1 : 0"
    assert environment.compile(source, want=Want.INT).evaluate(activation) == 0


def test_nodes_that_share_their_gpus_are_known(environment: Environment) -> None:
    shared, whole = machines("t4-shared", 1), machines("l4-1", 1)
    source = "topology.nodes(gpu).shared"
    assert answer(environment, source, shared) is True
    assert answer(environment, source, shared, whole) is False
    assert answer(environment, source) is False


def test_a_shared_name_is_answered_with_a_shared_name(environment: Environment) -> None:
    node = node_manifest("n", devices={"nvidia.com/mig-1g.5gb.shared": 8, "nvidia.com/mig-2g.10gb": 1})
    source = "mig.nearest('nvidia.com/mig-1g.6gb.shared')"
    assert answer(environment, source, node) == "nvidia.com/mig-1g.5gb.shared"
    assert answer(environment, source) == "nvidia.com/mig-1g.6gb.shared"  # an A30 has it


def test_nodes_whose_gpus_are_instances_are_found_by_the_profile(environment: Environment) -> None:
    single, whole = machines("dgx-a100-8-mig-single", 2), machines("dgx-a100-8", 1)
    count, terms = "mig.gpuNodes('nvidia.com/mig-1g.5gb').count", "mig.gpuNodes('1g.5gb').terms"
    assert answer(environment, count, single, whole) == 2
    (term,) = answer(environment, terms, single, whole)
    (expression,) = term["matchExpressions"]
    assert expression["values"] == ["NVIDIA-A100-SXM4-40GB-MIG-1g.5gb"]
    assert answer(environment, "mig.gpuNodes('1g.5gb') == mig.gpuNodes('mig-1g.5gb')", single) is True
    for none in ("2g.10gb", "", "nonsense"):
        assert answer(environment, f"mig.gpuNodes('{none}').exist", single, whole) is False


def test_one_node_with_whole_gpus_leaves_no_common_instance(environment: Environment) -> None:
    single, whole = machines("dgx-a100-8-mig-single", 2), machines("dgx-a100-8", 1)
    found = "[topology.nodes(gpu).cut, topology.nodes(gpu).instance]"
    assert answer(environment, found, single) == [True, "1g.5gb"]
    assert answer(environment, found, single, whole) == [True, ""]
    assert answer(environment, found, whole) == [False, ""]


def test_a_gke_pool_is_found_by_the_profile_without_a_label_of_nvidias(environment: Environment) -> None:
    labels = {"cloud.google.com/gke-accelerator": "nvidia-h100-80gb"}
    cut = {**labels, "cloud.google.com/gke-gpu-partition-size": "1g.10gb"}
    nodes = [
        node_manifest("a", devices={GPU: 7}, labels=cut),
        node_manifest("b", devices={GPU: 1}, labels=labels),
    ]
    (term,) = answer(environment, "mig.gpuNodes('1g.10gb').terms", *nodes)
    (expression,) = term["matchExpressions"]
    assert expression == {"key": "cloud.google.com/gke-gpu-partition-size", "operator": "In", "values": ["1g.10gb"]}
