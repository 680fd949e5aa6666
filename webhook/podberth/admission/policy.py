"""The review of a policy or an exception before it is stored: a broken policy is denied.

The messages of a denial are those of ``podberth lint``. Any client of the port may send any document. So the document's
size is checked before it is parsed, and the size of its expressions is limited (``cel.compile_limits``). These reviews
run in a separate thread (``server.judge``), so that no review of a pod waits for a review of a policy.
"""

from collections.abc import Container, Iterable, Mapping
from datetime import datetime
from typing import Any

from ..cel.engine import Environment, Late, never
from ..errors import Problem, ReviewError
from ..kube.shape import metadata_problems
from ..kube.yaml_text import as_yaml
from ..policy.compile import CompiledPolicy, compile_policies
from ..policy.exceptions import NEVER, compile_exceptions, without_effect
from ..policy.namespaced import MOST_BYTES, compile_namespaced
from ..policy.parse import excess_of_document, parse_policies
from ..policy.refused import problems_of_refused
from ..wellknown import EXCEPTION_KIND, NAMESPACED_KIND, POLICY_KIND
from ..words import named
from . import answering, messages, response
from .outcome import Decision, Outcome
from .review import AdmissionRequest

_SERVERS = frozenset({"creationTimestamp", "generation", "managedFields", "resourceVersion", "uid"})
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
# They fill more than a screen; an author with more problems fixes these first.
_MAX_PROBLEMS = 20
_MOST_MISFITS = 5


def validate_policy(
    request: AdmissionRequest, environment: Environment, late: Late = never, *, now: datetime = NEVER
) -> Outcome:
    """Return the outcome for a GPUPolicy or GPUPolicyException: denied if too large or with errors, else admitted.

    The expressions of a disabled policy are not compiled, so that any policy can be switched off. A GPUPolicyException
    is denied, too, if it lasts more than a year. A NamespacedGPUPolicy is denied if it has errors or alone exceeds the
    bounds of its namespace.

    Args:
        request: the review.
        environment: the names and functions that expressions may use; only the calling thread may use it.
        late: called before each expression is compiled; returns True once the deadline has passed.
        now: the present time, with which the end of an exception is compared.

    Raises:
        ReviewError: the object is no GPUPolicy, GPUPolicyException or NamespacedGPUPolicy.
    """
    policy = request.object
    if request.kind not in (POLICY_KIND, EXCEPTION_KIND, NAMESPACED_KIND) or policy is None:
        wanted = f"a {POLICY_KIND}, a {EXCEPTION_KIND} or a {NAMESPACED_KIND}"
        raise ReviewError(400, f"request.object: got {request.kind[:40] or 'nothing'}, want {wanted}")
    file = f"{request.kind.lower()}/{request.name}"
    if request.unparsed:
        return _denied(request, [Problem(file, 1, 1, "", request.excess)])
    if message := excess_of_document(policy) or _excess_of_namespaced(request.kind, policy):
        return _denied(request, [Problem(file, 1, 1, "", message)])
    if misfits := metadata_problems(policy):
        raise ReviewError(400, "; ".join(f"request.object.{each}" for each in misfits[:_MOST_MISFITS]))
    parsed = parse_policies([(file, as_yaml(_as_written(policy)))])
    # As when policies are loaded: a policy with wrong expressions can still be switched off.
    enabled = [each for each in parsed.policies if not each.policy.spec.disabled]
    _, problems = compile_policies(enabled, environment, late=late)
    _, wrong = compile_exceptions(parsed.exceptions, environment, late=late)
    _, own = compile_namespaced(parsed.namespaced, environment, late=late)
    too_long = without_effect(parsed.exceptions, now, ["tooLong"])
    refused = problems_of_refused(parsed, environment, late=late)
    found = sorted([*parsed.problems, *problems, *wrong, *own, *refused, *too_long])[:_MAX_PROBLEMS]
    if not found:
        return answering.unchanged(request)
    return _denied(request, found)


def replacement(request: AdmissionRequest, policies: Iterable[CompiledPolicy]) -> str:
    """Return a warning about a GPUPolicy or GPUPolicyException that may be stored; empty if there is none.

    A new GPUPolicy gets a warning if a policy of the same name was loaded from a file: the new GPUPolicy replaces that
    policy, or switches it off. A GPUPolicyException gets a warning with the names in ``spec.policies`` that none of
    ``policies``, the policies in force, has.
    """
    if request.kind == NAMESPACED_KIND:
        return ""
    if request.kind == EXCEPTION_KIND:
        return _unknown(request.object, {each.name for each in policies})
    file = next((each.file for each in policies if each.name == request.name), "")
    if not file or request.operation != "CREATE":
        return ""
    spec = (request.object or {}).get("spec")
    does = "switches off" if isinstance(spec, dict) and spec.get("disabled") is True else "replaces"
    return f"{does} the policy of this name in {file} until it is deleted"


def _excess_of_namespaced(kind: str, policy: Mapping[str, Any]) -> str:
    """Return a message if the document is a NamespacedGPUPolicy with more bytes than podberth accepts; else empty."""
    size = len(as_yaml(_as_written(policy))) if kind == NAMESPACED_KIND else 0
    return f"got {size:,} bytes, want {MOST_BYTES:,} at most; make several policies of it" if size > MOST_BYTES else ""


def _unknown(exception: Mapping[str, Any] | None, known: Container[str]) -> str:
    spec = (exception or {}).get("spec")
    names = spec.get("policies") if isinstance(spec, dict) else None
    unknown = [each for each in names if isinstance(each, str) and each not in known] if isinstance(names, list) else []
    return f"no policy in force has the name {named(tuple(unknown))}" if unknown else ""


def with_warning(outcome: Outcome, request: AdmissionRequest, warning: str) -> Outcome:
    """Return the outcome with the warning added; unchanged if the object is denied or the warning is empty."""
    if outcome.verdict == "denied" or not warning:
        return outcome
    return answering.of_warnings(request, [Decision(request.name, "warn", warning)], [messages.line("", warning)])


def _denied(request: AdmissionRequest, found: Iterable[Problem]) -> Outcome:
    message = "\n".join(map(str, found))
    return Outcome(response=response.denied(request.uid, message), verdict="denied", patch=[])


def _as_written(policy: Mapping[str, Any]) -> dict[str, Any]:
    """Return the policy without the fields that the API server and kubectl added.

    The metadata has the annotations first, as in kubectl's output: the lines of problems are lines of the result as
    YAML. The creationTimestamp of an exception stays, because an exception may last a year from its creation.
    """
    dropped = _SERVERS - {"creationTimestamp"} if policy.get("kind") == EXCEPTION_KIND else _SERVERS
    metadata = {key: value for key, value in (policy.get("metadata") or {}).items() if key not in dropped}
    annotations = dict(metadata.pop("annotations", None) or {})
    annotations.pop(_LAST_APPLIED, None)
    if annotations:
        metadata = {"annotations": annotations, **metadata}
    return {**{key: value for key, value in policy.items() if key != "status"}, "metadata": metadata}
