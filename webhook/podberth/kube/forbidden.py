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
_WEBHOOK: Final = "podberth-system:podberth"
_CONTROLLER: Final = "podberth-system:podberth-controller"
_AGENT: Final = "podberth-agent:podberth-agent"
_ROLES: Final[Mapping[str, str]] = {
    _WEBHOOK: "manifests/base/rbac.yaml",
    "podberth-system:podberth-audit": "manifests/components/audit/rbac.yaml",
    _CONTROLLER: "manifests/components/controller/rbac.yaml",
    _AGENT: "manifests/base/agent.yaml",
}
"""The manifest with the roles of each ServiceAccount of podberth, by ``namespace:name``."""
_FLOOR_READS: Final = ("nodes", "deviceclasses", "configmaps")
_CONFIGURATIONS: Final = ("mutatingwebhookconfigurations", "validatingwebhookconfigurations")
_BY_CHOICE: Final[Mapping[tuple[str, str, str], str]] = {
    (_AGENT, "patch", "nodes"): "manifests/components/agent-labels/own.yaml",
    **dict.fromkeys(
        ((_AGENT, verb, "nodefeatures") for verb in ("create", "patch")),
        "manifests/components/agent-nfd-labels/nfd-object.yaml",
    ),
    **dict.fromkeys(
        (
            *((_WEBHOOK, verb, "secrets") for verb in ("get", "create", "update")),
            *((_WEBHOOK, "patch", kind) for kind in _CONFIGURATIONS),
        ),
        "manifests/components/shared-ca/rbac.yaml",
    ),
    **dict.fromkeys(
        (
            *((_CONTROLLER, verb, kind) for verb in ("list", "watch") for kind in _FLOOR_READS),
            (_CONTROLLER, "patch", "configmaps"),
        ),
        "manifests/components/floor/rbac.yaml",
    ),
}
"""The manifest that grants a right which podberth needs only with an option, by ServiceAccount, verb and resource."""


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
    known = f", as {_BY_CHOICE.get((account, said['verb'], said['resource']), _ROLES[account])} does" if ours else ""
    return f"grant {who}: {said['verb']} {resource}{where}{known}"
