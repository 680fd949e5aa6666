from builders import gpu_pod
from node_builders import GPU, machines
from podberth.facts.cluster import collect
from podberth.facts.with_holdings import collect_with_holdings
from topology_scenes import as_list

NODES = machines("hgx-h100-8", 1)
POD = gpu_pod(3, nodeName="hgx-h100-8-0")


def test_pods_beside_nodes_in_lists_and_in_raw_lists_are_found() -> None:
    raw = {key: value for key, value in POD.items() if key not in {"apiVersion", "kind"}}
    for documents in (
        [*NODES, POD],
        [as_list([POD, *NODES])],
        [as_list(NODES), {"apiVersion": "v1", "kind": "PodList", "items": [raw]}],
    ):
        facts, holdings = collect_with_holdings(documents, now=None)
        assert holdings is not None
        assert holdings.nodes["hgx-h100-8-0"].free_of(GPU) == 5
        assert facts.nodes == collect(NODES, now=None).nodes
        assert facts.problems == ()


def test_of_two_pods_with_one_name_the_later_counts() -> None:
    later = gpu_pod(1, nodeName="hgx-h100-8-0")
    _, holdings = collect_with_holdings([*NODES, POD, later], now=None)
    assert holdings is not None
    assert holdings.nodes["hgx-h100-8-0"].free_of(GPU) == 7


def test_problems_of_other_objects_are_those_without_pods() -> None:
    others = [*NODES, {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}}, {"kind": "Node"}]
    alone, held = collect(others, now=None), collect_with_holdings([as_list([*others, POD])], now=None)[0]
    assert held.problems == alone.problems != ()
