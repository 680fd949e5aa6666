"""Native policies of a cluster: what is listed of them and of their params, and what is named as missing."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from natives import binding, policy
from podberth.checking.inventory import Lister
from podberth.checking.native_objects import NativeObjects, list_natives, list_params

from .test_inventory import QUICK, Scripted, gone, listed, refused

if TYPE_CHECKING:
    from podberth.api.opening import Client

ADMISSION = "/apis/admissionregistration.k8s.io/v1"
CORE = {"resources": [{"name": "configmaps", "kind": "ConfigMap", "namespaced": True, "verbs": ["list"]}]}
LIMITS = {"resources": [{"name": "limits", "kind": "Limit", "namespaced": False, "verbs": ["list"]}]}
OF_CONFIG_MAPS = policy("true", paramKind={"apiVersion": "v1", "kind": "ConfigMap"})
NAMED = binding(paramRef={"name": "most", "namespace": "shop", "parameterNotFoundAction": "Deny"})


def params(
    *natives: dict[str, Any], answers: Mapping[str, Any] | None = None, of_cluster: Sequence[dict[str, Any]] = ()
) -> tuple[NativeObjects, Scripted]:
    found = NativeObjects([*of_cluster])
    server = Scripted({"/api/v1": CORE, "/apis/a.example.com/v1": LIMITS, **(answers or {})})
    lister = Lister(cast("Client", server), QUICK)
    asyncio.run(list_params(lister, natives, found))
    return found, server


def test_policies_and_bindings_are_listed_and_a_kind_that_is_not_served_has_none() -> None:
    answers = {
        f"{ADMISSION}/validatingadmissionpolicies": listed("a"),
        f"{ADMISSION}/validatingadmissionpolicybindings": listed("b"),
        f"{ADMISSION}/mutatingadmissionpolicies": gone(),
    }
    found = NativeObjects()
    asyncio.run(list_natives(Lister(cast("Client", Scripted(answers)), QUICK), found))
    assert [(each["kind"], each["metadata"]["name"]) for each in found.documents] == [
        ("ValidatingAdmissionPolicy", "a"),
        ("ValidatingAdmissionPolicyBinding", "b"),
    ]
    path = f"{ADMISSION}/mutatingadmissionpolicybindings"
    said = f"not judged by: admissionregistration.k8s.io/v1 MutatingAdmissionPolicyBinding: {refused(path)}"
    assert (found.talk, found.missing) == ([said], [])


def test_params_are_asked_for_by_name_in_their_namespace_and_once() -> None:
    path = "/api/v1/namespaces/shop/configmaps"
    found, server = params(
        OF_CONFIG_MAPS, NAMED, binding(name="again", **NAMED["spec"]), answers={path: listed("most")}
    )
    asked = [query for to, query in server.asked if to == path]
    assert [each["fieldSelector"] for each in asked] == ["metadata.name=most"]
    assert [(each["kind"], each["metadata"]["name"]) for each in found.documents] == [("ConfigMap", "most")]
    assert not found.missing


def test_params_without_a_namespace_or_by_labels_are_listed_whole() -> None:
    somewhere = binding(paramRef={"selector": {}, "parameterNotFoundAction": "Deny"})
    found, server = params(OF_CONFIG_MAPS, somewhere, answers={"/api/v1/configmaps": listed("a", "b")})
    assert "fieldSelector" not in dict(server.asked)["/api/v1/configmaps"]
    assert len(found.documents) == 2


def test_params_of_an_operators_kind_come_with_its_definition() -> None:
    judging = policy("true", paramKind={"apiVersion": "a.example.com/v1", "kind": "Limit"})
    bound = binding(paramRef={"name": "most", "parameterNotFoundAction": "Deny"})
    found, _ = params(judging, bound, answers={"/apis/a.example.com/v1/limits": listed("most")})
    _, definition = found.documents
    assert definition["kind"] == "CustomResourceDefinition"
    assert (definition["spec"]["scope"], definition["spec"]["names"]) == (
        "Cluster",
        {"kind": "Limit", "plural": "limits"},
    )


def test_a_binding_whose_params_may_not_be_listed_is_named_and_not_judged() -> None:
    found, _ = params(OF_CONFIG_MAPS, NAMED, binding(name="again", **NAMED["spec"]))
    assert found.unjudged == {("ValidatingAdmissionPolicyBinding", "b"), ("ValidatingAdmissionPolicyBinding", "again")}
    lead = "not judged by: v1 ConfigMap, params of ValidatingAdmissionPolicyBinding b: "
    assert (found.missing[0].startswith(lead), found.talk) == (True, [])
    of_cluster, _ = params(of_cluster=(OF_CONFIG_MAPS, NAMED))
    assert (of_cluster.missing, of_cluster.talk[0].startswith(lead)) == ([], True)
    assert NAMED not in of_cluster.documents


def test_a_policy_without_params_asks_nothing() -> None:
    found, server = params(policy("true"), binding(), OF_CONFIG_MAPS, binding(name="without"))
    assert (server.asked, found.documents) == ([], [])
