"""MIG profile names: their grammar both ways, what is known about a profile, and which one was probably meant.

``1g.10gb+me`` as a driver and a person write it is ``nvidia.com/mig-1g.10gb.me`` as a resource. What each GPU model
offers is in ``devices.mig_tables``; here are the questions asked of it. Limits always need the model: one name is not
one shape (``1g.10gb`` is 7 to an 80 GB part and 4 to an A100 of 40 GB).
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import log2

from .mig_tables import TABLES, MigTable

RESOURCE_PREFIX = "nvidia.com/mig-"
SHARED_SUFFIX = ".shared"
"""Added by the device plugin to a replicated resource's name under renameByDefault."""

# Grammar: NVIDIA/go-nvlib pkg/nvlib/device/mig_profile.go. An attribute starts with a letter and holds letters, digits
# and dots; plus and minus forms do not mix. A resource spells "+" as "." (k8s-device-plugin internal/rm), so there
# whatever follows the memory is attributes. People write either form in either place; both are read everywhere.
_ATTRIBUTE = r"[a-zA-Z][a-zA-Z0-9.]*"
_PROFILE = re.compile(
    rf"(?:(?P<ci>[1-9]\d?)c\.)?(?P<gi>[1-9]\d?)g\.(?P<gb>[1-9]\d{{0,3}})gb"
    rf"(?:(?P<sign>[+.-])(?P<attributes>{_ATTRIBUTE}(?:,{_ATTRIBUTE})*))?"
)

# Longer than any name the kubelet accepts (prefix and 63 characters): not worth reading, let alone correcting.
_LONGEST = 128


@dataclass(frozen=True, slots=True, order=True)
class Profile:
    """A parsed profile name. Sorts by slices, then memory, then extras."""

    slices: int
    """Compute slices of the GPU instance: the G of ``<G>g``."""
    memory_gb: int
    """The name's GB figure: rounded by the driver, more than the instance really has (see ``memory_mib``)."""
    attributes: tuple[str, ...] = ()
    without: bool = False
    """True where the attributes are taken away (``-me``) instead of added."""
    compute: int = 0
    """Compute slices of a compute instance that is part of its GPU instance (``1c.3g.20gb``); 0 where it is all."""

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


