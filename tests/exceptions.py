"""GPUPolicyExceptions for tests, as text, and the moments around the end of one."""

from datetime import UTC, datetime, timedelta

END = datetime(2027, 3, 31, tzinfo=UTC)
BEFORE = END - timedelta(seconds=1)
"""The last second in which an exception that ends at END is in force."""


def exception(name: str, *policies: str, namespace: str = "default", more: str = "", until: str = "") -> str:
    """Return a GPUPolicyException document from these policies; ``more`` is YAML, indented by two."""
    return (
        f"apiVersion: podberth.io/v1alpha1\nkind: GPUPolicyException\nmetadata: {{name: {name}}}\nspec:\n"
        f"  policies: [{', '.join(policies)}]\n  namespaces: [{namespace}]\n"
        f"  reason: the driver is pinned\n  requestedBy: team-vision\n"
        f"  expiresAt: {until or END.isoformat()!r}\n{more}"
    )
