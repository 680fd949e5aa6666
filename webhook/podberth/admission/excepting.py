"""Finds the policies that are not evaluated for the pod under review because of a GPUPolicyException.

An exception is compared with the pod in the request, before any policy writes. If the exception's expression fails, or
if the exception has a podSelector and the pod's labels are unknown, the exception does not apply: the policy is
evaluated.
"""

from collections.abc import Iterable, Mapping

from ..cel.engine import Expression
from ..errors import EvaluationError
from ..kube import pod as pods
from ..policy.compile import CompiledPolicy
from ..policy.exceptions import CompiledException
from .fingerprint import fingerprint
from .recall import footprint, read_of_pod
from .under_review import PodUnderReview


def excepted(under: PodUnderReview, policies: Iterable[CompiledPolicy]) -> Mapping[str, CompiledException]:
    """Return a mapping from the name of each policy that an exception excludes for the pod to the exception.

    If several exceptions exclude a policy, the first exception by name is in the mapping.

    Raises:
        ValueError: the snapshot has exceptions but no present time, which is a bug.
    """
    snapshot = under.snapshot
    if not snapshot.exceptions:
        return {}
    if snapshot.now is None:
        raise ValueError("the snapshot has exceptions and no moment; want Snapshot.at")
    candidates = snapshot.in_force.get(under.request.namespace, ())
    if not candidates:
        return {}
    wanted = {policy.name for policy in policies}
    found: dict[str, CompiledException] = {}
    labels = pods.labels(under.pod)
    for each in candidates:
        if wanted.isdisjoint(each.policies):
            continue
        selected = each.selects_all if under.request.unparsed else each.selects(labels)
        if selected and _holds(under, each):
            found.update((name, each) for name in each.policies if name in wanted)
            wanted.difference_update(each.policies)
    return found


def text_of(exception: CompiledException) -> str:
    """Return the message about an exception that excludes a policy for a pod."""
    spec = exception.parsed.source.spec
    return f"not evaluated: exception {exception.name} until {spec.expires_at}, for {spec.requested_by}: {spec.reason}"


def _holds(under: PodUnderReview, exception: CompiledException) -> bool:
    if exception.expression is None:
        return True
    if under.excess:
        return False
    expression, recall = exception.expression, under.snapshot.recall
    read = recall.answer(("read by exception", exception.name), lambda: footprint(expression.reads))
    values = fingerprint(under, read)
    key = None if values is None else ("exception", exception.name, values)
    return recall.answer(key, lambda: _evaluate(under, expression))


def _evaluate(under: PodUnderReview, expression: Expression) -> bool:
    try:
        return expression.evaluate(under.activation_of(None, read_of_pod(expression.reads))) is True
    except EvaluationError:
        return False
