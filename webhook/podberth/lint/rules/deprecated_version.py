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

from collections.abc import Iterator, Mapping

from ...errors import Problem
from ..findings import Library

# Group and version, with the release from which on no kind of that version is served
_REMOVED: Mapping[tuple[str, str], str] = {
    ("admissionregistration.k8s.io", "v1beta1"): "1.22",
    ("apps", "v1beta1"): "1.16",
    ("apps", "v1beta2"): "1.16",
    ("autoscaling", "v2beta1"): "1.25",
    ("autoscaling", "v2beta2"): "1.26",
    ("batch", "v1beta1"): "1.25",
    ("batch", "v2alpha1"): "1.21",
    ("extensions", "v1beta1"): "1.22",
    ("flowcontrol.apiserver.k8s.io", "v1beta1"): "1.26",
    ("flowcontrol.apiserver.k8s.io", "v1beta2"): "1.29",
    ("flowcontrol.apiserver.k8s.io", "v1beta3"): "1.32",
    ("node.k8s.io", "v1beta1"): "1.25",
    ("policy", "v1beta1"): "1.25",
    ("resource.k8s.io", "v1alpha2"): "1.31",
    ("scheduling.k8s.io", "v1beta1"): "1.22",
    ("storage.k8s.io", "v1beta1"): "1.27",
}


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
                        if gone := _REMOVED.get((group, version)):
                            path = ("spec", "matchConstraints", field, index, "apiVersions", place)
                            yield policy.problem(path, f"{group}/{version} is not served since Kubernetes {gone}")
