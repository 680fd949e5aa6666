from dataclasses import replace
from typing import Any

import pytest

from counted import Counted, values
from node_builders import GPU, PRODUCT, index_of, machines, names_of, need_of, node_manifest, nodes_of
from podberth.conventions import Conventions
from podberth.topology.index import Need, NodeSelection, TopologyIndex
from podberth.topology.node import Taint
from podberth.wellknown import FREE_LINKED_LABEL, HOSTNAME_LABEL

HGX, PCIE, L4 = machines("hgx-h100-8", 3), machines("a100-pcie-4", 2), machines("l4-4", 4)
CPU = [node_manifest(f"cpu-{i}") for i in range(2)]
MIXED = index_of(HGX, PCIE, L4, CPU)


def expression(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"key": key, "operator": operator, "values": list(values)} if values else {"key": key, "operator": operator}


def required(*expressions: dict[str, Any], fields: Any = ()) -> dict[str, Any]:
    term = {"matchExpressions": list(expressions), "matchFields": list(fields)}
    return {
        "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}
    }


def test_an_empty_index_knows_nothing() -> None:
    index = TopologyIndex.build(())
    assert not index.known
    found = index.nodes(need_of())
    assert not found.exist
    assert (found.count, found.placement.terms, found.taints, found.narrowest_level(0)) == (0, (), (), "")


def test_nodes_that_differ_only_in_ignored_labels_are_one_class() -> None:
    assert (MIXED.node_count, MIXED.class_count, MIXED.known) == (11, 4, True)


def test_equal_nodes_with_different_free_gpus_are_one_class_and_counted_by_them() -> None:
    index = index_of(
        *(machines("hgx-h100-8", 1, start=n, placement={FREE_LINKED_LABEL: str(n % 9)}) for n in range(18))
    )
    assert index.class_count == 1
    more_than_two = [{"matchExpressions": [expression(FREE_LINKED_LABEL, "Gt", "2")]}]
    assert index.nodes(need_of(8)).count_selected(more_than_two) == 12


@pytest.mark.parametrize(("gpus", "count"), [(1, 9), (4, 9), (5, 3), (8, 3), (9, 0)])
def test_a_node_fits_by_what_it_offers(gpus: int, count: int) -> None:
    assert MIXED.nodes(need_of(gpus)).count == count


@pytest.mark.parametrize(("size", "count"), [(0, 9), (1, 9), (2, 5), (3, 3), (8, 3), (9, 0)])
def test_a_link_domain_must_be_known_to_be_that_large(size: int, count: int) -> None:
    assert MIXED.nodes(need_of(1)).with_link_domain(size).count == count


def test_gpus_in_one_link_domain_are_reported_from_others_by_product() -> None:
    found = MIXED.nodes(need_of(2)).with_link_domain(2)
    products = ["NVIDIA-A100-PCIE-40GB", "NVIDIA-H100-80GB-HBM3"]
    assert found.placement.terms == ({"matchExpressions": [expression(PRODUCT, "In", *products)]},)
    assert found.placement.separable
    assert found.placement.missing_label == ""


@pytest.mark.parametrize(("memory", "count"), [(0, 9), (23034, 9), (23035, 5), (40961, 3), (81560, 0)])
def test_memory_is_required_of_each_gpu(memory: int, count: int) -> None:
    assert MIXED.nodes(need_of(1, memory_mib=memory)).count == count


def test_unknown_memory_fits_any_need() -> None:
    index = index_of(node_manifest("a", devices={GPU: 1}))
    assert index.nodes(need_of(1, memory_mib=10**6)).count == 1


def test_where_all_nodes_fit_nothing_needs_to_be_said() -> None:
    found = index_of(HGX).nodes(need_of(8)).with_link_domain(8)
    assert (found.placement.terms, found.placement.separable, found.placement.missing_label) == ((), True, "")


def test_nodes_that_no_label_distinguishes_lack_the_one_that_would() -> None:
    index = index_of(node_manifest("a", devices={GPU: 8}), node_manifest("b", devices={GPU: 4}))
    found = index.nodes(need_of(8))
    assert (found.count, found.placement.terms, found.placement.separable, found.placement.missing_label) == (
        1,
        (),
        False,
        "nvidia.com/gpu.count",
    )


