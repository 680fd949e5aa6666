"""Policies of namespaces on a real API server: what a namespace's admin can do with them, and what not."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

import pytest

from builders import gpu_pod
from controlplane.api import Api
from controlplane.cluster import ControlPlane
from controlplane.wait import wait_for
from podberth.kube.documents import load_documents
from podberth.policy.namespaced import MOST_OF_NAMESPACE
from snapshots import policy
from tenants import own_policy

from .access import grant
from .following import FOLLOWS_SECONDS, Following
from .podberth_process import ROOT
from .registration import pointed, shipped

BASE = ROOT / "manifests/base"
PLACE = "/apis/podberth.io/v1alpha1/namespaces/{}/namespacedgpupolicies"
CLUSTER = policy(
    "few", "  validations:\n  - {expression: gpu.count < 8, message: too many}\n  validationActions: [Deny]"
)
ADMIN = [
    {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": {"name": name, "namespace": "vision"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
        "subjects": [{"kind": "ServiceAccount", "name": "default", "namespace": "vision"}],
    }
    for name in ("podberth-namespaced-policies", "admin")
]


@dataclass(frozen=True, slots=True)
class Tenancy:
    """A cluster that podberth follows, and the way into it of an admin of the namespace vision."""

    following: Following
    admin: Api

    def write(self, name: str, expression: str, *, namespace: str = "vision", **fields: str) -> int:
        """Have the admin replace a policy of a namespace; return the status of the answer."""
        [one], _ = load_documents(own_policy(namespace, name, expression, **fields), "")
        place = PLACE.format(namespace)
        self.admin.ask("DELETE", f"{place}/{name}", None)
        return self.admin.ask("POST", place, one.document).status

    def clear(self) -> None:
        """Delete all policies of namespaces."""
        self.following.control_plane.kubectl("delete", "ngpol", "--all", "-A")
        self.until("vision", "", 4)
        self.until("vision", "podberth few: too many", 8)

    def until(self, namespace: str, denial: str, gpus: int = 4) -> None:
        """Wait until a pod is denied so, or admitted if ``denial`` is empty."""

        def said() -> str:
            answer = self.following.ask(gpu_pod(gpus), "/validate", namespace=namespace)
            return "" if answer["allowed"] else str(answer["message"])

        wait_for(lambda: denial in said() if denial else not said(), timeout_seconds=FOLLOWS_SECONDS, what=said)

    def condition(self, name: str, kind: str = "Compiled", namespace: str = "vision") -> dict[str, Any]:
        """Return a condition of a policy's status."""
        found = self.following.control_plane.api.read(f"{PLACE.format(namespace)}/{name}")
        conditions: list[dict[str, Any]] = found.get("status", {}).get("conditions", ())
        return next((each for each in conditions if each["type"] == kind), {})

    def until_compiled(self, name: str, status: str) -> dict[str, Any]:
        """Wait until a policy's status says so; return the condition."""
        wait_for(
            lambda: self.condition(name).get("status") == status,
            timeout_seconds=FOLLOWS_SECONDS,
            what=lambda: str(self.condition(name)),
        )
        return self.condition(name)


@pytest.fixture(scope="module")
def tenancy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tenancy]:
    with ControlPlane.start(tmp_path_factory.mktemp("plane")) as plane:
        grant(plane)
        for file in ("gpupolicy-crd.yaml", "namespacedgpupolicy-crd.yaml", "namespaced-policies.yaml"):
            plane.kubectl("apply", "-f", str(BASE / file))
        plane.await_crds()
        for namespace in ("vision", "other"):
            plane.add_namespace(namespace)
        plane.apply(*ADMIN)
        following = Following(plane, tmp_path_factory.mktemp("following"))
        following.write_policy(CLUSTER)
        admin = Api(plane.url, plane.create_token("vision", "default"), plane.ca_file)
        with closing(admin), following:
            made = Tenancy(following, admin)
            wait_for(lambda: made.write("first", "true") == HTTPStatus.CREATED, what="the rights of the admin")
            yield made
        plane.check()


