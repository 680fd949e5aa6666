"""docs/troubleshooting.md, and that of agents: what they say that one sees is what is said.

What the API server, kubectl and controllers say is provoked (PROVOKED); what podberth says is found in its code, in its
policies, or in the messages of its guards.
"""

import base64
import json
import re
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from builders import gpu_pod
from controlplane.wait import wait_for
from pages import ROOT, page, rows
from podberth.pki.issue import Validity, issue_leaf, new_authority

from .operated import CREATIONS, SECONDS, Operated, blocks, operated
from .rendering import composed

TROUBLES = page("docs/troubleshooting.md")
OF_AGENTS = page("docs/agent.md").partition("\n## An agent does not run, or publishes nothing\n")[2]
ELLIPSIS = "…"
# Said by the API server, by kubectl or by a controller; each is provoked by a test below.
REFUSED = "connect: connection refused"
NO_ENDPOINTS = 'no endpoints available for service "podberth"'
SILENT = "context deadline exceeded"
UNKNOWN_AUTHORITY = "x509: certificate signed by unknown authority"
EXPIRED = "x509: certificate has expired or is not yet valid"
OTHER_NAMES = "x509: certificate is valid for …, not …"
NO_SUCH_PATH = "podberth: path: got …, want one that reviews are sent to"
TOLERATES = "tolerates …"
DENIED = 'admission webhook "pods.validate.podberth.io" denied the request: podberth …'
POLICY_DENIED = 'admission webhook "policies.validate.podberth.io" denied the request'
NO_RUNTIME_CLASS = 'pod rejected: RuntimeClass "nvidia" not found'
NOT_REGISTERED = 'mutatingwebhookconfigurations.admissionregistration.k8s.io "podberth" not found'
EXEMPT, LEFT_OUT = "podberth.io/exempt=", "kubernetes.io/metadata.name=gpu-operator"
NO_POLICY_KIND = 'no matches for kind "GPUPolicy"'
NO_MONITOR_KIND = 'no matches for kind "ServiceMonitor" in version "monitoring.coreos.com/v1"'
NO_CRDS = "ensure CRDs are installed first"
TAINTED, INSUFFICIENT = "had untolerated taint", "Insufficient nvidia.com/…"
AFFINITY = "didn't match Pod's node affinity/selector"
UNMEASURED = "cpu: <unknown>/600m"
NO_TEMPLATE = 'resource claim template "…": resourceclaimtemplate.resource.k8s.io "…" not found'
QUOTA = "exceeded quota"
POD_SECURITY = "would violate PodSecurity"
PROVOKED = {
    *(REFUSED, NO_ENDPOINTS, SILENT, UNKNOWN_AUTHORITY, EXPIRED, OTHER_NAMES, NO_SUCH_PATH, DENIED, POLICY_DENIED),
    *(NO_RUNTIME_CLASS, NOT_REGISTERED, EXEMPT, LEFT_OUT, NO_POLICY_KIND, NO_MONITOR_KIND, NO_CRDS),
    *(TOLERATES, TAINTED, INSUFFICIENT, AFFINITY, UNMEASURED, QUOTA, POD_SECURITY, NO_TEMPLATE),
}


def seen() -> list[str]:
    """Return the words of the page that somebody is said to see: the spans of the tables' first columns."""
    found: list[str] = []
    within = False
    for line in f"{TROUBLES}\n{OF_AGENTS}".splitlines():
        within = line.startswith("|") and (within or line.startswith("| you see |"))
        if within:
            found += re.findall(r"`([^`]+)`", line.split(" | ")[0])
    return found


def pattern(words: str) -> str:
    """Return the words as a pattern, with anything in the place of an ellipsis."""
    return ".*".join(map(re.escape, words.split(ELLIPSIS)))


def holds(text: str, words: str) -> bool:
    """Return whether a text has these words in their order."""
    return re.search(pattern(words), text, re.DOTALL) is not None