def test_nodes_of_one_product_with_and_without_bridges_lack_a_label_that_distinguishes_them() -> None:
    bridged, plain = nodes_of(machines("a100-pcie-4", 2))
    index = TopologyIndex.build([bridged, replace(plain, topology=None)])
    found = index.nodes(need_of(2)).with_link_domain(2)
    assert (found.placement.terms, found.placement.separable, found.placement.missing_label) == (
        (),
        False,
        "podberth.io/link-domain-size",
    )


def test_transient_nodes_do_not_count_and_may_match_or_not() -> None:
    nodes = [replace(node, transient="cordoned") if node.name == "hgx-h100-8-0" else node for node in nodes_of(HGX, L4)]
    found = TopologyIndex.build(nodes).nodes(need_of(8))
    assert (found.count, found.transient_count, found.exist) == (2, 1, True)
    assert names_of(found) == ("hgx-h100-8-0", "hgx-h100-8-1", "hgx-h100-8-2")
    assert found.durable_names() == ("hgx-h100-8-1", "hgx-h100-8-2")
    assert found.placement.separable


def test_a_node_that_fits_but_is_not_well_is_never_no_such_node() -> None:
    nodes = [replace(node, transient="stale") for node in nodes_of(HGX)]
    found = TopologyIndex.build(nodes).nodes(need_of(8))
    assert found.exist
    assert (found.count, found.placement.terms, found.narrowest_level(1)) == (0, (), "")
    assert found.taints == (Taint(GPU, "", "NoSchedule"),)


def test_taints_are_those_of_the_fitting_nodes() -> None:
    assert MIXED.nodes(need_of(8)).taints == (Taint(GPU, "", "NoSchedule"),)
    assert MIXED.nodes(need_of(1)).taints == (Taint(GPU, "", "NoSchedule"), Taint("sku", "gpu", "NoSchedule"))


@pytest.mark.parametrize(
    ("pod_spec", "names"),
    [
        ({"nodeSelector": {PRODUCT: "NVIDIA-L4"}}, {"l4-4-0", "l4-4-1", "l4-4-2", "l4-4-3"}),
        ({"nodeSelector": {"kubernetes.io/hostname": "l4-4-2"}}, {"l4-4-2"}),
        ({"nodeSelector": {"kubernetes.io/hostname": "cpu-0"}}, set()),
        (
            required(expression("nvidia.com/gpu.memory", "Gt", "50000")),
            {"hgx-h100-8-0", "hgx-h100-8-1", "hgx-h100-8-2"},
        ),
        (
            required(expression("kubernetes.io/hostname", "NotIn", "l4-4-0"), expression(PRODUCT, "In", "NVIDIA-L4")),
            {"l4-4-1", "l4-4-2", "l4-4-3"},
        ),
        (required(fields=[expression("metadata.name", "In", "a100-pcie-4-1")]), {"a100-pcie-4-1"}),
        (required(), set()),
    ],
)
def test_the_pods_own_choice_is_part_of_the_question(pod_spec: dict[str, Any], names: set[str]) -> None:
    assert set(names_of(MIXED.nodes(need_of(1, pod_spec=pod_spec)))) == names


def test_nodes_that_the_pod_excludes_itself_need_not_be_distinguished() -> None:
    chosen = MIXED.nodes(need_of(2, pod_spec={"nodeSelector": {PRODUCT: "NVIDIA-L4"}}))
    assert (chosen.count, chosen.placement.terms, chosen.placement.separable) == (4, (), True)
    pinned = MIXED.nodes(need_of(8, pod_spec={"nodeSelector": {"kubernetes.io/hostname": "hgx-h100-8-1"}}))
    assert (pinned.count, pinned.placement.terms, pinned.placement.separable) == (1, (), True)


def rack(number: int, zone: str) -> list[dict[str, Any]]:
    placement = {"node.coreweave.cloud/rack": f"r{number}", "topology.kubernetes.io/zone": zone}
    return machines("hgx-h100-8", 2, start=2 * number, placement=placement)


RACKS = index_of(rack(0, "a"), rack(1, "a"), rack(2, "b"))


