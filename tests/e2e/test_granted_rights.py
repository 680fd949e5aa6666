"""What the ServiceAccounts of manifests/ may do is what their roles say, verb by verb, with tokens of their own.

Every verb of every rule is sent once; so is every other verb on the same resource, and what nobody here may ever do.
"""

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from functools import cache, partial
from http import HTTPStatus
from typing import Any, Final, TypeAlias
from urllib.parse import urlencode

import pytest

from controlplane.api import Api
from controlplane.cluster import ControlPlane
from controlplane.wait import wait_for
from podberth.wellknown import NAMESPACE, TOPOLOGY_LABEL

from .agent.stage import AGENT_NAMESPACE, MANIFESTS, PATIENCE_SECONDS, prepared
from .manifest import read

Account: TypeAlias = tuple[str, str]
Served: TypeAlias = dict[tuple[str, str], dict[str, Any]]

WEBHOOK, AUDIT = (NAMESPACE, "podberth"), (NAMESPACE, "podberth-audit")
AGENT = (AGENT_NAMESPACE, "podberth-agent")
CONTROLLER = (NAMESPACE, "podberth-controller")
ACCOUNTS: Final = (WEBHOOK, AUDIT, AGENT, CONTROLLER)
ELSEWHERE = "kube-system"
NODE = OBJECT = "rights-node"
"""The agent may write what has its node's name only, so every object here has it."""

METHODS: Final = {
    "get": "GET",
    "list": "GET",
    "watch": "GET",
    "create": "POST",
    "update": "PUT",
    "patch": "PATCH",
    "delete": "DELETE",
    "deletecollection": "DELETE",
}
OF_MANY: Final = {"list", "watch", "create", "deletecollection"}
# A watch lasts a second, most others milliseconds.
PARALLEL: Final = 8


@dataclass(frozen=True, slots=True)
class Right:
    """A verb on a resource; without a namespace in all, without a name on every object."""

    group: str
    resource: str
    verb: str
    namespace: str = ""
    name: str = ""

    def covers(self, other: "Right") -> bool:
        """Return whether who has this may do the other."""
        place = self.namespace in ("", other.namespace) and self.name in ("", other.name)
        return place and (self.group, self.resource, self.verb) == (other.group, other.resource, other.verb)


@cache
def documents() -> tuple[dict[str, Any], ...]:
    """Return every role, binding and ServiceAccount of manifests/."""
    files = [file for folder in ("base", "components/*") for file in sorted(MANIFESTS.glob(f"{folder}/*.yaml"))]
    found = [each for file in files for each in read(file)]
    kinds = {"Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding", "ServiceAccount"}
    return tuple(each for each in found if each.get("kind") in kinds)


def place(document: dict[str, Any]) -> tuple[str, str, str]:
    metadata = document["metadata"]
    return document["kind"], metadata.get("namespace", ""), metadata["name"]


def granted(account: Account) -> set[Right]:
    """Return what the roles that are bound to an account say."""
    by_place = {place(each): each for each in documents()}
    found = set()
    for binding in documents():
        subjects = {(each.get("namespace"), each["name"]) for each in binding.get("subjects", ())}
        if account in subjects:
            namespace = binding["metadata"].get("namespace", "")
            role = binding["roleRef"]
            rules = by_place[role["kind"], namespace if role["kind"] == "Role" else "", role["name"]]["rules"]
            found |= {right for rule in rules for right in _of_rule(rule, namespace)}
    return found


def _of_rule(rule: dict[str, Any], namespace: str) -> Iterator[Right]:
    for group in rule["apiGroups"]:
        for resource in rule["resources"]:
            for verb in rule["verbs"]:
                for name in rule.get("resourceNames", ("",)):
                    yield Right(group, resource, verb, namespace, name)


def lacking(rights: set[Right]) -> set[Right]:
    """Return the other verbs on what is granted, and the same where it is not: elsewhere, of another name."""
    near = {
        replace(right, verb=verb, namespace=namespace, name=name)
        for right in rights
        for verb in METHODS
        for namespace in {right.namespace, right.namespace and ELSEWHERE}
        for name in {right.name, right.name and OBJECT}
    }
    return {each for each in near if not any(right.covers(each) for right in rights)}


def each_of(resource: str, *verbs: str, group: str = "", namespaced: bool = True) -> set[Right]:
    """Return verbs on a resource, in podberth's namespace and in another."""
    namespaces = (NAMESPACE, ELSEWHERE) if namespaced else ("",)
    return {Right(group, resource, verb, namespace) for verb in verbs for namespace in namespaces}


