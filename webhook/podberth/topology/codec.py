"""Encodes and decodes the topology ConfigMap, in which the node agent publishes the ``NodeTopology`` of its node.

There is one ConfigMap for each node. It has the node's name, the label ``podberth.io/topology: v1``, and one canonical
JSON document (sorted keys, no blanks) under ``topology.json``, so that equal topologies are equal bytes. The writer of
a ConfigMap is not trusted: every value is bounded and compared with the others. A document that contradicts itself is a
TopologyError, and then only the labels of its node are used. Unknown fields are ignored, because later versions of the
format may add fields.
"""

import re
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any, NamedTuple, cast

import orjson

from ..devices import mig
from ..errors import TopologyError
from ..wellknown import NAMESPACE, TOPOLOGY_LABEL
from .document_fields import bad, take_choice, take_flag, take_list, take_number, take_object, take_objects, take_text
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
_MOST_UNSEEN = 64  # the agent has about 30 readings that can fail
_MOST_PLACE = 255  # nvmlPlatformInfo_v2_t has a byte for each
_LONGEST_TEXT = 128
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
    metadata = take_object(config_map, "metadata", "ConfigMap")
    where = f"ConfigMap {take_text(metadata, 'name', 'metadata', longest=253)}"
    version = take_object(metadata, "labels", f"{where}: metadata").get(TOPOLOGY_LABEL)
    if version != SCHEMA_VERSION:
        raise bad(f"{where}: metadata.labels[{TOPOLOGY_LABEL!r}]", version, repr(SCHEMA_VERSION))
    text = take_object(config_map, "data", where).get(DATA_KEY)
    if not isinstance(text, str) or len(text) > _LONGEST_DOCUMENT:
        got = f"{len(text)} characters" if isinstance(text, str) else text
        raise bad(f"{where}: data[{DATA_KEY!r}]", got, f"JSON text of at most {_LONGEST_DOCUMENT} characters")
    try:
        document = orjson.loads(text)
    except ValueError as error:
        raise TopologyError(f"{where}: data[{DATA_KEY!r}]: not JSON: {error}") from error
    if not isinstance(document, dict):
        raise bad(f"{where}: data[{DATA_KEY!r}]", document, "an object")
    return _read(document, f"{where}: {DATA_KEY}")