@pytest.mark.parametrize(
    ("gpus", "members", "level"),
    [
        (8, 1, "kubernetes.io/hostname"),
        (4, 2, "kubernetes.io/hostname"),
        (3, 3, "node.coreweave.cloud/rack"),
        (8, 2, "node.coreweave.cloud/rack"),
        (8, 3, "topology.kubernetes.io/zone"),
        (8, 4, "topology.kubernetes.io/zone"),
        (8, 5, "topology.kubernetes.io/region"),
        (8, 7, ""),
        (8, 0, "node.coreweave.cloud/rack"),
        (4, 0, "kubernetes.io/hostname"),
        (9, 1, ""),
    ],
)
def test_the_narrowest_level_that_holds_the_gang_is_found(gpus: int, members: int, level: str) -> None:
    assert RACKS.nodes(need_of(gpus)).narrowest_level(members) == level


CLAIMED = Need(claimed=True)


@pytest.mark.parametrize(
    ("members", "level"),
    [
        (0, "node.coreweave.cloud/rack"),
        (2, "node.coreweave.cloud/rack"),
        (3, "topology.kubernetes.io/zone"),
        (5, "topology.kubernetes.io/region"),
        (64, "topology.kubernetes.io/region"),
    ],
)
def test_members_that_claim_their_gpus_are_taken_for_one_a_node(members: int, level: str) -> None:
    without = [node_manifest(f"cpu-{number}", labels={"node.coreweave.cloud/rack": "c"}) for number in range(9)]
    nodes = index_of(rack(0, "a"), rack(1, "a"), rack(2, "b"), *without).nodes(CLAIMED)
    assert (nodes.count, nodes.narrowest_level(members), nodes.narrowest_safe_level(members)) == (6, level, "")


@pytest.mark.parametrize(
    "known",
    [
        node_manifest("known", devices={GPU: 8}),
        node_manifest("known", labels={PRODUCT: "NVIDIA-L4"}),
        node_manifest("known", taints=[{"key": GPU, "effect": "NoSchedule"}]),
    ],
)
def test_claimed_gpus_are_on_nodes_that_are_known_to_have_some(known: dict[str, Any]) -> None:
    nic = node_manifest("nic", devices={"vpc.amazonaws.com/efa": 1})
    assert names_of(index_of(known, nic, node_manifest("cpu")).nodes(CLAIMED)) == ("known",)


def test_where_no_node_is_known_to_have_gpus_claimed_ones_may_be_anywhere() -> None:
    nodes = index_of(node_manifest("one"), node_manifest("two")).nodes(CLAIMED)
    assert (names_of(nodes), nodes.tolerations) == (("one", "two"), ())


def test_a_label_that_is_ignored_can_still_be_a_level() -> None:
    conventions = Conventions(
        levels=("host", "kubernetes.io/hostname"), ignored_labels=frozenset({"host", "kubernetes.io/hostname"})
    )
    nodes = nodes_of(machines("hgx-h100-8", 2, placement={"host": "h"}))
    index = TopologyIndex.build(nodes, conventions)
    assert index.class_count == 1
    assert index.nodes(need_of(8)).narrowest_level(2) == "host"


def test_empty_level_labels_make_no_domain() -> None:
    index = index_of(machines("hgx-h100-8", 2, placement={"node.coreweave.cloud/rack": ""}))
    assert index.nodes(need_of(8)).narrowest_level(2) == "topology.kubernetes.io/zone"


def test_a_pod_without_accelerators_has_no_narrowest_level() -> None:
    assert RACKS.nodes(Need()).narrowest_level(2) == ""


def test_what_is_offered_includes_transient_nodes_but_mig_offers_do_not() -> None:
    nodes = nodes_of(machines("dgx-a100-8-mig-mixed", 1), machines("l4-1", 1))
    index = TopologyIndex.build(nodes)
    assert index.offers("nvidia.com/mig-1g.5gb")
    assert not index.offers("nvidia.com/mig-7g.40gb")
    assert dict(index.nodes(Need()).mig_offers) == {
        "nvidia.com/mig-1g.5gb": 4864,
        "nvidia.com/mig-2g.10gb": 9856,
        "nvidia.com/mig-3g.20gb": 19968,
    }
    passing = TopologyIndex.build(replace(node, transient="MIG reconfiguring") for node in nodes)
    assert passing.offered == index.offered
    assert passing.nodes(Need()).mig_offers == {}


