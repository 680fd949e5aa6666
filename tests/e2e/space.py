"""A namespace of one test's own, and what a user does in it with kubectl."""

import json
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from controlplane.cluster import ControlPlane
from controlplane.wait import wait_for

Document = dict[str, Any]

# Milliseconds here, and as long again as podberth was away where a controller has to try again; the bound is for a CI
# machine under load.
SECONDS = 90.0
_WORKLOADS = ("apps/v1/deployments", "apps/v1/statefulsets", "apps/v1/daemonsets", "batch/v1/cronjobs", "batch/v1/jobs")
_WARNING = "Warning: "


@dataclass(frozen=True, slots=True)
class Said:
    """What one kubectl said. `warnings` are its `Warning: ` lines without that word, `errors` the other stderr."""

    status: int
    output: str
    warnings: tuple[str, ...]
    errors: str

    @classmethod
    def of(cls, completed: subprocess.CompletedProcess[str]) -> "Said":
        """Sort what a kubectl has written."""
        lines = completed.stderr.splitlines()
        warnings = tuple(line.removeprefix(_WARNING) for line in lines if line.startswith(_WARNING))
        errors = "\n".join(line for line in lines if not line.startswith(_WARNING))
        return cls(completed.returncode, completed.stdout, warnings, errors)

    @property
    def ours(self) -> tuple[str, ...]:
        """The warnings that podberth gave."""
        return tuple(line for line in self.warnings if line.startswith("podberth"))


class Space:
    """One namespace. Manifests are files, or documents whose namespace is set to this one."""

    def __init__(self, control_plane: ControlPlane, name: str) -> None:
        """Make the namespace."""
        self.control_plane = control_plane
        self.name = name
        control_plane.add_namespace(name)

    def kubectl(self, *args: str, manifest: Path | Sequence[Document] | None = None) -> Said:
        """Run kubectl in this namespace; its status is for the caller to judge."""
        given: tuple[str, ...] = ()
        text = None
        if isinstance(manifest, Path):
            given = ("-f", str(manifest))
        elif manifest is not None:
            given, text = ("-f", "-"), json.dumps({"apiVersion": "v1", "kind": "List", "items": self._own(manifest)})
        return Said.of(self.control_plane.kubectl(*args, "-n", self.name, *given, input=text, check=False))

    def apply(self, *manifest: Document, file: Path | None = None, flags: Sequence[str] = ()) -> Said:
        """Apply documents or a file, as a user does."""
        return self.kubectl("apply", *flags, manifest=file or manifest)

    def must_apply(self, *manifest: Document, file: Path | None = None, flags: Sequence[str] = ()) -> Said:
        """Apply, which must succeed."""
        said = self.apply(*manifest, file=file, flags=flags)
        assert said.status == 0, said
        return said

    def dry_run(self, pod: Document) -> Document:
        """Return what a creation would make of a pod."""
        path = f"/api/v1/namespaces/{self.name}/pods?dryRun=All"
        made: Document = self.control_plane.api.request("POST", path, self._own([pod])[0])
        return made

    def read(self, resource: str, name: str) -> Document:
        """Return an object; `resource` as `apps/v1/deployments`, or `pods` for the core's."""
        found: Document = self.control_plane.api.read(f"{self._path(resource)}/{name}")
        return found

    def pod(self, name: str) -> Document:
        """Return one pod."""
        return self.read("pods", name)

    def pods(self, labels: Mapping[str, str] | None = None) -> list[Document]:
        """Return the pods that carry `labels`, in order of name."""
        found = self.control_plane.api.read(self._path("pods"))["items"]
        wanted = (labels or {}).items()
        chosen = [each for each in found if wanted <= (each["metadata"].get("labels") or {}).items()]
        return sorted(chosen, key=lambda each: str(each["metadata"]["name"]))

    def wait_for_pods(self, count: int, phase: str = "", labels: Mapping[str, str] | None = None) -> list[Document]:
        """Return exactly `count` pods once they are there, in `phase` where one is given."""

        def reached() -> list[Document] | None:
            pods = self.pods(labels)
            met = len(pods) == count and all(phase in ("", each["status"].get("phase")) for each in pods)
            return pods if met else None

        def what() -> str:
            seen = [(each["metadata"]["name"], each["status"]) for each in self.pods(labels)]
            return f"{count} pods {phase or 'to exist'} in {self.name}; got {seen}; events: {self.events()}"

        return wait_for(reached, timeout_seconds=SECONDS, what=what)

    def wait_until_empty(self) -> None:
        """Return once no pod is here, and so none holds a GPU."""
        wait_for(lambda: not self.pods(), timeout_seconds=SECONDS, what=lambda: f"{self.pods()} to be gone")

    def events(self) -> list[str]:
        """Return the messages of the events here."""
        return [str(each.get("message")) for each in self.control_plane.api.read(self._path("events"))["items"]]

    def label_of_node(self, pod: Document, key: str) -> str:
        """Return a label of the node that the pod is bound to."""
        node = self.control_plane.api.read(f"/api/v1/nodes/{pod['spec']['nodeName']}")
        return str(node["metadata"]["labels"][key])

    def remove(self) -> None:
        """Delete everything, and return once no pod holds a GPU any more."""
        for resource in (*_WORKLOADS, "pods"):
            path = f"{self._path(resource)}?propagationPolicy=Background&gracePeriodSeconds=0"
            self.control_plane.api.request("DELETE", path)
        self.wait_until_empty()
        self.control_plane.api.request("DELETE", f"/api/v1/namespaces/{self.name}")

    def _own(self, documents: Sequence[Document]) -> list[Document]:
        return [{**each, "metadata": {**each["metadata"], "namespace": self.name}} for each in documents]

    def _path(self, resource: str) -> str:
        group, _, plural = resource.rpartition("/")
        return f"{f'/apis/{group}' if group else '/api/v1'}/namespaces/{self.name}/{plural}"
