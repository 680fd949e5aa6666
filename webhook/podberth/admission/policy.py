"""Judges a GPUPolicy that is about to be stored: a broken one is refused in the words of ``podberth lint``.

Compiling takes milliseconds and happens where reviews are decided; who may write policies decides for all pods anyway.
"""

from collections.abc import Mapping
from typing import Any

from ..errors import ReviewError
from ..kube.shape import metadata_problems
from ..kube.yaml_text import as_yaml
from ..policy.compile import compile_policies
from ..policy.parse import parse_policies
from ..wellknown import POLICY_KIND
from . import response
from .outcome import Outcome
from .review import AdmissionRequest
from .snapshot import Snapshot

_SERVERS = frozenset({"creationTimestamp", "generation", "managedFields", "resourceVersion", "uid"})
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
# More than a screen; whoever has more mends these first.
_MAX_PROBLEMS = 20
_MOST_MISFITS = 5


def validate_policy(request: AdmissionRequest, snapshot: Snapshot) -> Outcome:
    """Refuse a policy that does not compile; other policies are of no account.

    Raises:
        ReviewError: it is no GPUPolicy.
    """
    policy = request.object
    if request.kind != POLICY_KIND or policy is None:
        raise ReviewError(400, f"request.object: got {request.kind[:40] or 'nothing'}, want a {POLICY_KIND}")
    if misfits := metadata_problems(policy):
        raise ReviewError(400, "; ".join(f"request.object.{each}" for each in misfits[:_MOST_MISFITS]))
    parsed = parse_policies([(f"gpupolicy/{request.name}", as_yaml(_as_written(policy)))])
    _, problems = compile_policies(parsed.policies, snapshot.environment)
    found = sorted([*parsed.problems, *problems])[:_MAX_PROBLEMS]
    if not found:
        return Outcome(response=response.allowed(request.uid), verdict="allowed", patch=[])
    message = "\n".join(map(str, found))
    return Outcome(response=response.denied(request.uid, message), verdict="denied", patch=[])


def _as_written(policy: Mapping[str, Any]) -> dict[str, Any]:
    """Return the policy without what others than its author have added: keys in kubectl's order."""
    metadata = {key: value for key, value in (policy.get("metadata") or {}).items() if key not in _SERVERS}
    annotations = dict(metadata.pop("annotations", None) or {})
    annotations.pop(_LAST_APPLIED, None)
    if annotations:
        metadata = {"annotations": annotations, **metadata}
    return {**{key: value for key, value in policy.items() if key != "status"}, "metadata": metadata}
