"""The chart renders what kustomize does for the same choices; Helm installs it, upgrades it and takes it away."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from controlplane.cluster import ControlPlane
from controlplane.wait import wait_for
from podberth.policy.every_pod import VALIDATING, entries_wanted, sends_every_pod

from .charted import CHART, Helm
from .rendering import Document, composed, documents, only, overlay, unfolded

SECONDS = 60.0


def by_name(objects: list[Document]) -> dict[tuple[str, str, str], Document]:
    named = {(each["kind"], each["metadata"].get("namespace", ""), each["metadata"]["name"]): each for each in objects}
    assert len(named) == len(objects)
    return named


def assert_equal(rendered: list[Document], built: list[Document]) -> None:
    one, other = by_name(rendered), by_name(built)
    assert one.keys() == other.keys()
    for key, document in one.items():
        assert unfolded(document) == unfolded(other[key]), key


DEV = ("replicas.min=1", "replicas.max=1", "agent.simulate=hgx-h100-8")


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("self-signed", ()),
        ("cert-manager", ("certificates=cert-manager",)),
        ("fail-closed", ("failurePolicy.creations=Fail",)),
        ("dev", DEV),
    ],
)
def test_each_overlay_is_a_choice_of_values(chart: Helm, name: str, values: tuple[str, ...]) -> None:
    assert_equal(chart.render(*values), overlay(chart.control_plane, name))


@pytest.mark.parametrize(
    ("component", "value"),
    [
        ("all-pods", "allPods=true"),
        ("fail-closed", "failurePolicy.creations=Fail"),
        ("fail-closed-updates", "failurePolicy.updates=Fail"),
        ("gpu-metrics", "agent.metrics=true"),
        ("monitoring", "monitoring.enabled=true"),
        ("agent-labels", "agent.labels=own"),
        ("agent-nfd-labels", "agent.labels=nfd-object"),
        ("audit", "audit.enabled=true"),
        ("cluster-policies", "policies.source=cluster"),
        ("controller", "controller.enabled=true"),
        ("client-auth", "clientCertificate=true"),
        ("own-policies", "policies.shipped=false"),
        ("audit controller own-policies", "audit.enabled=true,controller.enabled=true,policies.shipped=false"),
        ("audit cluster-policies", "audit.enabled=true,policies.source=cluster"),
        ("controller cluster-policies", "controller.enabled=true,policies.source=cluster"),
    ],
)
def test_each_component_is_a_value(chart: Helm, tmp_path: Path, component: str, value: str) -> None:
    built = chart.control_plane.kubectl("kustomize", str(composed(tmp_path, component.split()))).stdout
    assert_equal(chart.render("certificates=files", value), documents(built))


def test_without_agents_nothing_of_theirs_is_left(chart: Helm) -> None:
    rendered = chart.render("agent.enabled=false")
    assert "podberth-agent" not in {each["metadata"].get("namespace") for each in rendered}
    assert [
        each["metadata"]["name"] for each in rendered if each["metadata"]["name"].startswith("podberth-agent")
    ] == []


def test_policies_of_ones_own_lie_beside_the_shipped_ones_or_alone(chart: Helm) -> None:
    rendered = chart.render("policies.own.a\\.yaml=text", "policies.shipped=false")
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
    assert (spec["schedule"], container["args"][-1]) == ("@daily", "--policies=/etc/podberth/policies/own")


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
    "value", ["certificate=files", "failurePolicy.creations=Retry", "agent.labels=nfd", "image.digest=1"]
)
def test_a_value_that_there_is_not_is_refused(chart: Helm, value: str) -> None:
    with pytest.raises(RuntimeError, match=value.partition("=")[0].replace(".", "[./]")):
        chart.render(value)


def test_policies_of_ones_own_that_nobody_would_read_are_refused(chart: Helm) -> None:
    with pytest.raises(RuntimeError, match=r"policies[./]own"):
        chart.render("policies.source=cluster", "policies.own.a\\.yaml=text")


def test_an_agent_that_plays_a_machine_serves_no_metrics_of_it(chart: Helm) -> None:
    """The agent ends with 2 on both, on every node: the chart says so before."""
    with pytest.raises(RuntimeError, match=r"agent[./]simulate"):
        chart.render("agent.metrics=true", "agent.simulate=hgx-h100-8")


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
