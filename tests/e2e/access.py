"""podberth's way into a cluster of the tests' own: the rights of manifests/base, a token, and a kubeconfig with it."""

import base64
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from controlplane.cluster import ControlPlane
from podberth.kube.documents import load_documents
from podberth.wellknown import NAMESPACE

from .podberth_process import ROOT

TOKEN = "token"  # noqa: S105 - the name of a file


def grant(control_plane: ControlPlane, *components: str) -> None:
    """Make podberth's namespace and give it what manifests/base grants, and these of manifests/components.

    The guards come with the rights, so that whatever it does in a test is what it lets through.
    """
    control_plane.add_namespace(NAMESPACE)
    files = ["base/rbac.yaml", "base/events.yaml", *(f"components/{name}/rbac.yaml" for name in components)]
    files += [f"components/{name}/guard.yaml" for name in components if name in {"audit", "controller"}]
    for file in files:
        text = (ROOT / "manifests" / file).read_text()
        control_plane.apply(*(one.document for one in load_documents(text, file)[0]))


def enter(control_plane: ControlPlane, directory: Path, server: str = "", account: str = "podberth") -> Path:
    """Write a token of podberth's own ServiceAccount and a kubeconfig with it; return where the latter is."""
    write_token(control_plane, directory / TOKEN, account=account)
    return write_kubeconfig(control_plane, directory / TOKEN, server)


def token_of(control_plane: ControlPlane, pod: Mapping[str, Any]) -> str:
    """Return the token that a kubelet would put into a pod: of its ServiceAccount, and bound to it and its node."""
    metadata = pod["metadata"]
    bound = {"apiVersion": "v1", "kind": "Pod", "name": metadata["name"], "uid": metadata["uid"]}
    account = pod["spec"]["serviceAccountName"]
    path = f"/api/v1/namespaces/{metadata['namespace']}/serviceaccounts/{account}/token"
    made = control_plane.api.request("POST", path, {"spec": {"audiences": [], "boundObjectRef": bound}})
    return str(made["status"]["token"])


def write_token(
    control_plane: ControlPlane, token_file: Path, duration: str = "1h", *, account: str = "podberth"
) -> None:
    """Put a new token of a ServiceAccount of podberth's own into a file."""
    made = control_plane.kubectl("create", "token", account, "-n", NAMESPACE, "--duration", duration)
    token_file.write_text(made.stdout)


def enter_with(control_plane: ControlPlane, directory: Path, rights: str, account: str) -> Path:
    """Give a ServiceAccount of a new namespace of its name roles; return its kubeconfig.

    `rights` are the manifests of a ClusterRole, which counts in every namespace, and of Roles, whose namespaces exist.
    """
    control_plane.add_namespace(account)
    who = f"--serviceaccount={account}:default"
    for role in (one.document for one in load_documents(rights, "rights.yaml")[0]):
        control_plane.apply(role)
        kind, name = role["kind"].lower(), role["metadata"]["name"]
        where = ("-n", role["metadata"]["namespace"]) if kind == "role" else ()
        control_plane.kubectl("create", f"{kind}binding", name, f"--{kind}={name}", who, *where)
    (directory / account).mkdir()
    token = directory / account / TOKEN
    token.write_text(control_plane.kubectl("create", "token", "default", "-n", account, "--duration", "1h").stdout)
    return write_kubeconfig(control_plane, token)


def write_kubeconfig(control_plane: ControlPlane, token_file: Path, server: str = "") -> Path:
    """Write a kubeconfig beside the file of the token, which it names; return where.

    `server` is another way to the API server, whose certificate knows it as localhost.
    """
    authority = base64.b64encode(control_plane.ca_file.read_bytes()).decode()
    cluster = {"server": server or control_plane.url, "certificate-authority-data": authority}
    if server:
        cluster["tls-server-name"] = "localhost"
    document = {
        "clusters": [{"name": "test", "cluster": cluster}],
        "users": [{"name": "podberth", "user": {"tokenFile": token_file.name}}],
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": "podberth"}}],
        "current-context": "test",
    }
    path = token_file.parent / "kubeconfig"
    path.write_text(json.dumps(document))
    return path
