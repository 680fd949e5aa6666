"""The pods that ``podberth explain`` has explained, to be printed."""

from dataclasses import dataclass

from ..admission.explain import Explanation
from ..admission.reach import Reach


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """One pod that was explained, with the nodes where it could run; the nodes are unknown without a snapshot."""

    file: str
    line: int
    kind: str
    namespace: str
    name: str
    path: str
    """The template's path in the document; empty for a Pod."""
    explanation: Explanation
    node_count: int
    before: Reach | None
    after: Reach | None
    """None where no node is known, and ``after`` also where the pod was denied."""
