from collections.abc import Callable
from typing import Any

import pytest

from node_builders import GPU, PRODUCT, index_of, need_of
from podberth.cel.engine import Environment, Want
from podberth.cel.functions import FUNCTIONS, ReviewContext
from podberth.cel.typing import DECLARED


def test_overload_names_are_unique() -> None:
    assert len({row.id for row in FUNCTIONS}) == len(FUNCTIONS)


def test_a_receiver_is_a_declared_type() -> None:
    assert {row.receiver for row in FUNCTIONS} <= set(DECLARED)


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
        ("mig.nearest('2g.11gb')", "2g.10gb"),
        ("mig.nearest('nvidia.com/mig-2g.11gb')", "nvidia.com/mig-2g.10gb"),
        ("mig.smallest(1).profile", "1g.5gb"),
        ("mig.smallest(6000).resource", "nvidia.com/mig-2g.10gb"),
        ("mig.smallest(9000000).exist", False),
        ("mig.smallest(-9223372036854775807).exist", True),
    ],
)
def test_questions_have_answers(evaluate: Callable[..., Any], source: str, value: Any) -> None:
    assert evaluate(source) == value


def test_terms_and_taints_are_those_of_the_index(evaluate: Callable[..., Any], review: ReviewContext) -> None:
    nodes = review.index.nodes(review.need)
    assert evaluate("topology.nodes(gpu).terms") == list(nodes.placement.terms)
    assert evaluate("topology.nodes(gpu).taints") == [taint.as_dict() for taint in nodes.taints]


def test_the_pods_own_choice_of_nodes_counts(environment: Environment, review: ReviewContext) -> None:
    count = environment.compile("topology.nodes(gpu).count", want=Want.INT)
    chosen = need_of(4, GPU, pod_spec={"nodeSelector": {PRODUCT: "NVIDIA-H100-80GB-HBM3"}})
    activation = environment.activation({"gpu": {}}, ReviewContext(review.index, chosen))
    assert count.evaluate(activation) == 2


def test_without_data_nothing_is_known(environment: Environment) -> None:
    empty = ReviewContext(index_of(), need_of(1))
    activation = environment.activation({"gpu": {}}, empty)
    source = "topology.known || topology.nodes(gpu).exist || mig.smallest(1).exist ? 1 : 0"
    assert environment.compile(source, want=Want.INT).evaluate(activation) == 0
