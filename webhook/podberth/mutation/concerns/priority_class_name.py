"""The mutation ``priorityClassName``: sets the name if the user has not, and removes the computed priority values."""

from dataclasses import replace

from ...kube.patch import Draft
from .. import names
from ..change import Change, Proposal, Skipped
from ..concern import Surroundings

# The Priority admission plugin computes these fields from the class before webhooks are called, and again afterwards.
# It refuses a pod with values of another class than the pod's (kubernetes plugin/pkg/admission/priority).
_COMPUTED = (("spec", "priority"), ("spec", "preemptionPolicy"))


def _build(draft: Draft, proposal: Proposal, surroundings: Surroundings) -> Change | Skipped | None:
    name = names.wanted(draft, "priorityClassName", proposal.leaves[""], surroundings.default_priority_class)
    if refused := names.unknown_class(name, surroundings.priority_classes):
        return Skipped(refused)
    if name:
        for path in _COMPUTED:
            draft.remove(path)
    return names.put(draft, "priorityClassName", name)


CONCERN = replace(names.concern("priorityClassName", build=_build), visits=lambda _: (names.PRIORITY_CLASS, *_COMPUTED))
