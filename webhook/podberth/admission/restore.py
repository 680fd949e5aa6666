"""An update that merely fails to repeat what podberth wrote gets it back; nothing else of an update is touched.

``kubectl apply`` of the manifest that made a pod sends the pod without our additions: ``tolerations`` and
``nodeSelectorTerms`` are atomic lists, and a rewritten resource key comes back. The apiserver would refuse each of
these changes. Whatever the record says, only mutations with a ``restore`` are restored, and only to what the old pod
really holds. An update that changes these fields in any other way is left for the apiserver to judge.
"""

from typing import Any

from ..kube.patch import Draft
from ..mutation import record
from ..mutation.change import Record
from ..mutation.pipeline import PIPELINE


def restore(draft: Draft, old: dict[str, Any], known: Record) -> list[tuple[str, str]]:
    """Give the draft of the new pod back what policies wrote on ``old``, as far as it is ``known``.

    Returns:
        Policy name and a phrase, for each concern restored.
    """
    before = Draft(old)
    held = record.held(before, known)
    restored: list[tuple[str, str]] = []
    for concern in PIPELINE:
        claims = {policy: concerns[concern.name] for policy, concerns in held.items() if concern.name in concerns}
        if claims and concern.restore is not None and concern.restore(draft, before, list(claims.values())):
            restored += [(policy, f"{concern.name} restored") for policy in claims]
    return restored
