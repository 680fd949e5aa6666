"""Required terms keep pods off what is known not to fit, and never block a scale-up that would fit.

The node groups and their labels at zero are data: ``tests/templates.yaml``. Each autoscaler's groups are put together
in every way that a small cluster could have them, one or two running and all others at zero.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain, combinations, product
from pathlib import Path
from typing import Any

import pytest

from podberth.conventions import Conventions, LabelKey
from podberth.devices import mig
from podberth.kube.documents import load_documents
from podberth.kube.selector import node_selector_matches
from podberth.topology.cover import LabelledNodes
from podberth.topology.index import Need, NodeSet, TopologyIndex
from podberth.topology.node import Gpu, Links, Node, NodeTopology
from podberth.topology.placement import Placement, Unfit, exclude

GPU = "nvidia.com/gpu"
PAGE = Path(__file__).parents[2] / "templates.yaml"
DATA = load_documents(PAGE.read_text(encoding="utf-8"), PAGE.name)[0][0].document
FAMILIES = {family["name"]: family for family in DATA["autoscalers"]}


@dataclass(frozen=True)
class Group:
    """A node group: its template's labels, its nodes' labels, and what is true of its nodes."""

    name: str
    template: Mapping[str, str]
    labels: Mapping[str, str]
    amount: int
    memory_mib: int
    linked: int
    document: NodeTopology | None

    def fits(self, need: Need, linked: int) -> bool:
        amount = need.requests[0][1]
        return self.amount >= amount and self.memory_mib >= need.memory_mib and max(self.linked, 1) >= linked

    @property
    def node(self) -> Node:
        amounts = {GPU: self.amount}
        return Node(name=self.name, labels=self.labels, allocatable=amounts, capacity=amounts, topology=self.document)


def group_of(family: Mapping[str, Any], number: int, *, agent: bool) -> Group:
    row = family["groups"][number]
    gpu, count, cut, shared = DATA["gpus"][row["gpu"]], row["count"], row.get("cut"), row.get("shared", 1)
    parts = 7 if cut else shared
    memory = mig.memory_mib(cut, mig.table_for(gpu["product"], "")) if cut else gpu["memory"]
    suffix = f"-MIG-{cut}" if cut else "-SHARED" if shared > 1 else ""
    found = {
        "nvidia.com/gpu.product": gpu["product"] + suffix,
        "nvidia.com/gpu.memory": str(memory),
        "nvidia.com/gpu.count": str(count * (7 if cut else 1)),
        "nvidia.com/mig.strategy": "single" if cut else "none",
        "nvidia.com/gpu.replicas": str(shared),
    }
    links = Links(
        shape="full-mesh" if row["linked"] > 1 else "none", domains=(tuple(range(count)),) if row["linked"] > 1 else ()
    )
    gpus = tuple(Gpu(index=i, memory_mib=gpu["memory"], mig_enabled=bool(cut)) for i in range(count))
    template = {**family["template"], **row["labels"]}
    return Group(
        name=f"{row['gpu']}-{number}",
        template=template,
        labels={**template, **found, "kubernetes.io/hostname": f"node-{number}"},
        amount=count * parts,
        memory_mib=memory,
        linked=1 if cut or shared > 1 else row["linked"],
        document=NodeTopology(gpus=gpus, links=links) if agent else None,
    )


NEEDS = [
    (Need(((GPU, amount),), amount, memory), linked)
    for (amount, linked), memory in product(((1, 1), (2, 2), (4, 4), (8, 8), (4, 1)), (0, 4000, 20_000, 60_000))
]


def clusters(groups: list[Group]) -> Iterator[tuple[Group, ...]]:
    return chain(combinations(groups, 1), combinations(groups, 2), combinations(groups, 3))


def questions(
    name: str, *, agent: bool, conventions: Conventions
) -> Iterator[tuple[tuple[Group, ...], list[Group], NodeSet]]:
    """Yield the known groups, all groups whose nodes would fit, and the answer, where some known node fits."""
    groups = [group_of(FAMILIES[name], number, agent=agent) for number in range(len(FAMILIES[name]["groups"]))]
    for known in clusters(groups):
        index = TopologyIndex.build((group.node for group in known), conventions)
        for need, linked in NEEDS:
            found = index.nodes(need).with_link_domain(linked)
            if found.exist:
                yield known, [group for group in groups if group.fits(need, linked)], found


def selects(terms: Any, labels: Mapping[str, str]) -> bool:
    return not terms or node_selector_matches(terms, labels, {})


@pytest.mark.parametrize("agent", [True, False], ids=["with the node agent", "labels only"])
@pytest.mark.parametrize("name", FAMILIES)
def test_a_required_term_never_blocks_a_scale_up_that_would_fit(name: str, agent: bool) -> None:
    said = 0
    for known, fitting, found in questions(name, agent=agent, conventions=Conventions()):
        terms = found.placement.required
        said += bool(terms)
        for group in fitting:
            where = f"{[each.name for each in known]} want {found.durable_names()}: {terms} on {group.name}"
            assert selects(terms, group.template), where
            # The scheduler asks once more when the node has come.
            assert selects(terms, group.labels), where
    assert said, "no case had anything to require"


@pytest.mark.parametrize("name", FAMILIES)
def test_a_required_term_keeps_pods_off_every_known_node_that_would_take_them_wrongly(name: str) -> None:
    relied = 0
    for known, fitting, found in questions(name, agent=True, conventions=Conventions()):
        if not found.placement.requirable:
            assert found.placement.required == ()
            continue
        need = found.need
        for group in known:
            if group not in fitting and group.amount >= need.requests[0][1]:
                relied += 1
                assert not node_selector_matches(found.placement.required, group.labels, {})
                assert found.placement.required, "something had to be excluded"
    assert relied


def test_what_selects_the_known_nodes_would_block_nodes_to_come() -> None:
    fixed = replace(Conventions(), node_groups_grow=False)
    blocked = 0
    for _, fitting, found in questions("Karpenter on AWS", agent=True, conventions=fixed):
        assert found.placement.required == found.placement.terms
        blocked += any(not selects(found.placement.required, group.template) for group in fitting)
    assert blocked


def test_every_row_has_its_source() -> None:
    assert all(family["source"] and all(row["source"] for row in family["groups"]) for family in FAMILIES.values())


# ---- one by one -----------------------------------------------------------------------------------------------------
KEYS = Conventions(
    label_keys=(
        LabelKey("model", settles=frozenset({"memory", "links", "cut"})),
        LabelKey("type", provisioned=True, settles=frozenset({"memory", "links"})),
        LabelKey("name", provisioned=True, settles=frozenset({"links"})),
        LabelKey("zone", provisioned=True),
    )
)


def unfit(*why: Any, **labels: str) -> Unfit:
    return Unfit(labels, frozenset(why))


def not_in(key: str, *values: str) -> dict[str, Any]:
    return {"key": key, "operator": "NotIn", "values": list(values)}


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        ([], []),
        # what an autoscaler can read, before what says more
        ([unfit("memory", model="m", type="t", zone="z")], [not_in("type", "t")]),
        ([unfit("links", model="m", name="n", type="t")], [not_in("type", "t")]),
        ([unfit("links", model="m", name="n")], [not_in("name", "n")]),
        # only what settles it: a machine type says nothing of what its GPUs were cut into
        ([unfit("memory", "cut", model="m", type="t")], [not_in("model", "m")]),
        ([unfit("memory", name="n", zone="z")], None),
        # a value that fitting nodes have excludes nothing
        ([unfit("memory", model="m", type="fits")], [not_in("model", "m")]),
        ([unfit("memory", type="fits")], None),
        # one key if one is enough, and several in one term
        ([unfit("links", model="m", type="t"), unfit("links", model="o", name="n")], [not_in("model", "m", "o")]),
        ([unfit("links", type="t"), unfit("links", name="n")], [not_in("type", "t"), not_in("name", "n")]),
    ],
)
def test_exclusion_takes_the_fewest_keys_that_settle_why(bad: list[Unfit], said: list[dict[str, Any]] | None) -> None:
    found = exclude([LabelledNodes({"model": "good", "type": "fits", "name": "good"})], bad, KEYS)
    assert found == (None if said is None else ({"matchExpressions": said},) if said else ())


def test_where_no_label_settles_it_the_terms_still_distinguish_and_the_label_is_named() -> None:
    found = Placement(
        [LabelledNodes({"zone": "a"}, 2)],
        [LabelledNodes({"zone": "b"}, 2)],
        [unfit("memory", zone="b")],
        conventions=KEYS,
        distinguishing="memory",
    )
    assert (found.separable, found.requirable, found.required, found.missing_label) == (True, False, (), "memory")
    assert (
        found.terms == found.preferred == ({"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]},)
    )
