"""The index answers as one would who looked at every node: random clusters, random questions, brute force beside."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from node_builders import GPU, PRODUCT, names_of
from podberth.conventions import Conventions, LabelKey
from podberth.kube.selector import node_selector_matches
from podberth.topology.index import Need, NodeSelection, NodeSet, TopologyIndex
from podberth.topology.need import own_tolerations
from podberth.topology.node import Gpu, Links, MigOffer, Node, NodeTopology, Taint, Transient
from podberth.wellknown import FREE_LINKED_LABEL
from properties import examples

HOST = "kubernetes.io/hostname"
LEVELS = ("zone", "rack", "serial", HOST)
CONVENTIONS = Conventions(
    levels=LEVELS,
    ignored_labels=frozenset({HOST, "serial"}),
    label_keys=tuple(map(LabelKey, (PRODUCT, "rank", "zone", "rack"))),
)
MIG = "nvidia.com/mig-1g.5gb"
RESOURCES = (GPU, "nvidia.com/gpu.shared", MIG, "amd.com/gpu")
TRANSIENT: tuple[Transient, ...] = ("stale", "MIG reconfiguring", "cordoned")


# The first two mark accelerators, so any GPU pod will tolerate them; the others keep pods off.
TAINTS = (
    Taint(GPU, "", "NoSchedule"),
    Taint("sku", "gpu", "NoSchedule"),
    Taint("sku", "other", "NoSchedule"),
    Taint("team", "a", "NoExecute"),
    Taint("soft", "", "PreferNoSchedule"),
)


@dataclass(frozen=True)
class Truth:
    """A node, and what is true of it by construction."""

    node: Node
    amounts: Mapping[str, int]
    memory: Mapping[str, int]
    """By resource; one that nobody knows is missing."""
    domain: int
    """The largest number of ``nvidia.com/gpu`` that share links."""


def truths(number: int) -> st.SearchStrategy[Truth]:
    return st.builds(
        make_truth,
        name=st.just(f"node-{number}"),
        kind=st.sampled_from(("cpu", "labels", "document", "two models", "mixed", "single", "shared", "amd")),
        labels=st.fixed_dictionaries(
            {},
            optional={
                "zone": st.sampled_from(("a", "b")),
                "rack": st.sampled_from(("", "r1", "r2")),
                "serial": st.sampled_from(("s1", "s2")),
                "rank": st.sampled_from(("1", "5", "10", "x")),
                PRODUCT: st.sampled_from(("NVIDIA-L4", "NVIDIA-H100-80GB-HBM3")),
            },
        ),
        gpus=st.sampled_from((1, 2, 4, 8)),
        island=st.sampled_from((1, 2, 4, 8)),
        memory=st.sampled_from((16384, 40960)),
        taints=st.sets(st.sampled_from(TAINTS), max_size=2),
        transient=st.sampled_from(("", "", "", *TRANSIENT)),
    )


def make_truth(  # noqa: PLR0913 - one argument for each thing drawn
    *,
    name: str,
    kind: str,
    labels: dict[str, str],
    gpus: int,
    island: int,
    memory: int,
    taints: set[Taint],
    transient: Transient,
) -> Truth:
    amounts, known, domain, extra, topology = describe(kind, gpus, min(island, gpus), memory)
    if kind == "labels" and labels.get(PRODUCT) == "NVIDIA-H100-80GB-HBM3" and gpus == 8:
        domain = 8  # an HGX board
    # An unhealthy device is missing from a transient node's allocatable, not from what the node is known by.
    allocatable = {r: amount - 1 for r, amount in amounts.items() if amount > 1} if transient else amounts
    if kind == "amd":
        labels.pop(PRODUCT, None)  # which GFD writes for NVIDIA's GPUs
    node = Node(
        name=name,
        labels={**labels, **extra, HOST: name},
        taints=tuple(sorted(taints)),
        allocatable=allocatable,
        capacity=amounts,
        topology=topology,
        transient=transient,
    )
    return Truth(node, amounts, known, domain)


Description = tuple[dict[str, int], dict[str, int], int, dict[str, str], NodeTopology | None]


def describe(kind: str, gpus: int, island: int, memory: int) -> Description:  # noqa: PLR0911 - a table of kinds
    """Return amounts, known memory, link domain, labels and document of one kind of node."""
    groups = tuple(tuple(range(start, start + island)) for start in range(0, gpus, island)) if island > 1 else ()
    links = Links(shape="none" if not groups else "full-mesh" if island == gpus else "islands", domains=groups)
    if kind == "cpu":
        return {}, {}, 1, {}, None
    if kind == "amd":
        return {"amd.com/gpu": gpus}, {}, 1, {}, None
    if kind == "labels":
        return {GPU: gpus}, {GPU: memory}, 1, {"nvidia.com/gpu.memory": str(memory)}, None
    if kind == "shared":
        labels = {"nvidia.com/gpu.replicas": "2"}
        document = NodeTopology(gpus=tuple(Gpu(index=i, memory_mib=memory) for i in range(gpus)), links=links)
        return {GPU: 2 * gpus}, {GPU: memory}, 1, labels, document
    if kind == "single":
        labels = {"nvidia.com/mig.strategy": "single", PRODUCT: "X-MIG-1g.5gb", "nvidia.com/gpu.memory": "4864"}
        document = NodeTopology(
            gpus=tuple(Gpu(index=i, mig_enabled=True, mig_pending=True) for i in range(gpus)), links=links
        )
        return {GPU: 7 * gpus}, {GPU: 4864}, 1, labels, document
    if kind == "mixed":
        cut = gpus // 2
        document = NodeTopology(
            gpus=tuple(Gpu(index=i, memory_mib=memory, mig_enabled=i < cut, mig_pending=i < cut) for i in range(gpus)),
            links=links,
            mig_offers=(MigOffer(profile="1g.5gb", memory_mib=4864),),
        )
        whole = set(range(cut, gpus))
        domain = max([1, *(len(whole & set(group)) for group in groups)])
        amounts = {GPU: gpus - cut} | ({MIG: 7 * cut} if cut else {})
        return amounts, {GPU: memory} | ({MIG: 4864} if cut else {}), domain, {}, document
    lesser = memory // 2 if kind == "two models" else memory
    document = NodeTopology(
        gpus=tuple(Gpu(index=i, memory_mib=lesser if i == 0 else memory) for i in range(gpus)), links=links
    )
    return {GPU: gpus}, {GPU: lesser}, island, {}, document


CLUSTERS = st.sampled_from((0, 1, 2, 5, 8, 10)).flatmap(
    lambda size: st.tuples(*(truths(number) for number in range(size)))
)

KEYS = st.sampled_from(("zone", "rack", "serial", "rank", PRODUCT, HOST, "nowhere"))
VALUES = st.sampled_from(("a", "b", "r1", "s1", "", "1", "5", "NVIDIA-L4", "node-0", "node-3"))
EXPRESSIONS = st.one_of(
    st.fixed_dictionaries(
        {"key": KEYS, "operator": st.sampled_from(("In", "NotIn")), "values": st.lists(VALUES, min_size=1, max_size=3)}
    ),
    st.fixed_dictionaries({"key": KEYS, "operator": st.sampled_from(("Exists", "DoesNotExist"))}),
    st.fixed_dictionaries(
        {
            "key": st.just("rank"),
            "operator": st.sampled_from(("Gt", "Lt")),
            "values": st.lists(st.sampled_from(("1", "7")), min_size=1, max_size=1),
        }
    ),
)
FIELDS = st.fixed_dictionaries(
    {
        "key": st.just("metadata.name"),
        "operator": st.sampled_from(("In", "NotIn")),
        "values": st.lists(st.sampled_from(("node-0", "node-1", "nobody")), min_size=1, max_size=1),
    }
)
TERMS = st.fixed_dictionaries(
    {},
    optional={
        "matchExpressions": st.lists(EXPRESSIONS, min_size=1, max_size=2),
        "matchFields": st.lists(FIELDS, max_size=1),
    },
)
SPECS = st.fixed_dictionaries(
    {},
    optional={
        "nodeSelector": st.one_of(
            st.just({HOST: "node-3"}), st.just({"serial": "s1"}), st.dictionaries(KEYS, VALUES, max_size=1)
        ),
        "affinity": st.builds(
            lambda terms: {
                "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
            },
            st.lists(TERMS, max_size=2),
        ),
    },
)


@dataclass(frozen=True)
class Question:
    """A pod: what it asks for, its own choice of nodes, and the link domain that is wanted."""

    requests: tuple[tuple[str, int], ...]
    memory_mib: int
    spec: dict[str, Any]
    domain: int

    @property
    def need(self) -> Need:
        largest = max((n for _, n in self.requests), default=0)
        tolerations = own_tolerations(self.spec, CONVENTIONS)
        return Need(self.requests, largest, self.memory_mib, NodeSelection.of(self.spec), tolerations)

    def reaches(self, node: Node) -> bool:
        tolerated_keys = {item["key"] for item in self.spec.get("tolerations", ())}
        return all(taint in TAINTS[:2] or taint.key in {*tolerated_keys, "soft"} for taint in node.taints)

    def chooses(self, node: Node) -> bool:
        if not self.reaches(node):
            return False
        if any(node.labels.get(key) != value for key, value in self.spec.get("nodeSelector", {}).items()):
            return False
        if "affinity" not in self.spec:
            return True
        required = self.spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
        return node_selector_matches(required["nodeSelectorTerms"], node.labels, {"metadata.name": node.name})

    def fits(self, truth: Truth) -> bool:
        for resource, amount in self.requests:
            if truth.amounts.get(resource, 0) < amount or truth.memory.get(resource, 10**9) < self.memory_mib:
                return False
        asked = [resource for resource, _ in self.requests] or [GPU]
        return self.domain <= 1 or (
            GPU in asked and truth.domain >= self.domain and truth.amounts.get(GPU, 0) >= self.domain
        )

    def ask(self, index: TopologyIndex) -> NodeSet:
        return index.nodes(self.need).with_link_domain(self.domain)


# Mostly questions that some node answers: one of a few GPUs, without a choice of nodes.
REQUESTS = st.one_of(
    st.sampled_from((1, 1, 2, 2, 4)).map(lambda amount: ((GPU, amount),)),
    st.sampled_from((1, 1, 2, 2, 4)).map(lambda amount: ((GPU, amount),)),
    st.dictionaries(st.sampled_from(RESOURCES), st.integers(1, 9), max_size=2).map(lambda r: tuple(sorted(r.items()))),
)
QUESTIONS = st.builds(
    Question,
    requests=REQUESTS,
    memory_mib=st.sampled_from((0, 0, 0, 4864, 4865, 20480, 40961)),
    spec=st.builds(
        lambda spec, keys: {**spec, "tolerations": [{"key": key, "operator": "Exists"} for key in keys]},
        st.one_of(st.just({}), SPECS),
        st.sets(st.sampled_from(("team", "sku"))),
    ),
    domain=st.sampled_from((0, 0, 1, 2, 3, 4, 8)),
)

thorough = settings(max_examples=examples(250), suppress_health_check=[HealthCheck.data_too_large])


@thorough
@given(CLUSTERS, QUESTIONS)
def test_the_index_answers_as_brute_force(cluster: tuple[Truth, ...], question: Question) -> None:
    found = question.ask(TopologyIndex.build((truth.node for truth in cluster), CONVENTIONS))
    fitting = [truth.node for truth in cluster if question.chooses(truth.node) and question.fits(truth)]
    durable = sorted(node.name for node in fitting if not node.transient)
    assert names_of(found) == tuple(sorted(node.name for node in fitting))
    assert found.durable_names() == tuple(durable)
    assert found.count == len(durable)
    assert found.transient_count == len(fitting) - len(durable)
    assert found.exist == bool(fitting)
    assert found.taints == tuple(sorted({taint for node in fitting for taint in node.taints}))


def separates(key: str, chosen: list[Truth], wanted: set[str]) -> bool:
    """Return whether no wanted node shares its value of a label with another that is not."""
    inside = {truth.node.labels.get(key) for truth in chosen if truth.node.name in wanted}
    outside = {truth.node.labels.get(key) for truth in chosen if truth.node.name not in wanted}
    return inside.isdisjoint(outside)


@thorough
@given(CLUSTERS, QUESTIONS)
def test_terms_select_the_wanted_durable_nodes_and_no_other_that_the_pod_chooses(
    cluster: tuple[Truth, ...], question: Question
) -> None:
    found = question.ask(TopologyIndex.build((truth.node for truth in cluster), CONVENTIONS))
    read = {e["key"] for term in found.placement.terms for e in term["matchExpressions"]}
    assert read.isdisjoint(CONVENTIONS.ignored_labels)
    chosen = [truth for truth in cluster if not truth.node.transient and question.chooses(truth.node)]
    wanted = {truth.node.name for truth in chosen if question.fits(truth)}
    if not found.placement.separable:
        assert found.placement.terms == ()
        assert not any(separates(key, chosen, wanted) for key in ("zone", "rack", "rank", PRODUCT))
        return
    selected = {
        truth.node.name for truth in chosen if node_selector_matches(found.placement.terms, truth.node.labels, {})
    }
    assert selected == wanted if found.placement.terms else wanted in (set(), {truth.node.name for truth in chosen})


@thorough
@given(CLUSTERS, QUESTIONS, st.lists(st.sampled_from("048"), min_size=10, max_size=10), st.booleans())
def test_no_term_names_a_live_label(
    cluster: tuple[Truth, ...],
    question: Question,
    free: list[str],
    grow: bool,
) -> None:
    pairs = zip((each.node for each in cluster), free, strict=False)
    nodes = [replace(node, labels={**node.labels, FREE_LINKED_LABEL: value}) for node, value in pairs]
    placement = question.ask(TopologyIndex.build(nodes, Conventions(node_groups_grow=grow))).placement
    terms = (*placement.terms, *placement.preferred, *placement.required)
    assert FREE_LINKED_LABEL not in {each["key"] for term in terms for each in term["matchExpressions"]}


@thorough
@given(CLUSTERS, QUESTIONS, st.lists(EXPRESSIONS, min_size=1, max_size=2))
def test_nodes_that_terms_select_are_counted_by_all_their_labels(
    cluster: tuple[Truth, ...], question: Question, expressions: list[dict[str, Any]]
) -> None:
    terms = [{"matchExpressions": [each]} for each in expressions]
    found = question.ask(TopologyIndex.build((truth.node for truth in cluster), CONVENTIONS))
    durable = set(found.durable_names())
    labels = [truth.node.labels for truth in cluster if truth.node.name in durable]
    assert found.count_selected(terms) == sum(node_selector_matches(terms, each, {}) for each in labels)


@thorough
@given(CLUSTERS, QUESTIONS, st.integers(0, 20))
def test_the_narrowest_level_is_the_first_with_a_domain_that_holds_the_gang(
    cluster: tuple[Truth, ...], question: Question, members: int
) -> None:
    found = question.ask(TopologyIndex.build((truth.node for truth in cluster), CONVENTIONS))
    expected = safe = ""
    for level in LEVELS:
        room: dict[str, int] = {}
        for truth in cluster:
            node = truth.node
            domain = node.labels.get(level)
            if node.transient or not domain or not (question.chooses(node) and question.fits(truth)):
                continue
            pods = min((truth.amounts[resource] // amount for resource, amount in question.requests), default=0)
            room[domain] = room.get(domain, 0) + pods
        holding = [pods for pods in room.values() if pods]
        if max(holding, default=0) >= (members or 2):
            expected = level
        if min(holding, default=0) >= (members or 2):
            safe = level
    assert found.narrowest_level(members) == expected
    assert found.narrowest_safe_level(members) == safe


@thorough
@given(CLUSTERS, st.data())
def test_replacing_and_removing_give_the_index_that_would_be_built(
    cluster: tuple[Truth, ...], data: st.DataObject
) -> None:
    index = TopologyIndex.build((truth.node for truth in cluster), CONVENTIONS)
    nodes = {truth.node.name: truth.node for truth in cluster}
    for number in data.draw(st.lists(st.integers(0, 11), max_size=6)):
        if data.draw(st.booleans()):
            node = data.draw(truths(number)).node
            index, nodes = index.update([node]), nodes | {node.name: node}
        else:
            index = index.update((), [f"node-{number}"])
            nodes.pop(f"node-{number}", None)
    built = TopologyIndex.build(nodes.values(), CONVENTIONS)
    assert (index.node_count, index.class_count, index.known) == (built.node_count, built.class_count, built.known)
    assert index.offered == built.offered == {r for node in nodes.values() for r in node.durable}
    assert index.nodes(Need()).mig_offers == built.nodes(Need()).mig_offers
    question = data.draw(QUESTIONS)
    one, other = question.ask(index), question.ask(built)
    assert names_of(one) == names_of(other)
    assert (one.placement.terms, one.taints, one.placement.separable, one.placement.missing_label) == (
        other.placement.terms,
        other.taints,
        other.placement.separable,
        other.placement.missing_label,
    )