@pytest.fixture(scope="module")
def said_by_us() -> str:
    """Return every text that podberth may say: of its code, joined as Python joins them, policies and guards."""
    files = [*(ROOT / "webhook" / "podberth").rglob("*.py"), *ROOT.glob("*policies/*/policy.yaml")]
    files += (ROOT / "manifests" / "base").glob("*.yaml")
    text = "\n".join(each.read_text(encoding="utf-8") for each in files)
    # Literals that follow each other, also on lines of their own, and in YAML with a plus between.
    return re.sub(r"""(["'])\s*\+?\s*\n\s*\+?\s*f?\1""", "", text)


def test_every_word_that_is_seen_is_said(said_by_us: str) -> None:
    words = seen()
    assert len(words) > 60
    assert set(words) >= PROVOKED
    missing = []
    for each in sorted(set(words) - PROVOKED):
        # Before what differs there stands what does not: "status 403: …" is written "status {…}: {…}".
        parts = [part.strip(" :;,") for part in re.split(r"…|podberth:|\b[0-9]+\b", each)]
        missing += [(each, part) for part in parts if part and part not in said_by_us]
    assert not missing


def test_every_alert_of_the_gpus_has_a_row() -> None:
    rules = page("manifests/components/gpu-metrics/prometheus-rule.yaml")
    alerts = re.findall(r"^    - alert: (\w+)$", rules, flags=re.MULTILINE)
    section = page("docs/install-reference.md").partition("\n### Alerts of GPUs and agents\n")[2]
    assert alerts
    assert set(alerts) <= rows(section).keys()


# ---- the way to podberth --------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def cluster(control_plane: object, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Operated]:
    """Yield a cluster with podberth at work; Services are called by their endpoints, as where kube-proxy runs."""
    del control_plane  # marks the test as one that needs one
    with operated(tmp_path_factory.mktemp("troubleshooting"), "--enable-aggregator-routing=true") as made:
        yield made


@pytest.fixture
def restored(cluster: Operated) -> Iterator[Operated]:
    """Yield the cluster; install everything again after the test."""
    yield cluster
    cluster.restore()


def test_nobody_listens(restored: Operated) -> None:
    restored.container.stop(crash=True)
    restored.wait_refused(pattern(REFUSED))


def test_nobody_answers(restored: Operated) -> None:
    with restored.silent():
        restored.wait_refused(pattern(SILENT))


def test_no_replica_is_ready(restored: Operated) -> None:
    restored.plane.kubectl("delete", "deployment,horizontalpodautoscaler", "podberth", "-n", "podberth-system")
    service = {"namespace": "podberth-system", "name": "podberth", "path": "/mutate", "port": 443}
    patch = [
        {"op": "remove", "path": "/webhooks/0/clientConfig/url"},
        {"op": "add", "path": "/webhooks/0/clientConfig/service", "value": service},
    ]
    restored.plane.kubectl("patch", CREATIONS[0], "podberth", "--type=json", "-p", json.dumps(patch))
    restored.wait_refused(pattern(NO_ENDPOINTS))
    # An apply does not take `service` away, which it has not written.
    restored.plane.kubectl("delete", CREATIONS[0], "podberth")


def test_a_path_of_another_version(restored: Operated) -> None:
    restored.lead(f"{restored.container.url}/v2")
    restored.wait_refused(pattern(NO_SUCH_PATH))


def test_another_authority(restored: Operated) -> None:
    restored.lead(restored.plane.url)
    restored.wait_refused(pattern(UNKNOWN_AUTHORITY))


