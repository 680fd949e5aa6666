"""The API server's answers: scenes put to it in batches, and objects created there without being stored."""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Final, Protocol
from uuid import uuid4

from controlplane.api import Answer as Response
from controlplane.api import Api
from controlplane.wait import wait_for
from podberth.native.resources import ResourceKind, Resources

from .answers import Answer
from .scenes import Document, Scene

_GROUP: Final = "/apis/admissionregistration.k8s.io/v1"
_POLICIES: Final = f"{_GROUP}/validatingadmissionpolicies"
_BINDINGS: Final = f"{_GROUP}/validatingadmissionpolicybindings"
_MUTATING: Final = f"{_GROUP}/mutatingadmissionpolicies"
_MUTATING_BINDINGS: Final = f"{_GROUP}/mutatingadmissionpolicybindings"
_NAMESPACES: Final = "/api/v1/namespaces"
_DEFINITIONS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
COLLECTIONS: Final = {
    "Pod": "/api/v1/namespaces/{}/pods",
    "ConfigMap": "/api/v1/namespaces/{}/configmaps",
    "Namespace": "/api/v1/namespaces",
    "Deployment": "/apis/apps/v1/namespaces/{}/deployments",
    "StatefulSet": "/apis/apps/v1/namespaces/{}/statefulsets",
    "Job": "/apis/batch/v1/namespaces/{}/jobs",
    "CronJob": "/apis/batch/v1/namespaces/{}/cronjobs",
}
"""The kinds of objects that are put to the API server, with the path of their collection in a namespace."""
_SENTINEL: Final = "differential-sentinel"
_KEEPER: Final = "differential-keeper"
_OF_SENTINELS: Final = "/api/v1/namespaces/default/configmaps"
_LEADS: Final = ("Validation failed for ValidatingAdmissionPolicy", "ValidatingAdmissionPolicy")


class MutatingScene(Protocol):
    """MutatingAdmissionPolicies, each with a binding."""

    @property
    def number(self) -> int:
        """The number of their namespace."""

    @property
    def policies(self) -> Sequence[Document]:
        """The policies."""

    @property
    def bindings(self) -> Sequence[Document]:
        """The binding of each."""


class OtherRefusalError(Exception):
    """The API server refused an object for another reason than a policy."""


