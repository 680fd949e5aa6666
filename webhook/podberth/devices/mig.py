"""MIG profile names: reading and writing them, and the facts about a profile on one GPU model.

``1g.10gb+me`` as a driver and a person write it is ``nvidia.com/mig-1g.10gb.me`` as a resource. What each GPU model
offers is in ``devices.mig_tables``, which profiles fit on one GPU together in ``devices.mig_placement``, which name was
probably meant in ``devices.mig_nearest``. Limits always need the model: the same name has several shapes (``1g.10gb``
fits 7 times on an 80 GB part, and 4 times on an A100 of 40 GB).
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType

from .mig_tables import TABLES, MigRow, MigTable, table_of

RESOURCE_PREFIX = "nvidia.com/mig-"
SHARED_SUFFIX = ".shared"
"""Added by the device plugin to a replicated resource's name under renameByDefault; the profile is the same."""

# Grammar: NVIDIA/go-nvlib pkg/nvlib/device/mig_profile.go. An attribute starts with a letter and holds letters, digits
# and dots; plus and minus forms do not mix. A resource spells "+" as "." (k8s-device-plugin internal/rm), so there
# everything after the memory is attributes. People write either form in either place; both are read everywhere.
_ATTRIBUTE = r"[a-zA-Z][a-zA-Z0-9.]*"
_PROFILE = re.compile(
    rf"(?:(?P<ci>[1-9]\d?)c\.)?(?P<gi>[1-9]\d?)g\.(?P<gb>0|[1-9]\d{{0,3}})gb"
    rf"(?:(?P<sign>[+.-])(?P<attributes>{_ATTRIBUTE}(?:,{_ATTRIBUTE})*))?"
)

LONGEST = 128
"""Characters. No name that the kubelet accepts is longer (prefix and 63), so a longer one is neither read nor
corrected."""

# Nodes of one model and driver report the same; a cluster has a few of both.
_REMEMBERED = 256


@dataclass(frozen=True, slots=True, order=True)
class Profile:
    """A parsed profile name. Sorts by slices, then memory, then extras."""

    slices: int
    """Compute slices of the GPU instance: the G of ``<G>g``."""
    memory_gb: int
    """The name's GB figure: rounded by the driver, more than the instance really has (see ``memory_mib``). 0 on Thor,
    whose memory is the machine's."""
    attributes: tuple[str, ...] = ()
    without: bool = False
    """True if the attributes are taken away (``-me``) instead of added."""
    compute: int = 0
    """Compute slices of a compute instance that is part of its GPU instance (``1c.3g.20gb``); 0 if it is the whole."""

    @property
    def name(self) -> str:
        """Spell it as the driver does: ``1g.10gb+me``."""
        part = f"{self.compute}c." if self.compute else ""
        sign = "-" if self.without else "+"
        extras = sign + ",".join(self.attributes) if self.attributes else ""
        return f"{part}{self.slices}g.{self.memory_gb}gb{extras}"

    @property
    def resource(self) -> str:
        """Spell it as a resource: ``nvidia.com/mig-1g.10gb.me``.

        Raises:
            ValueError: for a split compute instance, which the device plugin never offers (internal/rm/rm.go).
        """
        if self.compute:
            raise ValueError(
                f"{self.name}: a compute instance that is part of its GPU instance is no resource; "
                f"ask for {self.slices}g.{self.memory_gb}gb"
            )
        return RESOURCE_PREFIX + self.name.replace("+", ".")


@lru_cache(maxsize=1024)  # the documents of a large cluster repeat a few dozen
def parse(name: str) -> Profile:
    """Read a profile or resource name in any spelling: with or without prefix, ``+me`` or ``.me``, shared or not.

    Raises:
        ValueError: the message has the given name and the form of a valid one.
    """
    text = bare(name)
    match = _PROFILE.fullmatch(text) if len(text) <= LONGEST else None
    if match is None:
        raise ValueError(
            f"MIG profile: got {name[:LONGEST]!r}, want <slices>g.<memory>gb, such as 1g.10gb or 1g.10gb+me"
        )
    slices, compute = int(match["gi"]), int(match["ci"] or 0)
    if compute > slices:
        raise ValueError(f"MIG profile: {name!r} has {compute} compute slices in {slices}; want at most {slices}")
    return Profile(
        slices=slices,
        memory_gb=int(match["gb"]),
        attributes=tuple(sorted((match["attributes"] or "").split(","))) if match["attributes"] else (),
        without=match["sign"] == "-",
        compute=0 if compute == slices else compute,
    )


def table_for(product: str, pci_id: str = "") -> MigTable | None:
    """Find the table of a GPU model, by the device half of its PCI id (``2330``) or else by product, or None.

    ``product`` may be NVML's name (``NVIDIA H100 80GB HBM3``), the label's with GFD's suffixes (``-MIG-1g.10gb``,
    ``-SHARED``), or GKE's word (``nvidia-h100-80gb``).
    """
    wanted = pci_id.upper().removeprefix("0X")
    for table in TABLES:
        if wanted and wanted in table.pci_ids:
            return table
    plain = _PARTS.sub("", product.strip().replace(" ", "-"))
    name = plain.upper().removeprefix("NVIDIA-")
    return next((table for table in TABLES if name in table.products or plain in table.gke), None)


# k8s-device-plugin internal/lm/{resource,mig-strategy}.go: the suffixes that GFD adds to the product's name
_PARTS = re.compile(r"(-MIG-(?P<profile>.*?))?(-SHARED)?$")