def parse(name: str) -> Profile:
    """Read a profile or resource name in any spelling: with or without prefix, ``+me`` or ``.me``.

    Raises:
        ValueError: saying what was read and what a name looks like.
    """
    bare = _bare(name)
    match = _PROFILE.fullmatch(bare) if len(bare) <= _LONGEST else None
    if match is None:
        raise ValueError(
            f"MIG profile: got {name[:_LONGEST]!r}, want <slices>g.<memory>gb, such as 1g.10gb or 1g.10gb+me"
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

    ``product`` may be NVML's name (``NVIDIA H100 80GB HBM3``) or the label's, with GFD's suffixes (``-MIG-1g.10gb``,
    ``-SHARED``).
    """
    wanted = pci_id.upper().removeprefix("0X")
    for table in TABLES:
        if wanted and wanted in table.pci_ids:
            return table
    plain = re.sub(r"(-MIG-.*)?(-SHARED)?$", "", product.strip().replace(" ", "-")).upper()
    plain = plain.removeprefix("NVIDIA-")
    return next((table for table in TABLES if plain in table.products), None)


def known(name: str) -> bool:
    """Tell whether any GPU model has this profile. A name that does not parse has none."""
    try:
        return parse(name).name in _KNOWN
    except ValueError:
        return False


def max_instances(name: str, table: MigTable) -> int:
    """Return how many instances of the profile one whole GPU of that model holds; 0 where it has no such profile."""
    try:
        row = table.rows.get(parse(name).name)
    except ValueError:
        return 0
    return row.max_instances if row else 0


# The GB figure rounds the instance's share of memory up to an eighth of the GPU (go-nvlib mig_profile.go), while the
# driver keeps some for itself: listings show 4864 MiB for 5 GB, 5836 for 6, 9984 for 10, 40192 for 40 (0.95 to 0.98).
# Seven eighths is below all of them, so a pod is never promised memory that is not there.
_FLOOR_NUMERATOR, _FLOOR_DENOMINATOR = 7, 8


def memory_mib(name: str, table: MigTable | None = None) -> int:
    """Return an instance's memory in MiB: as listed for the model, else a floor under the name's figure; 0 unknown."""
    try:
        profile = parse(name)
    except ValueError:
        return 0
    row = table.rows.get(profile.name) if table else None
    if row and row.memory_mib:
        return row.memory_mib
    return profile.memory_gb * 1024 * _FLOOR_NUMERATOR // _FLOOR_DENOMINATOR


def smallest(memory: int, offered: Mapping[str, int]) -> str | None:
    """Pick the smallest of the ``offered`` (name -> MiB) that has at least ``memory`` MiB, or None.

    Of equal memory the one with fewer slices wins, then the one without media extensions, which are one to a GPU.
    Names that are no MIG profiles are passed over.
    """
    fitting: list[tuple[int, Profile, str]] = []
    for name, size in offered.items():
        if size >= memory:
            try:
                fitting.append((size, parse(name), name))
            except ValueError:
                continue
    if not fitting:
        return None
    return min(fitting, key=lambda one: (one[0], one[1].slices, len(one[1].attributes), one[1], one[2]))[2]


def nearest(name: str, candidates: Iterable[str]) -> str | None:
    """Find the candidate that ``name`` was probably meant to be, or None where nothing is near.

    Compared are the profile's own numbers on a logarithmic scale, since 20 for 25 is a smaller slip than 5 for 10;
    slices weigh more than memory, because people choose by them and copy the rest. ``mig-4g.5gb`` is 4g.20gb to an
    A100. Candidates are returned as they are spelled.
    """
    meant = _numbers(name)
    if meant is None:
        return None
    ranked = [(_distance(meant, found), found, spelled) for spelled in candidates if (found := _numbers(spelled))]
    if not ranked:
        return None
    distance, _, best = min(ranked)
    return best if distance <= _FAR else None


# A slip of one doubling of the slices costs 1.25, one of the memory 1, a wrong extra 0.5. Beyond both numbers off by
# two doublings a name resembles everything, and a suggestion would be noise.
_SLICES_WEIGHT = 1.25
_EXTRAS_WEIGHT = 0.5
_FAR = 4.5


def _distance(meant: Profile, candidate: Profile) -> float:
    slices = abs(log2(meant.slices / candidate.slices))
    memory = abs(log2(meant.memory_gb / candidate.memory_gb))
    if (meant.attributes, meant.without) == (candidate.attributes, candidate.without):
        extras = 0.0
    else:
        # a misspelled extra is nearer to another one than to none
        extras = _EXTRAS_WEIGHT / 2 if meant.attributes and candidate.attributes else _EXTRAS_WEIGHT
    return _SLICES_WEIGHT * slices + memory + extras


def _numbers(name: str) -> Profile | None:
    """Read a profile's numbers from a name with slips in it (``1g5gb``, ``1g.5g``, ``1G.5GB``), or None."""
    bare = _bare(name)[:_LONGEST].lower()
    try:
        return parse(bare)
    except ValueError:
        pass
    rough = re.search(r"(?<!\d)([1-9])\s*g?\s*[._ -]?\s*([1-9]\d{0,2})\s*(?:gi?b?|$)", bare)
    return Profile(int(rough[1]), int(rough[2])) if rough else None


def _bare(name: str) -> str:
    """Cut the prefixes that people and tools write before a profile."""
    for prefix in (RESOURCE_PREFIX, "mig-", "MIG ", "MIG-"):
        name = name.removeprefix(prefix)
    return name


_KNOWN: frozenset[str] = frozenset(profile for table in TABLES for profile in table.rows)
