"""A container of an image as a process: what a kubelet would start, where there is none."""

from pathlib import Path

from deployment.rendering import Document
from e2e.never_lost.hosts import Host
from e2e.podberth_process import Process

from .built import Image


class Contained(Process):
    """A container of an image; of its files it has the image and `directory`.

    It is on the network of this machine, or on that of a host, where its ports are those of the manifests.
    """

    def __init__(self, image: Image, directory: Path, container: Document, host: Host | None = None) -> None:
        prefix, program = image.enter(directory), image.config["config"]["Entrypoint"]
        if host is None:
            super().__init__(directory, prefix=prefix, program=program)
        else:
            super().__init__(directory, host=host.address, prefix=(*host.prefix, *prefix), program=program)
            ports = {each["name"]: each["containerPort"] for each in container["ports"]}
            self.port, self.metrics_port = ports["webhook"], ports["metrics"]
        self.readiness = container["readinessProbe"]["httpGet"]["path"] if "readinessProbe" in container else ""
        self.arguments = container["args"]
        given = {each["name"]: each["value"] for each in container.get("env", ()) if "value" in each}
        # The Kubernetes package writes the authority of a kubeconfig into a file; in a pod it has the ServiceAccount's.
        self.variables = {**image.environ, "PYTHONPATH": "", "TMPDIR": str(directory), **given}
