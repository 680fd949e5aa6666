"""Every rendering of the manifests, kustomize's and Helm's, by kubeconform and the API server's own schemas."""

import json
import subprocess
from copy import deepcopy
from pathlib import Path
from typing import Any, Protocol

import pytest

from controlplane.cluster import ControlPlane

from .charted import Helm
from .rendering import COMPONENTS, OVERLAYS, Document, composed, documents, only, overlay
from .schemas import LOCATION, write_schemas

# Of other projects' kinds, whose definitions are in ../shared.
FOREIGN = ("cert-manager", "gpu-metrics", "monitoring")
WITH_OTHERS = pytest.mark.shared("crds/cert-manager", "crds/prometheus-operator")
VALUES = (
    "",
    "certificates=files,allPods=true,audit.enabled=true,controller.enabled=true",
    "controller.enabled=true,audit.enabled=true,policies.shipped=false,failurePolicy.updates=Fail",
    "policies.own.a=kind: GPUPolicy\nspec:\n  scope: All\n  mutations:\n  - a\n  validations:\n  - b\n",
    "agent.labels=own,agent.mig=true,agent.gpuOperator=true,agent.amd=true",
    "agent.platform=gke,agent.mig=true",
    "agent.platform=bottlerocket",
    "hostNetwork=true,ports.webhook=10260,extraArgs={a},extraEnv[0].name=A,imagePullSecrets[0].name=a",
    "conventions.nodeGroupsGrow=false,excludedNamespaces={a},apiServerPorts={8443},audit.enabled=true,audit.extraArgs={a}",
    "agent.labels=nfd-object",
    "agent.enabled=false,image.repository=example.com/podberth,policies.own.a=text",
    "replicas.min=1,replicas.max=1,failurePolicy.creations=Fail,agent.simulate=hgx-h100-8",
)
FOREIGN_VALUES = ("certificates=cert-manager,monitoring.enabled=true,agent.metrics=true",)


class Conform(Protocol):
    """Returns what is wrong with objects; empty: nothing, and all of them were looked at."""

    def __call__(self, objects: list[Document]) -> list[str]: ...


@pytest.fixture
def conform(installed: ControlPlane, kubeconform: Path, tmp_path: Path) -> Conform:
    """Return kubeconform, strict, with schemas that the API server gives for the objects."""

    def run(objects: list[Document]) -> list[str]:
        write_schemas(installed, {(each["apiVersion"], each["kind"]) for each in objects}, tmp_path)
        return _said(kubeconform, tmp_path, objects)

    return run


def _said(kubeconform: Path, schemas: Path, objects: list[Document]) -> list[str]:
    file = schemas / "rendered.json"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
    command = [
        str(kubeconform),
        "-strict",
        "-verbose",
        "-output=json",
        f"-schema-location={schemas}/{LOCATION}",
        str(file),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    found: list[dict[str, Any]] = json.loads(done.stdout)["resources"]
    assert len(found) == len(objects)
    wrong = [f"{each['kind']} {each['name']}: {each['msg']}" for each in found if each["status"] != "statusValid"]
    assert done.returncode == bool(wrong)
    return wrong


def test_what_is_no_manifest_is_refused(installed: ControlPlane, conform: Conform) -> None:
    good = only(overlay(installed, "self-signed"), "Deployment")
    misspelt, mistyped, versions = deepcopy(good), deepcopy(good), deepcopy(good)
    [container] = misspelt["spec"]["template"]["spec"]["containers"]
    container["redinessProbe"] = container.pop("readinessProbe")
    mistyped["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] = "soon"
    del versions["spec"]["selector"]
    assert conform([good]) == []
    for broken, said in ((misspelt, "redinessProbe"), (mistyped, "want integer"), (versions, "selector")):
        [problem] = conform([broken])
        assert problem.startswith("Deployment podberth: ")
        assert said in problem


def test_a_kind_of_ours_is_looked_at_like_any_other(conform: Conform) -> None:
    policy: Document = {
        "apiVersion": "podberth.io/v1alpha1",
        "kind": "GPUPolicy",
        "metadata": {"name": "p"},
        "spec": {"validations": [{"expression": "true"}]},
    }
    assert conform([policy]) == []
    [problem] = conform([{**policy, "spec": {**policy["spec"], "orderr": 1}}])
    assert "orderr" in problem


@pytest.mark.parametrize("name", [each for each in OVERLAYS if each not in FOREIGN])
def test_an_overlay_is_by_the_schemas(installed: ControlPlane, conform: Conform, name: str) -> None:
    assert conform(overlay(installed, name)) == []


@pytest.mark.parametrize("name", [each for each in COMPONENTS if each not in FOREIGN])
def test_a_component_is_by_the_schemas(
    installed: ControlPlane, conform: Conform, tmp_path_factory: pytest.TempPathFactory, name: str
) -> None:
    chosen = composed(tmp_path_factory.mktemp("composed"), [name])
    assert conform(documents(installed.kubectl("kustomize", str(chosen)).stdout)) == []


@pytest.mark.parametrize("values", VALUES)
def test_the_chart_is_by_the_schemas(chart: Helm, conform: Conform, values: str) -> None:
    assert conform(chart.render(*values.split(",") if values else ())) == []


@WITH_OTHERS
@pytest.mark.parametrize("values", FOREIGN_VALUES)
def test_so_are_certificates_and_monitors(
    others: ControlPlane, chart: Helm, conform: Conform, tmp_path_factory: pytest.TempPathFactory, values: str
) -> None:
    chosen = composed(tmp_path_factory.mktemp("composed"), ["gpu-metrics", "monitoring"])
    rendered = documents(others.kubectl("kustomize", str(chosen)).stdout)
    for objects in (rendered, overlay(others, "cert-manager"), chart.render(*values.split(","))):
        assert conform(objects) == []
    monitor = deepcopy(next(each for each in rendered if each["kind"] == "ServiceMonitor"))
    monitor["spec"]["endpoint"] = monitor["spec"].pop("endpoints")
    [problem] = conform([monitor])
    assert "endpoint" in problem
