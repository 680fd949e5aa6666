"""An admin's way through docs/install.md and docs/upgrade.md, on a fresh cluster: each step has its effect, timed.

The pages' commands run as they stand, and nothing of the default overlay is changed, its Service included. In the place
of kubelets the walk runs the pods' containers from the unpacked images, with the tokens of their ServiceAccounts: each
replica in a network of its own, whose address its pod gets, and one agent on the stand-in for NVIDIA's library.
"""

import re
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from builders import gpu_pod
from controlplane.api import Answer
from controlplane.cluster import ControlPlane
from controlplane.kubelet import gpu_node
from controlplane.wait import wait_for
from deployment.operated import blocks, typed
from deployment.rendering import Document
from e2e.access import token_of, write_kubeconfig
from e2e.agent.stage import Stage
from e2e.agent.test_driver_upgrade import (
    CLIENT,
    PLUGIN,
    RUNTIME_CLASS,
    UPGRADE,
    label,
    pods,
    wait_until_back,
    wait_until_gone,
)
from e2e.balancer import Balancer
from e2e.manifest import record
from e2e.never_lost.hosts import Host
from nvml import build as nvml
from nvml.driver import Driver
from nvml.scenario import hgx_h100, write_sysfs
from nvml.test_giving_back import device_file
from pages import page
from podberth.topology.shapes import simulate
from podberth.wellknown import NAMESPACE

from . import containerd
from .built import Image
from .contained import Contained

NODE: Final = "gpu"
# Seconds here; the bound is for a CI machine under load.
SECONDS: Final = 120.0
_CONFIGURATIONS: Final = ("mutatingwebhookconfiguration", "validatingwebhookconfiguration")
_PODS: Final = f"/api/v1/namespaces/{NAMESPACE}/pods"
_LEFT: Final = (*_CONFIGURATIONS, "namespace", "clusterrole", "clusterrolebinding", "customresourcedefinition")
_REFUSED: Final = 'failed calling webhook "pods.mutate.podberth.io"'


class Times:
    """The steps so far, with the seconds that each took."""

    def __init__(self) -> None:
        self.steps: dict[str, float] = {}

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Time the block, if it succeeds, and print that to stderr."""
        began = time.monotonic()
        yield
        self.steps[name] = time.monotonic() - began
        sys.stderr.write(f"{self.steps[name]:4.0f} s  {name}\n")


def walk(images: Mapping[str, Image], containerd_program: Path, directory: Path, times: Times) -> None:
    """Do what the page says, from built images to nothing left. Raises where a step does not come to its effect."""
    with ExitStack() as until:
        routed = ("--enable-aggregator-routing=true",)  # it dials the Service's endpoints: nothing else leads to them
        plane = until.enter_context(ControlPlane.start(directory / "plane", extra_apiserver_args=routed))
        plane.add_nodes([gpu_node("a", gpus=0), gpu_node("b", gpus=0), simulate("hgx-h100-8", NODE)[0]])
        plane.apply({**RUNTIME_CLASS, "handler": "nvidia"})
        admin = _Admin(plane, images, directory, until)
        with times.step("import of both archives into containerd"):
            admin.load(containerd_program)
        with times.step("`kubectl apply -k`"):
            admin.run("# Install podberth")
        replicas = admin.replicas()
        with times.step("from there until both replicas are ready, and write on a GPU pod"):
            admin.serve(replicas)
        for each in replicas:
            each.stop(crash=True)
        with times.step("`fail-closed`, until a GPU pod is refused while no replica is up"):
            admin.run("## Fail-closed")
            admin.wait("a refusal", lambda answer: _REFUSED in str(answer.document.get("message")))
        with times.step("the way back, until it is created as it is written"):
            admin.run("## Upgrade", "docs/upgrade.md", block=1)  # behind what would change
            admin.wait("no refusal", lambda answer: answer.status == HTTPStatus.CREATED)
        admin.serve(replicas)
        with times.step("a first policy, until it decides"):
            admin.run("## Policies")
            admin.wait("its warning", lambda answer: "guaranteed-qos-for-numa" in " ".join(answer.warnings))
        _upgrade_driver(admin, times)
        with times.step("uninstall, until nothing is left"):
            admin.run("## Uninstall", "docs/upgrade.md")
            wait_for(lambda: not admin.left(), timeout_seconds=SECONDS, what=lambda: f"nothing of {admin.left()}")
        assert not record(admin.create().document)


def _upgrade_driver(admin: "_Admin", times: Times) -> None:
    """Do with the labels of a node what NVIDIA's driver manager does, and with the agent what a kubelet does."""
    stage = Stage(admin.plane, admin.directory)
    label(stage, NODE, {CLIENT: "true", PLUGIN: "true"})
    device = device_file(admin.directory / "driver")
    driver = Driver(device.parent, hgx_h100() | {"driver.device": device})
    device.touch()
    with closing(admin.agent(stage, driver)) as agent:
        before = stage.settled(NODE)
        with times.step("an agent leaves a node for an upgrade of its driver"):
            label(stage, NODE, {CLIENT: UPGRADE, PLUGIN: UPGRADE})
            wait_until_gone(stage, NODE)
            agent.stop()
            assert device.read_text().split() == ["opened", "closed"]
    assert stage.config_map(NODE) == before
    driver.change({"driver.generation": 1, "gpu.0.ecc": 1})
    with times.step("and comes back, until it publishes what the new driver reports"):
        label(stage, NODE, {CLIENT: "true", PLUGIN: "true"})
        wait_until_back(stage, NODE)
        with closing(admin.agent(stage, driver)):
            wait_for(
                lambda: (stage.document(NODE) or {})["gpus"][0].get("problem"),
                timeout_seconds=SECONDS,
                what="the new document",
            )


