"""docs/upgrade.md: its commands, on a cluster with podberth; those of the emergency with a webhook that is broken."""

import json
from collections.abc import Iterator
from contextlib import ExitStack, closing
from http import HTTPStatus
from pathlib import Path

import pytest

from builders import gpu_pod
from controlplane.cluster import ControlPlane
from controlplane.wait import wait_for
from e2e.access import enter
from e2e.balancer import Balancer
from e2e.container import Container
from e2e.load import Verdict, load
from e2e.manifest import record
from e2e.overlay import webhook_container, write_overlay
from pages import page
from podberth.topology.codec import decode_topology
from podberth.topology.shapes import simulate

from .operated import SECONDS, USERS, Document, Operated, blocks, operated

UPGRADE = page("docs/upgrade.md")
OLDER = "0.0.9"
EXEMPT, FAIL_OPEN, DELETE = (
    "### 1. One namespace",
    "### 2. Creations fail open",
    "### 3. No webhook at all",
)


@pytest.fixture(scope="module")
def cluster(control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Operated]:
    """Yield a cluster with podberth at work."""
    del control_plane  # marks the test as one that needs one
    with operated(tmp_path_factory.mktemp("upgrade")) as made:
        yield made


@pytest.fixture
def restored(cluster: Operated) -> Iterator[Operated]:
    """Yield the cluster; install everything again after the test."""
    yield cluster
    cluster.restore()


WEBHOOK = ("deployment", "podberth", "-n", "podberth-system")
AGENTS = ("daemonset", "podberth-agent", "-n", "podberth-agent")


def images(cluster: Operated) -> list[str]:
    """Return the images that the webhook's and the agents' controller name, once both have taken note of them."""
    wait_for(
        lambda: all(map(_observed, _controllers(cluster))), timeout_seconds=SECONDS, what="the controllers to take note"
    )
    pods = [each["spec"]["template"]["spec"] for each in _controllers(cluster)]
    return [container["image"] for pod in pods for container in pod["containers"]]


def _controllers(cluster: Operated) -> list[Document]:
    return [cluster.plane.get(*which) for which in (WEBHOOK, AGENTS)]


def _observed(controller: Document) -> bool:
    """Return whether what is wanted now has a revision: one that had none cannot be gone back to."""
    return bool(controller["status"].get("observedGeneration") == controller["metadata"]["generation"])


# ---- upgrade and rollback -------------------------------------------------------------------------------------------


def _install(cluster: Operated, directory: Path, url: str) -> None:
    """Have reviews sent elsewhere, by the overlay with fail-closed: a review without an answer is seen."""
    directory.mkdir()
    write_overlay(directory, url, "fail-closed")
    cluster.plane.kubectl("apply", "-k", str(directory))


def _install_older(cluster: Operated, directory: Path) -> None:
    """Have the release before: other images, and a webhook entry that waits longer."""
    write_overlay(directory, cluster.container.url, "fail-closed")
    older = json.loads((directory / "kustomization.yaml").read_text())
    older["images"] = [{"name": name, "newTag": OLDER} for name in ("podberth", "podberth-agent")]
    longer = [{"op": "replace", "path": "/webhooks/0/timeoutSeconds", "value": 9}]
    older["patches"].append(
        {"target": {"kind": "MutatingWebhookConfiguration", "name": "podberth"}, "patch": json.dumps(longer)}
    )
    (directory / "kustomization.yaml").write_text(json.dumps(older))
    cluster.plane.kubectl("apply", "-k", str(directory))


def test_an_upgrade_brings_everything_and_an_undo_the_webhook_back(restored: Operated, tmp_path: Path) -> None:
    _install_older(restored, tmp_path)
    older, newer = ([f"{name}:{tag}" for name in ("podberth", "podberth-agent")] for tag in (OLDER, "0.1.0"))
    assert images(restored) == older
    restored.wait_called()
    pod = gpu_pod(name="from-before")
    pod["metadata"]["namespace"] = USERS
    [before] = restored.plane.create(pod)
    assert record(before)

    look, upgrade = blocks(UPGRADE, "## Upgrade")
    assert f"-        image: {older[0]}" in restored.run(look)
    assert images(restored) == older
    restored.run(upgrade)
    assert images(restored) == newer
    entries = restored.plane.get("mutatingwebhookconfiguration", "podberth")["webhooks"]
    assert entries[0]["timeoutSeconds"] == 5
    assert all(each["clientConfig"].get("caBundle") for each in entries), "an apply takes caBundle away"
    restored.wait_called()

    webhook, agents = blocks(UPGRADE, "## Roll back")
    restored.run(webhook)
    assert images(restored) == [older[0], newer[1]]
    restored.run(agents)
    assert images(restored) == older
    restored.wait_called()
    after = restored.plane.get("pod", "from-before", "-n", USERS)
    assert record(after) == record(before)
    assert after["spec"]["tolerations"] == before["spec"]["tolerations"]