@contextmanager
def presented(cluster: Operated, directory: Path, names: list[str], end: timedelta) -> Iterator[None]:
    """Have creations sent to where a certificate of a trusted authority is presented, and nothing else done."""
    now = datetime.now(UTC)
    authority = new_authority("troubleshooting", Validity(now - timedelta(days=9), now + timedelta(days=9)))
    leaf = issue_leaf(authority, names, Validity(now - timedelta(days=8), now + end))
    (directory / "tls.crt").write_bytes(leaf.certificate)
    (directory / "tls.key").write_bytes(leaf.key)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(directory / "tls.crt", directory / "tls.key")
    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=_shake_hands, args=(server, context), daemon=True)
        thread.start()
        cluster.container.stop(crash=True)  # it would put caBundle right
        cluster.lead(f"https://127.0.0.1:{server.getsockname()[1]}", base64.b64encode(authority.pem).decode())
        yield
        server.shutdown(socket.SHUT_RDWR)
        thread.join()


def _shake_hands(server: socket.socket, context: ssl.SSLContext) -> None:
    """Present the certificate to everybody, until the server is shut down."""
    while True:
        try:
            connection, _ = server.accept()
        except OSError:
            return
        # Who refuses the certificate hangs up in the midst of the handshake.
        with suppress(OSError), context.wrap_socket(connection, server_side=True):
            pass


@pytest.mark.parametrize(
    ("names", "end", "words"),
    [
        (["127.0.0.1"], timedelta(days=-1), EXPIRED),
        (["10.0.0.1"], timedelta(days=8), OTHER_NAMES),
    ],
)
def test_a_certificate_that_does_not_do(
    restored: Operated, tmp_path: Path, names: list[str], end: timedelta, words: str
) -> None:
    with presented(restored, tmp_path, names, end):
        restored.wait_refused(pattern(words))


def test_it_is_not_registered(restored: Operated) -> None:
    restored.plane.kubectl("delete", CREATIONS[0], "podberth")
    assert NOT_REGISTERED in restored.plane.kubectl("get", CREATIONS[0], "podberth", check=False).stderr


# ---- what is decided elsewhere --------------------------------------------------------------------------------------


def test_a_warning_says_what_was_written(cluster: Operated) -> None:
    [line] = cluster.create().warnings
    assert holds(line, f"podberth: {TOLERATES}")


def test_a_policy_denies(cluster: Operated) -> None:
    answer = cluster.create(pod=gpu_pod(resource="nvidia.com/mig-4g.5gb"))
    assert holds(answer.document["message"], DENIED)


def test_a_broken_policy_is_refused(cluster: Operated) -> None:
    spec = {"validations": [{"expression": "gpu.cuont > 0"}], "validationActions": ["Warn"]}
    policy = {"apiVersion": "podberth.io/v1alpha1", "kind": "GPUPolicy", "metadata": {"name": "broken"}, "spec": spec}
    answer = cluster.plane.api.ask("POST", "/apis/podberth.io/v1alpha1/gpupolicies?dryRun=All", policy)
    assert POLICY_DENIED in answer.document["message"]


def test_labels_show_why_a_namespace_is_left_out(cluster: Operated) -> None:
    cluster.plane.add_namespace("storage", {"podberth.io/exempt": ""})
    cluster.plane.add_namespace("gpu-operator")
    for namespace, words in (("storage", EXEMPT), ("gpu-operator", LEFT_OUT)):
        assert words in cluster.plane.kubectl("get", "namespace", namespace, "--show-labels").stdout
        assert not cluster.create(namespace).warnings


def test_without_the_crd_there_are_no_policies(restored: Operated, tmp_path: Path) -> None:
    restored.plane.kubectl("delete", "crd", "gpupolicies.podberth.io")
    policy = str(ROOT / "policies" / "gpu-tolerations" / "policy.yaml")
    # kubectl remembers which kinds there are.
    fresh = f"--cache-dir={tmp_path}"

    def said() -> str:
        return restored.plane.kubectl("apply", "--dry-run=server", "-f", policy, fresh, check=False).stderr

    wait_for(lambda: NO_POLICY_KIND in said(), timeout_seconds=SECONDS, what=lambda: f"no such kind; got {said()}")