class _Admin:
    """Somebody with a kubeconfig, a clone, and the images; and what kubelets would do for them."""

    def __init__(self, plane: ControlPlane, images: Mapping[str, Image], directory: Path, until: ExitStack) -> None:
        self.plane = plane
        self.directory = directory
        self._images = images
        self._until = until

    def load(self, program: Path) -> None:
        """Import the images on a node."""
        folder = self.directory / "containerd"
        folder.mkdir()
        containerd.import_all(self._until.enter_context(containerd.running(program, folder)), self._images)

    def run(self, heading: str, name: str = "docs/install.md", *, block: int = 0) -> None:
        """Run a block of commands below a heading of a page, by default the first."""
        typed(self.plane, blocks(f"\n{page(name)}", heading)[block])

    def replicas(self) -> list[Contained]:
        """Return the containers of the Deployment's pods; they do not run yet."""
        return [self._replica(pod) for pod in wait_for(self._running, timeout_seconds=SECONDS, what="two pods")]

    def _replica(self, pod: Document) -> Contained:
        """Return the container of a pod, on a network of its own, whose address the pod gets."""
        name = pod["metadata"]["name"]
        host = self._until.enter_context(closing(Host(self.directory)))
        address = {"podIP": host.address, "podIPs": [{"ip": host.address}]}
        path = f"{_PODS}/{name}/status"
        self.plane.api.request("PATCH", path, {"status": address}, "application/merge-patch+json")
        replica = Contained(self._images["podberth"], self.directory / name, pod["spec"]["containers"][0], host)
        self._until.callback(replica.close)
        self._until.callback(replica.stop, crash=True)
        port = urlsplit(self.plane.url).port
        assert port
        relay = self._until.enter_context(closing(Balancer(lambda: [port], host.gateway)))
        token = replica.directory / "token"
        token.write_text(token_of(self.plane, pod))
        kubeconfig = write_kubeconfig(self.plane, token, f"https://{host.gateway}:{relay.port}")
        replica.variables = {**replica.variables, "PODBERTH_KUBECONFIG": str(kubeconfig)}
        return replica

    def agent(self, stage: Stage, driver: Driver) -> Contained:
        """Return the container of the agent's pod on the node, started; the driver is that of a scenario."""
        [pod] = wait_for(lambda: pods(stage, NODE), timeout_seconds=SECONDS, what="the agent's pod")
        agent = Contained(self._images["podberth-agent"], driver.folder, pod["spec"]["containers"][0])
        if not driver.sysfs.exists():
            write_sysfs(driver.sysfs, [])
            shutil.copy(nvml.library() / nvml.LIBRARY_NAME, driver.folder)
        files = {"token": token_of(self.plane, pod), "ca.crt": self.plane.ca_file.read_text()}
        for name, text in files.items():
            (driver.folder / name).write_text(text)
        access = ("--token-file", str(driver.folder / "token"), "--ca-file", str(driver.folder / "ca.crt"))
        agent.arguments = (*agent.arguments, "--api-server", self.plane.url, *access, "--sysfs", str(driver.sysfs))
        agent.begin(NODE_NAME=NODE, LD_LIBRARY_PATH=str(driver.folder), PODBERTH_NVML_SCENARIO=str(driver.file))
        return agent

    def create(self) -> Answer:
        """Return the answer to the creation of a GPU pod that leaves nothing behind."""
        return self.plane.api.ask("POST", "/api/v1/namespaces/default/pods?dryRun=All", gpu_pod())

    def wait(self, what: str, reached: Callable[[Answer], object]) -> None:
        """Return once the answer to a GPU pod is as it should be."""
        wait_for(
            lambda: reached(self.create()),
            timeout_seconds=SECONDS,
            what=lambda: f"{what} of a GPU pod; got {self.create()}",
        )

    def serve(self, replicas: Sequence[Contained]) -> None:
        """Start the replicas; return once they are ready, write on a GPU pod, and every entry has their authority."""
        for each in replicas:
            each.begin()
        for each in replicas:
            each.wait_ready()
        self.wait("a record", lambda answer: answer.status == HTTPStatus.CREATED and record(answer.document))
        for kind in _CONFIGURATIONS:
            assert all(each["clientConfig"].get("caBundle") for each in self.plane.get(kind, "podberth")["webhooks"])

    def left(self) -> list[str]:
        """Return what the cluster has of podberth."""
        found = self.plane.kubectl("get", ",".join(_LEFT), "-o", "name").stdout.splitlines()
        return [each for each in found if re.search(r"podberth", each)]

    def _running(self) -> list[Any]:
        found = self.plane.api.read(f"{_PODS}?labelSelector=app.kubernetes.io/name%3Dpodberth")["items"]
        return found if len(found) == 2 and all(each["status"].get("podIP") for each in found) else []
