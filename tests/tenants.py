"""Params in tenants' namespaces for tests, and a policy that reads them."""

from typing import Any

from podberth.wellknown import PARAMS_LABEL
from snapshots import policy


def limits(namespace: str, name: str = "limits", *, version: str = "", **data: str) -> dict[str, Any]:
    """Return a ConfigMap that a tenant means as params; with a version, as the API server sends it."""
    metadata = {"name": name, "namespace": namespace, "labels": {PARAMS_LABEL: "true"}}
    sent = {"uid": f"{namespace}-{name}", "resourceVersion": version} if version else {}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {**metadata, **sent}, "data": data}


def at_most(reference: str = "{name: limits, parameterNotFoundAction: Deny}", *, failure_policy: str = "Fail") -> str:
    """Return a policy that denies pods with more GPUs than the params of their namespace allow."""
    return policy(
        "at-most",
        f"""
  failurePolicy: {failure_policy}
  paramKind: {{apiVersion: v1, kind: ConfigMap}}
  paramRef: {reference}
  validations:
  - expression: gpu.count <= int(params.data.most)
    messageExpression: "'got ' + string(gpu.count) + ' GPUs, want ' + params.data.most + ' at most'"
  validationActions: [Deny]
""",
    )


def own_policy(
    namespace: str,
    name: str,
    expression: str,
    *,
    actions: str = "[Deny]",
    failure_policy: str = "Fail",
    params: str = "",
) -> str:
    """Return a policy of a namespace with one validation; ``params`` names a ConfigMap there."""
    reference = (
        "  paramKind: {apiVersion: v1, kind: ConfigMap}\n"
        f"  paramRef: {{name: {params}, parameterNotFoundAction: Deny}}\n"
    )
    return (
        "apiVersion: podberth.io/v1alpha1\nkind: NamespacedGPUPolicy\n"
        f"metadata: {{name: {name}, namespace: {namespace}}}\nspec:\n  failurePolicy: {failure_policy}\n"
        f"{reference if params else ''}"
        f'  validations: [{{expression: "{expression}"}}]\n  validationActions: {actions}\n'
    )
