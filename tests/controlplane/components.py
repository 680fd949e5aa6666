"""The command line of each component: what is set, and why it is."""

import json
import ssl
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from .build import minor, pod_groups_version
from .credentials import SERVICE_RANGE, Credentials
from .process import GO, Launch

# KEP-4671 (gang scheduling) and its topology part; both are off by default in 1.36 and 1.37. The same on API server
# and scheduler.
_GANG_GATES = "GenericWorkload=true,TopologyAwareWorkloadScheduling=true"
# 1.36 alone has a gate for gangs besides, which later releases refuse.
_GATED_GANGS = 36
# Their client-side defaults (20 and 50 requests a second) slow a burst of a few hundred pods by many seconds.
_REQUESTS_PER_SECOND = 500

# In start order; stopped in reverse.
ORDER = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "nodes")
# What listens; etcd has a second port for peers that it does not have.
PORTS = ("etcd", "etcd-peer", "kube-apiserver", "kube-controller-manager", "kube-scheduler")


@dataclass(frozen=True, slots=True)
class Plan:
    """Where one control plane's parts are and what was requested of it. `ports` has one for each name in PORTS.

    `job_gangs` lets the Job controller itself make a PodGroup for an Indexed Job whose parallelism is its
    completions (gate WorkloadWithJob); `shared_claims` lets a PodGroup have claims for all its pods (gate
    DRAWorkloadResourceClaims). `pod_groups` turns native gang scheduling on: no release before 1.36 has its gates, and
    such a release refuses to start with them.
    """

    assets: Path
    directory: Path
    credentials: Credentials
    ports: Mapping[str, int]
    pod_groups: bool
    job_gangs: bool = False
    shared_claims: bool = False
    extra_apiserver_args: tuple[str, ...] = ()
    extra_controller_args: tuple[str, ...] = ()

    @property
    def url(self) -> str:
        """The API server's address."""
        return f"https://127.0.0.1:{self.ports['kube-apiserver']}"


def launches(plan: Plan) -> dict[str, Launch]:
    """Return what starts each component, in start order."""
    commands = {
        "etcd": (_etcd(plan), _answers(f"http://127.0.0.1:{plan.ports['etcd']}/health")),
        "kube-apiserver": (_apiserver(plan), _serves(plan, "kube-apiserver", "readyz")),
        "kube-controller-manager": (
            _controller_manager(plan),
            # It is healthy before it has controllers; each is listed once it is made.
            _serves(plan, "kube-controller-manager", "healthz?verbose", b"job-controller ok"),
        ),
        "kube-scheduler": (_scheduler(plan), _serves(plan, "kube-scheduler", "readyz")),
        "nodes": (_nodes(plan), _ready_file(plan).exists),
    }
    return {name: _launch(plan, name, *commands[name]) for name in ORDER}


def _launch(plan: Plan, name: str, arguments: Sequence[str], ready: Callable[[], bool]) -> Launch:
    ready_file = _ready_file(plan) if name == "nodes" else None
    command = arguments if name == "nodes" else [str(plan.assets / name), *arguments]
    # The package's parent, for `python -m`; HOME for whatever a component may want to keep.
    environ = {**GO, "HOME": str(plan.directory), "PYTHONPATH": str(Path(__file__).parents[1])}
    return Launch(name, tuple(command), environ, plan.directory / "logs" / f"{name}.log", ready, ready_file)


def _etcd(plan: Plan) -> list[str]:
    client, peer = (f"http://127.0.0.1:{port}" for port in (plan.ports["etcd"], plan.ports["etcd-peer"]))
    return [
        f"--data-dir={plan.directory / 'etcd'}",
        # The data is as short-lived as the process; with fsync each write would wait for the disk.
        "--unsafe-no-fsync=true",
        f"--listen-client-urls={client}",
        f"--advertise-client-urls={client}",
        f"--listen-peer-urls={peer}",
        f"--initial-advertise-peer-urls={peer}",
        f"--initial-cluster=default={peer}",
    ]


def _apiserver(plan: Plan) -> list[str]:
    credentials = plan.credentials
    return [
        f"--etcd-servers=http://127.0.0.1:{plan.ports['etcd']}",
        *_serving(plan, "kube-apiserver"),
        # A loopback address can't be the kubernetes Service's endpoint, and a machine without a default
        # route has no other: so no endpoint is published.
        "--advertise-address=127.0.0.1",
        "--endpoint-reconciler-type=none",
        f"--service-cluster-ip-range={SERVICE_RANGE}",
        "--authorization-mode=RBAC",
        f"--token-auth-file={credentials.token_file}",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-key-file={credentials.service_account_public_key}",
        f"--service-account-signing-key-file={credentials.service_account_key}",
        "--allow-privileged=true",
        # These two are published in a ConfigMap that the others' delegated authentication starts from, and
        # without which they log errors for ever. Nobody holds a certificate that either would accept.
        f"--client-ca-file={credentials.ca_file}",
        f"--requestheader-client-ca-file={credentials.ca_file}",
        "--requestheader-allowed-names=front-proxy-client",
        "--requestheader-username-headers=X-Remote-User",
        "--requestheader-group-headers=X-Remote-Group",
        # Without it a stop waits up to a minute for watches to end; with it, two seconds.
        "--shutdown-send-retry-after=true",
        # WorkloadWithJob gives the Job controller's role its rights on PodGroups.
        *_gates(plan, f"{_gang_gates()},WorkloadWithJob={_flag(plan.job_gangs)}"),
        *([f"--runtime-config={pod_groups_version()}=true"] if plan.pod_groups else []),
        *plan.extra_apiserver_args,
    ]


