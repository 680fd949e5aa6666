"""Lists of a cluster: what is asked, page by page, what is asked again, and what is only named."""

import asyncio
import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, cast

import pytest

from pages import ROOT
from podberth.api.protocol import CONTROLLER, PARAMS, Resource, Timing
from podberth.check.surroundings import REFERRED
from podberth.checking.inventory import Inventory, Lister, kinds_to_list, take_inventory
from podberth.errors import ClusterError
from podberth.facts.object_kinds import FOLLOWED
from podberth.kube.api_path import collection_path
from podberth.kube.documents import load_documents
from podberth.native.documents import MODELS
from podberth.native.resources import plural_of
from podberth.workload.kinds import LINKS

if TYPE_CHECKING:
    from podberth.api.opening import Client

Document = dict[str, Any]
Answer = Callable[[dict[str, str]], Document] | Document
# Waits of no length that anybody notices.
QUICK = Timing(first_wait_seconds=0.0, least_wait_seconds=0.0)
REGISTRATION = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/podberth"
PODS = Resource("pods", collection_path("v1", "pods"))
CORE = {
    "resources": [
        {"name": "pods", "kind": "Pod", "namespaced": True, "verbs": ["list"]},
        {"name": "pods/log", "kind": "Pod", "namespaced": True, "verbs": ["get"]},
        {"name": "bindings", "kind": "Binding", "namespaced": True, "verbs": ["create"]},
    ]
}
APPS = {"resources": [{"name": "deployments", "kind": "Deployment", "namespaced": True, "verbs": ["list"]}]}
FLOWS = {"resources": [{"name": "flows", "kind": "Flow", "namespaced": False, "verbs": ["list"]}]}


def groups(**versions: str) -> Document:
    found = []
    for name, version in versions.items():
        one = {"groupVersion": f"{name.replace('_', '.')}/{version}"}
        found.append({"name": name.replace("_", "."), "preferredVersion": one, "versions": [one]})
    return {"groups": found}


def listed(*names: str, token: str = "") -> Document:
    items = [{"metadata": {"name": name, "namespace": "a", "uid": name, "resourceVersion": "1"}} for name in names]
    return {"metadata": {"resourceVersion": "1", "continue": token}, "items": items}


class Scripted:
    """An API server that answers by path; a list of answers is given one by one."""

    def __init__(self, answers: Mapping[str, list[Any] | Any]) -> None:
        """Answer 403 to all else."""
        self.answers = {path: list(each) if isinstance(each, list) else each for path, each in answers.items()}
        self.asked: list[tuple[str, dict[str, str]]] = []
        self.resets = 0

    async def get(self, path: str, query: dict[str, str]) -> bytes:
        """Return or raise the next answer of a path."""
        self.asked.append((path, query))
        answer = self.answers.get(path, refused(path))
        answer = answer.pop(0) if isinstance(answer, list) else answer
        if isinstance(answer, ClusterError):
            raise answer
        return json.dumps(answer).encode()

    async def reset(self) -> None:
        """Count it."""
        self.resets += 1


def refused(path: str) -> ClusterError:
    return ClusterError("refused", f"GET {path}: got 403")


def gone() -> ClusterError:
    error = ClusterError("refused", "got 404")
    error.status = 404
    return error


def expired() -> ClusterError:
    return ClusterError("expired", "got 410")


def names(server: Scripted, page: int = 2) -> list[str]:
    found = asyncio.run(Lister(cast("Client", server), QUICK, page=page).objects(PODS))
    return [each["metadata"]["name"] for each in found]


def inventory(
    server: Scripted, namespace: str = "", *extra: str, nodes: bool = True, params: bool = False
) -> Inventory:
    lister = Lister(cast("Client", server), QUICK)
    return asyncio.run(take_inventory(lister, namespace, extra, nodes=nodes, params=params))


def objects(taken: Inventory) -> list[str]:
    return [f"{each.kind}/{each.name}" for file in taken.gathered.files for each in file.sources]


def test_pages_are_asked_for_until_there_is_no_token() -> None:
    server = Scripted({"/api/v1/pods": [listed("a", "b", token="t"), listed("c")]})  # noqa: S106 - of a list
    assert names(server) == ["a", "b", "c"]
    assert [query for _, query in server.asked] == [{"limit": "2"}, {"limit": "2", "continue": "t"}]


def test_a_list_that_runs_out_of_its_time_begins_again_and_has_nothing_twice() -> None:
    server = Scripted({"/api/v1/pods": [listed("a", "b", token="t"), expired(), listed("b", "c")]})  # noqa: S106 - of a list
    assert (names(server), server.resets) == (["b", "c"], 1)
    assert "continue" not in server.asked[-1][1]


