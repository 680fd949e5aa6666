"""The control plane's executables: from KUBEBUILDER_ASSETS, or built once and cached outside the clone."""

import fcntl
import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from .wait import wait_for

COMPONENTS = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl")
BINARY_NAME = "podberth-controlplane"
# The Kubernetes release that is built, "1.33": one of RELEASES, and by default the first.
RELEASE_VARIABLE = "PODBERTH_TEST_KUBERNETES"
# Each release with the file of its modules; the sums lie beside it.
RELEASES: Mapping[str, str] = {"1.36": "go.mod", "1.37": "go-1.37.mod", "1.33": "go-1.33.mod", "1.31": "go-1.31.mod"}

_MODULE = Path(__file__).parent
_BETA_GROUPS_SINCE = 37
# `go list -deps . | wc -l` with the committed go.mod; it only scales the progress lines.
_PACKAGES_ABOUT = 2715
_PROGRESS_SECONDS = 10.0
# Longer than the slowest build seen (6 min 50 s on two busy cores) by a factor that covers a small CI machine.
_OTHER_BUILD_SECONDS = 3600.0


class BuildError(RuntimeError):
    """The executables cannot be had; the message says what to do."""


def assets(environ: Mapping[str, str] | None = None) -> Path:
    """Return the folder that holds an executable for each of COMPONENTS.

    It is `KUBEBUILDER_ASSETS` where that is set (the name controller-runtime's envtest uses), else the
    cache, filled first where it is empty. Raises BuildError.
    """
    environ = os.environ if environ is None else environ
    given = environ.get("KUBEBUILDER_ASSETS")
    if not given:
        return binary(environ).parent
    folder = Path(given)
    missing = [name for name in COMPONENTS if not os.access(folder / name, os.X_OK)]
    if missing:
        raise BuildError(
            f"KUBEBUILDER_ASSETS={given}: no executable {', '.join(missing)}; "
            f"want all of {', '.join(COMPONENTS)}; add what is missing (envtest's archive has neither "
            "controller-manager nor scheduler), or unset the variable to have all built"
        )
    return folder


