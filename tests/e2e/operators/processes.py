"""Operators as processes: built from their published modules (tests/gotools), held to the rights that they ship.

Their CRDs are those of ../shared/crds. JobSet's webhooks are registered by URL; those of the Training Operator and of
Trainer only validate, and are left out.
"""

import base64
import json
import shutil
import urllib.request
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from controlplane.api import CONNECTION_ERRORS
from controlplane.cluster import ControlPlane
from controlplane.ports import Ports
from controlplane.process import GO, Component, Guard, Launch
from controlplane.wait import wait_for
from crds import FOLDER, read

from ..operator_crds import install
from .gangs import GANGS, Document
from .makers import OF_TRAINER, training_runtimes

NAMESPACE = "operators"
# Two seconds here; the bound is for a CI machine under load.
_READY_SECONDS = 60.0
_EFFECT_SECONDS = 30.0

Rights = tuple[tuple[str, str, str], ...]
"""API group, resources and verbs, each list with blanks between."""

_ALL = "create delete get list patch update watch"
_JOBS = ("mpijobs", "paddlejobs", "pytorchjobs", "tfjobs", "xgboostjobs")
# kubeflow/training-operator v1.8.1 manifests/base/rbac/role.yaml, for these
_OF_TRAINING_OPERATOR: Rights = (
    ("", "configmaps", "create list update watch"),
    ("", "events pods", _ALL),
    ("", "pods/exec", "create"),
    ("", "serviceaccounts", "create get list watch"),
    ("", "services", "create delete get list watch"),
    ("autoscaling", "horizontalpodautoscalers", _ALL),
    ("kubeflow.org", " ".join(_JOBS), _ALL),
    ("kubeflow.org", " ".join(f"{each}/finalizers" for each in _JOBS), "update"),
    ("kubeflow.org", " ".join(f"{each}/status" for each in _JOBS), "get patch update"),
    ("rbac.authorization.k8s.io", "rolebindings roles", "create list update watch"),
)
# kubernetes-sigs/jobset v0.8.2 config/components/rbac/role.yaml, then kubeflow/trainer v2.0.0 manifests/base/rbac
_OF_TRAINER: Rights = (
    ("", "events", "create patch update watch"),
    ("", "nodes", "get list watch"),
    ("", "pods services", _ALL),
    ("batch", "jobs", _ALL),
    ("batch", "jobs/status", "get patch update"),
    ("jobset.x-k8s.io", "jobsets", _ALL),
    ("jobset.x-k8s.io", "jobsets/finalizers", "update"),
    ("jobset.x-k8s.io", "jobsets/status", "get patch update"),
    ("", "configmaps secrets", "create get list patch update watch"),
    ("trainer.kubeflow.org", "clustertrainingruntimes trainingruntimes trainjobs", "get list patch update watch"),
    (
        "trainer.kubeflow.org",
        "clustertrainingruntimes/finalizers trainingruntimes/finalizers trainjobs/finalizers trainjobs/status",
        "get patch update",
    ),
)
_FILES = (
    *(f"kubeflow-training-v1/kubeflow.org_{plural}.yaml" for plural in _JOBS),
    "jobset/jobset.x-k8s.io_jobsets.yaml",
    *(
        f"kubeflow-trainer-v2/trainer.kubeflow.org_{plural}.yaml"
        for plural in ("trainjobs", "trainingruntimes", "clustertrainingruntimes")
    ),
    "kuberay/ray.io_rayclusters.yaml",
    *(f"grove/grove.io_{plural}.yaml" for plural in ("podcliquesets", "podcliques")),
)


def install_crds(plane: ControlPlane) -> None:
    """Install the CRDs of the operators and of those whose pods are made by hand; return once they are served."""
    found = {crd["metadata"]["name"]: crd for file in _FILES for crd in read(FOLDER / file)}
    for crd in found.values():
        crd["spec"].pop("conversion", None)  # it leads to an operator's webhook
    install(plane, found)