def test_after_some_tries_it_is_given_up() -> None:
    server = Scripted({"/api/v1/pods": [expired() for _ in range(9)]})
    with pytest.raises(ClusterError, match="410"):
        names(server)
    assert len(server.asked) == 4


def test_what_is_refused_is_not_asked_again() -> None:
    server = Scripted({})
    with pytest.raises(ClusterError, match="403"):
        names(server)
    assert len(server.asked) == 1


def test_what_is_refused_is_missing_and_what_is_not_served_is_reported() -> None:
    server = Scripted(
        {
            "/apis": groups(apps="v1"),
            "/api/v1": CORE,
            "/apis/apps/v1": APPS,
            "/api/v1/pods": listed("p"),
        }
    )
    taken = inventory(server, nodes=False)
    assert objects(taken) == ["Pod/p"]
    missing = [each.partition(":")[0] for each in taken.gathered.missing]
    configuration = "admissionregistration.k8s.io/v1 ValidatingWebhookConfiguration"
    assert missing == ["apps/v1 Deployment", "v1 Namespace", "v1 ConfigMap", configuration]
    assert "Deployment.apps" not in taken.unserved
    assert {"Job.batch", "JobSet.jobset.x-k8s.io"} <= {*taken.unserved}


def test_one_namespace_is_asked_for_alone_but_for_kinds_that_have_none() -> None:
    server = Scripted({"/apis": groups(example_com="v1"), "/api/v1": CORE, "/apis/example.com/v1": FLOWS})
    inventory(server, "a", "Flow", nodes=False)
    asked = [path for path, _ in server.asked]
    assert "/api/v1/namespaces/a/pods" in asked
    assert "/apis/example.com/v1/flows" in asked


def kinds(**plurals: str) -> Document:
    return {
        "resources": [
            {"name": plural, "kind": kind, "namespaced": not kind.endswith(("Class", "Queue")), "verbs": ["list"]}
            for kind, plural in plurals.items()
        ]
    }


DRA = kinds(DeviceClass="deviceclasses", ResourceClaim="resourceclaims", ResourceClaimTemplate="resourceclaimtemplates")


def test_what_serve_follows_besides_workloads_is_listed() -> None:
    generated = listed("made-for-a-pod", "by-hand")
    generated["items"][0]["metadata"]["annotations"] = {"resource.kubernetes.io/pod-claim-name": "gpu"}
    group = listed("gang")
    group["items"][0]["spec"] = {"minMember": 4}
    server = Scripted(
        {
            "/apis": groups(resource_k8s_io="v1", scheduling_volcano_sh="v1beta1", scheduling_k8s_io="v1"),
            "/api/v1": {"resources": []},
            "/apis/resource.k8s.io/v1": DRA,
            "/apis/scheduling.volcano.sh/v1beta1": kinds(PodGroup="podgroups", Queue="queues"),
            "/apis/scheduling.k8s.io/v1": kinds(PriorityClass="priorityclasses"),
            "/apis/resource.k8s.io/v1/deviceclasses": listed("mig"),
            "/apis/resource.k8s.io/v1/namespaces/a/resourceclaims": generated,
            "/apis/resource.k8s.io/v1/namespaces/a/resourceclaimtemplates": listed("eight"),
            "/apis/scheduling.volcano.sh/v1beta1/namespaces/a/podgroups": group,
            "/apis/scheduling.volcano.sh/v1beta1/queues": listed("research"),
            "/apis/scheduling.k8s.io/v1/priorityclasses": listed("high"),
            "/api/v1/namespaces": listed(),
            PARAMS.path: listed(),
            REGISTRATION: gone(),
        }
    )
    taken = inventory(server, "a", nodes=False)
    assert objects(taken) == [
        "DeviceClass/mig",
        "ResourceClaim/by-hand",
        "ResourceClaimTemplate/eight",
        "PodGroup/gang",
        "Queue/research",
        "PriorityClass/high",
        "APIResourceList/scheduling.volcano.sh/v1beta1",
    ]
    assert taken.gathered.missing == []
    assert not [each for each in taken.unserved if each.startswith(("PodGroup", "DeviceClass", "Resource"))]


def test_what_a_cluster_does_not_serve_besides_workloads_is_neither_missing_nor_reported() -> None:
    server = Scripted(
        {
            "/apis": groups(resource_k8s_io="v1beta1"),
            "/api/v1": {"resources": []},
            "/apis/resource.k8s.io/v1beta1": kinds(DeviceClass="deviceclasses"),
            "/apis/resource.k8s.io/v1beta1/deviceclasses": gone(),
            "/api/v1/namespaces": listed(),
            PARAMS.path: listed(),
            REGISTRATION: gone(),
        }
    )
    taken = inventory(server, nodes=False)
    assert (objects(taken), taken.gathered.missing) == ([], [])
    assert not [each for each in taken.unserved if each.startswith(("PodGroup", "DeviceClass", "Resource"))]


