"""The names of MIG profiles: parsing, spelling, and the facts about a profile on one GPU model.

Drivers and people write ``1g.10gb+me``; the resource's name is ``nvidia.com/mig-1g.10gb.me``. ``devices.mig_tables``
has the profiles of each GPU model, ``devices.mig_placement`` finds which profiles fit on one GPU together, and
``devices.mig_nearest`` suggests names for a misspelled name. The maximum number of instances always depends on the
model: ``1g.10gb`` fits 7 times on a GPU of 80 GB, and 4 times on an A100 of 40 GB.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType

from .mig_tables import TABLES, MigRow, MigTable, table_of

RESOURCE_PREFIX = "nvidia.com/mig-"
SHARED_SUFFIX = ".shared"
"""The suffix that NVIDIA's device plugin adds to the name of a shared resource (renameByDefault); the profile is the
same.
"""

# Grammar: NVIDIA/go-nvlib pkg/nvlib/device/mig_profile.go. An attribute starts with a letter and holds letters, digits
# and dots; plus and minus forms do not mix. A resource spells "+" as "." (k8s-device-plugin internal/rm), so there
# everything after the memory is attributes. People write either form in either place; both are read everywhere.
_ATTRIBUTE = r"[a-zA-Z][a-zA-Z0-9.]*"
_PROFILE = re.compile(
    rf"(?:(?P<ci>[1-9]\d?)c\.)?(?P<gi>[1-9]\d?)g\.(?P<gb>0|[1-9]\d{{0,3}})gb"
    rf"(?:(?P<sign>[+.-])(?P<attributes>{_ATTRIBUTE}(?:,{_ATTRIBUTE})*))?"
)

LONGEST = 128
"""The most characters of a name that is parsed or corrected. No name that the kubelet accepts is longer."""

# The number of remembered tables. Nodes of one model and driver report the same table, and a cluster has a few of each.
_REMEMBERED = 256


@dataclass(frozen=True, slots=True, order=True)
class Profile:
    """A parsed MIG profile name. Profiles sort by compute slices, then memory, then extensions such as ``+me``."""

    slices: int
    """The number of compute slices of the GPU instance: the number before ``g`` in the name."""
    memory_gb: int
    """The GB figure in the name, which the driver rounds up (see ``memory_mib``); 0 on Thor, which has no separate GPU
    memory.
    """
    attributes: tuple[str, ...] = ()
    without: bool = False
    """Whether the extensions are removed (``-me``) instead of added (``+me``)."""
    compute: int = 0
    """The number of compute slices of the compute instance (``1c.3g.20gb``); 0 if the compute instance is the whole GPU
    instance.
    """

    @property
    def scarcity(self) -> int:
        """The rank of the profile among profiles of equal size.

        Profiles without extensions come first, then profiles with removed extensions (``-me``), then profiles with
        added extensions (``+me``). A profile with more extensions has a higher rank.
        """
        return (len(self.attributes) + (not self.without)) if self.attributes else 0

    @property
    def name(self) -> str:
        """The profile's name in the driver's spelling: ``1g.10gb+me``."""
        part = f"{self.compute}c." if self.compute else ""
        sign = "-" if self.without else "+"
        extras = sign + ",".join(self.attributes) if self.attributes else ""
        return f"{part}{self.slices}g.{self.memory_gb}gb{extras}"

    @property
    def resource(self) -> str:
        """The profile's name as a resource: ``nvidia.com/mig-1g.10gb.me``.

        Raises:
            ValueError: the profile is a compute instance, a part of a GPU instance; no device plugin offers such
                resources (internal/rm/rm.go).
        """
        if self.compute:
            raise ValueError(
                f"{self.name}: a compute instance that is part of its GPU instance is no resource; "
                f"ask for {self.slices}g.{self.memory_gb}gb"
            )
        return RESOURCE_PREFIX + self.name.replace("+", ".")


@lru_cache(maxsize=1024)  # the documents of a large cluster repeat a few dozen
def parse(name: str) -> Profile:
    """Return the parsed MIG profile of a profile name or resource name in any spelling.

    The name may have a prefix such as "mig-" or the suffix ".shared" (``bare``), and extensions such as "+me" or ".me".

    Raises:
        ValueError: the name is no profile; the message has the name and an example of a valid name.
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
    """Return the MIG profiles of a GPU model; None if the model is unknown or has no MIG.

    Args:
        product: the model's name, used if the PCI id is not known: NVML's name ("NVIDIA H100 80GB HBM3"), the label of
            GPU feature discovery with suffixes ("-MIG-1g.10gb", "-SHARED"), or GKE's name ("nvidia-h100-80gb").
        pci_id: the device half of the model's PCI id ("2330"), which is looked up first.
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
    """Return the MIG profile that a product label such as "NVIDIA-A30-MIG-1g.6gb" names; empty if there is none.

    The value "MIG-INVALID" names no profile.
    """
    found = _PARTS.search(product)
    try:
        return parse(found["profile"]).name if found and found["profile"] else ""
    except ValueError:
        return ""


@lru_cache(maxsize=_REMEMBERED)
def live_table(name: str, offers: tuple[tuple[str, int, int], ...], table: MigTable | None) -> MigTable | None:
    """Return the table of the MIG profiles that a node reports for a GPU model; ``table`` if the node reports none.

    Args:
        name: the name of the model in the new table.
        offers: name, maximum on one GPU, and MiB of each profile; a 0 is replaced by the value in ``table``.
        table: the known table of the model, if any.
    """
    known_rows = table.rows if table else {}
    rows = {}
    for profile, most, memory in offers:
        row = known_rows.get(profile, MigRow(0))
        rows[profile] = MigRow(most or row.max_instances, memory or row.memory_mib)
    return table_of(name, rows) if rows else table


def known(name: str) -> bool:
    """Return whether any known GPU model has the profile ``name``; False if the name is no profile."""
    try:
        return parse(name).name in _KNOWN
    except ValueError:
        return False


# The GB figure rounds the instance's share of memory up to an eighth of the GPU (go-nvlib mig_profile.go), while the
# driver keeps some for itself: the listings beside the tables have 0.83 (GB200's 20.00 GiB in 1g.24gb) to 0.98 of it.
# Five sixths is less than all of these, so a pod is never promised memory that does not exist.
_FLOOR_NUMERATOR, _FLOOR_DENOMINATOR = 5, 6


def memory_mib(name: str, table: MigTable | None = None) -> int:
    """Return the memory, in MiB, of a MIG instance of the profile ``name``; 0 if unknown.

    The memory is the figure in the model's table, else a lower bound that is derived from the profile's name.
    """
    try:
        profile = parse(name)
    except ValueError:
        return 0
    row = table.rows.get(profile.name) if table else None
    if row and row.memory_mib:
        return row.memory_mib
    return profile.memory_gb * 1024 * _FLOOR_NUMERATOR // _FLOOR_DENOMINATOR


def smallest(memory: int, offered: Mapping[str, int], *, slices: int = 0) -> str | None:
    """Return the smallest offered profile with at least ``memory`` MiB and ``slices`` compute slices; else None.

    ``offered`` has the MiB of each profile by name; names that are no MIG profiles are skipped. Among profiles of equal
    memory, a profile with fewer compute slices is preferred, then a profile without extensions, then a profile with
    removed extensions (``-me``). A profile with added extensions comes last, because a profile with ``+me`` fits only
    once on a GPU.
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
    return min(fitting, key=lambda one: (one[0], one[1].slices, one[1].scarcity, one[1], one[2]))[2]


def bare(name: str) -> str:
    """Return a profile name without the prefixes and the suffix that people and tools add.

    The prefixes are "nvidia.com/mig-", "mig-", "MIG " and "MIG-"; the suffix is ".shared".
    """
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
"""MiB of memory of a whole GPU, by the model's names in GFD's and GKE's labels."""


def most_memory_mib(name: str) -> int:
    """Return the MiB of memory of a GPU model or a MIG profile; 0 if unknown.

    The result is an upper bound: several variants of a model differ in memory, and the name of a profile rounds the
    memory up.
    """
    if name in MEMORY_MIB:
        return MEMORY_MIB[name]
    try:
        return parse(name).memory_gb * 1024
    except ValueError:
        return 0
