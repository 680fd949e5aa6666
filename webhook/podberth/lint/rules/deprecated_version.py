"""resourceRules that name an API version which Kubernetes no longer serves.

A rule for `batch/v1beta1` matches nothing on a current cluster. The versions are those of the deprecation guide,
https://kubernetes.io/docs/reference/using-api/deprecation-guide/.

Bad:

    matchConstraints:
      resourceRules:
      - {apiGroups: [""], apiVersions: [v1], resources: [pods], operations: [CREATE]}
      - {apiGroups: [batch], apiVersions: [v1beta1], resources: [cronjobs], operations: [CREATE]}
    validations:
    - {expression: gpu.count < 9, message: too many GPUs}
    validationActions: [Warn]

Good:

    matchConstraints:
      resourceRules:
      - {apiGroups: [""], apiVersions: [v1], resources: [pods], operations: [CREATE]}
    validations:
    - {expression: gpu.count < 9, message: too many GPUs}
    validationActions: [Warn]
"""

from collections.abc import Iterator

from ...errors import Problem
from ...kube.removed_versions import REMOVED
from ..findings import Library


def check(library: Library) -> Iterator[Problem]:
    """Yield a problem for each API version in match rules and exclusions that Kubernetes has removed."""
    for policy in library.policies:
        constraints = policy.spec.match_constraints
        for field, rules in (
            ("resourceRules", constraints.resource_rules),
            ("excludeResourceRules", constraints.exclude_resource_rules),
        ):
            for index, rule in enumerate(rules):
                for place, version in enumerate(rule.api_versions):
                    for group in rule.api_groups:
                        if gone := REMOVED.get((group, version)):
                            path = ("spec", "matchConstraints", field, index, "apiVersions", place)
                            yield policy.problem(path, f"{group}/{version} is not served since Kubernetes {gone}")