def test_a_namespaces_admin_tightens_their_own_namespace_and_no_other(tenancy: Tenancy) -> None:
    tenancy.clear()
    assert tenancy.write("two", "gpu.count <= 2") == HTTPStatus.CREATED
    tenancy.until("vision", "podberth vision/two: failed expression: gpu.count <= 2")
    tenancy.until("other", "")
    assert tenancy.write("two", "gpu.count <= 2", namespace="other") == HTTPStatus.FORBIDDEN
    for path in ("gpupolicies", "gpupolicyexceptions"):
        answer = tenancy.admin.ask("POST", f"/apis/podberth.io/v1alpha1/{path}", {})
        assert answer.status == HTTPStatus.FORBIDDEN
    assert tenancy.until_compiled("two", "True")["reason"] == "Compiled"
    shown = tenancy.following.control_plane.kubectl("get", "ngpol", "-n", "vision").stdout.splitlines()
    assert [line.split()[:5] for line in shown] == [
        ["NAME", "SCOPE", "ACTIONS", "COMPILED", "ACTIVE"],
        ["two", "GPU", '["Deny"]', "True", "True"],
    ]


def test_nothing_that_the_admin_writes_lets_a_pod_pass_that_the_cluster_denies(tenancy: Tenancy) -> None:
    tenancy.clear()
    for at, expression in enumerate(("true", "object.metadata.labels['none'] == ''", "gpu.count > 8")):
        tenancy.write(f"p{at}", expression, actions="[Warn]", failure_policy="Ignore")
        tenancy.until_compiled(f"p{at}", "True")
        tenancy.until("vision", "podberth few: too many", 8)
    # The name of a cluster's policy in a namespace is another policy.
    tenancy.write("few", "true")
    tenancy.until_compiled("few", "True")
    tenancy.until("vision", "podberth few: too many", 8)


def test_one_that_is_broken_or_has_no_room_says_so_and_stops_no_other(tenancy: Tenancy) -> None:
    tenancy.clear()
    tenancy.write("broken", "topology.known")
    assert "namespacedgpupolicy/vision/broken:" in tenancy.until_compiled("broken", "False")["message"]
    tenancy.write("two", "gpu.count <= 2")
    tenancy.until("vision", "podberth vision/two")
    tenancy.following.control_plane.kubectl("delete", "ngpol", "broken", "-n", "vision")
    # Creation times are whole seconds: of policies made in the same second, the first by name has room first.
    names = [f"z{at:02}" for at in range(MOST_OF_NAMESPACE)]
    for name in names:
        tenancy.write(name, "true")
    wait_for(
        lambda: sum(tenancy.condition(name).get("status") == "False" for name in names) == 1,
        timeout_seconds=FOLLOWS_SECONDS,
        what=lambda: str([tenancy.condition(name) for name in names]),
    )
    tenancy.until("vision", "podberth vision/two")


def test_the_webhook_refuses_a_broken_one_before_it_is_stored(tenancy: Tenancy) -> None:
    tenancy.clear()
    [entry] = [each for each in shipped()[1]["webhooks"] if each["name"].startswith("policies.")]
    configuration = pointed({**shipped()[1], "webhooks": [entry]}, tenancy.following.podberth.endpoint)
    tenancy.following.control_plane.apply(configuration)
    wait_for(
        lambda: tenancy.write("broken", "gpu.cuont == 1") == HTTPStatus.UNPROCESSABLE_ENTITY,
        timeout_seconds=FOLLOWS_SECONDS,
        what="the refusal",
    )
    assert tenancy.write("two", "gpu.count <= 2") == HTTPStatus.CREATED
    tenancy.following.control_plane.kubectl("delete", configuration["kind"], configuration["metadata"]["name"])


def test_metrics_have_no_name_that_a_tenant_chose(tenancy: Tenancy) -> None:
    tenancy.clear()
    tenancy.write("secret-name", "gpu.count <= 2")
    tenancy.until("vision", "podberth vision/secret-name")
    metrics = tenancy.following.podberth.metrics()
    assert not [name for name in metrics if "secret-name" in name or "vision" in name]
    assert tenancy.following.metric("policy_decisions_total", policy="NamespacedGPUPolicy", verdict="deny") > 0
