"""Reads the message of a 403: which right is missing, and which of podberth's RBAC files grants it.

The message comes from the API server's authorizer, in the format of ``ForbiddenErrorMessage`` (kubernetes apiserver
pkg/endpoints/handlers/responsewriters/errors.go). A 403 of an admission plugin has another format, and is about the
object and not about a right.
"""

import re
from collections.abc import Mapping
from typing import Final

# Anchored at the start: an admission plugin's message may quote a user's text after the same words.
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
"""The manifest with the roles of each ServiceAccount of podberth, by ``namespace:name``."""
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
"""The manifest that grants a right which podberth needs only with an option, by verb and resource."""


def wanted_right(message: str) -> str:
    """Return advice on which right to grant to which ServiceAccount; empty if the message is not about a missing right.

    For example ``grant ServiceAccount podberth-system/podberth: list nodes, as manifests/base/rbac.yaml does``.
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
