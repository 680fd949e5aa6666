"""What a 403 of the API server's authorizer says: who may not do what to what, and which of our roles would let them.

The words are ``ForbiddenErrorMessage``'s (kubernetes apiserver pkg/endpoints/handlers/responsewriters/errors.go). An
admission plugin's 403 has others, and is about the object and not about a right.
"""

import re
from collections.abc import Mapping
from typing import Final

# From its beginning: what an admission plugin says behind the same words may quote anybody.
_SAYS: Final = re.compile(
    r'[\w./-]+(?: "[^"]*")? is forbidden: User "(?P<user>[^"]*)" cannot (?P<verb>\S+) '
    r'resource "(?P<resource>[^"]*)" in API group "(?P<group>[^"]*)"'
    r'(?: in the namespace "(?P<namespace>[^"]*)")?'
)
_ACCOUNT: Final = "system:serviceaccount:"
_ROLES: Final[Mapping[str, str]] = {
    "podberth-system:podberth": "manifests/base/rbac.yaml",
    "podberth-system:podberth-audit": "manifests/components/audit/rbac.yaml",
    "podberth-system:podberth-controller": "manifests/components/controller/rbac.yaml",
    "podberth-agent:podberth-agent": "manifests/base/agent.yaml",
}
"""By ServiceAccount, where its roles are."""
_BY_CHOICE: Final[Mapping[tuple[str, str], str]] = {
    ("patch", "nodes"): "manifests/components/agent-labels/own.yaml",
    **dict.fromkeys(
        (("create", "nodefeatures"), ("patch", "nodefeatures")), "manifests/components/agent-nfd-labels/nfd-object.yaml"
    ),
    **dict.fromkeys(
        (
            *((verb, "secrets") for verb in ("get", "create", "update")),
            ("patch", "mutatingwebhookconfigurations"),
            ("patch", "validatingwebhookconfigurations"),
        ),
        "manifests/components/shared-ca/rbac.yaml",
    ),
}
"""By verb and resource, where what an option needs is granted."""


def wanted_right(message: str) -> str:
    """Return what would have to be granted to whom; empty: the message is not about a right.

    ``grant ServiceAccount podberth-system/podberth: list nodes, as manifests/base/rbac.yaml does``
    """
    said = _SAYS.match(message)
    if said is None:
        return ""
    resource = ".".join(filter(None, (said["resource"], said["group"])))
    where = f" in {said['namespace']}" if said["namespace"] else ""
    account = said["user"].removeprefix(_ACCOUNT)
    who = f"user {account}" if account == said["user"] else f"ServiceAccount {account.replace(':', '/')}"
    ours = account in _ROLES and account != said["user"]
    known = f", as {_BY_CHOICE.get((said['verb'], said['resource']), _ROLES[account])} does" if ours else ""
    return f"grant {who}: {said['verb']} {resource}{where}{known}"
