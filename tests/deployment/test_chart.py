"""The chart renders what kustomize does for the same choices; Helm installs it, upgrades it and takes it away."""

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from controlplane.cluster import ControlPlane
from controlplane.wait import wait_for
from pages import ROOT, page
from podberth.conventions import Conventions
from podberth.files.naming import read_conventions
from podberth.kube.documents import load_documents
from podberth.policy.every_pod import VALIDATING, entries_wanted, sends_every_pod

from .charted import CHART, Helm
from .rendering import STRICT, Document, composed, documents, only, overlay, unfolded

SECONDS = 60.0
CONVENTIONS = "podberth-conventions"
LAST = "'dra-driver-nvidia-gpu'"
_MANY = re.MULTILINE | re.DOTALL


def by_name(objects: list[Document]) -> dict[tuple[str, str, str], Document]:
    named = {(each["kind"], each["metadata"].get("namespace", ""), each["metadata"]["name"]): each for each in objects}
    assert len(named) == len(objects)
    return named


def assert_equal(rendered: list[Document], built: list[Document]) -> None:
    one, other = by_name(rendered), by_name(built)
    assert one.keys() == other.keys()
    for key, document in one.items():
        assert unfolded(document) == unfolded(other[key]), key


def assert_taken(control_plane: ControlPlane, rendered: list[Document]) -> None:
    """Assert that the API server takes all objects, and knows each of their fields."""
    objects = json.dumps({"apiVersion": "v1", "kind": "List", "items": rendered})
    said = control_plane.kubectl("apply", *STRICT, "-f", "-", input=objects).stdout
    assert len(said.splitlines()) == len(rendered)


OVERLAID = {
    "self-signed": (),
    "cert-manager": ("certificates=cert-manager",),
    "fail-closed": ("failurePolicy.creations=Fail",),
    "dev": ("replicas.min=1", "replicas.max=1", "agent.simulate=hgx-h100-8"),
}
"""By the overlay, the values that say the same."""
COMPOSED = {
    "all-pods": "allPods=true",
    "fail-closed": "failurePolicy.creations=Fail",
    "fail-closed-updates": "failurePolicy.updates=Fail",
    "gpu-metrics": "agent.metrics=true",
    "agent-mig": "agent.mig=true",
    "agent-gke": "agent.platform=gke",
    "agent-bottlerocket": "agent.platform=bottlerocket",
    "agent-gpu-operator": "agent.gpuOperator=true",
    "agent-amd": "agent.amd=true",
    "agent-amd agent-mig agent-gpu-operator agent-gke agent-labels gpu-metrics": (
        "agent.amd=true,agent.mig=true,agent.gpuOperator=true,agent.platform=gke,agent.labels=own,agent.metrics=true"
    ),
    "agent-amd agent-mig agent-bottlerocket agent-nfd-labels gpu-metrics": (
        "agent.amd=true,agent.mig=true,agent.platform=bottlerocket,agent.labels=nfd-object,agent.metrics=true"
    ),
    "monitoring": "monitoring.enabled=true",
    "agent-labels": "agent.labels=own",
    "agent-labels gpu-metrics agent-free-labels": "agent.labels=own,agent.metrics=true,agent.freeLabels=true",
    "agent-nfd-labels": "agent.labels=nfd-object",
    "audit": "audit.enabled=true",
    "controller": "controller.enabled=true",
    "client-auth": "clientCertificate=true",
    "own-policies": "policies.shipped=false",
    "namespace-params": "namespaceParams=true",
    "floor": "floor=true",
    "controller floor": "controller.enabled=true,floor=true",
    "host-network": "hostNetwork=true",
    "audit controller own-policies": "audit.enabled=true,controller.enabled=true,policies.shipped=false",
}
"""By the components, the value that says the same."""
SAID = (
    "controller.enabled=true",
    "audit.enabled=true",
    "imagePullSecrets[0].name=r",
    *(
        f"{process}.{value}"
        for process in ("agent", "controller", "audit")
        for value in (
            "extraArgs[0]=--log=x",
            "extraEnv[0].name=A",
            "extraEnv[0].value=b",
            "nodeSelector.pool=infra",
            "resources.limits.memory=3Gi",
            "tolerations[0].key=infra",
        )
    ),
)
"""Of processes, what the page has."""
JUDGED = ("audit.enabled=true", "conventions.nodeGroupsGrow=false")
GUARDED = ("audit.enabled=true", "controller.enabled=true", "floor=true", "allPods=true")
EXCLUDING = (*GUARDED, "excludedNamespaces={storage,ingress}")
OWN = ("policies.own.a\\.yaml=text", "policies.shipped=false")
COMBINATIONS = (
    *OVERLAID.values(),
    *(("certificates=files", each) for each in COMPOSED.values()),
    SAID,
    JUDGED,
    GUARDED,
    EXCLUDING,
    OWN,
)
OF_OTHERS = ("certificates=cert-manager", "agent.metrics=true", "monitoring.enabled=true")
"""These values render objects of other projects' kinds."""


