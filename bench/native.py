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

_PATCH = f"""
[
  JSONPatch{{op: "add", path: "/spec/tolerations/-", value: Object.spec.tolerations{{
    key: "{_GPU}", operator: "Exists", effect: "NoSchedule"}}}},
  JSONPatch{{op: "add", path: "/metadata/labels/" + jsonpatch.escapeKey("podberth.io/gang"),
    value: "job-" + object.metadata.labels["batch.kubernetes.io/controller-uid"]}}
]
"""

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


def policies(namespaces: JSON) -> list[JSON]:
    """Return the objects; ``namespaces`` is the namespaceSelector."""
    rule = {"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}
    constraints = {"resourceRules": [rule], "namespaceSelector": namespaces}
    common: JSON = {"matchConstraints": constraints, "matchConditions": _MATCH_CONDITIONS, "failurePolicy": "Fail"}
    mutations = [{"patchType": "JSONPatch", "jsonPatch": {"expression": _PATCH}}]
    return [
        _object("MutatingAdmissionPolicy", {**common, "mutations": mutations, "reinvocationPolicy": "Never"}),
        _object("MutatingAdmissionPolicyBinding", {"policyName": "bench"}),
        _object("ValidatingAdmissionPolicy", {**common, "validations": _VALIDATIONS}),
        _object("ValidatingAdmissionPolicyBinding", {"policyName": "bench", "validationActions": ["Deny"]}),
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


def _object(kind: str, spec: JSON) -> JSON:
    return {"apiVersion": _GROUP, "kind": kind, "metadata": {"name": "bench"}, "spec": spec}