@contextmanager
def operators(plane: ControlPlane, programs: Mapping[str, Path], directory: Path) -> Iterator[None]:
    """Have both operators run until the block ends; their logs and access are in ``directory``."""
    plane.add_namespace(NAMESPACE)
    certificates = _certificates(plane, directory)
    ports = Ports()
    webhooks = ports.take()
    guard = Guard()
    running: list[Component] = []
    try:
        for name, rights, arguments in (
            ("training-operator", _OF_TRAINING_OPERATOR, ()),
            ("trainer", _OF_TRAINER, (str(webhooks), str(certificates))),
        ):
            health = f"127.0.0.1:{ports.take()}"
            command = (str(programs[name]), health, *arguments)
            environ = {**GO, "HOME": str(directory), "KUBECONFIG": str(_access(plane, name, rights, directory))}
            ready = _Ready(f"http://{health}/readyz")
            running.append(Component(Launch(name, command, environ, directory / f"{name}.log", ready), guard))
        for each in running:
            each.wait_ready(_READY_SECONDS)
        plane.apply(*_job_set_webhooks(plane, webhooks), *training_runtimes())
        _wait_for_defaults(plane)
        yield
        for each in running:
            each.check()
    finally:
        for each in reversed(running):
            each.stop()
        guard.close()
        ports.release()


class _Ready:
    """Asks a health address."""

    def __init__(self, url: str) -> None:
        self._url = url

    def __call__(self) -> bool:
        try:
            # S310: the address is ours. Two seconds and not more: it is asked again.
            with urllib.request.urlopen(self._url, timeout=2):  # noqa: S310
                return True
        except CONNECTION_ERRORS:
            return False


def _access(plane: ControlPlane, name: str, rights: Rights, directory: Path) -> Path:
    """Give an operator an account with these rights; return its kubeconfig."""
    rules = [
        {"apiGroups": [group], "resources": resources.split(), "verbs": verbs.split()}
        for group, resources, verbs in rights
    ]
    rbac = "rbac.authorization.k8s.io"
    plane.apply(
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": NAMESPACE}},
        {"apiVersion": f"{rbac}/v1", "kind": "ClusterRole", "metadata": {"name": name}, "rules": rules},
        {
            "apiVersion": f"{rbac}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": name},
            "roleRef": {"apiGroup": rbac, "kind": "ClusterRole", "name": name},
            "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": NAMESPACE}],
        },
    )
    document = json.loads(plane.kubeconfig.read_text())
    document["users"][0]["user"] = {"token": plane.create_token(NAMESPACE, name)}
    path = directory / f"{name}.kubeconfig"
    path.write_text(json.dumps(document))
    return path


def _certificates(plane: ControlPlane, directory: Path) -> Path:
    """Return a folder with the control plane's serving certificate, under the names that controller-runtime reads."""
    folder = directory / "certificates"
    folder.mkdir(parents=True)
    for source, name in (("serving.crt", "tls.crt"), ("serving.key", "tls.key")):
        shutil.copy(plane.ca_file.with_name(source), folder / name)
    return folder


def _job_set_webhooks(plane: ControlPlane, port: int) -> Iterable[Document]:
    """Yield JobSet's (config/components/webhook), at a URL."""
    authority = base64.b64encode(plane.ca_file.read_bytes()).decode()
    ours = {"matchExpressions": [{"key": "jobset.sigs.k8s.io/jobset-name", "operator": "Exists"}]}
    for kind, verb in (("Mutating", "mutate"), ("Validating", "validate")):
        entries = []
        for path, group, version, resource in (
            ("-jobset-x-k8s-io-v1alpha2-jobset", "jobset.x-k8s.io", "v1alpha2", "jobsets"),
            ("--v1-pod", "", "v1", "pods"),
        ):
            rule = {"apiGroups": [group], "apiVersions": [version], "operations": ["CREATE"], "resources": [resource]}
            entry: Document = {
                "name": f"{verb[0]}{resource}.kb.io",
                "clientConfig": {"url": f"https://127.0.0.1:{port}/{verb}{path}", "caBundle": authority},
                "admissionReviewVersions": ["v1"],
                "sideEffects": "None",
                "rules": [rule],
            }
            entries.append({**entry, "objectSelector": ours} if resource == "pods" else entry)
        metadata = {"name": f"jobset-{kind.lower()}-webhook-configuration"}
        yield {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": f"{kind}WebhookConfiguration",
            "metadata": metadata,
            "webhooks": entries,
        }


def _wait_for_defaults(plane: ControlPlane) -> None:
    """Return once the API server asks JobSet for its defaults, without which its Jobs are not Indexed."""
    [job_set] = [maker for maker in OF_TRAINER if maker.plural.endswith("/jobsets")]
    asked = job_set.workload(GANGS[0])
    path = "/apis/jobset.x-k8s.io/v1alpha2/namespaces/default/jobsets?dryRun=All"
    wait_for(
        lambda: plane.api.request("POST", path, asked)["spec"].get("successPolicy"),
        timeout_seconds=_EFFECT_SECONDS,
        what="JobSet's webhook to be called",
    )