def binary(environ: Mapping[str, str] | None = None) -> Path:
    """Return our own executable, building it on the first call; beside it lie links named after COMPONENTS.

    It is of the release that RELEASE_VARIABLE names. The cache is
    `${XDG_CACHE_HOME:-~/.cache}/podberth/controlplane-<key>`, its key a digest of all that the executable is made from.
    Two processes that ask at once build once. Raises BuildError.
    """
    environ = os.environ if environ is None else environ
    modules = _modules(environ)
    home = Path(environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "podberth"
    folder = home / f"controlplane-{_key(modules)}"
    built = folder / BINARY_NAME
    if built.exists():
        return built
    home.mkdir(parents=True, exist_ok=True)
    with _alone(home / f"{folder.name}.lock"):
        if not built.exists():
            _build_into(folder, modules, environ)
    return built


def kubernetes_version(environ: Mapping[str, str] | None = None) -> str:
    """Return the version of k8s.io/kubernetes that is built, such as "v1.36.3". Raises BuildError."""
    return _version(_modules(os.environ if environ is None else environ))


def minor(environ: Mapping[str, str] | None = None) -> int:
    """Return the minor version that is built: 36 for "v1.36.3". Raises BuildError."""
    return int(kubernetes_version(environ).split(".")[1])


def pod_groups_version(environ: Mapping[str, str] | None = None) -> str:
    """Return the API version of native PodGroups in the release that is built. Raises BuildError."""
    return f"scheduling.k8s.io/{'v1alpha2' if minor(environ) < _BETA_GROUPS_SINCE else 'v1beta1'}"


def _modules(environ: Mapping[str, str]) -> Path:
    """Return the file of the modules that the asked release is built from."""
    release = environ.get(RELEASE_VARIABLE) or next(iter(RELEASES))
    if release not in RELEASES:
        raise BuildError(f"{RELEASE_VARIABLE}={release}: want one of {', '.join(RELEASES)}")
    return _MODULE / RELEASES[release]


def _version(modules: Path) -> str:
    found = re.search(r"^\s*k8s\.io/kubernetes (v\S+)$", modules.read_text(), re.MULTILINE)
    if found is None:
        raise BuildError(f"{modules}: requires no k8s.io/kubernetes")
    return found[1]


def _key(modules: Path) -> str:
    digest = hashlib.sha256(f"{platform.system()} {platform.machine()} {_link_flags(modules)}".encode())
    for source in (modules, modules.with_suffix(".sum"), *sorted(_MODULE.glob("*.go"))):
        digest.update(source.name.encode() + b"\0" + source.read_bytes())
    return digest.hexdigest()[:16]


def _link_flags(modules: Path) -> str:
    """Return linker flags that strip debug data and say the version, without which it is v0.0.0-master."""
    version = _version(modules)
    major, minor, _ = version.removeprefix("v").split(".", maxsplit=2)
    facts = {"gitVersion": version, "gitMajor": major, "gitMinor": minor}
    return " ".join(["-s -w", *(f"-X k8s.io/component-base/version.{name}={fact}" for name, fact in facts.items())])


@contextmanager
def _alone(lock: Path) -> Iterator[None]:
    """Hold an exclusive lock that dies with its process, and say so where another holds it."""
    with lock.open("w") as handle:

        def taken() -> bool:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return False
            return True

        if not taken():
            _say("another process is building the test control plane; waiting for it")
            wait_for(taken, timeout_seconds=_OTHER_BUILD_SECONDS, what=f"the build that holds {lock}")
        yield


def _build_into(folder: Path, modules: Path, environ: Mapping[str, str]) -> None:
    """Build and move the whole folder into place at once, so that nobody ever sees half of one."""
    environ = {**environ, "CGO_ENABLED": "0", "GOWORK": "off"}
    _require_go(environ)
    partial = Path(tempfile.mkdtemp(prefix=f"{folder.name}-partial-", dir=folder.parent))
    try:
        flags = ["-mod=readonly", "-trimpath", "-buildvcs=false", "-v", "-ldflags", _link_flags(modules)]
        if modules.name != "go.mod":
            flags.append(f"-modfile={modules.name}")
        _go_build(["go", "build", *flags, "-o", str(partial / BINARY_NAME), "."], environ)
        for name in COMPONENTS:
            (partial / name).symlink_to(BINARY_NAME)
        partial.chmod(0o755)
        partial.rename(folder)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _require_go(environ: Mapping[str, str]) -> None:
    """Raise BuildError unless `go` is there and reads our go.mod (or can fetch a toolchain that does)."""
    wanted = "the test control plane is built from Go modules: needs Go 1.26+"
    remedy = "; install it from https://go.dev/dl/, or set KUBEBUILDER_ASSETS or PODBERTH_TEST_KUBECONFIG"
    go = shutil.which("go", path=environ.get("PATH"))
    if go is None:
        raise BuildError(f"{wanted}; got none on PATH{remedy}")
    # Run inside the module, so that GOTOOLCHAIN=auto takes effect exactly as it will for the build.
    asked = _ask([go, "version"], _MODULE, environ)
    found = re.search(r"\bgo(\d+)\.(\d+)", asked.stdout)
    if asked.returncode or found is None or (int(found[1]), int(found[2])) < (1, 26):
        got = (asked.stdout or asked.stderr).strip()
        raise BuildError(f"{wanted}; got {got!r}{remedy}")


def _ask(command: list[str], folder: Path, environ: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=folder, env=dict(environ), text=True, capture_output=True, check=False)


def _go_build(command: list[str], environ: Mapping[str, str]) -> None:
    """Run the build at low priority, reporting its progress to stderr every ten seconds."""
    if nice := shutil.which("nice"):
        command = [nice, *command]
    started = time.monotonic()
    packages = _Packages()
    with subprocess.Popen(command, cwd=_MODULE, env=dict(environ), stderr=subprocess.PIPE, text=True) as process:
        reader = threading.Thread(target=packages.read, args=(process.stderr,), daemon=True)
        reader.start()
        try:
            while _still_running(process):
                elapsed = time.monotonic() - started
                _say(
                    "building the test control plane (first time only, 3 to 7 minutes on 2 cores): "
                    f"{elapsed:.0f} s, {packages.count:,} of about {_PACKAGES_ABOUT:,} packages"
                )
        except BaseException:
            process.terminate()
            raise
        reader.join()
    if process.returncode:
        tail = "\n".join(packages.talk)
        raise BuildError(f"`go build` in {_MODULE} failed with status {process.returncode}:\n{tail}")
    _say(f"built the test control plane in {time.monotonic() - started:.0f} s")


def _still_running(process: subprocess.Popen[str]) -> bool:
    try:
        process.wait(_PROGRESS_SECONDS)
    except subprocess.TimeoutExpired:
        return True
    return False


class _Packages:
    """What `go build -v` says: a line for each package (counted), and all else (the last lines kept)."""

    def __init__(self) -> None:
        self.count = 0
        self.talk: deque[str] = deque(maxlen=40)

    def read(self, stream: IO[str]) -> None:
        for line in stream:
            # A package path has no blank; downloads ("go: downloading …") and errors have.
            if " " in line.strip():
                self.talk.append(line.rstrip())
            else:
                self.count += 1


def _say(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()
