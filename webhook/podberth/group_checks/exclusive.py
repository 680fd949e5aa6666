"""The check for exclusive topology (a gang alone in its domain) at a level that contradicts other fields of pods."""

from collections.abc import Iterator

from .case import GroupCase, Wrong
from .levels import affinity_keys, exclusive_levels, pod_set_levels


def contradictions(case: GroupCase) -> Iterator[Wrong]:
    """Yield a problem for each pod affinity or pod set topology that contradicts the gang's exclusive topology.

    They contradict if they name different levels. Spread and anti-affinity do not contradict exclusive topology: a gang
    that is alone in its rack may be spread over the hosts of the rack.
    """
    exclusive = tuple(exclusive_levels(case))
    if not exclusive:
        return
    for other in (*affinity_keys(case), *pod_set_levels(case, preferred=True)):
        first = next((each for each in exclusive if each.concerns(other)), None)
        if first is not None and other.key and other.key != first.key:
            yield other.wrong(
                f"got {other.key}, but exclusive-topology already keeps each group in one {first.key}; "
                "remove one of the two"
            )
