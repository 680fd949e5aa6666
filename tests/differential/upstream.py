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
from .scenes import CASE, Document, Scene, namespace_name

_GROUP: Final = "/apis/admissionregistration.k8s.io/v1"
_POLICIES: Final = f"{_GROUP}/validatingadmissionpolicies"
_BINDINGS: Final = f"{_GROUP}/validatingadmissionpolicybindings"
_MUTATING: Final = f"{_GROUP}/mutatingadmissionpolicies"
_MUTATING_BINDINGS: Final = f"{_GROUP}/mutatingadmissionpolicybindings"
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
        """Create namespaces and params, and keep them as they are stored."""
        self.api = self._api = api
        # Those of an earlier run may be there
        self._api.raw("POST", _POLICIES, _keeper())
        self._api.raw("POST", _BINDINGS, _keeper_binding())
        self.namespaces = [self._stored("/api/v1/namespaces", each) for each in namespaces]
        for each in params:
            self._stored(f"/api/v1/namespaces/{each['metadata']['namespace']}/configmaps", each)

        for each in namespaces:  # without the first no pod can be created, and the second is params for a selector
            path = f"/api/v1/namespaces/{each['metadata']['name']}"
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
        """Delete the namespaces."""
        for each in self.namespaces:
            self._api.raw("DELETE", f"/api/v1/namespaces/{each['metadata']['name']}")

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
        sentinel = self._last()
        self._api.request("POST", _POLICIES, _sentinel(sentinel))
        self._api.request("POST", _BINDINGS, _sentinel_binding(sentinel))
        wait_for(lambda: self._sentinel_denies(sentinel), what="the policies to be in force")
        try:
            yield refused
        finally:
            names = [each["metadata"]["name"] for scene in taken for each in scene.bindings]
            for name in (*names, sentinel):
                self._api.raw("DELETE", f"{_BINDINGS}/{name}")
            for name in (*(scene.policy["metadata"]["name"] for scene in taken), sentinel):
                self._api.raw("DELETE", f"{_POLICIES}/{name}")
            wait_for(lambda: not self._sentinel_denies(sentinel), what="the policies to be gone")
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
        marker = self._last()
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

    def _last(self) -> str:
        """Return the name of the last params, policy and binding of a batch; the params are made.

        The API server watches params, policies and bindings apart, and each in the order in which they were stored. So
        when all three of a new name are in force, everything before them is.
        """
        name = f"{_SENTINEL}-{uuid4().hex}"
        self._api.request("POST", _OF_SENTINELS, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}})
        return name

    def _is_marked(self, marker: str) -> bool:
        document = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": _SENTINEL}}
        status, body = self._api.raw("POST", f"{_OF_SENTINELS}?dryRun=All", document)
        return status == 201 and marker in json.loads(body).get("data", {})

    def answer(self, document: Document) -> Answer:
        """Return what comes of creating an object, which is not stored."""
        return _answer(self.ask(document))

    def _sentinel_denies(self, sentinel: str) -> bool:
        document = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": _SENTINEL}}
        path = f"/api/v1/namespaces/{namespace_name(0)}/configmaps?dryRun=All"
        status, body = self._api.raw("POST", path, document)
        return status != 201 and sentinel in json.loads(body)["message"]

    def _is_there(self, path: str) -> bool:
        return self._api.raw("GET", path)[0] == 200

    def _config_maps(self, namespace: str) -> list[Document]:
        items: list[Document] = self._api.read(f"/api/v1/namespaces/{namespace}/configmaps")["items"]
        return [{"apiVersion": "v1", "kind": "ConfigMap", **each} for each in items]

    def _stored(self, path: str, document: Document) -> Document:
        # A namespace of an earlier run may still be on its way out.
        wait_for(
            lambda: self._api.raw("POST", f"{path}?dryRun=All", document)[0] == 201, what=document["metadata"]["name"]
        )
        return {**document, **self._api.request("POST", path, document)}


def _answer(response: Response) -> Answer:
    warnings = tuple(each for each in response.warnings if each.startswith(_LEADS[0]))
    if response.status == 201:
        return Answer(warnings=warnings)
    document = response.document
    _, found, denial = str(document["message"]).partition(" is forbidden: ")
    if not found or not denial.startswith(_LEADS[1]):
        raise OtherRefusalError(document)
    return Answer(code=response.status, reason=document["reason"], messages=(denial,), warnings=warnings)


def _keeper() -> Document:
    """Return a policy that matches nothing and stays, so that the API server goes on following ConfigMaps as params.

    It stops when the last policy with this paramKind is deleted, and then has what it last saw for ever: it starts an
    informer of its shared factory once (apiserver pkg/admission/plugin/policy/generic/policy_source.go).
    """
    rule = {"apiGroups": ["none.example.com"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["nones"]}
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": "differential-keeper"},
        "spec": {
            "paramKind": {"apiVersion": "v1", "kind": "ConfigMap"},
            "matchConstraints": {"resourceRules": [rule]},
            "validations": [{"expression": "true"}],
        },
    }


def _keeper_binding() -> Document:
    reference = {"name": "none", "namespace": "default", "parameterNotFoundAction": "Allow"}
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": "differential-keeper"},
        "spec": {"policyName": "differential-keeper", "paramRef": reference, "validationActions": ["Deny"]},
    }


def _sentinel(name: str) -> Document:
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": name},
        "spec": {**_of_sentinels({CASE: "0"}), "validations": [{"expression": "false", "message": name}]},
    }


def _sentinel_binding(name: str) -> Document:
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": name},
        "spec": {"policyName": name, "paramRef": _params_of(name), "validationActions": ["Deny"]},
    }


def _marker(name: str) -> Document:
    expression = f"Object{{data: {{'{name}': 'a'}}}}"
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "MutatingAdmissionPolicy",
        "metadata": {"name": name},
        "spec": {
            **_of_sentinels({"kubernetes.io/metadata.name": "default"}),
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


def _of_sentinels(namespace_labels: Mapping[str, str]) -> Document:
    """Return the fields of a policy about the ConfigMap that asks whether the policy is in force."""
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}
    return {
        "paramKind": {"apiVersion": "v1", "kind": "ConfigMap"},
        "matchConstraints": {
            "resourceRules": [{**rule, "resourceNames": [_SENTINEL]}],
            "namespaceSelector": {"matchLabels": dict(namespace_labels)},
        },
    }


def _params_of(name: str) -> Document:
    return {"name": name, "namespace": "default", "parameterNotFoundAction": "Allow"}