def is_same_but_for_time(text: str, other: str) -> bool:
    """Return whether two documents, as texts of the ConfigMap, are equal except for ``observed``.

    False if ``text`` is not canonical, as ``encode_topology`` writes it, and differs from ``other``.
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
    """Return a value of ``NodeTopology`` as JSON. Fields with their default value are left out, except a link shape."""
    if isinstance(value, tuple):
        return [_written(each) for each in value]
    if not is_dataclass(value):
        return value
    kept = [each for each in fields(value) if each.name == "shape" or getattr(value, each.name) != each.default]
    return {_NAMES.get(each.name) or _camel_case(each.name): _written(getattr(value, each.name)) for each in kept}


def _camel_case(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(map(str.capitalize, others))


def _read(document: dict[str, Any], where: str) -> NodeTopology:
    take_choice(document, "schemaVersion", where, (SCHEMA_VERSION,))
    gpus = take_objects(document, "gpus", where, _read_gpu, most=_MOST_GPUS)
    indexes = [gpu.index for gpu in gpus]
    if len(set(indexes)) != len(indexes):
        raise bad(f"{where}.gpus", indexes, "each index once")
    layout = _read_layout({key: document[key] for key in _ALIKE if key in document}, where, indexes)
    cut = {gpu.index for gpu in gpus if gpu.mig_enabled}
    if strange := sorted({instance.gpu for instance in layout.instances} - cut):
        raise bad(f"{where}.migInstances", strange, "only GPUs that are listed with mig: true")
    nics = take_objects(document, "nics", where, _read_nic, most=_MOST_NICS)
    if len({nic.name for nic in nics}) != len(nics):
        raise bad(f"{where}.nics", [nic.name for nic in nics], "each name once")
    return NodeTopology(
        gpus=gpus,
        links=layout.links,
        fabric=_read_fabric(take_object(document, "fabric", where), f"{where}.fabric"),
        mig_offers=layout.offers,
        mig_instances=layout.instances,
        nics=nics,
        platform=_read_platform(take_object(document, "platform", where), f"{where}.platform"),
        unseen=take_objects(document, "unseen", where, _read_unseen, most=_MOST_UNSEEN),
        observed=_read_time(document, where),
    )


def _read_gpu(document: dict[str, Any], where: str) -> Gpu:
    index = take_number(document, "index", where, most=_MOST_INDEX)
    if index is None:
        raise bad(f"{where}.index", None, f"a whole number from 0 to {_MOST_INDEX}")
    return Gpu(
        index=index,
        vendor=cast("Vendor", take_choice(document, "vendor", where, _VENDORS)),
        uuid=take_text(document, "uuid", where, longest=_LONGEST_TEXT),
        product=take_text(document, "product", where, longest=_LONGEST_TEXT),
        pci_id=_read_pci_id(document, where),
        memory_mib=take_number(document, "memoryMiB", where, most=_MOST_MIB) or 0,
        numa_node=take_number(document, "numaNode", where, most=_MOST_NUMA),
        pcie_root=take_text(document, "pcieRoot", where, longest=_LONGEST_ROOT),
        mig_enabled=take_flag(document, "mig", where),
        mig_pending=take_flag(document, "migPending", where),
        problem=take_text(document, "problem", where, longest=_LONGEST_TEXT),
    )


def _read_pci_id(document: dict[str, Any], where: str) -> str:
    text = take_text(document, "pciId", where, longest=4).upper()
    if text and not _PCI_ID.fullmatch(text):
        raise bad(f"{where}.pciId", text, "four hexadecimal digits")
    return text


class _Layout(NamedTuple):
    """The fields of a document that are equal for all machines of one kind."""

    links: Links
    offers: tuple[MigOffer, ...]
    instances: tuple[MigInstance, ...]


def _read_layout(document: dict[str, Any], where: str, indexes: list[int]) -> _Layout:
    """Return the fields of ``_ALIKE`` from a document; equal documents share one cached result."""
    try:
        text = orjson.dumps((document, indexes))
        if len(text) <= _LONGEST_REMEMBERED:
            return _remembered_layout(text)
    except (TopologyError, orjson.JSONEncodeError):
        pass  # too deep to serialise, or wrong: the parser below reports the place
    return _make_layout(document, where, indexes)


@lru_cache(maxsize=_REMEMBERED)
def _remembered_layout(text: bytes) -> _Layout:
    document, indexes = orjson.loads(text)
    return _make_layout(document, "", indexes)


def _make_layout(document: dict[str, Any], where: str, indexes: list[int]) -> _Layout:
    return _Layout(
        links=_read_links(take_object(document, "links", where), f"{where}.links", indexes),
        offers=take_objects(document, "migProfiles", where, _read_offer, most=_MOST_OFFERS),
        instances=take_objects(document, "migInstances", where, _read_instance, most=_MOST_INSTANCES),
    )


def _read_links(document: dict[str, Any], where: str, indexes: list[int]) -> Links:
    """Return the links in a document.

    The link domains must be disjoint, have only GPUs of the document, and agree with the stated shape.
    """
    shape = cast("LinkShape", take_choice(document, "shape", where, _SHAPES))
    domains = tuple(
        _read_row(domain, place, int) for place, domain in take_list(document, "domains", where, most=_MOST_GPUS)
    )
    members = [index for domain in domains for index in domain]
    if len(set(members)) != len(members) or not set(members) <= set(indexes):
        raise bad(f"{where}.domains", domains, "disjoint groups of the indexes in gpus")
    shapes_up = {
        "unknown": not domains,
        "none": not domains,
        "full-mesh": len(domains) == 1 and len(members) == len(indexes),
        "islands": bool(domains),
    }[shape]
    if not shapes_up or any(len(domain) == 1 for domain in domains):
        raise bad(f"{where}.domains", domains, f"groups of two or more that make up the shape {shape}")
    rows = take_list(document, "levels", where, most=_MOST_GPUS)
    levels = tuple(_read_row(row, place, str) for place, row in rows)
    if levels and {len(levels), *map(len, levels)} != {len(indexes)}:
        raise bad(f"{where}.levels", [len(row) for row in levels], f"a square of {len(indexes)}")
    return Links(shape=shape, domains=domains, levels=levels)


def _read_row(row: object, where: str, kind: type) -> tuple[Any, ...]:
    """Return a JSON list, after a check that it has only small numbers (int) or only short names (str)."""
    if not isinstance(row, list) or len(row) > _MOST_GPUS or not all(type(cell) is kind for cell in row):
        raise bad(where, row, f"a list of at most {_MOST_GPUS} {'indexes' if kind is int else 'levels'}")
    if kind is str and any(len(cell) > _LONGEST_LEVEL for cell in row):
        raise bad(where, row, "levels such as NV18, PIX or SYS")
    return tuple(row)


def _read_fabric(document: dict[str, Any], where: str) -> Fabric | None:
    if not document:
        return None
    uuid = take_text(document, "clusterUuid", where, longest=36)
    if not uuid:
        raise bad(f"{where}.clusterUuid", document.get("clusterUuid"), "a UUID")
    return Fabric(cluster_uuid=uuid, clique=take_number(document, "clique", where, most=_MOST_CLIQUE) or 0)


def _read_nic(document: dict[str, Any], where: str) -> Nic:
    name = take_text(document, "name", where, longest=_LONGEST_TEXT)
    if not name:
        raise bad(f"{where}.name", document.get("name"), "the name of a device")
    return Nic(
        name=name,
        kind=cast("NicKind", take_choice(document, "kind", where, _NIC_KINDS)),
        numa_node=take_number(document, "numaNode", where, most=_MOST_NUMA),
        pcie_root=take_text(document, "pcieRoot", where, longest=_LONGEST_ROOT),
    )


def _read_platform(document: dict[str, Any], where: str) -> Platform | None:
    if not document:
        return None
    return Platform(
        chassis=take_text(document, "chassis", where, longest=_LONGEST_TEXT),
        slot=take_number(document, "slot", where, most=_MOST_PLACE) or 0,
        tray=take_number(document, "tray", where, most=_MOST_PLACE) or 0,
        host=take_number(document, "host", where, most=_MOST_PLACE) or 0,
    )


def _read_unseen(document: dict[str, Any], where: str) -> Unseen:
    gpus = tuple(element for _, element in take_list(document, "gpus", where, most=_MOST_GPUS))
    if not all(type(index) is int and 0 <= index <= _MOST_INDEX for index in gpus):
        raise bad(f"{where}.gpus", gpus, "indexes of GPUs")
    return Unseen(
        what=take_text(document, "what", where, longest=_LONGEST_TEXT),
        why=take_text(document, "why", where, longest=_LONGEST_TEXT),
        gpus=gpus,
    )


def _read_offer(document: dict[str, Any], where: str) -> MigOffer:
    return MigOffer(
        profile=_read_profile(document, where),
        pci_id=_read_pci_id(document, where),
        max_instances=take_number(document, "max", where, most=_MOST_SLICES) or 0,
        memory_mib=take_number(document, "memoryMiB", where, most=_MOST_MIB) or 0,
    )


def _read_instance(document: dict[str, Any], where: str) -> MigInstance:
    gpu = take_number(document, "gpu", where, most=_MOST_INDEX)
    if gpu is None:
        raise bad(f"{where}.gpu", None, "the index of a GPU")
    return MigInstance(
        gpu=gpu,
        profile=_read_profile(document, where),
        start=take_number(document, "start", where, most=_MOST_SLICES),
        size=take_number(document, "size", where, most=_MOST_SLICES),
    )


def _read_profile(document: dict[str, Any], where: str) -> str:
    text = take_text(document, "profile", where, longest=_LONGEST_TEXT)
    try:
        return mig.parse(text).name
    except ValueError as error:
        raise TopologyError(f"{where}.profile: {error}") from error


def _read_time(document: dict[str, Any], where: str) -> str:
    text = take_text(document, "observed", where, longest=40)
    try:
        if text:
            datetime.fromisoformat(text)
    except ValueError as error:
        raise bad(f"{where}.observed", text, "a time such as 2026-01-31T12:00:00Z") from error
    return text
