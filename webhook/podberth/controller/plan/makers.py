"""Lists the makers, and calls them in this order. A maker plans objects of one kind, or notices about pods."""

from typing import Final

from . import claim_templates, missing_templates, pod_groups
from .world import ActionPlan, World

MAKERS: Final = (pod_groups.plan, claim_templates.plan, missing_templates.plan)


def plan(world: World, now: float) -> ActionPlan:
    """Return the actions and notices of all makers together; ``now`` is in seconds since the epoch."""
    found = ActionPlan()
    for each in MAKERS:
        found.add(each(world, now))
    return found
