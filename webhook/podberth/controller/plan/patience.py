"""How long a pod may wait before it is reported that the object it waits for does not come."""

from .model import Plan, WaitingPod, World


def overdue(pod: WaitingPod, world: World, now: float, found: Plan) -> bool:
    """Tell whether a pod has waited long enough to be reported; if not, the plan gets the time to look again."""
    due = pod.created + world.patience_seconds
    if due > now:
        found.again_at = min(found.again_at, due)
    return due <= now and not pod.gated