ADMISSION: Final = "admissionregistration.k8s.io"
# By hand: a rule that grants one of these is a mistake, whatever the manifests say.
NOBODY: Final = {
    *each_of("secrets", "get", "list", "watch", "patch", "delete"),
    *each_of("pods", "create", "update", "patch", "delete", "deletecollection"),
    *each_of("pods/exec", "create"),
    *each_of("pods/binding", "create"),
    *each_of("serviceaccounts/token", "create"),
    *each_of("configmaps", "update", "delete"),
    *each_of("deployments", "create", "patch", "delete", group="apps"),
    *each_of("rolebindings", "create", "patch", group="rbac.authorization.k8s.io"),
    *each_of("clusterrolebindings", "create", "patch", group="rbac.authorization.k8s.io", namespaced=False),
    *each_of("nodes", "create", "update", "delete", namespaced=False),
    *each_of("nodes/status", "patch", namespaced=False),
    *each_of("namespaces", "create", "patch", "delete", namespaced=False),
    *each_of("gpupolicies", "create", "update", "patch", "delete", group="podberth.io", namespaced=False),
    *each_of("namespacedgpupolicies", "create", "update", "patch", "delete", group="podberth.io"),
    *each_of("mutatingwebhookconfigurations", "list", "create", "update", "delete", group=ADMISSION, namespaced=False),
    *each_of("validatingadmissionpolicies", "get", "patch", "delete", group=ADMISSION, namespaced=False),
}
NEVER: Final[dict[Account, set[Right]]] = {
    WEBHOOK: {
        *each_of("pods", "get", "list", "watch"),
        *each_of("configmaps", "create", "patch"),
        *each_of("leases", "create", "patch", group="coordination.k8s.io"),
        *each_of("nodes", "get", "patch", namespaced=False),
        *each_of("jobs", "create", "patch", "delete", group="batch"),
    },
    AUDIT: {
        *each_of("pods", "watch"),
        *each_of("jobs", "watch", "create", "patch", "delete", group="batch"),
        *each_of("deployments", "watch", "patch", group="apps"),
        *each_of("events", "create", group="events.k8s.io"),
        *each_of("nodes", "patch", namespaced=False),
        *each_of("gpupolicies/status", "patch", group="podberth.io", namespaced=False),
    },
    AGENT: {
        *each_of("pods", "get", "list", "watch"),
        *each_of("configmaps", "list", "watch"),
        *each_of("leases", "list", "delete", group="coordination.k8s.io"),
        *each_of("nodes", "list", "watch", namespaced=False),
        *each_of("gpupolicies", "list", group="podberth.io", namespaced=False),
    },
    CONTROLLER: {
        *each_of("configmaps", "get", "list", "watch", "create", "patch"),
        *each_of("statefulsets", "list", "watch", "create", "patch", "delete", group="apps"),
        *each_of("podgroups", "delete", "update", "deletecollection", group="scheduling.k8s.io"),
        *each_of("jobs", "list", "watch", "create", "patch", "delete", group="batch"),
        *each_of("nodes", "get", "patch", namespaced=False),
        *each_of("resourceclaimtemplates", "get", "update", "delete", "deletecollection", group="resource.k8s.io"),
        *each_of("resourceclaims", "list", "create", "patch", "delete", group="resource.k8s.io"),
        *each_of("gpupolicies/status", "patch", group="podberth.io", namespaced=False),
        Right("coordination.k8s.io", "leases", "patch", NAMESPACE, NODE),
    },
}