def test_a_resource_that_no_table_knows_is_offered_as_long_as_a_node_has_it() -> None:
    odd = node_manifest("odd", devices={"nvidia.com/gpus": "2", "example.com/none": "0", "example.com/odd": "some"})
    index = index_of(machines("l4-1", 1), odd)
    assert index.offers("nvidia.com/gpus")
    assert not index.offers("example.com/none")
    assert not index.offers("example.com/odd")
    assert not index.offers("cpu")
    assert not index.update((), ["odd"]).offers("nvidia.com/gpus")
    taken = replace(nodes_of(odd)[0], unrecognised=frozenset())
    assert not index.update([taken]).offers("nvidia.com/gpus")
    assert index.update([taken]).update(nodes_of(odd)).offers("nvidia.com/gpus")
    assert index.class_count == index_of(machines("l4-1", 1), node_manifest("odd")).class_count


def test_the_resources_of_a_set_are_those_of_its_own_nodes() -> None:
    efa = "vpc.amazonaws.com/efa"
    bare, adapted = (
        node_manifest(name, devices={GPU: "8", **more}, labels={HOSTNAME_LABEL: name})
        for name, more in (("bare", {}), ("adapted", {efa: "4"}))
    )
    index = index_of(bare, adapted, node_manifest("cpu", devices={"example.com/fuse": "1"}))
    assert index.resources_of(index.nodes(need_of(8))) == {GPU, efa}
    assert index.resources_of(index.nodes(need_of(9))) == set()
    for name, wanted in (("bare", {GPU}), ("adapted", {GPU, efa})):
        need = replace(need_of(8), selector=NodeSelection.of({"nodeSelector": {HOSTNAME_LABEL: name}}))
        assert index.resources_of(index.nodes(need)) == wanted
    later = index.update(nodes_of(node_manifest("bare", devices={GPU: "8", efa: "4"})))
    assert later.resources_of(later.nodes(need_of(8))) == {GPU, efa}


def test_memory_is_what_the_nodes_that_fit_have() -> None:
    index = index_of(machines("l4-1", 1), machines("hgx-h100-8", 1), machines("dgx-a100-8-mig-mixed", 1))
    assert index.nodes(need_of(1)).memory_mib == (23034, 81559)
    assert index.nodes(need_of(8)).memory_mib == (81559, 81559)
    assert index.nodes(need_of(9)).memory_mib == (0, 0)
    assert index.nodes(Need()).memory_mib == (0, 0)
    assert index.nodes(Need((("nvidia.com/mig-1g.5gb", 1),), 1)).memory_mib == (4864, 4864)
    silent = index_of(machines("l4-1", 1), node_manifest("silent", devices={GPU: "1"}))
    assert silent.nodes(need_of(1)).memory_mib == (0, 0)


def test_memory_of_a_product_is_that_of_whole_gpus() -> None:
    index = index_of(
        machines("l4-1", 1, provider="gke"),
        node_manifest("large", devices={GPU: "8"}, labels={PRODUCT: "NVIDIA-X", "nvidia.com/gpu.memory": "9000"}),
        node_manifest(
            "shares",
            devices={GPU: "8"},
            labels={PRODUCT: "NVIDIA-Y", "nvidia.com/gpu.memory": "9000", "nvidia.com/gpu.replicas": "4"},
        ),
    )
    assert index.memory_mib["nvidia-l4"] == 23034
    assert index.memory_mib["NVIDIA-X"] == 9000
    assert index.memory_mib.keys().isdisjoint({"NVIDIA-Y", ""})


def test_replacing_a_node_by_its_like_is_no_change_and_keeps_the_answers() -> None:
    again = nodes_of(HGX)[1]
    answer = MIXED.nodes(need_of(8))
    later = MIXED.update([again])
    assert later is MIXED
    assert later.nodes(need_of(8)) is answer
    assert answer.with_link_domain(4) is answer.with_link_domain(4)


def test_an_index_never_changes() -> None:
    before = names_of(MIXED.nodes(need_of(8)))
    cordoned = replace(nodes_of(HGX)[0], transient="cordoned")
    later = MIXED.update([cordoned]).update((), ["hgx-h100-8-1", "nobody"])
    assert names_of(MIXED.nodes(need_of(8))) == before
    assert MIXED.node_count == 11
    assert later.node_count == 10
    assert later.nodes(need_of(8)).durable_names() == ("hgx-h100-8-2",)
    assert later.update((), ["nobody"]) is later


