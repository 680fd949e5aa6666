"""The RuntimeClass."""

from ...kube.patch import Draft
from .. import names
from ..change import Change


def write(draft: Draft, value: object) -> Change | None:
    """Set the RuntimeClass; an empty name does nothing.

    Raises:
        EvaluationError: ``value`` is no object's name.
    """
    return names.put(draft, "runtimeClassName", names.wanted(draft, "runtimeClassName", value))


CONCERN = names.concern("runtimeClassName", lambda draft, proposal, _: write(draft, proposal.leaves[""]))
