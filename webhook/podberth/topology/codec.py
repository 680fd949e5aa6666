"""Encodes and decodes the topology ConfigMap, in which the node agent publishes the ``NodeTopology`` of its node.

There is one ConfigMap for each node. The ConfigMap has the node's name, the label ``podberth.io/topology: v1``, and one
canonical JSON document (sorted keys, no blanks) under ``topology.json``, so equal topologies are equal bytes. The
writer of a ConfigMap is not trusted: the size of every value is limited, and a document that contradicts itself is a
TopologyError. Then only the labels of the node are used. Unknown fields are ignored, because later versions of the
format may add fields.
"""

import re
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any, NamedTuple

import orjson

from ..devices import mig
from ..errors import TopologyError
from ..wellknown import NAMESPACE, TOPOLOGY_LABEL
from .document_fields import Fields, bad
from .node import (
    Fabric,
    Gpu,
    Links,
    LinkShape,
    MigInstance,
    MigOffer,
    Nic,
    NicKind,
    NodeTopology,
    Platform,
    Unseen,
    Vendor,
)

SCHEMA_VERSION = "v1"
DATA_KEY = "topology.json"

# Bounds are far above real hardware and far below harm: a 16-GPU node's document with its pair matrix takes 6 KiB, etcd
# allows a ConfigMap 1 MiB.
_LONGEST_DOCUMENT = 256 * 1024
_MOST_GPUS = 64  # the largest machines have 16 (HGX-2), PCIe expansion 20
_MOST_OFFERS = 256  # a model has up to 11 profiles, a node a few models
_MOST_INSTANCES = _MOST_GPUS * 7
_MOST_MIB = 16 * 1024 * 1024  # 16 TiB; a GPU of 2026 has 288 GB
_MOST_INDEX = 255
_MOST_NUMA = 1023  # CONFIG_NODES_SHIFT is at most 10
_MOST_CLIQUE = 2**32 - 1  # nvmlGpuFabricInfo_t.cliqueId is 32 bits wide
_MOST_SLICES = 8  # memory slices of the largest MIG-capable GPU
_MOST_NICS = 256  # the largest machines have 20; virtual functions are not listed
MOST_UNSEEN = 64  # the agent has about 30 readings that can fail
_MOST_PLACE = 255  # nvmlPlatformInfo_v2_t has a byte for each
LONGEST_TEXT = 128
_LONGEST_LEVEL = 8
_LONGEST_ROOT = 32  # pciDDDD:BB, with a domain of up to 32 bits
_PCI_ID = re.compile("[0-9A-F]{4}")  # 16 bits in hex

# The equal part of machines of one kind is parsed once: a third of the time of 10,000 documents. At most 2 MiB.
_REMEMBERED, _LONGEST_REMEMBERED = 512, 4096
_ALIKE = ("links", "migProfiles", "migInstances")

_SHAPES: tuple[LinkShape, ...] = ("unknown", "full-mesh", "islands", "none")
_VENDORS: tuple[Vendor, ...] = ("nvidia", "amd")
_NIC_KINDS: tuple[NicKind, ...] = ("infiniband", "roce")


def encode_topology(node_name: str, topology: NodeTopology) -> dict[str, Any]:
    """Return the ConfigMap manifest of a node's topology; equal topologies give equal bytes."""
    document = {"schemaVersion": SCHEMA_VERSION, **_written(topology)}
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": node_name, "namespace": NAMESPACE, "labels": {TOPOLOGY_LABEL: SCHEMA_VERSION}},
        "data": {DATA_KEY: orjson.dumps(document, option=orjson.OPT_SORT_KEYS).decode()},
    }


def decode_topology(config_map: Mapping[str, Any]) -> NodeTopology:
    """Return the topology in a ConfigMap.

    Raises:
        TopologyError: a field is wrong; the message names the ConfigMap and the field.
    """
    named = Fields(config_map, "ConfigMap").below("metadata").text("name", 253)
    whole = Fields(config_map, f"ConfigMap {named}")
    metadata = Fields(whole.below("metadata").values, f"{whole.where}: metadata")
    version = metadata.below("labels").values.get(TOPOLOGY_LABEL)
    if version != SCHEMA_VERSION:
        raise bad(f"{metadata.where}.labels[{TOPOLOGY_LABEL!r}]", version, repr(SCHEMA_VERSION))
    text, where = whole.below("data").values.get(DATA_KEY), f"{whole.where}: data[{DATA_KEY!r}]"
    if not isinstance(text, str) or len(text) > _LONGEST_DOCUMENT:
        got = f"{len(text)} characters" if isinstance(text, str) else text
        raise bad(where, got, f"JSON text of at most {_LONGEST_DOCUMENT} characters")
    try:
        document = orjson.loads(text)
    except ValueError as error:
        raise TopologyError(f"{where}: not JSON: {error}") from error
    if not isinstance(document, dict):
        raise bad(where, document, "an object")
    return _read(Fields(document, f"{whole.where}: {DATA_KEY}"))


