"""What a file of this package says of its system: how its pods are known, what it reads and where, what it keeps."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class System:
    """A group system and what a pod of it carries; one sign is enough.

    ``owner_labels`` are labels of the pod's owners, ``fields`` of its spec. The rest is what podberth keeps to
    (docs/rules.md, rules 2 and 3), and what docs/systems.md tells.
    """

    name: str
    title: str
    """As its users call it."""
    source: str
    schedulers: frozenset[str] = frozenset()
    labels: frozenset[str] = frozenset()
    annotations: frozenset[str] = frozenset()
    owner_labels: frozenset[str] = frozenset()
    fields: frozenset[str] = frozenset()
    reads: tuple[str, ...]
    """What it reads of the pod for group, queue and topology: a policy may write it."""
    writes: str = ""
    """What of that a mutation ``gang`` writes; empty: nothing, for the pod says already whose it is."""
    pod_groups: str = ""
    """The API group of its PodGroups, where a policy may choose it for a so far plain gang; empty: it may not."""
    elsewhere: tuple[str, ...]
    """What it reads of other objects: a field, and the object it is in."""
    topology: str
    """How the author of a workload asks it for topology, behind ``for topology`` in a warning: the field and object."""
    slices: str = ""
    """Likewise for every so many members in one domain; empty: as ``topology``."""
    keeps: str = ""
    """What it hashes or copies of pods before podberth sees the next one; empty: nothing."""

    def places(self, *, slices: bool = False) -> str:
        """Return why podberth places no pod of its groups, and where its author may ask for it."""
        asked = (slices and self.slices) or self.topology
        return f"{self.name} places this pod's group; for topology {asked}"


def under(domain: str, *names: str) -> frozenset[str]:
    """Return keys with their domain before them."""
    return frozenset(f"{domain}/{name}" for name in names)