def of_others(values: tuple[str, ...]) -> bool:
    return any(each in value for value in values for each in OF_OTHERS)


@pytest.mark.parametrize(("name", "values"), OVERLAID.items())
def test_each_overlay_is_a_choice_of_values(chart: Helm, name: str, values: tuple[str, ...]) -> None:
    assert_equal(chart.render(*values), overlay(chart.control_plane, name))


@pytest.mark.parametrize(("component", "value"), COMPOSED.items())
def test_each_component_is_a_value(chart: Helm, tmp_path: Path, component: str, value: str) -> None:
    built = chart.control_plane.kubectl("kustomize", str(composed(tmp_path, component.split()))).stdout
    assert_equal(chart.render("certificates=files", value), documents(built))


@pytest.mark.parametrize("values", [each for each in COMBINATIONS if not of_others(each)], ids=",".join)
def test_each_combination_is_taken(chart: Helm, installed: ControlPlane, values: tuple[str, ...]) -> None:
    assert_taken(installed, chart.render(*values))


@pytest.mark.shared("crds/cert-manager", "crds/prometheus-operator")
@pytest.mark.usefixtures("others")
@pytest.mark.parametrize("values", [each for each in COMBINATIONS if of_others(each)], ids=",".join)
def test_each_combination_with_objects_of_others_is_taken(
    chart: Helm, installed: ControlPlane, values: tuple[str, ...]
) -> None:
    assert_taken(installed, chart.render(*values))


HERE, KUSTOMIZATION = (
    re.search(rf"^```yaml\n({first}.*?)^```$", page("docs/install.md").partition("## What every cluster has")[2], _MANY)
    for first in (r"resources: \{", r"resources: \[")
)


def test_what_every_cluster_has_of_its_own_is_the_same_by_both(
    chart: Helm, installed: ControlPlane, tmp_path: Path
) -> None:
    """The page has it as values and as a kustomization, which the API server takes."""
    assert HERE
    assert KUSTOMIZATION
    (tmp_path / "values.yaml").write_text(HERE[1])
    [values] = load_documents(HERE[1], "values.yaml")[0]
    for name in ("manifests", "certs"):
        shutil.copytree(ROOT / name, tmp_path / name, symlinks=True)
    (tmp_path / "kustomization.yaml").write_text(KUSTOMIZATION[1])
    (tmp_path / "conventions.yaml").write_text(json.dumps(values.document["conventions"]))
    built = documents(installed.kubectl("kustomize", str(tmp_path)).stdout)
    rendered = documents(chart("template", "podberth", str(CHART), "--values", str(tmp_path / "values.yaml")))
    for objects in (built, rendered):
        conventions = read_conventions_of(objects, tmp_path)
        assert conventions.marks_accelerators("example.com/dedicated", "gpu", "NoSchedule")
        assert conventions.label_keys[0].key == "example.com/gpu-class"
    assert_equal(rendered, built)
    # As a person does: to another manager of fields, the port of before and that of now are two.
    installed.kubectl("apply", "--validate=strict", "--dry-run=server", "-k", str(tmp_path))


def read_conventions_of(objects: list[Document], folder: Path) -> Conventions:
    """Read the file of the ConfigMap, as the webhook does; what says that it changed is taken away, and its layout."""
    [config_map] = [each for each in objects if each["metadata"]["name"].startswith("podberth-conventions")]
    name, template = config_map["metadata"]["name"], only(objects, "Deployment")["spec"]["template"]
    [volume] = [each for each in template["spec"]["volumes"] if each["name"] == "conventions"]
    assert volume["configMap"]["name"] == name
    changing = template["metadata"]["annotations"].pop("podberth.io/conventions", "") or name.removeprefix(CONVENTIONS)
    assert changing
    config_map["metadata"]["name"] = volume["configMap"]["name"] = CONVENTIONS
    [(file, text)] = config_map.pop("data").items()
    (folder / file).write_text(text)
    return read_conventions(folder / file)


