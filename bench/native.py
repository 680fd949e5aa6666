"""What the API server does by itself: a mutating and a validating policy with the effect of podberth's on a gang's pod.

MutatingAdmissionPolicy and ValidatingAdmissionPolicy v1 (KEP-3962, KEP-3488). They know no topology: what podberth
looks up is written out here, as a platform team would.
"""

from typing import Any

JSON = dict[str, Any]

_GROUP = "admissionregistration.k8s.io/v1"
_GPU = "nvidia.com/gpu"

_MATCH_CONDITIONS = [
    {
        "name": "asks-for-gpus",
        "expression": (
            "object.spec.containers.exists(c, has(c.resources.limits) && "
            f"c.resources.limits.exists(name, name == '{_GPU}' || name.startsWith('nvidia.com/mig-')))"
        ),
    }
]

# Written so that a second pass changes nothing, as podberth's policies are: reinvoked, a policy sees its own work.
_PATCH = f"""
(object.spec.tolerations.exists(t, has(t.key) && t.key == "{_GPU}") ? [] : [
  JSONPatch{{op: "add", path: "/spec/tolerations/-", value: Object.spec.tolerations{{
    key: "{_GPU}", operator: "Exists", effect: "NoSchedule"}}}}])
+ ("podberth.io/gang" in object.metadata.labels ? [] : [
  JSONPatch{{op: "add", path: "/metadata/labels/" + jsonpatch.escapeKey("podberth.io/gang"),
    value: "job-" + object.metadata.labels["batch.kubernetes.io/controller-uid"]}}])
"""

STATIC_PATCH: list[JSON] = [
    {"op": "add", "path": "/spec/tolerations/-", "value": {"key": _GPU, "operator": "Exists", "effect": "NoSchedule"}},
    {"op": "add", "path": "/metadata/labels/podberth.io~1gang", "value": "job-of-nobody"},
]
"""The same for every pod: what a webhook that decides nothing can answer."""

_VALIDATIONS = [
    {
        "expression": (
            "object.spec.containers.all(c, !has(c.resources.limits) || "
            "c.resources.limits.all(name, !name.startsWith('nvidia.com/mig-') || name in ["
            "'nvidia.com/mig-1g.5gb', 'nvidia.com/mig-2g.10gb', 'nvidia.com/mig-3g.20gb', 'nvidia.com/mig-7g.40gb']))"
        ),
        "message": "no GPU has this MIG profile",
    },
    {
        "expression": f"object.spec.tolerations.exists(t, has(t.key) && t.key == '{_GPU}')",
        "message": "a pod with GPUs tolerates their taint",
    },
]


def policies(name: str, namespaces: JSON, reinvocation: str) -> list[JSON]:
    """Return the objects; ``namespaces`` is the namespaceSelector, ``reinvocation`` the reinvocationPolicy.

    IfNeeded is what podberth's webhook has: whatever a later plugin adds is seen too. The API server then asks a policy
    that has changed the pod a second time (1.36.3); Never is cheaper and promises less.
    """
    rule = {"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}
    constraints = {"resourceRules": [rule], "namespaceSelector": namespaces}
    common: JSON = {"matchConstraints": constraints, "matchConditions": _MATCH_CONDITIONS, "failurePolicy": "Fail"}
    mutations = [{"patchType": "JSONPatch", "jsonPatch": {"expression": _PATCH}}]
    specs: dict[str, JSON] = {
        "MutatingAdmissionPolicy": {**common, "mutations": mutations, "reinvocationPolicy": reinvocation},
        "MutatingAdmissionPolicyBinding": {"policyName": name},
        "ValidatingAdmissionPolicy": {**common, "validations": _VALIDATIONS},
        "ValidatingAdmissionPolicyBinding": {"policyName": name, "validationActions": ["Deny"]},
    }
    return [
        {"apiVersion": _GROUP, "kind": kind, "metadata": {"name": name}, "spec": spec} for kind, spec in specs.items()
    ]


def webhooks(configurations: list[JSON], url: str, authority: str, namespaces: JSON) -> list[JSON]:
    """Return podberth's own webhook configurations, for a server at ``url`` whose CA is ``authority`` (base64 of PEM).

    What is asked and when stays as shipped (manifests/base); only where it goes and for which namespaces differs.
    """
    return [
        {
            **each,
            "webhooks": [
                {**hook, "clientConfig": _client(hook, url, authority), "namespaceSelector": namespaces}
                for hook in each["webhooks"]
            ],
        }
        for each in configurations
    ]


def _client(hook: JSON, url: str, authority: str) -> JSON:
    return {"url": url + hook["clientConfig"]["service"]["path"], "caBundle": authority}