def test_replicas_are_replaced_under_load_and_no_pod_is_refused(restored: Operated, tmp_path: Path) -> None:
    """Replicas are replaced as a Deployment does: a new one is ready before an old one gets SIGTERM and drains."""
    with ExitStack() as stack:
        serving: list[Container] = []
        balancer = stack.enter_context(closing(Balancer(lambda: [each.port for each in serving if each.ready()])))

        def add(number: int) -> None:
            container = Container(webhook_container(restored.plane), tmp_path / str(number))
            stack.enter_context(closing(container))
            container.start(PODBERTH_KUBECONFIG=str(enter(restored.plane, container.directory)))
            serving.append(container)

        add(0)
        add(1)
        _install(restored, tmp_path / "service", f"https://127.0.0.1:{balancer.port}")
        wait_for(
            lambda: restored.create().status == HTTPStatus.CREATED and balancer.accepted > 0,
            timeout_seconds=SECONDS,
            what="creations to go through the Service",
        )
        with load(restored.plane, "noon") as creating:
            for number in (2, 3):
                add(number)
                serving[0].stop()
                del serving[0]
        assert set(creating.counts) == {Verdict.RIGHT}, creating.refusals[:3]


def test_the_deployment_replaces_no_replica_before_another_is_ready(cluster: Operated) -> None:
    webhook, agents = (each["spec"] for each in _controllers(cluster))
    assert webhook["strategy"]["rollingUpdate"] == {"maxSurge": 1, "maxUnavailable": 0}
    assert cluster.plane.get("pdb", "podberth", "-n", "podberth-system")["spec"]["maxUnavailable"] == 1
    assert agents["updateStrategy"]["rollingUpdate"]["maxUnavailable"] == "10%"


def test_the_crd_has_one_version(cluster: Operated) -> None:
    crd = cluster.plane.get("crd", "gpupolicies.podberth.io")["spec"]
    assert [(each["name"], each["served"], each["storage"]) for each in crd["versions"]] == [("v1alpha1", True, True)]
    assert "conversion" not in crd or crd["conversion"]["strategy"] == "None"


def test_a_webhook_reads_the_documents_of_older_and_newer_agents() -> None:
    _, config_map = simulate("hgx-h100-8", "node")
    document = json.loads(config_map["data"]["topology.json"])
    newer = {**document, "sockets": 2, "gpus": [{**each, "colour": "green"} for each in document["gpus"]]}
    config_map["data"]["topology.json"] = json.dumps(newer)
    assert decode_topology(config_map).gpus == decode_topology(simulate("hgx-h100-8", "node")[1]).gpus
    older = {key: each for key, each in document.items() if key in ("schemaVersion", "gpus")}
    config_map["data"]["topology.json"] = json.dumps(older)
    assert decode_topology(config_map).links.shape == "unknown"


# ---- break glass ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="class", params=["nobody listens", "another certificate"])
def broken(request: pytest.FixtureRequest, cluster: Operated) -> Iterator[Operated]:
    """Yield the cluster with a webhook that gives no answer: GPU pods are refused. Then all is installed again."""
    cluster.container.stop(crash=True)
    if request.param == "another certificate":
        # The API server's own: no caBundle of ours vouches for it.
        cluster.lead(cluster.plane.url)
        cluster.wait_refused("x509: certificate signed by unknown authority")
    else:
        cluster.wait_refused("connect: connection refused")
    yield cluster
    cluster.restore()


