"""Pod sets: the annotations of pod templates by which a queueing system keeps pods together in a topology."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class PodSets:
    """The pod sets of one system: the annotations of a template that ask for topology, and the pods that are counted.

    A pod set is all pods of one template; if the object has several groups, each with pods of all templates, it is one
    group's pods of the template.
    """

    source: str
    required: str
    """The annotation with the level of which one domain has to hold the pod set."""
    preferred: str
    """The annotation with the level of which one domain should hold the pod set."""
    slice_required: str
    """The annotation with the level of which one domain has to hold each slice of the pod set."""
    slice_size: str
    """The annotation with the number of pods in a slice."""
    group: str
    """The annotation whose value is common to pod sets that share a domain."""
    single: frozenset[str]
    """The kinds of which the system places each pod by itself; one pod is always in one domain."""
    own_minimums: frozenset[tuple[str, str]]
    """The API groups and kinds whose minimum the system reads itself; of other kinds it counts all pods."""
