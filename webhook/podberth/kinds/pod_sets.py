"""Pod sets: the annotations of pod templates by which a queueing system keeps pods together in a topology."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class PodSets:
    """The annotations by which pods ask one queueing system for topology.

    The system places a pod set as a whole. A pod set is all pods of one template. If the object has several groups,
    each with pods of all templates, a pod set is the pods of one template in one group.
    """

    source: str
    required: str
    """The annotation that names a level: the pod set has to be in one domain of the level."""
    preferred: str
    """The annotation that names a level: the pod set should be in one domain of the level."""
    slice_required: str
    """The annotation that names a level: each slice of the pod set has to be in one domain of the level."""
    slice_size: str
    """The annotation with the number of pods in a slice."""
    group: str
    """The annotation whose value is common to pod sets that share a domain."""
    single: frozenset[str]
    """The kinds whose pods the system places one by one; a single pod is always in one domain."""
    own_minimums: frozenset[tuple[str, str]]
    """The API groups and kinds whose minimum the system reads itself; of any other kind the system counts all pods."""