def profile_in(product: str) -> str:
    """Return the profile that a product label names (``NVIDIA-A30-MIG-1g.6gb``); empty if none.

    MIG-INVALID names none.
    """
    found = _PARTS.search(product)
    try:
        return parse(found["profile"]).name if found and found["profile"] else ""
    except ValueError:
        return ""


@lru_cache(maxsize=_REMEMBERED)
def live_table(name: str, offers: tuple[tuple[str, int, int], ...], table: MigTable | None) -> MigTable | None:
    """Return the profiles of a model as a node reports them: the live node wins over the table.

    Args:
        name: the name of the model in the new table.
        offers: profile, the maximum on one GPU, and MiB of each; a 0 is filled in from ``table``.
        table: the known table of the model, if any. It is returned if the node reports no profiles.
    """
    known_rows = table.rows if table else {}
    rows = {}
    for profile, most, memory in offers:
        row = known_rows.get(profile, MigRow(0))
        rows[profile] = MigRow(most or row.max_instances, memory or row.memory_mib)
    return table_of(name, rows) if rows else table


def known(name: str) -> bool:
    """Tell whether any GPU model has this profile. No model has a name that does not parse."""
    try:
        return parse(name).name in _KNOWN
    except ValueError:
        return False


# The GB figure rounds the instance's share of memory up to an eighth of the GPU (go-nvlib mig_profile.go), while the
# driver keeps some for itself: the listings beside the tables have 0.83 (GB200's 20.00 GiB in 1g.24gb) to 0.98 of it.
# Five sixths is less than all of these, so a pod is never promised memory that does not exist.
_FLOOR_NUMERATOR, _FLOOR_DENOMINATOR = 5, 6


def memory_mib(name: str, table: MigTable | None = None) -> int:
    """Return an instance's memory in MiB: as listed for the model, else a lower bound from the name; 0 if unknown."""
    try:
        profile = parse(name)
    except ValueError:
        return 0
    row = table.rows.get(profile.name) if table else None
    if row and row.memory_mib:
        return row.memory_mib
    return profile.memory_gb * 1024 * _FLOOR_NUMERATOR // _FLOOR_DENOMINATOR


def smallest(memory: int, offered: Mapping[str, int], *, slices: int = 0) -> str | None:
    """Pick the smallest of the ``offered`` (name -> MiB) with at least ``memory`` MiB and at least ``slices`` slices.

    Among equal memory fewer slices win, then profiles without media extensions, of which a GPU has only one.
    Names that are no MIG profiles are skipped. None if no profile is large enough.
    """
    fitting: list[tuple[int, Profile, str]] = []
    for name, size in offered.items():
        if size >= memory:
            try:
                profile = parse(name)
            except ValueError:
                continue
            if profile.slices >= slices:
                fitting.append((size, profile, name))
    if not fitting:
        return None
    return min(fitting, key=lambda one: (one[0], one[1].slices, len(one[1].attributes), one[1], one[2]))[2]


def bare(name: str) -> str:
    """Remove the prefixes and suffixes that people and tools write around a profile."""
    for prefix in (RESOURCE_PREFIX, "mig-", "MIG ", "MIG-"):
        name = name.removeprefix(prefix)
    return name.removesuffix(SHARED_SUFFIX)


_KNOWN: frozenset[str] = frozenset(profile for table in TABLES for profile in table.rows)


# MiB as NVML and the label nvidia.com/gpu.memory have them. From `nvidia-smi` captures: NVIDIA/k8s-test-infra
# (tests/e2e/go/assertions/nvidiasmi/testdata/hardware) and the sources of ``topology.shape_tables``; A10G, A100 80GB,
# H100 PCIe and GB300 from the tables that nvidia-smi prints in public logs.
# Names: GFD's nvidia.com/gpu.product (NVML's name with dashes), and GKE's word for the same model
# (https://cloud.google.com/kubernetes-engine/docs/concepts/gpus).
_BY_SIZE: Mapping[int, tuple[str, ...]] = {
    15360: ("Tesla-T4", "nvidia-tesla-t4"),
    23028: ("NVIDIA-A10G",),
    23034: ("NVIDIA-L4", "nvidia-l4"),
    46068: ("NVIDIA-L40S",),
    40960: ("NVIDIA-A100-SXM4-40GB", "NVIDIA-A100-PCIE-40GB", "nvidia-tesla-a100"),
    81920: ("NVIDIA-A100-SXM4-80GB", "NVIDIA-A100-80GB-PCIe", "nvidia-a100-80gb"),
    81559: ("NVIDIA-H100-80GB-HBM3", "NVIDIA-H100-PCIe", "nvidia-h100-80gb", "nvidia-h100-mega-80gb"),
    95830: ("NVIDIA-H100-NVL",),
    143771: ("NVIDIA-H200", "nvidia-h200-141gb"),
    183359: ("NVIDIA-B200", "nvidia-b200"),
    189471: ("NVIDIA-GB200", "nvidia-gb200"),
}
MEMORY_MIB: Mapping[str, int] = MappingProxyType({name: size for size, names in _BY_SIZE.items() for name in names})
"""MiB of a GPU by GFD's and GKE's names for its model."""


def most_memory_mib(name: str) -> int:
    """Return the MiB that a GPU of that model, or an instance of that MIG profile, has at most; 0 if not known.

    A profile's name rounds the instance's memory up (``devices.mig``), so its figure is never too small.
    """
    if name in MEMORY_MIB:
        return MEMORY_MIB[name]
    try:
        return parse(name).memory_gb * 1024
    except ValueError:
        return 0