def is_same_but_for_time(text: str, other: str) -> bool:
    """Return whether two topology documents are equal except for their time, the field ``observed``.

    Both are texts of a ConfigMap. ``text`` has to be in the canonical form that the agent writes; if not, only an equal
    text gives True.
    """
    if text == other:
        return True
    try:
        one, two = orjson.loads(text), orjson.loads(other)
    except ValueError:
        return False
    if not (isinstance(one, dict) and isinstance(two, dict)):
        return False
    two.pop("observed", None)
    at = {"observed": one["observed"]} if "observed" in one else {}
    return bool(orjson.dumps({**two, **at}, option=orjson.OPT_SORT_KEYS) == text.encode())


# Names that are not those of the model in camel case.
_NAMES = {"mig_enabled": "mig", "mig_offers": "migProfiles", "max_instances": "max", "memory_mib": "memoryMiB"}


def _written(value: Any) -> Any:
    """Return a part of a topology document as JSON.

    Fields with the default value are left out, except the shape of the links.
    """
    if isinstance(value, tuple):
        return [_written(each) for each in value]
    if not is_dataclass(value):
        return value
    kept = [each for each in fields(value) if each.name == "shape" or getattr(value, each.name) != each.default]
    return {_NAMES.get(each.name) or _camel_case(each.name): _written(getattr(value, each.name)) for each in kept}