def test_the_configuration_that_says_which_namespaces_are_left_out_is_read() -> None:
    metadata = {"name": "podberth", "resourceVersion": "1"}
    server = Scripted(
        {
            "/apis": groups(),
            "/api/v1": {"resources": []},
            "/api/v1/namespaces": listed(),
            PARAMS.path: listed(),
            REGISTRATION: {"kind": "ValidatingWebhookConfiguration", "metadata": metadata, "webhooks": []},
        }
    )
    taken = inventory(server, nodes=False)
    assert (objects(taken), taken.gathered.missing) == (["ValidatingWebhookConfiguration/podberth"], [])


def test_without_a_lease_in_force_nobody_makes_groups_and_without_the_right_to_look_nobody_knows() -> None:
    spec = {"holderIdentity": "a", "leaseDurationSeconds": 15, "renewTime": datetime.now(UTC).isoformat()}
    running, ended = listed("podberth-controller"), listed("podberth-controller")
    running["items"][0]["spec"] = spec
    ended["items"][0]["spec"] = {**spec, "renewTime": "2026-01-01T00:00:00Z"}
    for answer, makerless in ((listed(), True), (running, False), (ended, True), (refused(""), False)):
        server = Scripted({"/apis": groups(), "/api/v1": CORE, CONTROLLER.path: answer})
        assert inventory(server).gathered.is_makerless is makerless


def test_params_of_tenants_are_listed_by_their_label_where_a_policy_looks_for_them() -> None:
    answers = {"/apis": groups(), "/api/v1": CORE, "/api/v1/configmaps": listed("limits")}
    server = Scripted(answers)
    assert "ConfigMap/limits" in objects(inventory(server, nodes=False, params=True))
    [query] = [query for path, query in server.asked if path == "/api/v1/configmaps"]
    assert query["labelSelector"] == "podberth.io/params=true,!podberth.io/topology"
    assert inventory(Scripted({"/apis": groups(), "/api/v1": CORE}), nodes=False, params=True).gathered.missing[-1]
    unasked = Scripted(answers)
    inventory(unasked, nodes=False)
    assert "/api/v1/configmaps" not in {path for path, _ in unasked.asked}


def test_an_api_whose_server_is_away_costs_itself_alone() -> None:
    away = ClusterError("failed", "got 503")
    server = Scripted(
        {
            "/apis": groups(apps="v1", serving_knative_dev="v1"),
            "/api/v1": CORE,
            "/apis/apps/v1": [away] * 9,
            "/apis/serving.knative.dev/v1": {
                "resources": [{"name": "revisions", "kind": "Revision", "namespaced": True, "verbs": ["list"]}]
            },
            "/api/v1/pods": listed("p"),
            "/apis/serving.knative.dev/v1/revisions": listed("r"),
        }
    )
    taken = inventory(server, nodes=False)
    assert objects(taken) == ["Pod/p", "Revision/r"]
    assert taken.gathered.missing[0] == "apps/v1: got 503"


@pytest.mark.parametrize("answer", [{"groups": [{}]}, {}, []])
def test_what_is_no_answer_of_an_api_server_is_an_error(answer: Any) -> None:
    with pytest.raises(ClusterError):
        inventory(Scripted({"/apis": answer if answer != [] else [[]]}))


def test_the_audit_may_list_what_is_listed_and_nothing_else() -> None:
    text = (ROOT / "manifests/components/audit/rbac.yaml").read_text(encoding="utf-8")
    roles = [each.document for each in load_documents(text, "rbac.yaml")[0] if each.document["kind"] == "ClusterRole"]
    [role] = roles
    granted = {
        (group, resource)
        for rule in role["rules"]
        if rule["verbs"] == ["list"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
    }
    around = {
        ("", "namespaces"),
        ("", "nodes"),
        *(("podberth.io", each) for each in ("gpupolicies", "gpupolicyexceptions", "namespacedgpupolicies")),
    }
    # Kubernetes 1.22 took the group extensions away.
    wanted = {(group, f"{kind.lower()}s") for group, kind in kinds_to_list() if group != "extensions"}
    links = {(group, f"{kind.lower()}s") for group, kind in LINKS}
    besides = {(each.group, each.plural) for each in FOLLOWED if each.role != "owner"}
    natives = {("admissionregistration.k8s.io", plural_of(kind)) for kind in MODELS}
    assert granted == wanted | around | links | besides | natives
    # A ProvisioningRequest is read for PodTemplates, which are not listed.
    assert {kind for _, kind in kinds_to_list()} >= REFERRED - {"ProvisioningRequest"}