class Stand:
    """A cluster with all roles of manifests/, and a way to it for each ServiceAccount."""

    def __init__(self, plane: ControlPlane, apis: dict[Account, Api]) -> None:
        self._apis = apis
        self._served = served(plane.api)

    def knows(self, account: Account, rights: Iterable[Right]) -> bool:
        """Return whether the API server has heard of all these rights: it follows roles, some milliseconds behind."""
        return all(self._may(account, right) for right in rights)

    def _may(self, account: Account, right: Right) -> bool:
        resource, _, subresource = right.resource.partition("/")
        asked = {"group": right.group, "resource": resource, "subresource": subresource, "verb": right.verb}
        asked |= {"namespace": right.namespace, "name": right.name}
        spec = {"resourceAttributes": asked}
        review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "spec": spec}
        path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
        allowed: bool = self._apis[account].request("POST", path, review)["status"]["allowed"]
        return allowed

    def statuses(self, account: Account, rights: Iterable[Right]) -> dict[Right, int]:
        """Send each right once; return the answers' status."""
        ordered = sorted(rights, key=repr)
        with ThreadPoolExecutor(PARALLEL) as pool:
            return dict(zip(ordered, pool.map(lambda right: self._send(account, right), ordered), strict=True))

    def _send(self, account: Account, right: Right) -> int:
        resource, _, subresource = right.resource.partition("/")
        found = self._served.get((right.group, resource), {"version": "v1", "kind": "Unserved", "namespaced": False})
        # Of a right in all namespaces one has to be named, but for what goes over many.
        everywhere = right.verb in OF_MANY - {"create"} or not found["namespaced"]
        namespace = right.namespace or ("" if everywhere else "default")
        name = right.name or OBJECT
        version = f"{right.group}/{found['version']}" if right.group else found["version"]
        path = f"/{'apis' if right.group else 'api'}/{version}"
        path += f"/namespaces/{namespace}/{resource}" if namespace else f"/{resource}"
        if right.verb not in OF_MANY or subresource:
            path += f"/{name}"
        path += f"/{subresource}" if subresource else ""
        asked = {"watch": "true", "timeoutSeconds": "1"} if right.verb == "watch" else {}
        if right.verb in {"list", "watch"} and right.name:
            # Who may list objects by name has to select by name (kubernetes.io, "Referring to resources").
            asked["fieldSelector"] = f"metadata.name={right.name}"
        path += f"?{urlencode(asked)}" if asked else ""
        body = None
        if METHODS[right.verb] != "GET":
            path += "?dryRun=All"
            # Without the label the agent may write nothing, whatever its rights are.
            metadata = {"name": name, "labels": {TOPOLOGY_LABEL: "v1"}}
            body = {"apiVersion": version, "kind": found["kind"], "metadata": metadata}
        if right.verb in {"delete", "deletecollection"}:
            body = None
        content_type = "application/merge-patch+json" if right.verb == "patch" else "application/json"
        return self._apis[account].ask(METHODS[right.verb], path, body, content_type).status


def served(api: Api) -> Served:
    """Return the version, the kind and whether it is in namespaces, of each resource, by group and plural."""
    roots = [("", "v1", "/api/v1")]
    for group in api.read("/apis")["groups"]:
        roots += [(group["name"], each["version"], f"/apis/{each['groupVersion']}") for each in group["versions"]]
    found: Served = {}
    for group, version, root in roots:
        for each in api.read(root)["resources"]:
            found.setdefault((group, each["name"]), {**each, "version": version})
    return found


@pytest.fixture(scope="module")
def stand(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stand]:
    directory = tmp_path_factory.mktemp("rights")
    with ControlPlane.start(directory / "plane") as plane, ExitStack() as closed:
        stage = prepared(plane, directory)
        plane.apply(*documents())
        stage.add_node(NODE)
        tokens = {account: plane.create_token(*account) for account in (WEBHOOK, AUDIT, CONTROLLER)}
        tokens[AGENT] = stage.token(NODE)
        apis = {account: closed.enter_context(closing(stage.api_of(token))) for account, token in tokens.items()}
        stand = Stand(plane, apis)
        for account in ACCOUNTS:
            rights = granted(account)
            wait_for(
                partial(stand.knows, account, rights), timeout_seconds=PATIENCE_SECONDS, what=f"roles of {account}"
            )
        yield stand
        plane.check()


def test_the_accounts_are_those_of_the_manifests() -> None:
    """Who is bound to a role, and who is made: a new one has to be added here."""
    made = {place(each)[1:] for each in documents() if each["kind"] == "ServiceAccount"}
    bound = {(each["namespace"], each["name"]) for one in documents() for each in one.get("subjects", ())}
    assert made == bound == set(ACCOUNTS)


def test_no_role_has_a_wildcard() -> None:
    rules = [rule for each in documents() for rule in each.get("rules", ())]
    assert not [rule for rule in rules if "*" in str(rule)]


@pytest.mark.parametrize("account", ACCOUNTS, ids="/".join)
def test_every_verb_that_is_granted_is_allowed(stand: Stand, account: Account) -> None:
    answers = stand.statuses(account, granted(account))
    # 404: an operator's group, which is not served here, or no such object.
    allowed = {HTTPStatus.OK, HTTPStatus.CREATED, HTTPStatus.NOT_FOUND}
    others = {right: status for right, status in answers.items() if status not in allowed}
    assert answers
    # These want more than a name, which is said once they may be written.
    incomplete = {Right("events.k8s.io", "events", "create"), Right("scheduling.k8s.io", "podgroups", "create")}
    assert others == dict.fromkeys(incomplete & answers.keys(), HTTPStatus.UNPROCESSABLE_ENTITY)


@pytest.mark.parametrize("account", ACCOUNTS, ids="/".join)
def test_what_is_not_granted_is_refused(stand: Stand, account: Account) -> None:
    answers = stand.statuses(account, lacking(granted(account)) | NOBODY | NEVER[account])
    assert {right: status for right, status in answers.items() if status != HTTPStatus.FORBIDDEN} == {}
