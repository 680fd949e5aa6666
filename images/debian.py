"""Debian's packages: chosen, downloaded and checked by apt in a folder of our own, unpacked by dpkg-deb.

Neither needs root, and no script of a package is run. Mirrors are this machine's, for another release of Debian.
"""

import hashlib
import os
import platform
import re
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from email.parser import HeaderParser
from pathlib import Path

from .recipe import PACKAGES, SUITE

_KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
_SUITES = ("", "-updates", "-security")
# "Inst zlib1g (1:1.3.dfsg+really1.3.1-1+b1 Debian:13.2/stable [amd64])": the form of apt-get --simulate.
_CHOSEN = re.compile(r"^Inst (?P<name>\S+) \((?P<version>\S+) .*\[(?P<architecture>\S+)\]\)", re.MULTILINE)


class DebianError(RuntimeError):
    """Debian's packages cannot be had; the message says what to do."""


@dataclass(frozen=True, slots=True)
class Package:
    """A package as it is in the mirror; ``sha256`` is of its file, in hex, and ``control`` its description."""

    name: str
    version: str
    architecture: str
    sha256: str
    file: Path
    control: str


def packages(folder: Path) -> list[Package]:
    """Download the packages of the images with all that they depend on; return them by name.

    ``folder`` keeps lists and files for the next call. Raises DebianError where this machine has no source of Debian,
    a file is not what the signed list says, or apt fails.
    """
    lists = folder / "var" / "lib" / "apt" / "lists" / "partial"
    for each in (lists, folder / "var" / "cache" / "apt" / "archives" / "partial", folder / "etc" / "apt"):
        each.mkdir(parents=True, exist_ok=True)
    (folder / "status").touch()
    (folder / "sources.list").write_text("".join(f"{each}\n" for each in _sources()), encoding="utf-8")
    _apt(folder, "apt-get", "update", "-qq")
    chosen = [found.groupdict() for found in _CHOSEN.finditer(_install(folder, "--simulate"))]
    _install(folder, "--download-only", "-qq", "--yes")
    return sorted(_downloaded(folder, chosen), key=lambda each: each.name)


def unpack(found: Iterable[Package], root: Path) -> None:
    """Unpack packages into a folder, each with its description where scanners of images look for one."""
    described = root / "var" / "lib" / "dpkg" / "status.d"
    # The links /lib and /lib64 come before what is installed through them.
    for package in sorted(found, key=lambda each: each.name != "base-files"):
        _run("dpkg-deb", "--extract", str(package.file), str(root))
        described.mkdir(parents=True, exist_ok=True)
        (described / package.name).write_text(package.control, encoding="utf-8")


def _sources() -> list[str]:
    """Return the lines of a sources.list: the mirrors of this machine, for the release of the images."""
    form = "$(ORIGIN) $(SITE) $(CODENAME)"
    here = platform.freedesktop_os_release().get("VERSION_CODENAME", "")
    found: dict[str, None] = {}
    for line in _run("apt-get", "indextargets", "--format", form, "Created-By: Packages").splitlines():
        origin, site, codename = line.rsplit(" ", 2)
        suffix = codename.removeprefix(here)
        if origin == "Debian" and suffix in _SUITES:
            found[f"deb [signed-by={_KEYRING}] {site} {SUITE}{suffix} main"] = None
    if not found:
        raise DebianError(
            "images: got no source of Debian in this machine's apt; want one that has been updated; "
            "do: apt-get update, on Debian or in a container of it"
        )
    return list(found)


def _install(folder: Path, *flags: str) -> str:
    return _apt(folder, "apt-get", "install", *flags, *PACKAGES)


def _downloaded(folder: Path, chosen: Sequence[Mapping[str, str]]) -> list[Package]:
    """Return the packages that apt chose, each compared with the signed list."""
    asked = [f"{each['name']}:{each['architecture']}={each['version']}" for each in chosen]
    shown = [
        HeaderParser().parsestr(each)
        for each in _apt(folder, "apt-cache", "show", *asked).split("\n\n")
        if each.strip()
    ]
    wanted = {(each["Package"], each["Version"]): each["SHA256"] for each in shown}
    return [_package(folder, wanted[each["name"], each["version"]], **each) for each in chosen]


def _package(folder: Path, wanted: str, name: str, version: str, architecture: str) -> Package:
    # The colon of an epoch is written so in the name of a file.
    file = f"{name}_{version.replace(':', '%3a')}_{architecture}.deb"
    path = folder / "var" / "cache" / "apt" / "archives" / file
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    if digest != wanted:
        path.unlink()
        raise DebianError(f"{file}: got SHA-256 {digest}, want {wanted}; do: run it again")
    return Package(name, version, architecture, digest, path, _run("dpkg-deb", "--field", str(path)))


def _apt(folder: Path, program: str, *arguments: str) -> str:
    options = {
        "Dir": folder,
        "Dir::Etc::SourceList": folder / "sources.list",
        "Dir::Etc::SourceParts": "-",
        "Dir::State::Status": folder / "status",
        "APT::Sandbox::User": "root",  # who runs this owns the folder
        "APT::Install-Recommends": "false",
        "Acquire::Languages": "none",
    }
    flags = [word for name, value in options.items() for word in ("-o", f"{name}={value}")]
    return _run(program, *flags, *arguments)


def _run(*command: str) -> str:
    own = {**os.environ, "LC_ALL": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive"}
    done = subprocess.run(command, env=own, capture_output=True, text=True, check=False)
    if done.returncode:
        raise DebianError(f"{' '.join(command)}: got status {done.returncode}\n{done.stderr.strip()}")
    return done.stdout
