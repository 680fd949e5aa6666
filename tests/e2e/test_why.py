"""`podberth why` before the real API server and scheduler: planted causes, each of which has to be the first line.

It runs with a ServiceAccount that has the rights of docs/why.md and no other.
"""

import asyncio
import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest

from builders import gpu_pod
from controlplane.cluster import ControlPlane
from controlplane.wait import wait_for
from crds import FOLDER, read
from pages import page
from podberth.api.opening import Kubeconfig
from podberth.cli.terminal import Terminal
from podberth.cli.why import lines
from podberth.cluster.why import read_picture
from podberth.wellknown import NAMESPACE
from podberth.why.causes import answer
from podberth.why.diagnosis import Answer

from .access import enter_with, write_kubeconfig
from .why_nodes import DOWN, holders, nodes
from .why_scene import Scene
from .why_scenes import SCENES

Document = dict[str, Any]

SECONDS = 180.0
ASKER = "why-asker"
MERGE, STRATEGIC = "application/merge-patch+json", "application/strategic-merge-patch+json"
pytestmark = pytest.mark.since(36)
[RIGHTS] = re.findall(r"^```yaml\n(apiVersion: rbac.*?)^```$", page("docs/why.md"), re.MULTILINE | re.DOTALL)
_KINDS = {
    "kueue/kueue.x-k8s.io_localqueues": "/apis/kueue.x-k8s.io/v1beta2/localqueues",
    "kueue/kueue.x-k8s.io_clusterqueues": "/apis/kueue.x-k8s.io/v1beta2/clusterqueues",
    "kueue/kueue.x-k8s.io_workloads": "/apis/kueue.x-k8s.io/v1beta2/workloads",
    "volcano/scheduling.volcano.sh_queues": "/apis/scheduling.volcano.sh/v1beta1/queues",
    "kai-scheduler/scheduling.run.ai_queues": "/apis/scheduling.run.ai/v2/queues",
}
"""The queues' kinds: the file of the CRD, and the path of the objects."""
# The scheduler never looks at these: it waits for an object, or another scheduler is named. Nor does a controller look
# at the job of an operator.
_UNSEEN = {"operator", "scheduler", "no-claim", "no-template", "claim-quota", "no-group", "small-group"}
_UNSEEN |= {"volcano-closed", "volcano-root", "kai-parent", "kai-missing"}


