import json
from typing import Any

import pytest

from node_builders import machines
from podberth.errors import TopologyError
from podberth.topology.codec import DATA_KEY, decode_topology, encode_topology
from podberth.topology.node import (
    Fabric,
    Gpu,
    Links,
    MigInstance,
    MigOffer,
    Nic,
    NodeTopology,
    Platform,
    Unseen,
)
from podberth.topology.shapes import SHAPES

FULL = NodeTopology(
    gpus=(
        Gpu(index=0, uuid="GPU-0", product="NVIDIA H200", pci_id="2335", memory_mib=143771, numa_node=0),
        Gpu(index=1, mig_enabled=True, mig_pending=True, pcie_root="pci0000:17", numa_node=1),
        Gpu(index=3, problem="XID 79", vendor="amd"),
    ),
    links=Links(
        shape="islands", domains=((0, 3),), levels=(("X", "SYS", "NV12"), ("SYS", "X", "SYS"), ("NV12", "SYS", "X"))
    ),
    fabric=Fabric(cluster_uuid="6f6c4f6e-0000-4000-8000-000000000001", clique=0),
    mig_offers=(MigOffer(profile="1g.18gb", pci_id="2335", max_instances=7, memory_mib=16384),),
    mig_instances=(MigInstance(gpu=1, profile="1g.18gb+me"), MigInstance(gpu=1, profile="1g.18gb", start=0, size=1)),
    nics=(
        Nic(name="mlx5_0", kind="infiniband", numa_node=0, pcie_root="pci0000:17"),
        Nic(name="mlx5_1", kind="roce"),
    ),
    platform=Platform(chassis="1820325190012", slot=0, tray=9, host=1),
    unseen=(Unseen(what="MIG placements", why="needs privilege", gpus=(1,)), Unseen(what="events", why="in use")),
    observed="2026-01-31T12:00:00Z",
)


def config_map(**document: Any) -> dict[str, Any]:
    made = encode_topology("gpu-1", NodeTopology())
    made["data"][DATA_KEY] = json.dumps({"schemaVersion": "v1", **document})
    return made


@pytest.mark.parametrize("topology", [NodeTopology(), FULL], ids=["empty", "full"])
def test_a_topology_survives_encoding(topology: NodeTopology) -> None:
    assert decode_topology(encode_topology("gpu-1", topology)) == topology


@pytest.mark.parametrize("shape", SHAPES)
def test_every_simulated_document_is_canonical(shape: str) -> None:
    _, document = machines(shape, 1)
    assert encode_topology(f"{shape}-0", decode_topology(document)) == document


def test_equal_knowledge_is_equal_bytes_whatever_the_order_of_keys() -> None:
    document = json.loads(encode_topology("gpu-1", FULL)["data"][DATA_KEY])
    turned = dict(reversed(document.items()))
    assert encode_topology("gpu-1", decode_topology(config_map(**turned))) == encode_topology("gpu-1", FULL)


def test_fields_of_a_later_version_are_passed_over() -> None:
    decoded = decode_topology(config_map(gpus=[{"index": 0, "photons": 7}], mirrors=[{"name": "m0"}]))
    assert decoded == NodeTopology(gpus=(Gpu(index=0),))


def test_a_document_of_before_nics_and_omissions_is_still_read() -> None:
    decoded = decode_topology(config_map(gpus=[{"index": 0, "numaNode": 1}], links={"shape": "none"}))
    assert decoded == NodeTopology(gpus=(Gpu(index=0, numa_node=1),), links=Links(shape="none"))
    assert (decoded.nics, decoded.platform, decoded.unseen) == ((), None, ())


TWO = [{"index": 0}, {"index": 1}]