def _controller_manager(plan: Plan) -> list[str]:
    kubeconfig = plan.credentials.kubeconfig("kube-controller-manager", plan.url)
    return [
        f"--kubeconfig={kubeconfig}",
        f"--authentication-kubeconfig={kubeconfig}",
        f"--authorization-kubeconfig={kubeconfig}",
        *_serving(plan, "kube-controller-manager"),
        "--leader-elect=false",
        # As on real clusters: a webhook then sees a Job's pods made by
        # system:serviceaccount:kube-system:job-controller.
        "--use-service-account-credentials=true",
        f"--service-account-private-key-file={plan.credentials.service_account_key}",
        f"--root-ca-file={plan.credentials.ca_file}",
        f"--kube-api-qps={_REQUESTS_PER_SECOND}",
        f"--kube-api-burst={_REQUESTS_PER_SECOND}",
        *_gates(plan, f"GenericWorkload=true,WorkloadWithJob={_flag(plan.job_gangs)}"),
        *plan.extra_controller_args,
    ]


def _scheduler(plan: Plan) -> list[str]:
    kubeconfig = plan.credentials.kubeconfig("kube-scheduler", plan.url)
    configuration = plan.directory / "scheduler.json"
    # Only the file, and no flag that isn't deprecated, can set the request rate.
    document = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "clientConnection": {
            "kubeconfig": str(kubeconfig),
            "qps": _REQUESTS_PER_SECOND,
            "burst": _REQUESTS_PER_SECOND,
        },
        "leaderElection": {"leaderElect": False},
    }
    configuration.write_text(json.dumps(document))
    return [
        f"--config={configuration}",
        f"--authentication-kubeconfig={kubeconfig}",
        f"--authorization-kubeconfig={kubeconfig}",
        *_serving(plan, "kube-scheduler"),
        *_gates(plan, _gang_gates()),
    ]


def _gang_gates() -> str:
    return f"{_GANG_GATES},GangScheduling=true" if minor() == _GATED_GANGS else _GANG_GATES


def _gates(plan: Plan, gates: str) -> list[str]:
    """Return the flag of these feature gates, and of shared claims; none without native gang scheduling."""
    shared = ",DRAWorkloadResourceClaims=true" if plan.shared_claims else ""
    return [f"--feature-gates={gates}{shared}"] if plan.pod_groups else []


def _nodes(plan: Plan) -> list[str]:
    kubeconfig = plan.credentials.kubeconfig("nodes", plan.url)
    return [sys.executable, "-m", f"{__package__}.nodes", str(kubeconfig), str(_ready_file(plan))]


def _ready_file(plan: Plan) -> Path:
    return plan.directory / "nodes.ready"


def _serving(plan: Plan, name: str) -> list[str]:
    return [
        "--bind-address=127.0.0.1",
        f"--secure-port={plan.ports[name]}",
        f"--cert-dir={plan.directory / 'certificates'}",
        f"--tls-cert-file={plan.credentials.serving_cert}",
        f"--tls-private-key-file={plan.credentials.serving_key}",
    ]


def _flag(value: bool) -> str:
    return "true" if value else "false"


def _serves(plan: Plan, name: str, path: str, text: bytes = b"") -> Callable[[], bool]:
    """Return a check that works without credentials: health paths are open to anonymous users."""
    tls = ssl.create_default_context(cafile=str(plan.credentials.ca_file))
    return _answers(f"https://127.0.0.1:{plan.ports[name]}/{path}", tls, text)


def _answers(url: str, tls: ssl.SSLContext | None = None, text: bytes = b"") -> Callable[[], bool]:
    """Return a check that `url` answers with a success and has `text` in its answer."""

    def answers() -> bool:
        try:
            # S310: the address is ours. Two seconds and not more: it is asked again, and a stranger that took
            # the port may never answer.
            with urllib.request.urlopen(url, timeout=2, context=tls) as response:  # noqa: S310
                return text in response.read()
        except (OSError, urllib.error.URLError):
            return False

    return answers