class Upstream:
    """A real API server with the namespaces and params of a world."""

    def __init__(self, api: Api, namespaces: Sequence[Document], params: Sequence[Document]) -> None:
        """Create params, and namespaces that are not there; keep them as they are stored."""
        self.api = self._api = api
        self._follow_params()
        self.namespaces = [self._namespace(each) for each in namespaces]
        self._params = [self._param(each) for each in params]

        for each in namespaces:  # without the first no pod can be created, and the second is params for a selector
            path = f"{_NAMESPACES}/{each['metadata']['name']}"
            for made in (f"{path}/serviceaccounts/default", f"{path}/configmaps/kube-root-ca.crt"):
                wait_for(partial(self._is_there, made), what=made)
        self.params = [document for each in namespaces for document in self._config_maps(each["metadata"]["name"])]

    @property
    def user(self) -> Document:
        """The requester, as ``request.userInfo``."""
        path = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
        review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
        found: Document = self._api.request("POST", path, review)["status"]["userInfo"]
        return found

    def define(self, definitions: Collection[Document]) -> None:
        """Create CustomResourceDefinitions, and wait until their kinds are served."""
        for each in definitions:
            self._api.request("POST", _DEFINITIONS, each)
        for resource in Resources(definitions).every:
            if not resource.built_in and resource.group in {each["spec"]["group"] for each in definitions}:
                collection = f"/apis/{resource.api_version}/{resource.plural}"
                wait_for(partial(self._is_there, collection), what=collection)

    def store(self, resource: ResourceKind, document: Document) -> Document:
        """Create an object of the cluster, and return it as it is stored."""
        metadata = {"name": document["metadata"]["name"], "labels": document["metadata"].get("labels", {})}
        path = f"/apis/{resource.api_version}/{resource.plural}"
        return {**document, **self._api.request("POST", path, {**document, "metadata": metadata})}

    def forget(self, definitions: Collection[Document]) -> None:
        """Delete CustomResourceDefinitions and with them their objects."""
        for each in definitions:
            self._api.raw("DELETE", f"{_DEFINITIONS}/{each['metadata']['name']}")

    def remove(self) -> None:
        """Delete the params. The namespaces stay, for another world has the same.

        Where the API server does not yet know that a namespace of an old name is a new one, it refuses the service
        account as one of a namespace that is being terminated, and the controller does not try again (kubernetes
        pkg/controller/serviceaccount/serviceaccounts_controller.go).
        """
        for path in self._params:
            self._api.request("DELETE", path)

    def refusal(self, policy: Document) -> str:
        """Return why the API server does not take a policy; empty if it does."""
        status, body = self._api.raw("POST", f"{_POLICIES}?dryRun=All&fieldValidation=Strict", policy)
        return "" if status == 201 else str(json.loads(body)["message"])

    @contextmanager
    def in_force(self, scenes: Sequence[Scene]) -> Iterator[Mapping[int, str]]:
        """Have the policies in force; yield why each one that the API server refuses was refused, by its number."""
        refused: dict[int, str] = {}
        taken = []
        for each in scenes:
            status, body = self._api.raw("POST", f"{_POLICIES}?fieldValidation=Strict", each.policy)
            if status == 201:
                taken.append(each)
                for binding in each.bindings:
                    self._api.request("POST", _BINDINGS, binding)
            else:
                refused[each.number] = str(json.loads(body)["message"])
        sentinel = f"{_SENTINEL}-{uuid4().hex}"
        self._put_last(sentinel)
        try:
            yield refused
        finally:
            names = [each["metadata"]["name"] for scene in taken for each in scene.bindings]
            for name in (*names, sentinel):
                self._api.raw("DELETE", f"{_BINDINGS}/{name}")
            for name in (*(scene.policy["metadata"]["name"] for scene in taken), sentinel):
                self._api.raw("DELETE", f"{_POLICIES}/{name}")
            wait_for(lambda: not self._sentinel_warns(sentinel), what="the policies to be gone")
            self._api.raw("DELETE", f"{_OF_SENTINELS}/{sentinel}")

    @contextmanager
    def mutating(self, scenes: Sequence["MutatingScene"]) -> Iterator[Mapping[int, str]]:
        """Have MutatingAdmissionPolicies in force; yield why each scene that is refused was refused, by its number."""
        refused, taken = dict[int, str](), list[MutatingScene]()
        for each in scenes:
            answers = [
                self._api.raw("POST", f"{_MUTATING}?dryRun=All&fieldValidation=Strict", one) for one in each.policies
            ]
            wrong = [body for status, body in answers if status != 201]
            if wrong:
                refused[each.number] = str(json.loads(wrong[0])["message"])
                continue
            taken.append(each)
            for policy, binding in zip(each.policies, each.bindings, strict=True):
                self._api.request("POST", _MUTATING, policy)
                self._api.request("POST", _MUTATING_BINDINGS, binding)
        marker = f"{_SENTINEL}-{uuid4().hex}"
        self._api.request("POST", _OF_SENTINELS, _params(marker))
        self._api.request("POST", _MUTATING, _marker(marker))
        self._api.request("POST", _MUTATING_BINDINGS, _marker_binding(marker))
        wait_for(lambda: self._is_marked(marker), what="the policies to be in force")
        try:
            yield refused
        finally:
            names = [each["metadata"]["name"] for scene in taken for each in scene.policies]
            for name in (*names, marker):
                self._api.raw("DELETE", f"{_MUTATING_BINDINGS}/{name}")
                self._api.raw("DELETE", f"{_MUTATING}/{name}")
            wait_for(lambda: not self._is_marked(marker), what="the policies to be gone")
            self._api.raw("DELETE", f"{_OF_SENTINELS}/{marker}")

    def ask(self, document: Document) -> Response:
        """Return the API server's response to the creation of an object, which is not stored."""
        path = COLLECTIONS[document["kind"]].format(document["metadata"].get("namespace", ""))
        return self._api.ask("POST", f"{path}?dryRun=All", document)

    def _follow_params(self) -> None:
        """Have a sentinel in force that stays, before any other policy has params.

        The API server has one informer of ConfigMaps for its sources of validating and of mutating policies. The source
        that asks for it first starts it, and stops it when its own last policy with this paramKind is deleted; then
        params are for both what they were at that moment, for ever, since nothing starts an informer twice (apiserver
        pkg/admission/plugin/policy/generic/policy_source.go, client-go informers/factory.go).
        """
        if not self._sentinel_warns(_KEEPER):
            self._put_last(_KEEPER)

    def _put_last(self, sentinel: str) -> None:
        """Store params, a policy and a binding of a new name, and return once they are in force.

        The API server watches params, policies and bindings apart, and each in the order in which they were stored. So
        when all three are in force, everything before them is.
        """
        self._api.request("POST", _OF_SENTINELS, _params(sentinel))
        self._api.request("POST", _POLICIES, _sentinel(sentinel))
        self._api.request("POST", _BINDINGS, _sentinel_binding(sentinel))
        wait_for(lambda: self._sentinel_warns(sentinel), what=f"the policies before {sentinel} to be in force")

    def _is_marked(self, marker: str) -> bool:
        response = self._asked_of_sentinels()
        return response.status == 201 and marker in response.document.get("data", {})

    def _asked_of_sentinels(self) -> Response:
        """Return the response to a ConfigMap that no policy of a scene matches: its namespace has no scene."""
        return self._api.ask("POST", f"{_OF_SENTINELS}?dryRun=All", _params(_SENTINEL))

    def answer(self, document: Document) -> Answer:
        """Return what comes of creating an object, which is not stored."""
        return _answer(self.ask(document))

    def _sentinel_warns(self, sentinel: str) -> bool:
        """Return whether the sentinel warns: of several denials the API server says one, in an order of its own."""
        return any(sentinel in each for each in self._asked_of_sentinels().warnings)

    def _is_there(self, path: str) -> bool:
        return self._api.raw("GET", path)[0] == 200

    def _config_maps(self, namespace: str) -> list[Document]:
        items: list[Document] = self._api.read(f"{_NAMESPACES}/{namespace}/configmaps")["items"]
        return [{"apiVersion": "v1", "kind": "ConfigMap", **each} for each in items]

    def _param(self, document: Document) -> str:
        """Create a ConfigMap, and return its path."""
        path = f"{_NAMESPACES}/{document['metadata']['namespace']}/configmaps"
        self._api.request("POST", path, document)
        return f"{path}/{document['metadata']['name']}"

    def _namespace(self, document: Document) -> Document:
        status, body = self._api.raw("POST", _NAMESPACES, document)
        path = f"{_NAMESPACES}/{document['metadata']['name']}"
        return {**document, **(json.loads(body) if status == 201 else self._api.read(path))}


