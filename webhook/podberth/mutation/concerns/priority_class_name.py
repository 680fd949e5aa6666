"""The PriorityClass."""

from collections.abc import Container

from ...kube.patch import Draft
from .. import names
from ..change import Change, Proposal, Skipped
from ..concern import Surroundings

# The Priority admission plugin computes these from the class, before webhooks are called; it computes them again after
# them, and refuses a pod whose numbers are not those of its class (kubernetes plugin/pkg/admission/priority).
_COMPUTED = (("spec", "priority"), ("spec", "preemptionPolicy"))


def write(draft: Draft, value: object, default_class: str, known: Container[str] | None) -> Change | Skipped | None:
    """Set the PriorityClass and drop what was computed from another; an empty name does nothing.

    Args:
        draft: the pod.
        value: the class's name.
        default_class: the cluster's global default, which a pod without a class has been given; empty: none is known.
        known: the classes that the cluster has; None: not all of them are known.

    Raises:
        EvaluationError: ``value`` is no object's name.
    """
    name = names.wanted(draft, "priorityClassName", value, default_class)
    if refused := names.unknown_class(name, known):
        return Skipped("priorityClassName", refused)
    if name:
        for path in _COMPUTED:
            draft.remove(path)
    return names.put(draft, "priorityClassName", name)


def _build(draft: Draft, proposal: Proposal, surroundings: Surroundings) -> Change | Skipped | None:
    return write(draft, proposal.leaves[""], surroundings.default_priority_class, surroundings.priority_classes)


CONCERN = names.concern("priorityClassName", _build, also_visits=_COMPUTED)