def test_without_the_operator_of_prometheus_there_are_no_monitors(cluster: Operated, tmp_path: Path) -> None:
    folder = str(composed(tmp_path, ["monitoring"]))
    said = cluster.plane.kubectl("apply", "--dry-run=server", "-k", folder, check=False).stderr
    assert NO_MONITOR_KIND in said
    assert NO_CRDS in said


def test_the_agent_wants_a_runtime_class(restored: Operated) -> None:
    restored.plane.kubectl("label", "node", "plain", "nvidia.com/gpu.present=true")

    def said() -> str:
        return restored.plane.kubectl("get", "events", "-n", "podberth-agent").stdout

    wait_for(lambda: NO_RUNTIME_CLASS in said(), timeout_seconds=SECONDS, what=lambda: f"the event; got {said()}")
    restored.plane.kubectl("label", "node", "plain", "nvidia.com/gpu.present-")


@pytest.mark.parametrize(
    ("words", "gpus", "fields"),
    [
        (TAINTED, 1, {"nodeSelector": {"kubernetes.io/hostname": "gpu"}}),
        (INSUFFICIENT, 100, {}),
        (AFFINITY, 1, {"nodeSelector": {"nobody": "has-it"}}),
    ],
)
def test_the_scheduler_says_why_a_pod_waits(
    cluster: Operated, words: str, gpus: int, fields: dict[str, object]
) -> None:
    pod = gpu_pod(gpus)
    pod["spec"] |= fields
    # Where podberth tolerates nothing.
    pod["metadata"] = {"generateName": "waits-", "namespace": "kube-public"}
    [made] = cluster.plane.create(pod)
    path = f"/api/v1/namespaces/kube-public/pods/{made['metadata']['name']}"
    wait_for(
        lambda: holds(json.dumps(cluster.plane.api.read(path)["status"], ensure_ascii=False), words),
        timeout_seconds=SECONDS,
        what=lambda: f"{words}; got {cluster.plane.api.read(path)['status']}",
    )


def test_a_claim_of_a_template_that_nobody_has_made(cluster: Operated) -> None:
    claims = [{"name": "pair", "resourceClaimTemplateName": "nobodys"}]
    waits = gpu_pod(1, resourceClaims=claims)
    waits["metadata"] = {"generateName": "claims-", "namespace": "kube-public"}
    cluster.plane.create(waits)

    def said() -> str:
        return cluster.plane.kubectl("get", "events", "-n", "kube-public").stdout

    wait_for(lambda: holds(said(), NO_TEMPLATE), timeout_seconds=SECONDS, what=lambda: f"the event; got {said()}")


def test_without_metrics_the_autoscaler_knows_nothing(cluster: Operated) -> None:
    def said() -> str:
        return cluster.plane.kubectl("get", "hpa", "-n", "podberth-system").stdout

    wait_for(lambda: UNMEASURED in said(), timeout_seconds=SECONDS, what=lambda: f"{UNMEASURED}; got {said()}")


def test_a_quota_and_pod_security_have_their_own_words(cluster: Operated) -> None:
    cluster.plane.add_namespace("bounded", {"pod-security.kubernetes.io/warn": "restricted"})
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "gpus", "namespace": "bounded"}}
    assert any(POD_SECURITY in line for line in cluster.create("bounded").warnings)
    cluster.plane.apply({**quota, "spec": {"hard": {"requests.nvidia.com/gpu": "0"}}})
    wait_for(
        lambda: QUOTA in cluster.create("bounded").document.get("message", ""),
        timeout_seconds=SECONDS,
        what=lambda: f"the quota; got {cluster.create('bounded').document}",
    )


def test_the_commands_work(cluster: Operated) -> None:
    commands = blocks(f"\n{TROUBLES}", "# Troubleshooting, by symptom")
    assert len(commands) == 3
    for block in commands:
        cluster.run(block)
