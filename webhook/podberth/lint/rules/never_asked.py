"""resourceRules under which podberth never evaluates the policy.

podberth evaluates policies for pods: on CREATE, and, for validations and auditAnnotations, on UPDATE of pods and of
`pods/ephemeralcontainers`. A policy whose rules name only other resources or operations is loaded and never evaluated.
A pod of a Deployment is reviewed when it is created; the Deployment itself is not.

Bad:

    matchConstraints:
      resourceRules:
      - {apiGroups: [apps], apiVersions: [v1], resources: [deployments], operations: [CREATE]}
    mutations:
    - tolerations: topology.nodes(gpu).tolerations

Good:

    matchConstraints:
      resourceRules:
      - {apiGroups: [""], apiVersions: [v1], resources: [pods], operations: [CREATE]}
    mutations:
    - tolerations: topology.nodes(gpu).tolerations
"""

from collections.abc import Iterator

from ...errors import Problem
from ...policy.match import Route, applies_statically
from ..findings import Library

_MUTATED: tuple[Route, ...] = (("CREATE", "", "v1", "pods", ""),)
_VALIDATED: tuple[Route, ...] = (
    *_MUTATED,
    ("UPDATE", "", "v1", "pods", ""),
    ("UPDATE", "", "v1", "pods", "ephemeralcontainers"),
)


def check(library: Library) -> Iterator[Problem]:
    """Yield a problem for each policy whose match rules match no request that podberth receives."""
    for policy in library.policies:
        spec, path = policy.spec, ("spec", "matchConstraints", "resourceRules")
        judges = bool(spec.validations or spec.audit_annotations)
        source = policy.parsed.policy
        if not any(applies_statically(source, route) for route in (_VALIDATED if judges else _MUTATED)):
            yield policy.problem(path, "no request that podberth receives matches; want pods on CREATE among them")
        elif spec.mutations and not any(applies_statically(source, route) for route in _MUTATED):
            yield policy.problem(path, "the mutations are never evaluated; want CREATE of pods among the rules")