def _answer(response: Response) -> Answer:
    warnings = tuple(each for each in response.warnings if each.startswith(_LEADS[0]))
    if response.status == 201:
        return Answer(warnings=warnings)
    document = response.document
    _, found, denial = str(document["message"]).partition(" is forbidden: ")
    if not found or not denial.startswith(_LEADS[1]):
        raise OtherRefusalError(document)
    return Answer(code=response.status, reason=document["reason"], messages=(denial,), warnings=warnings)


def _params(name: str) -> Document:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}


def _sentinel(name: str) -> Document:
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": name},
        "spec": {**_of_sentinels(), "validations": [{"expression": "false", "message": name}]},
    }


def _sentinel_binding(name: str) -> Document:
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": name},
        "spec": {"policyName": name, "paramRef": _params_of(name), "validationActions": ["Warn"]},
    }


def _marker(name: str) -> Document:
    expression = f"Object{{data: {{'{name}': 'a'}}}}"
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "MutatingAdmissionPolicy",
        "metadata": {"name": name},
        "spec": {
            **_of_sentinels(),
            "reinvocationPolicy": "Never",
            "mutations": [{"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}}],
        },
    }


def _marker_binding(name: str) -> Document:
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "MutatingAdmissionPolicyBinding",
        "metadata": {"name": name},
        "spec": {"policyName": name, "paramRef": _params_of(name)},
    }


def _of_sentinels() -> Document:
    """Return the fields of a policy about the ConfigMap that asks whether the policy is in force."""
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}
    return {
        "paramKind": {"apiVersion": "v1", "kind": "ConfigMap"},
        "matchConstraints": {
            "resourceRules": [{**rule, "resourceNames": [_SENTINEL]}],
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "default"}},
        },
    }


def _params_of(name: str) -> Document:
    return {"name": name, "namespace": "default", "parameterNotFoundAction": "Allow"}