def test_each_process_has_what_is_said_about_it(chart: Helm) -> None:
    """As `extraArgs` of the webhook and its like, which the page has."""
    rendered = chart.render(*SAID)
    audit = only(rendered, "CronJob", "podberth-audit")["spec"]["jobTemplate"]["spec"]
    for template in (
        audit["template"],
        only(rendered, "Deployment", "podberth-controller")["spec"]["template"],
        only(rendered, "DaemonSet", "podberth-agent")["spec"]["template"],
    ):
        pod = template["spec"]
        [container] = pod["containers"]
        assert (container["args"][-1], container["env"][-1]) == ("--log=x", {"name": "A", "value": "b"})
        assert container["resources"] == {"limits": {"memory": "3Gi"}}
        assert (pod["nodeSelector"], pod["tolerations"]) == ({"pool": "infra"}, [{"key": "infra"}])
        assert pod["imagePullSecrets"] == [{"name": "r"}]


def test_the_audit_judges_by_the_same_conventions(chart: Helm, tmp_path: Path) -> None:
    chosen = ["audit", "conventions"]
    built = chart.control_plane.kubectl("kustomize", str(composed(tmp_path, chosen))).stdout
    rendered = chart.render("certificates=files", *JUDGED)
    jobs = [only(each, "CronJob", "podberth-audit") for each in (documents(built), rendered)]
    assert jobs[0] == jobs[1]
    [container] = jobs[0]["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"]
    assert container["args"][-1] == "--conventions=/etc/podberth/conventions/conventions.yaml"


def test_namespaces_of_ones_own_are_left_out_by_every_entry_and_guard(chart: Helm) -> None:
    before, after = chart.render(*GUARDED), chart.render(*EXCLUDING)
    guards: list[str] = []
    for old, new in zip(before, after, strict=True):
        for was, now in zip(old.pop("webhooks", ()), new.pop("webhooks", ()), strict=True):
            names = now.get("namespaceSelector", {}).get("matchExpressions", [{"values": []}])[0]["values"]
            assert names[-2:] == (["storage", "ingress"] if "namespaceSelector" in was else [])
            assert {**now, "namespaceSelector": 0} == {**was, "namespaceSelector": 0}
        if old != new:
            assert json.dumps(new) == json.dumps(old).replace(LAST, f"{LAST}, 'storage', 'ingress'")
            guards.append(new["metadata"]["name"])
    floor = [f"podberth-floor{each}" for each in ("", "-names", "-names-unknown", "-updates")]
    assert sorted(guards) == ["podberth-audit", "podberth-controller", "podberth-events", "podberth-exemption", *floor]


@pytest.mark.parametrize(
    "value",
    [
        "imagePullSecrets[0]=registry",
        "tolerations[0].keys=a",
        "extraEnv[0].value=b",
        "ports.webhook=0",
        "apiServerPorts[0]=https",
        "excludedNamespaces[0]=A_b",
        "conventions.taints[0].key=a",
        "conventions.tolerableTaints[0].value=a",
        "agent.hostNetwork=true",
        "hostNetwork=yes-please",
        "resources.limit.cpu=1",
    ],
)
def test_what_no_process_could_have_is_refused(chart: Helm, value: str) -> None:
    with pytest.raises(RuntimeError, match=re.split(r"[.\[=]", value)[0]):
        chart.render(value)


def test_without_agents_nothing_of_theirs_is_left(chart: Helm) -> None:
    rendered = chart.render("agent.enabled=false")
    assert "podberth-agent" not in {each["metadata"].get("namespace") for each in rendered}
    assert [
        each["metadata"]["name"] for each in rendered if each["metadata"]["name"].startswith("podberth-agent")
    ] == []


def test_policies_of_ones_own_lie_beside_the_shipped_ones_or_alone(chart: Helm) -> None:
    rendered = chart.render(*OWN)
    assert only(rendered, "ConfigMap", "podberth-policies")["data"] == {"a.yaml": "text"}
    [container] = only(rendered, "Deployment")["spec"]["template"]["spec"]["containers"]
    directory = {each["name"]: each.get("value") for each in container["env"]}["PODBERTH_POLICIES"]
    assert [each["mountPath"] for each in container["volumeMounts"] if each["name"] == "policies"] == [directory]


