"""The check for exclusive topology (a gang alone in its domain) at a level that contradicts other fields of pods."""

from collections.abc import Iterator

from ..wellknown import HOSTNAME_LABEL
from .case import GroupCase, Wrong
from .levels import LevelDemand, affinity_keys, exclusive_levels, pod_set_levels


def contradictions(case: GroupCase) -> Iterator[Wrong]:
    """Yield a problem for each pod affinity or pod set topology that contradicts the gang's exclusive topology.

    Two fields contradict each other if they name different levels for the same pods. An affinity may name a different
    level if it selects other gangs' pods, too: one block for several gangs, each alone in its rack. Such a level has to
    be wider, but podberth only knows that the hostname is not wider. Spread and anti-affinity do not contradict
    exclusive topology: a gang that is alone in its rack may be spread over the hosts of the rack.
    """
    exclusive = tuple(exclusive_levels(case))
    if not exclusive:
        return
    for other in (*affinity_keys(case), *pod_set_levels(case, preferred=True)):
        first = next((each for each in exclusive if each.concerns(other) and not _may_be_wider(other, each)), None)
        if first is not None and other.key and other.key != first.key:
            yield other.wrong(
                f"got {other.key}, but exclusive-topology already keeps each group in one {first.key}; "
                "remove one of the two"
            )


def _may_be_wider(other: LevelDemand, exclusive: LevelDemand) -> bool:
    return other.start.least > exclusive.start.least and other.key != HOSTNAME_LABEL
