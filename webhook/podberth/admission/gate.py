"""Group first, affinity second.

What podberth leaves to the system that schedules a pod's group (docs/rules.md, rules 2 and 3).
"""

from ..policy.compile import CompiledMutation, CompiledPolicy, depends_on_snapshot

# These hash, copy or account pod specs before podberth's next answer (Kueue's role-hash; Volcano's minResources and
# YuniKorn's placeholders are sized from the first pod): whatever may differ between two snapshots would split the
# group.
_ACCOUNTED = frozenset({"kueue", "volcano", "yunikorn"})
_PLACEMENT = frozenset({"nodeAffinity", "topology"})


def refusal(policy: CompiledPolicy, mutation: CompiledMutation, system: str) -> str | None:
    """Return why a mutation does not apply to a pod that ``system`` schedules: None if it does, "" if silently not."""
    if system == "plain":
        return None
    if mutation.concern in _PLACEMENT:
        return f"{system} places this pod's group: ask it for topology instead of affinity"
    if mutation.concern == "gang":
        # A pod whose label names a native PodGroup is in its hands already, and still has to join it.
        return None if system == "native" else ""
    if system in _ACCOUNTED and mutation.concern == "resources":
        return f"{system} has accounted this pod's resources already: write the wanted resource in the workload"
    depends = mutation.reads_snapshot or any(map(depends_on_snapshot, policy.conditions_read))
    if system in _ACCOUNTED and depends:
        return ""
    return None