RULE = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
WRITES: Document = {"mutations": [{}]}
JUDGES: Document = {"validations": [{}]}
UNASKED = {"podberth.io/needs-every-pod": "false"}


@pytest.mark.parametrize(
    ("spec", "annotations"),
    [
        ({"scope": "All", **WRITES, **JUDGES}, {}),
        ({"scope": "All", **WRITES}, {}),
        ({"scope": "All", **JUDGES}, {"a": "b"}),
        ({"scope": "All", "auditAnnotations": [{}]}, {}),
        ({"scope": "All", **WRITES, **JUDGES}, UNASKED),
        ({"scope": "All", **WRITES, **JUDGES, "disabled": True}, {}),
        ({"scope": "GPU", **WRITES, **JUDGES}, {}),
        ({**WRITES, **JUDGES}, {}),
        (
            {
                "scope": "All",
                **JUDGES,
                "matchConstraints": {"resourceRules": [{**RULE, "operations": ["UPDATE"]}, RULE]},
            },
            {},
        ),
        ({"scope": "All", **JUDGES, "matchConstraints": {"resourceRules": [{**RULE, "operations": ["UPDATE"]}]}}, {}),
        ({"scope": "All", **JUDGES, "matchConstraints": {"resourceRules": [{**RULE, "apiGroups": ["apps"]}]}}, {}),
        ({"scope": "All", **JUDGES, "matchConstraints": {"resourceRules": [{**RULE, "resources": ["*"]}]}}, {}),
        ({"scope": "All", **JUDGES, "matchConstraints": {}}, {}),
    ],
)
def test_policies_of_ones_own_bring_the_entries_that_podberth_wants_for_them(
    chart: Helm, tmp_path: Path, spec: Document, annotations: dict[str, str]
) -> None:
    policy = {"kind": "GPUPolicy", "metadata": {"name": "a", "annotations": annotations}, "spec": spec}
    assert sent_every_pod(chart, tmp_path, json.dumps(policy)) == set(entries_wanted(policy))


@pytest.mark.parametrize(
    ("text", "sent"),
    [
        ("kind: GPUPolicy\nspec:\n  scope: All\n  validations:\n  - expression: 'true'\n", True),
        ("kind: GPUPolicy\nspec: {scope: 'All', validations: [{}]}\n", True),
        ("# first\n---\nkind: ConfigMap\n---\nkind: GPUPolicy\nspec: {scope: All, validations: [{}]}\n", True),
        ("kind: GPUPolicy\nspec:\n  # scope: All\n  scope: GPU\n  validations: [{}]\n", False),
        ("kind: ConfigMap\ndata:\n  a: |\n    scope: All\nspec: {scope: All, validations: [{}]}\n", False),
        ("no: [policy", False),
        ("", False),
    ],
)
def test_they_are_read_as_yaml(chart: Helm, tmp_path: Path, text: str, *, sent: bool) -> None:
    assert sent_every_pod(chart, tmp_path, text) == ({VALIDATING} if sent else set())


def sent_every_pod(chart: Helm, directory: Path, policy: str) -> set[str]:
    """Return the kinds of configuration that send every pod where this is a policy of one's own."""
    (directory / "values.yaml").write_text(json.dumps({"policies": {"own": {"a.yaml": policy}}}))
    rendered = documents(chart("template", "podberth", str(CHART), "--values", str(directory / "values.yaml")))
    return {
        each["kind"] for each in rendered if each["kind"].endswith("WebhookConfiguration") and sends_every_pod(each)
    }


def test_the_audit_judges_by_the_policies_that_are_served(chart: Helm) -> None:
    rendered = chart.render("audit.enabled=true", "audit.schedule=@daily", "policies.shipped=false")
    spec = only(rendered, "CronJob", "podberth-audit")["spec"]
    [container] = spec["jobTemplate"]["spec"]["template"]["spec"]["containers"]
    assert spec["schedule"] == "@daily"
    assert container["args"][-2:] == ["--policies=/etc/podberth/policies/own", "--policies=cluster"]


