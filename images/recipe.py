"""The contents of the two images: packages, locks, files that are left out, and how a container is started."""

from dataclasses import dataclass
from typing import Final

SUITE: Final = "trixie"
"""Debian 13, supported until 2030 with LTS: https://wiki.debian.org/LTS."""
PYTHON: Final = "python3.13"
PACKAGES: Final = (
    # The links /lib and /lib64, /etc/os-release for scanners, and /etc/debian_version, by which NVIDIA's container
    # toolkit knows where the driver's libraries belong (libnvidia-container, src/nvc_container.c).
    "base-files",
    "libpython3.13-stdlib",
    "libstdc++6",  # of the wheels of cel-expr-python, grpcio and protobuf
    "python3.13-minimal",
)
HOME: Final = "opt/podberth"
SITE: Final = f"{HOME}/lib/{PYTHON}/site-packages"

USER: Final = 65532
"""As in manifests/base: a user that no system has."""
ACCOUNTS: Final = {
    "etc/passwd": "root:x:0:0:root:/:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/:/sbin/nologin\n",
    "etc/group": "root:x:0:\nnonroot:x:65532:\n",
    # A virtual environment by hand: https://docs.python.org/3/library/site.html
    f"{HOME}/pyvenv.cfg": "home = /usr/bin\ninclude-system-site-packages = false\n",
}
ENVIRONMENT: Final = (f"PATH=/{HOME}/bin:/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE=1")

DEBIAN_LEFT_OUT: Final = (
    "usr/share/doc/*/*",  # but the copyright
    "usr/share/man/*",
    "usr/share/locale/*",
    "usr/share/info",
    "usr/share/lintian",
    "usr/share/perl5",
    "usr/lib/*-linux-gnu/gconv",  # iconv of the C library; Python has codecs of its own
)
WHEELS_LEFT_OUT: Final = (
    # 60 MB of classes, one for each type of the API. kubernetes imports them on demand, and podberth reads bytes.
    f"{SITE}/kubernetes/client/api",
    f"{SITE}/kubernetes/client/models/[!_]*",
    f"{SITE}/kubernetes/aio/client/api",
    f"{SITE}/kubernetes/aio/client/models/[!_]*",
    # Extensions of CEL that podberth does not load: its libraries are its own (docs/adr/0012-cel-libraries.md).
    f"{SITE}/cel_expr_python/ext",
    f"{SITE}/bazel-project",
    # Sources of what is compiled.
    f"{SITE}/**/*.pyx",
    f"{SITE}/**/*.pxd",
    f"{SITE}/**/*.pyi",
)


@dataclass(frozen=True, slots=True)
class Recipe:
    """An image: its name, the lock in requirements/ whose wheels it has, and the command that it runs by default."""

    name: str
    lock: str
    command: str


RECIPES: Final = (Recipe("podberth", "cluster", "serve"), Recipe("podberth-agent", "agent", "agent"))