def _camel_case(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(map(str.capitalize, others))


def _read(found: Fields) -> NodeTopology:
    found.choice("schemaVersion", (SCHEMA_VERSION,))
    gpus = tuple(map(_read_gpu, found.objects("gpus", _MOST_GPUS)))
    indexes = [gpu.index for gpu in gpus]
    if len(set(indexes)) != len(indexes):
        raise found.bad("gpus", "each index once", indexes)
    layout = _read_layout(found, indexes)
    cut = {gpu.index for gpu in gpus if gpu.mig_enabled}
    if strange := sorted({instance.gpu for instance in layout.instances} - cut):
        raise found.bad("migInstances", "only GPUs that are listed with mig: true", strange)
    nics = tuple(map(_read_nic, found.objects("nics", _MOST_NICS)))
    if len({nic.name for nic in nics}) != len(nics):
        raise found.bad("nics", "each name once", [nic.name for nic in nics])
    return NodeTopology(
        gpus=gpus,
        links=layout.links,
        fabric=_read_fabric(found.below("fabric")),
        mig_offers=layout.offers,
        mig_instances=layout.instances,
        nics=nics,
        platform=_read_platform(found.below("platform")),
        unseen=tuple(map(_read_unseen, found.objects("unseen", MOST_UNSEEN))),
        observed=_read_time(found),
    )


def _read_gpu(found: Fields) -> Gpu:
    return Gpu(
        index=_read_index(found, "index"),
        vendor=found.choice("vendor", _VENDORS),
        uuid=found.text("uuid", LONGEST_TEXT),
        product=found.text("product", LONGEST_TEXT),
        pci_id=_read_pci_id(found),
        memory_mib=found.count("memoryMiB", _MOST_MIB),
        numa_node=found.number("numaNode", _MOST_NUMA),
        pcie_root=found.text("pcieRoot", _LONGEST_ROOT),
        mig_enabled=found.flag("mig"),
        mig_pending=found.flag("migPending"),
        problem=found.text("problem", LONGEST_TEXT),
    )


def _read_index(found: Fields, key: str) -> int:
    """Return the field ``key``, which is the index of a GPU and must be present."""
    index = found.number(key, _MOST_INDEX)
    if index is None:
        raise found.bad(key, f"a whole number from 0 to {_MOST_INDEX}, the index of a GPU")
    return index


def _read_pci_id(found: Fields) -> str:
    text = found.text("pciId", 4).upper()
    if text and not _PCI_ID.fullmatch(text):
        raise found.bad("pciId", "four hexadecimal digits")
    return text


class _Layout(NamedTuple):
    """The fields of a topology document that are equal on all machines of one model: links and MIG layout."""

    links: Links
    offers: tuple[MigOffer, ...]
    instances: tuple[MigInstance, ...]


def _read_layout(found: Fields, indexes: list[int]) -> _Layout:
    """Return the links and the MIG layout from a topology document; equal documents share one cached result."""
    alike = {key: found.values[key] for key in _ALIKE if key in found.values}
    try:
        text = orjson.dumps((alike, indexes))
        if len(text) <= _LONGEST_REMEMBERED:
            return _remembered_layout(text)
    except (TopologyError, orjson.JSONEncodeError):
        pass  # too deep to serialise, or wrong: the parser below reports the place
    return _make_layout(found, indexes)


@lru_cache(maxsize=_REMEMBERED)
def _remembered_layout(text: bytes) -> _Layout:
    document, indexes = orjson.loads(text)
    return _make_layout(Fields(document, ""), indexes)


def _make_layout(found: Fields, indexes: list[int]) -> _Layout:
    return _Layout(
        links=_read_links(found.below("links"), indexes),
        offers=tuple(map(_read_offer, found.objects("migProfiles", _MOST_OFFERS))),
        instances=tuple(map(_read_instance, found.objects("migInstances", _MOST_INSTANCES))),
    )


def _read_links(found: Fields, indexes: list[int]) -> Links:
    """Return the links between GPUs in a topology document.

    The link domains must be disjoint, have only GPUs of the document, and agree with the stated shape.
    """
    shape = found.choice("shape", _SHAPES)
    domains = tuple(_read_row(domain, place, int) for place, domain in found.items("domains", _MOST_GPUS))
    members = [index for domain in domains for index in domain]
    if len(set(members)) != len(members) or not set(members) <= set(indexes):
        raise found.bad("domains", "disjoint groups of the indexes in gpus", domains)
    shapes_up = {
        "unknown": not domains,
        "none": not domains,
        "full-mesh": len(domains) == 1 and len(members) == len(indexes),
        "islands": bool(domains),
    }[shape]
    if not shapes_up or any(len(domain) == 1 for domain in domains):
        raise found.bad("domains", f"groups of two or more that make up the shape {shape}", domains)
    levels = tuple(_read_row(row, place, str) for place, row in found.items("levels", _MOST_GPUS))
    if levels and {len(levels), *map(len, levels)} != {len(indexes)}:
        raise found.bad("levels", f"a square of {len(indexes)}", [len(row) for row in levels])
    return Links(shape=shape, domains=domains, levels=levels)


def _read_row(row: object, where: str, kind: type) -> tuple[Any, ...]:
    """Return the items of a JSON list, after a check that all items are whole numbers or short names.

    ``kind`` is int for whole numbers, and str for names.

    Raises:
        TopologyError: the list is too long, or an item is of another type or too long.
    """
    if not isinstance(row, list) or len(row) > _MOST_GPUS or not all(type(cell) is kind for cell in row):
        raise bad(where, row, f"a list of at most {_MOST_GPUS} {'indexes' if kind is int else 'levels'}")
    if kind is str and any(len(cell) > _LONGEST_LEVEL for cell in row):
        raise bad(where, row, "levels such as NV18, PIX or SYS")
    return tuple(row)


def _read_fabric(found: Fields) -> Fabric | None:
    if not found.values:
        return None
    uuid = found.text("clusterUuid", 36)
    if not uuid:
        raise found.bad("clusterUuid", "a UUID")
    return Fabric(cluster_uuid=uuid, clique=found.count("clique", _MOST_CLIQUE))


def _read_nic(found: Fields) -> Nic:
    name = found.text("name", LONGEST_TEXT)
    if not name:
        raise found.bad("name", "the name of a device")
    return Nic(
        name=name,
        kind=found.choice("kind", _NIC_KINDS),
        numa_node=found.number("numaNode", _MOST_NUMA),
        pcie_root=found.text("pcieRoot", _LONGEST_ROOT),
    )


def _read_platform(found: Fields) -> Platform | None:
    if not found.values:
        return None
    return Platform(
        chassis=found.text("chassis", LONGEST_TEXT),
        slot=found.count("slot", _MOST_PLACE),
        tray=found.count("tray", _MOST_PLACE),
        host=found.count("host", _MOST_PLACE),
    )


def _read_unseen(found: Fields) -> Unseen:
    gpus = tuple(element for _, element in found.items("gpus", _MOST_GPUS))
    if not all(type(index) is int and 0 <= index <= _MOST_INDEX for index in gpus):
        raise found.bad("gpus", "indexes of GPUs")
    return Unseen(what=found.text("what", LONGEST_TEXT), why=found.text("why", LONGEST_TEXT), gpus=gpus)


def _read_offer(found: Fields) -> MigOffer:
    return MigOffer(
        profile=_read_profile(found),
        pci_id=_read_pci_id(found),
        max_instances=found.count("max", _MOST_SLICES),
        memory_mib=found.count("memoryMiB", _MOST_MIB),
    )


def _read_instance(found: Fields) -> MigInstance:
    return MigInstance(
        gpu=_read_index(found, "gpu"),
        profile=_read_profile(found),
        start=found.number("start", _MOST_SLICES),
        size=found.number("size", _MOST_SLICES),
    )


def _read_profile(found: Fields) -> str:
    try:
        return mig.parse(found.text("profile", LONGEST_TEXT)).name
    except ValueError as error:
        raise TopologyError(f"{found.where}.profile: {error}") from error


def _read_time(found: Fields) -> str:
    text = found.text("observed", 40)
    try:
        if text:
            datetime.fromisoformat(text)
    except ValueError as error:
        raise found.bad("observed", "a time such as 2026-01-31T12:00:00Z") from error
    return text