@pytest.mark.parametrize(
    ("document", "where", "want"),
    [
        ({"schemaVersion": "v2"}, "schemaVersion", "v1"),
        ({"gpus": {}}, "gpus", "a list"),
        ({"gpus": [1]}, "gpus[0]", "an object"),
        ({"gpus": [{}]}, "gpus[0].index", "a whole number"),
        ({"gpus": [{"index": True}]}, "gpus[0].index", "a whole number"),
        ({"gpus": [{"index": 1.0}]}, "gpus[0].index", "a whole number"),
        ({"gpus": [{"index": -1}]}, "gpus[0].index", "from 0 to 255"),
        ({"gpus": [{"index": 0}, {"index": 0}]}, "gpus", "each index once"),
        ({"gpus": [{"index": i} for i in range(65)]}, "gpus", "at most 64"),
        ({"gpus": [{"index": 0, "memoryMiB": 2**40}]}, "gpus[0].memoryMiB", "a whole number"),
        ({"gpus": [{"index": 0, "product": "x" * 129}]}, "gpus[0].product", "at most 128"),
        ({"gpus": [{"index": 0, "product": "two\nlines"}]}, "gpus[0].product", "printable"),
        ({"gpus": [{"index": 0, "pciId": "10DG"}]}, "gpus[0].pciId", "hexadecimal"),
        ({"gpus": [{"index": 0, "mig": "Enabled"}]}, "gpus[0].mig", "true or false"),
        ({"gpus": TWO, "links": {"shape": "ring"}}, "links.shape", "full-mesh"),
        ({"gpus": TWO, "links": {"shape": "islands", "domains": [[0, 2]]}}, "links.domains", "indexes in gpus"),
        ({"gpus": TWO, "links": {"shape": "islands", "domains": [[0, 1], [1, 0]]}}, "links.domains", "disjoint"),
        ({"gpus": TWO, "links": {"shape": "islands", "domains": [[0], [1]]}}, "links.domains", "two or more"),
        ({"gpus": TWO, "links": {"shape": "full-mesh"}}, "links.domains", "the shape full-mesh"),
        ({"gpus": TWO, "links": {"shape": "none", "domains": [[0, 1]]}}, "links.domains", "the shape none"),
        ({"gpus": TWO, "links": {"shape": "islands", "domains": [["0", "1"]]}}, "links.domains[0]", "a list"),
        ({"gpus": TWO, "links": {"levels": [["X"]]}}, "links.levels", "a square of 2"),
        ({"fabric": {"clique": 1}}, "fabric.clusterUuid", "a UUID"),
        ({"migProfiles": [{"profile": "9q"}]}, "migProfiles[0].profile", "1g.10gb"),
        ({"gpus": TWO, "migInstances": [{"gpu": 0, "profile": "1g.5gb"}]}, "migInstances", "mig: true"),
        ({"gpus": [{"index": 0, "vendor": "acme"}]}, "gpus[0].vendor", "nvidia, amd"),
        ({"gpus": [{"index": 0, "pcieRoot": "p" * 33}]}, "gpus[0].pcieRoot", "at most 32"),
        ({"nics": [{"kind": "roce"}]}, "nics[0].name", "the name of a device"),
        ({"nics": [{"name": "a", "kind": "token-ring"}]}, "nics[0].kind", "infiniband, roce"),
        ({"nics": [{"name": "a"}, {"name": "a"}]}, "nics", "each name once"),
        ({"nics": [{"name": f"n{i}"} for i in range(257)]}, "nics", "at most 256"),
        ({"nics": [{"name": "a", "numaNode": 1024}]}, "nics[0].numaNode", "from 0 to 1023"),
        ({"platform": {"chassis": "x", "slot": 256}}, "platform.slot", "from 0 to 255"),
        ({"unseen": [{"what": "a", "gpus": [True]}]}, "unseen[0].gpus", "indexes of GPUs"),
        ({"unseen": [{"what": "a", "gpus": [256]}]}, "unseen[0].gpus", "indexes of GPUs"),
        ({"unseen": [{"why": "x" * 129}]}, "unseen[0].why", "at most 128"),
        ({"unseen": [{"what": str(i)} for i in range(65)]}, "unseen", "at most 64"),
        ({"observed": "yesterday"}, "observed", "a time"),
    ],
)
def test_a_lying_document_is_an_error_that_says_where_and_what_is_wanted(
    document: dict[str, Any], where: str, want: str
) -> None:
    with pytest.raises(TopologyError) as caught:
        decode_topology(config_map(**document))
    assert f"ConfigMap gpu-1: topology.json.{where}: " in str(caught.value)
    assert want in str(caught.value)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("", "not JSON"),
        ("[]", "an object"),
        ("{" * 2000, "not JSON"),
        ('{"a":NaN}', "not JSON"),
        ("x" * 300_000, "at most"),
    ],
)
def test_what_is_no_json_object_is_an_error(text: str, want: str) -> None:
    document = config_map()
    document["data"][DATA_KEY] = text
    with pytest.raises(TopologyError, match=want):
        decode_topology(document)


@pytest.mark.parametrize(
    "broken", [{}, {"metadata": None}, {"metadata": []}, {"metadata": {"labels": {"podberth.io/topology": "v9"}}}]
)
def test_what_is_no_topology_config_map_is_an_error(broken: dict[str, Any]) -> None:
    with pytest.raises(TopologyError):
        decode_topology(broken)


def test_a_config_map_without_the_document_is_an_error() -> None:
    document = config_map()
    del document["data"]
    with pytest.raises(TopologyError, match=r"data\['topology.json'\]: got null"):
        decode_topology(document)
