"""The Go programs of the tests: built once by the first test that asks, and cached outside the clone.

``cert-manager``: its own controllers and CA injector, from the packages that it publishes (``cert-manager/main.go``).
``crane``: go-containerregistry's own, which joins images of several architectures under one name.
``helm``: Helm's own, which renders the chart.
``kubeconform``: checks manifests against schemas, without a server.
``krew``: kubectl's plugin manager, which installs ours from its manifest.
``kubelet``: a server of the kubelet's PodResources API, from the module that publishes it (``kubelet/main.go``).
``prometheus``: Prometheus itself, which scrapes and evaluates; without its service discovery and its pages.
``promtool``: Prometheus' own, which checks and tests rules; without its service discovery, which is most of it.
``registry``: a registry of images with TLS and an account, from go-containerregistry's package (``registry/main.go``).
``trainer``: Kubeflow's Trainer v2 with JobSet, by their own controllers (``trainer/main.go``).
``training-operator``: Kubeflow's Training Operator v1, likewise (``training-operator/main.go``).
"""

import hashlib
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

_HERE = Path(__file__).parent
PROGRAMS: Mapping[str, tuple[str, ...]] = {
    "cert-manager": (".",),
    "crane": ("github.com/google/go-containerregistry/cmd/crane",),
    "helm": ("helm.sh/helm/v4/cmd/helm",),
    "kubeconform": ("github.com/yannh/kubeconform/cmd/kubeconform",),
    "krew": ("sigs.k8s.io/krew/cmd/krew",),
    "kubelet": (".",),
    "prometheus": ("-tags=remove_all_sd", "github.com/prometheus/prometheus/cmd/prometheus"),
    "promtool": ("-tags=remove_all_sd", "github.com/prometheus/prometheus/cmd/promtool"),
    "registry": (".",),
    "trainer": (".",),
    "training-operator": (".",),
}
"""The arguments of ``go build``, by the name of the folder that it runs in."""


class BuildError(RuntimeError):
    """A program cannot be had; the message says what to do."""


def program(name: str) -> Path:
    """Return a program; the first call builds it: the kubelet's server in ten seconds, others in one to three minutes.

    The cache is ``${XDG_CACHE_HOME:-~/.cache}/podberth/<name>-<key>``, its key a digest of all that it is made from.
    Two processes that ask at once build twice, and the same. Raises BuildError.
    """
    built = _cached(name)
    if not built.exists():
        _build(name, built)
    return built


def missing(name: str) -> bool:
    """Return whether there is neither the program nor what it is built with."""
    return not _cached(name).exists() and shutil.which("go") is None


def _cached(name: str) -> Path:
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "podberth"
    digest = hashlib.sha256(f"{platform.system()} {platform.machine()} {PROGRAMS[name]}".encode())
    for source in sorted(each for each in (_HERE / name).iterdir() if each.suffix in {".go", ".mod", ".sum"}):
        digest.update(source.name.encode() + b"\0" + source.read_bytes())
    return home / f"{name}-{digest.hexdigest()[:16]}" / name


def _build(name: str, built: Path) -> None:
    """Build beside the place and move the whole folder there, so that nobody ever sees half of one."""
    if shutil.which("go") is None:
        raise BuildError(f"tests/gotools: got no go on PATH, want Go 1.26+ to build {name}; do: https://go.dev/dl/")
    sys.stderr.write(f"building {name} for the tests (first time only, a few seconds to 3 minutes on 2 cores)\n")
    folder = built.parent
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f"{folder.name}-partial-", dir=folder.parent) as work:
        made = Path(work) / "made"
        flags = ["-mod=readonly", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", f"-o={made / name}"]
        done = subprocess.run(
            ["go", "build", *flags, *PROGRAMS[name]],
            cwd=_HERE / name,
            env={**os.environ, "CGO_ENABLED": "0", "GOWORK": "off"},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise BuildError(f"go build of {name} failed with status {done.returncode}:\n{done.stderr}")
        try:
            made.rename(folder)
        except OSError:
            if not built.exists():  # else another process was faster
                raise