def test_only_the_classes_concerned_are_made_again() -> None:
    later = MIXED.update([replace(nodes_of(HGX)[0], transient="cordoned")])
    shared = {id(one) for one in MIXED._classes.values()} & {id(one) for one in later._classes.values()}
    assert len(shared) == 3
    assert later.class_count == 5


def test_answers_do_not_pile_up() -> None:
    index = index_of(L4)
    for memory in range(5000):
        index.nodes(Need(((GPU, 1),), 1, memory))
    assert len(index._answers) <= 4096
    found = index.nodes(need_of(1))
    for size in range(200):
        found.with_link_domain(size)
    assert len(found._narrowed) <= 64


def test_a_wider_choice_of_the_same_pod_is_another_question() -> None:
    one = NodeSelection.of({"nodeSelector": {PRODUCT: "NVIDIA-L4"}})
    assert MIXED.nodes(Need(((GPU, 1),), 1, 0, one)) is not MIXED.nodes(Need(((GPU, 1),), 1, 0, None))


def test_a_batch_is_filed_at_once_and_what_changes_nothing_is_this_very_index() -> None:
    nodes = {node.name: node for node in nodes_of(HGX, PCIE, L4, CPU)}
    assert MIXED.update(nodes.values(), ("nobody",)) is MIXED
    sick = [replace(nodes[name], transient="unhealthy GPU") for name in ("hgx-h100-8-0", "hgx-h100-8-1")]
    updated = MIXED.update(sick, ("hgx-h100-8-2", "l4-4-0"))
    kept = [each for name, each in nodes.items() if name not in {"hgx-h100-8-2", "l4-4-0", *(s.name for s in sick)}]
    built = TopologyIndex.build([*kept, *sick])
    assert updated._entries == built._entries
    assert {key: dict(one.members) for key, one in updated._classes.items()} == {
        key: dict(one.members) for key, one in built._classes.items()
    }
    # All members of a class hold one key, whoever brought it.
    assert updated._entries["hgx-h100-8-0"].key is updated._entries["hgx-h100-8-1"].key
    # And the index that it was made from is as it was.
    assert MIXED.nodes(need_of(8)).count == 3


def test_there_are_as_many_answers_as_sizes_of_link_domains_whatever_is_asked() -> None:
    """A policy may ask for thousands of sizes in a loop, and each answer is covered by labels of its own."""
    nodes = MIXED.nodes(need_of(1))
    assert len({id(nodes.with_link_domain(size)) for size in range(2, 5_000)}) == 3
    assert nodes.with_link_domain(5) is nodes.with_link_domain(8)
    assert nodes.with_link_domain(9) is nodes.with_link_domain(4_999)


def test_a_profile_that_no_node_is_cut_into_has_the_answer_of_no_profile() -> None:
    nodes = MIXED.nodes(need_of(1))
    assert nodes.with_instances("1g.10gb") is nodes.with_instances("3g.40gb") is nodes.with_instances("")


def test_values_of_terms_are_not_compared_with_the_labels_of_each_class() -> None:
    found = MIXED.nodes(need_of())
    terms = [{"matchExpressions": [expression(PRODUCT, "In", *values(1_000))]}]
    terms += [{"matchExpressions": [expression(PRODUCT, "NotIn", *values(1_000))]}]
    assert len(found.durable_parts) > 1
    assert found.count_selected(terms) == found.count
    assert Counted.comparisons < 10


def test_a_domain_of_nodes_that_serve_a_resource_by_dra_alone_has_no_room_that_is_known() -> None:
    zone = "topology.kubernetes.io/zone"
    plugin = node_manifest("plugin", devices={GPU: "8"}, labels={zone: "a"})
    moved = node_manifest("moved", labels={zone: "b", PRODUCT: "NVIDIA-H200"})
    found = index_of(plugin, moved).nodes(Need(((GPU, 4),), 4, or_claimed=True))
    assert names_of(found) == ("moved", "plugin")
    assert (found.narrowest_level(2), found.narrowest_safe_level(2)) == ("kubernetes.io/hostname", "")