def test_an_image_is_named_by_tag_or_digest_and_scraped_from_where_one_says(chart: Helm) -> None:
    digest = f"sha256:{'0' * 64}"
    rendered = chart.render(
        "image.repository=example.com/podberth",
        f"image.digest={digest}",
        "agent.image.tag=v2",
        "monitoring.namespace=m",
    )
    [webhook] = only(rendered, "Deployment")["spec"]["template"]["spec"]["containers"]
    [agent] = only(rendered, "DaemonSet", "podberth-agent")["spec"]["template"]["spec"]["containers"]
    assert (webhook["image"], agent["image"]) == (f"example.com/podberth@{digest}", "podberth-agent:v2")
    [_, scraped] = only(rendered, "NetworkPolicy")["spec"]["ingress"]
    assert scraped["from"] == [{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "m"}}}]


@pytest.mark.parametrize(
    "value",
    ["certificate=files", "failurePolicy.creations=Retry", "agent.labels=nfd", "agent.platform=aks", "image.digest=1"],
)
def test_a_value_that_there_is_not_is_refused(chart: Helm, value: str) -> None:
    with pytest.raises(RuntimeError, match=value.partition("=")[0].replace(".", "[./]")):
        chart.render(value)


@pytest.mark.parametrize("value", ["agent.metrics=true", "agent.amd=true"])
def test_an_agent_that_plays_a_machine_is_one_and_serves_no_metrics_of_it(chart: Helm, value: str) -> None:
    """The agent ends with 2 on metrics, and two agents would write one document: the chart says so before."""
    with pytest.raises(RuntimeError, match=r"agent[./]simulate"):
        chart.render(value, "agent.simulate=hgx-h100-8")


def test_a_packaged_chart_renders_the_same(chart: Helm, tmp_path: Path) -> None:
    chart("lint", "--strict", str(CHART))
    chart("package", str(CHART), "--destination", str(tmp_path))
    [package] = tmp_path.iterdir()
    assert chart("template", "podberth", str(package)) == chart("template", "podberth", str(CHART))


# ---- on a cluster of its own ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def elsewhere(helm: Path, control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Helm]:
    """Yield Helm and a cluster that has nothing of podberth's."""
    del control_plane  # marks the test as one that needs one
    directory = tmp_path_factory.mktemp("elsewhere")
    with ControlPlane.start(directory / "cluster") as started:
        yield Helm(helm, started, directory)


def test_helm_installs_it_upgrades_it_rolls_it_back_and_takes_it_away(elsewhere: Helm) -> None:
    kubectl, release = elsewhere.control_plane.kubectl, ("podberth", str(CHART), "--namespace", "default")
    elsewhere("install", *release)
    assert kubectl("get", "deployment", "-n", "podberth-system", "podberth", "-o", "name").stdout
    elsewhere("upgrade", *release, "--set", "failurePolicy.updates=Fail")
    assert _failure_policy(elsewhere.control_plane, "pods-update.validate.podberth.io") == "Fail"
    elsewhere("rollback", "podberth", "--namespace", "default")
    assert _failure_policy(elsewhere.control_plane, "pods-update.validate.podberth.io") == "Ignore"
    elsewhere.control_plane.await_crds()

    elsewhere("uninstall", "podberth", "--namespace", "default")
    wait_for(lambda: _left(elsewhere.control_plane) == [], timeout_seconds=SECONDS, what="all but the CRD to be gone")
    assert kubectl("get", "crd", "gpupolicies.podberth.io", "-o", "name").stdout


def _failure_policy(control_plane: ControlPlane, entry: str) -> str:
    webhooks = control_plane.get("validatingwebhookconfiguration", "podberth")["webhooks"]
    return str({each["name"]: each["failurePolicy"] for each in webhooks}[entry])


def _left(control_plane: ControlPlane) -> list[str]:
    kinds = "ns,mutatingwebhookconfiguration,validatingwebhookconfiguration,validatingadmissionpolicy,clusterrole"
    names = control_plane.kubectl("get", kinds, "-o", "name").stdout.split()
    return [each for each in names if each.partition("/")[2].startswith("podberth")]


def test_what_helm_renders_kubectl_applies(elsewhere: Helm) -> None:
    rendered = elsewhere("template", "podberth", str(CHART))
    said = elsewhere.control_plane.kubectl("apply", "--validate=strict", "-f", "-", input=rendered).stdout
    assert len(said.splitlines()) == len(documents(rendered))
