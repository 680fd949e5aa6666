"""Lists the group systems whose PodGroups podberth makes, and all fields by which a pod can name a PodGroup.

Systems and fields come from the dossiers of the systems (``kinds``). ``mutation.membership`` writes the same fields at
admission.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from ...kinds.systems import PodGroupKind
from ...topology.pod_groups import POD_GROUP_KINDS
from .world import Reference

# apimachinery pkg/api/validation: a PodGroup's name is a DNS subdomain.
_LONGEST_NAME: Final = 253

BY_NAME: Final[Mapping[str, PodGroupKind]] = {each.name: each for each in POD_GROUP_KINDS}
BY_API_GROUP: Final[Mapping[str, PodGroupKind]] = {each.api_groups[0]: each for each in POD_GROUP_KINDS}


def references(pod: Mapping[str, Any]) -> Iterator[Reference]:
    """Yield a Reference for every group that a pod names."""
    for system in POD_GROUP_KINDS:
        name = system.read(pod)
        if isinstance(name, str) and 0 < len(name) <= _LONGEST_NAME:
            yield Reference(system, name)


def nested(path: tuple[str, ...], value: object) -> dict[str, Any]:
    """Return a document that has ``value`` at ``path`` and nothing else."""
    for step in reversed(path):
        value = {step: value}
    assert isinstance(value, dict)  # noqa: S101 - no path is empty
    return value
