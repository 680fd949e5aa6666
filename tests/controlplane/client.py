"""What tests do with any cluster, ours or an existing one: kubectl, and answers decoded."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from .build import assets
from .process import GO
from .wait import wait_for

# The kubeconfig of an existing cluster to test against.
EXISTING_VARIABLE = "PODBERTH_TEST_KUBECONFIG"

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_ESTABLISHED_SECONDS = 300.0
# A tenth of a second for most; to take two dozen CRDs away took a minute of a busy machine.
_KUBECTL_SECONDS = 300.0


class KubectlError(RuntimeError):
    """kubectl ended with a status other than 0; `completed` has its output."""

    def __init__(self, completed: subprocess.CompletedProcess[str]) -> None:
        """Quote the command and what it said."""
        self.completed = completed
        command = " ".join(map(str, completed.args[1:]))
        said = (completed.stderr or completed.stdout).strip()
        super().__init__(f"kubectl {command}: status {completed.returncode}: {said}")


class Cluster:
    """What a test may do with any cluster, through kubectl.

    `kubeconfig` is the administrator's, `kubectl_path` the executable; `directory` is for kubectl's cache, so
    that discovery of one cluster is not read for another.
    """

    def __init__(self, kubectl: Path, kubeconfig: Path, directory: Path) -> None:
        """Start nothing."""
        self.kubeconfig = kubeconfig
        self.directory = directory
        self.kubectl_path = kubectl

    def kubectl(
        self,
        *args: str,
        input: str | None = None,  # noqa: A002 - named as subprocess.run names it
        check: bool = True,
        timeout: float = _KUBECTL_SECONDS,
    ) -> subprocess.CompletedProcess[str]:
        """Run kubectl as administrator and return its output as text.

        A status other than 0 raises KubectlError where `check` is on; subprocess.TimeoutExpired past `timeout`.
        """
        completed = subprocess.run(
            [str(self.kubectl_path), *args],
            input=input,
            env=self.environ(),
            text=True,
            capture_output=True,
            check=False,
            timeout=timeout,
        )
        if check and completed.returncode:
            raise KubectlError(completed)
        return completed

    def environ(self) -> dict[str, str]:
        """Return an environment in which kubectl, or a program under test, finds this cluster and no other."""
        # The caller's own kubectl preferences (kuberc) may change defaults and aliases.
        return {
            **os.environ,
            **GO,
            "KUBECONFIG": str(self.kubeconfig),
            "KUBECACHEDIR": str(self.directory / "kubectl-cache"),
            "KUBECTL_KUBERC": "false",
        }

    def get(self, *args: str) -> Any:
        """Return what `kubectl get ARGS -o json` says, decoded."""
        return json.loads(self.kubectl("get", *args, "-o", "json").stdout)

    def apply(self, *documents: Mapping[str, Any]) -> list[Any]:
        """Apply the documents server-side, in order, and return them as the server stored them.

        Server-side because client-side apply puts the whole object into an annotation, for which the CRDs
        of KubeRay and others are too long (256 KiB).
        """
        flags = ("--server-side", "--force-conflicts", "--field-manager=podberth-tests")
        return self._send("apply", *flags, documents=documents)

    def create(self, *documents: Mapping[str, Any]) -> list[Any]:
        """Create the documents, which unlike for `apply` may have a generateName, and return them as stored."""
        return self._send("create", documents=documents)

    def await_crds(self, *definitions: Mapping[str, Any]) -> None:
        """Return once the kinds of these CustomResourceDefinitions, of all if none is given, are served and found.

        Not `kubectl wait`: of a definition whose status is still empty it says that its conditions are no list. And one
        that is established may not be in the lists of groups and of kinds yet, which another controller keeps.
        """
        wanted = definitions or self._read(CRDS)["items"]
        missing = {(version, each["spec"]["names"]["plural"]) for each in wanted for version in _versions(each)}

        def are_listed() -> bool:
            groups = (self._read("/apis") or {"groups": ()})["groups"]
            listed = {version["groupVersion"] for group in groups for version in group["versions"]}
            for version in listed & {version for version, _ in missing}:
                kinds = (self._read(f"/apis/{version}") or {"resources": ()})["resources"]
                found = missing.intersection((version, each["name"]) for each in kinds)
                # The storage of a kind that is listed may still be initialized.
                missing.difference_update(
                    each for each in found if self._read(f"/apis/{'/'.join(each)}?limit=1") is not None
                )
            return not missing

        wait_for(are_listed, timeout_seconds=_ESTABLISHED_SECONDS, what=lambda: f"{sorted(missing)} to be served")

    def _read(self, path: str) -> Any:
        """Return the document at a path of the API; None where the server refuses."""
        answer = self.kubectl("get", "--raw", path, check=False)
        return None if answer.returncode else json.loads(answer.stdout)

    def create_token(self, namespace: str, serviceaccount: str) -> str:
        """Return a new token of a service account: a program run with it is held to its RBAC."""
        return self.kubectl("create", "token", serviceaccount, "--namespace", namespace).stdout.strip()

    def _send(self, verb: str, *flags: str, documents: Iterable[Mapping[str, Any]]) -> list[Any]:
        items = [dict(document) for document in documents]
        manifest = json.dumps({"apiVersion": "v1", "kind": "List", "items": items})
        output = self.kubectl(verb, *flags, "-f", "-", "-o", "json", input=manifest).stdout
        return list(_objects(output))


def of_files(*files: Path) -> list[str]:
    """Return the arguments by which one kubectl takes all the files, in order: each start of it takes a while."""
    return [part for file in files for part in ("-f", str(file))]


def _objects(output: str) -> Iterator[Any]:
    """Yield the objects of kubectl's output: `create` prints one after another, `apply` several as a List."""
    decoder = json.JSONDecoder()
    while output:
        found, end = decoder.raw_decode(output)
        yield from found["items"] if found["kind"] == "List" else [found]
        output = output[end:].lstrip()


def external(kubeconfig: Path | str, directory: Path) -> Cluster:
    """Return an existing cluster, on which nothing is started or stopped.

    A webhook under test must then have a URL, or a Service, that this cluster's API server can reach:
    127.0.0.1 leads to the API server's own machine. `directory` is for kubectl's cache. kubectl is the one on
    PATH, which will suit that cluster; only without one is ours taken or built.
    """
    found = shutil.which("kubectl")
    return Cluster(Path(found) if found else assets() / "kubectl", Path(kubeconfig), directory)


def _versions(crd: Mapping[str, Any]) -> set[str]:
    """Return the versions in which a definition's kind is to be served, with their group."""
    spec = crd["spec"]
    return {f"{spec['group']}/{each['name']}" for each in spec["versions"] if each["served"]}