class TestEmergency:
    """The steps in their order, in one cluster; each but the last leaves it as it was."""

    def test_nothing_is_refused_in_namespaces_of_the_system_nor_without_gpus(self, broken: Operated) -> None:
        for namespace in ("kube-system", "podberth-system", "podberth-agent"):
            answer = broken.create(namespace)
            # Pod Security and quotas may have their say; podberth has none.
            assert "failed calling webhook" not in answer.document.get("message", "")
        assert broken.create("kube-system").status == HTTPStatus.CREATED
        plain = gpu_pod()
        plain["spec"]["containers"][0]["resources"] = {}
        assert broken.create(pod=plain).status == HTTPStatus.CREATED

    def test_one_namespace_is_let_through_and_taken_back(self, broken: Operated) -> None:
        exempt, back = blocks(UPGRADE, EXEMPT)
        broken.run(exempt)
        broken.wait_passed_by()
        assert broken.create("default").status == HTTPStatus.INTERNAL_SERVER_ERROR
        broken.run(back)
        broken.wait_refused()

    def test_creations_fail_open_and_an_apply_closes_them(self, broken: Operated) -> None:
        fail_open, back = blocks(UPGRADE, FAIL_OPEN)
        broken.run(fail_open)
        broken.wait_passed_by()
        assert broken.create("default").status == HTTPStatus.CREATED
        broken.run(back)
        broken.wait_refused()

    def test_without_webhooks_pods_are_created(self, broken: Operated) -> None:
        broken.run(blocks(UPGRADE, DELETE)[0])
        broken.wait_passed_by()


def test_failing_open_costs_nothing_where_podberth_answers(restored: Operated) -> None:
    fail_open, _ = blocks(UPGRADE, FAIL_OPEN)
    restored.run(fail_open)
    restored.wait_called()
    denied = restored.create(pod=gpu_pod(resource="nvidia.com/mig-4g.5gb"))
    assert denied.status == HTTPStatus.UNPROCESSABLE_ENTITY


def test_an_apply_brings_podberth_back_that_runs_again(restored: Operated) -> None:
    delete, back = blocks(UPGRADE, DELETE)
    restored.run(delete)
    restored.wait_passed_by()
    # The configurations are new: podberth writes caBundle, and pods are written on.
    restored.run(back)
    restored.wait_called()


def test_a_patch_of_another_entry_is_refused(restored: Operated) -> None:
    fail_open, _ = blocks(UPGRADE, FAIL_OPEN)
    for word in ("/webhooks/0/name", "/webhooks/0/failurePolicy"):
        assert fail_open.count(word) == 2
    with pytest.raises(AssertionError, match="The request is invalid"):
        restored.run(fail_open.replace("/webhooks/0/name", "/webhooks/1/name"))


def test_where_podberth_hangs_a_pod_is_refused_after_the_timeout(restored: Operated) -> None:
    with restored.silent():
        restored.wait_refused("context deadline exceeded")


# ---- uninstall ------------------------------------------------------------------------------------------------------


def test_an_uninstall_leaves_nothing(restored: Operated) -> None:
    restored.plane.kubectl("label", "node", "gpu", "podberth.io/link-shape=none", "podberth.io/link-domain-size=1")
    restored.plane.kubectl("label", "namespace", USERS, "podberth.io/exempt=true")
    for block in blocks(UPGRADE, "## Uninstall"):
        restored.run(block)
    # With its pods; and its token is good for nothing without the ServiceAccount.
    restored.container.stop(crash=True)

    def left() -> list[str]:
        kinds = restored.plane.kubectl("api-resources", "--verbs=list", "-o", "name", "--cached=false").stdout.split()
        # Events stay for an hour after their objects are gone.
        wanted = sorted(each for each in set(kinds) if not each.startswith("events"))
        found = restored.plane.kubectl("get", ",".join(wanted), "-A", "-o", "json", check=False)
        if found.returncode:  # a kind that goes is listed for a moment longer
            return [found.stderr]
        return [
            f"{each['kind']} {each['metadata']['name']}"
            for each in json.loads(found.stdout)["items"]
            if "podberth" in each["metadata"]["name"]
            or any("podberth" in key for key in each["metadata"].get("labels", {}))
        ]

    wait_for(lambda: left() == [], timeout_seconds=SECONDS, what=lambda: f"all of podberth's to go; left are {left()}")
    restored.wait_passed_by()