@dataclass(frozen=True, slots=True)
class Stage:
    """A control plane with all scenes planted, and the kubeconfig of somebody with the rights of the page."""

    plane: ControlPlane
    kubeconfig: Path

    def answer(self, scene: Scene) -> Answer:
        """Return the answer to whoever has only the rights of the page."""
        return asyncio.run(_ask(self.kubeconfig, scene.asked, namespace(scene)))

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run `podberth why` as that user."""
        program = [sys.executable, "-m", "podberth", "why", "--kubeconfig", str(self.kubeconfig), *arguments]
        return subprocess.run(program, capture_output=True, text=True, check=False)


async def _ask(kubeconfig: Path, name: str, where: str) -> Answer:
    return answer(await read_picture(Kubeconfig((kubeconfig,)), name, where, datetime.now(UTC)))


def namespace(scene: Scene) -> str:
    return f"why-{scene.name}"


def screen(found: Answer) -> list[str]:
    """Return the lines of an answer on a terminal of 80 columns."""
    stream = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    Terminal(stream, colour=False, width=80).put(lines(found))
    stream.seek(0)
    return stream.read().splitlines()


def scenes() -> list[Scene]:
    """Return the scenes that this machine can plant."""
    return [each for each in SCENES if FOLDER.exists() or not each.shared]


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    directory = tmp_path_factory.mktemp("why")
    with ControlPlane.start(directory / "plane") as plane:
        if FOLDER.exists():
            _serve_queues(plane)
        plane.add_nodes(nodes(), timeout_seconds=SECONDS)
        _make_not_ready(plane, DOWN)
        plane.add_namespace(NAMESPACE)
        plane.apply(*_in("default", holders()))
        wait_for(lambda: _all_run(plane), timeout_seconds=SECONDS, what="the holders to run")
        for scene in scenes():
            plane.add_namespace(namespace(scene), scene.labels)
        # At once: kubectl takes a second for each call.
        plane.apply(*(one for scene in scenes() for one in scene.before(namespace(scene))))
        wait_for(lambda: _refuses_pods(plane), timeout_seconds=SECONDS, what="the policy to be in force")
        plane.apply(*(one for scene in scenes() for one in _in(namespace(scene), scene.objects)))
        for scene in scenes():
            for path, status in scene.statuses.items():
                plane.api.request("PATCH", f"{path}/status", {"status": status}, MERGE)
            _settle(plane, scene)
        yield Stage(plane, enter_with(plane, directory, RIGHTS, ASKER))
        plane.check()


def _serve_queues(plane: ControlPlane) -> None:
    for kind in _KINDS:
        for each in read(FOLDER / f"{kind}.yaml"):
            each["spec"].pop("conversion", None)
            plane.apply(each)
    plane.await_crds()

    def stored() -> bool:
        """Return whether all answer; a kind that is served may still say that its storage is being initialized."""
        return all(plane.raw("GET", path)[0] == HTTPStatus.OK for path in _KINDS.values())

    wait_for(stored, timeout_seconds=SECONDS, what="the queues' kinds to be stored")


def _make_not_ready(plane: ControlPlane, node: str) -> None:
    """Report a node as not ready, and return once the node lifecycle controller has tainted it."""
    ready = {"type": "Ready", "status": "False", "reason": "KubeletNotReady", "message": "PLEG is not healthy"}
    path = f"/api/v1/nodes/{node}"
    plane.api.request("PATCH", f"{path}/status", {"status": {"conditions": [ready]}}, STRATEGIC)
    wait_for(lambda: plane.api.read(path)["spec"].get("taints"), timeout_seconds=SECONDS, what=f"{node} to be tainted")


def _in(where: str, documents: Sequence[Document]) -> list[Document]:
    return [{**each, "metadata": {**each["metadata"], "namespace": where}} for each in documents]


def _refuses_pods(plane: ControlPlane) -> bool:
    """Return whether the policy of its scene is in force: a Deployment whose pods came before it would not wait."""
    [scene] = [each for each in SCENES if each.name == "policy"]
    [pod] = _in(namespace(scene), [gpu_pod(1)])
    path = f"/api/v1/namespaces/{namespace(scene)}/pods?dryRun=All"
    return scene.says.encode() in plane.raw("POST", path, pod)[1]


def _all_run(plane: ControlPlane) -> bool:
    found = plane.api.read("/api/v1/namespaces/default/pods")["items"]
    return all(each["status"].get("phase") == "Running" for each in found)


def _settle(plane: ControlPlane, scene: Scene) -> None:
    """Return once the scheduler, or the controller, has reported on the scene."""
    path = f"/api/v1/namespaces/{namespace(scene)}"
    if scene.cause in {"refused", "suspended"}:
        if scene.cause == "refused" and scene.name not in _UNSEEN:
            events = f"{path}/events?fieldSelector=reason%3DFailedCreate"
            wait_for(
                lambda: plane.api.read(events)["items"], timeout_seconds=SECONDS, what=f"{scene.name} to be refused"
            )
        return
    own = f"{path}/pods/{scene.asked}"
    if scene.cause in {"running", "unlinked"} or scene.status:
        wait_for(
            lambda: plane.api.read(own)["status"].get("phase") == "Running", timeout_seconds=SECONDS, what=scene.name
        )
        if scene.status:
            plane.api.request("PATCH", f"{own}/status", {"status": scene.status}, MERGE)
    elif scene.name == "claim-quota":
        events = f"{path}/events?fieldSelector=reason%3DFailedResourceClaimCreation"
        wait_for(lambda: plane.api.read(events)["items"], timeout_seconds=SECONDS, what="the claim to be refused")
    elif scene.name not in _UNSEEN:
        wait_for(lambda: plane.api.read(own)["status"].get("conditions"), timeout_seconds=SECONDS, what=scene.name)


@pytest.mark.parametrize(
    "scene",
    [pytest.param(each, id=each.name, marks=[pytest.mark.shared("crds")] * each.shared) for each in SCENES],
)
def test_the_planted_cause_is_the_first_line(stage: Stage, scene: Scene) -> None:
    if scene.cause == "scheduler":  # nobody is blamed for a pod of a few seconds
        wait_for(lambda: stage.answer(scene).diagnosis.cause != "new", timeout_seconds=SECONDS, what="the pod's age")
    found = stage.answer(scene)
    assert (found.diagnosis.cause, scene.says in found.diagnosis.title) == (scene.cause, True), found
    assert any(scene.shows in each for each in found.diagnosis.evidence) or not scene.shows, found
    assert any(scene.does in each for each in found.diagnosis.do) or not scene.does, found
    assert any(scene.follows in each.title for each in found.then) or not scene.follows, found
    assert found.diagnosis.do or not found.diagnosis.waits
    assert not found.unread


def test_no_answer_contradicts_the_condition_of_its_pod(stage: Stage) -> None:
    for scene in scenes():
        found = stage.answer(scene)
        if found.said.message:
            assert found.diagnosis.waits, found
        if found.diagnosis.cause in {"taint", "selector", "busy", "size", "resource", "fragmented"}:
            assert found.said.reason == "Unschedulable"


def test_the_command_prints_the_cause_first(stage: Stage) -> None:
    done = stage.run("it", "-n", "why-fragments")
    assert done.returncode == 0, done.stderr
    first, *rest = done.stdout.splitlines()
    assert first.startswith("Pod why-fragments/it waits ")
    assert "are free, but at most 2 on one node" in first
    assert {line.split(" ")[0] for line in rest if line[:1].strip()} == {"evidence", "do", "scheduler"}


def test_every_answer_fits_a_terminal_of_80_columns_and_24_lines(stage: Stage) -> None:
    screens = {scene.name: screen(stage.answer(scene)) for scene in scenes()}
    assert not {name: wide for name, found in screens.items() if (wide := [line for line in found if len(line) > 80])}
    assert not {name: found for name, found in screens.items() if len(found) > 24}


def test_json_has_the_whole_message_of_the_scheduler(stage: Stage) -> None:
    done = stage.run("pod/it", "-n", "why-busy", "-o", "json")
    said = json.loads(done.stdout)
    condition = stage.plane.api.read("/api/v1/namespaces/why-busy/pods/it")["status"]["conditions"][0]
    assert said["scheduler"]["message"] == condition["message"]
    assert said["cause"] == "busy"


def test_whoever_may_not_read_learns_which_right_is_missing(stage: Stage) -> None:
    plane = stage.plane
    plane.kubectl("create", "clusterrole", "only-pods", "--verb=get,list", "--resource=pods")
    plane.kubectl("create", "namespace", "few-rights")
    plane.kubectl(
        "create", "clusterrolebinding", "few", "--clusterrole=only-pods", "--serviceaccount=few-rights:default"
    )
    wait_for(
        lambda: plane.raw("GET", "/api/v1/namespaces/few-rights/serviceaccounts/default")[0] == 200,
        timeout_seconds=SECONDS,
        what="the account",
    )
    directory = stage.kubeconfig.parent.parent / "few"
    directory.mkdir()
    token = directory / "token"
    token.write_text(plane.kubectl("create", "token", "default", "-n", "few-rights").stdout)
    found = asyncio.run(_ask(write_kubeconfig(plane, token), "it", "why-busy"))
    assert [each.want for each in found.unread] == ["list nodes", "list events in why-busy"]
    assert found.diagnosis.cause == "scheduler's word"


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("pod/gone", "-n", "default"), 3, "pod default/gone: does not exist"),
        (("job/gone", "-n", "default"), 3, "job default/gone: there is no such object with pods"),
        (("a/b/c",), 2, "want a pod's name, or KIND/NAME"),
    ],
)
def test_what_is_not_there_is_an_error(stage: Stage, arguments: tuple[str, ...], code: int, said: str) -> None:
    done = stage.run(*arguments)
    assert (done.returncode, said in done.stderr) == (code, True), done.stderr


def test_kubectl_has_it_as_a_plugin(stage: Stage) -> None:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        [str(stage.plane.kubectl_path), "podberth", "why", "it", "-n", "why-taint"],
        env={**stage.plane.environ(), "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "tainted team=red:NoSchedule" in done.stdout, done.stderr
