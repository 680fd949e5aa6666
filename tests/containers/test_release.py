"""ci/github/release.yml: it builds here what it builds there, and publishes to a registry; no other job of it is faked.

skopeo, crane, helm and krew are real, and so is the registry, which asks for an account. The image of the other
architecture is this machine's under that name. cosign, gh, uvx and pipx are programs that keep their arguments.
"""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from deployment.rendering import documents
from deployment.test_image_names import images as images_of
from pages import ROOT
from pipelines import read

from .built import NAMES, VERSION, Image, for_architecture
from .registry import PASSWORD, USER, Registry, registry

RELEASE = ROOT / "ci" / "github" / "release.yml"
TAG = f"v{VERSION}"
REPOSITORY = "https://github.com/you/podberth"
PLUGIN = f"kubectl-podberth-{VERSION}.tar.gz"
# https://docs.github.com/actions/reference/workflow-syntax-for-github-actions#defaultsrunshell
SHELLS: Final[Mapping[str | None, tuple[str, ...]]] = {
    None: ("bash", "-e", "-c"),
    "bash": ("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c"),
}
# Each keeps its arguments, and writes the bundle of a signature.
KEPT = """#!/bin/sh
echo "$(basename "$0") $*" >> "$KEPT"
while [ $# -gt 1 ]; do [ "$1" = --bundle ] && echo signed > "$2"; shift; done
"""
_RUNS: Final[Mapping[str, str]] = {"uvx": "uvx --quiet", "pipx": "pipx run --quiet"}
INSTALL_CRANE = "Install crane"
PUSH_CHART = "Push and sign the chart"


def steps(job: str) -> dict[str, str]:
    """Return the scripts of a job, by name."""
    return {each["name"]: each["run"] for each in read(RELEASE)["jobs"][job]["steps"] if "run" in each}


def ran(script: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a step as GitHub does."""
    shell = SHELLS[read(RELEASE).get("defaults", {}).get("run", {}).get("shell")]
    own = {**os.environ, "GITHUB_REF_NAME": TAG, "GITHUB_REPOSITORY": "you/podberth", **environment}
    return subprocess.run([*shell, script], cwd=folder, env=own, capture_output=True, text=True, check=False)


def run(script: str, folder: Path, **environment: str) -> None:
    """Run a step, which must succeed."""
    done = ran(script, folder, **environment)
    assert done.returncode == 0, f"{script}\n{done.stdout}{done.stderr}"


@dataclass(frozen=True)
class Published:
    """A release in a registry: the folder of the job that published it, its variables, and what cosign and gh got."""

    registry: str
    folder: Path
    environment: Mapping[str, str]
    digests: Mapping[str, Mapping[str, str]]
    """The digest of each archive, by image and architecture."""

    @property
    def kept(self) -> list[str]:
        return Path(self.environment["KEPT"]).read_text().splitlines()

    def asked(self, *command: str) -> str:
        """Return what a program says, with the credentials that the job has written."""
        own = {**os.environ, **self.environment}
        return subprocess.run(command, env=own, capture_output=True, text=True, check=True).stdout


@pytest.fixture(scope="module")
def there(registry_program: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registry]:
    """Yield a registry."""
    with registry(registry_program, tmp_path_factory.mktemp("registry")) as running:
        yield running


@pytest.fixture(scope="module")
def package(there: Registry, helm: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return what the job `package` leaves for that registry."""
    folder = tmp_path_factory.mktemp("package")
    path = f"{helm.parent}:{os.environ['PATH']}"
    for script in steps("package").values():
        names = {"PODBERTH_REPOSITORY": REPOSITORY, "REGISTRY": f"{there.address}/you"}
        run(script, ROOT, DIST=str(folder / "dist"), PATH=path, TMPDIR=str(folder), **names)
    return folder / "dist"


@pytest.fixture(scope="module")
def path(crane: Path, helm: Path, skopeo: Path) -> str:
    """Return a PATH with what pushes."""
    return os.pathsep.join([*(str(each.parent) for each in (crane, helm, skopeo)), os.environ["PATH"]])


@pytest.fixture(scope="module")
def published(
    there: Registry, package: Path, images: Mapping[str, Image], path: str, tmp_path_factory: pytest.TempPathFactory
) -> Published:
    """Run the job `publish`, with all but crane's installation."""
    folder = tmp_path_factory.mktemp("publish")
    digests = _artifacts(folder, package, images)
    environment = {
        "HOME": str(folder),
        "KEPT": str(folder / "kept"),
        "PATH": f"{_stand_ins(folder, 'cosign', 'gh')}:{path}",
        "REGISTRY": f"{there.address}/you",
        "REGISTRY_USER": USER,
        "REGISTRY_PASSWORD": PASSWORD,
        "SSL_CERT_FILE": str(there.authority),
        "TMPDIR": str(folder),
    }
    for name, script in steps("publish").items():
        if name != INSTALL_CRANE:
            run(script, folder, **environment)
    return Published(environment["REGISTRY"], folder, environment, digests)


def test_it_is_valid_by_its_published_schema() -> None:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.github-workflows", str(RELEASE)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("job", ["images", "package", "publish"])
def test_no_value_is_pasted_into_a_script(job: str) -> None:
    assert not [script for script in steps(job).values() if "${{" in script]


@pytest.mark.parametrize("job", ["images", "package", "publish"])
def test_no_step_has_a_shell_of_its_own(job: str) -> None:
    assert not [each for each in read(RELEASE)["jobs"][job]["steps"] if "shell" in each]


def test_a_push_that_fails_in_a_pipe_fails_its_step(tmp_path: Path) -> None:
    programs = _stand_ins(tmp_path, "cosign")
    (programs / "helm").write_text("#!/bin/sh\necho Digest: sha256:old; exit 1\n")
    (programs / "helm").chmod(0o755)
    path = f"{programs}:{os.environ['PATH']}"
    done = ran(steps("publish")[PUSH_CHART], tmp_path, PATH=path, REGISTRY="example.com", KEPT=str(tmp_path / "kept"))
    assert done.returncode == 1
    assert not (tmp_path / "kept").exists(), "nothing is signed that was not pushed"


def test_crane_is_the_one_of_the_tests() -> None:
    [version] = re.findall(
        r"go-containerregistry (v\S+)", (ROOT / "tests" / "gotools" / "crane" / "go.mod").read_text()
    )
    assert f"go-containerregistry/cmd/crane@{version}\n" in steps("publish")[INSTALL_CRANE]


def test_the_images_of_a_release_are_the_same_byte_for_byte(images: Mapping[str, Image], tmp_path: Path) -> None:
    install, *others = steps("images").values()
    assert "apt-get install" in install
    for script in others:
        run(script, ROOT, DIST=str(tmp_path))
    for name in NAMES:
        built = tmp_path / f"{name}-{VERSION}.tar"
        assert built.read_bytes() == images[name].archive.read_bytes(), name
        assert built.with_suffix(".spdx.json").read_bytes() == images[name].spdx.read_bytes(), name


def test_package_and_chart_are_built(package: Path) -> None:
    built = {str(each.relative_to(package)) for each in package.glob("*/*")}
    wheel, sdist = f"python/podberth-{VERSION}-py3-none-any.whl", f"python/podberth-{VERSION}.tar.gz"
    krew = {f"krew/{PLUGIN}", "krew/podberth.yaml"}
    assert built == {wheel, sdist, f"chart/podberth-{VERSION}.tgz", *krew}


def test_the_package_says_where_it_comes_from(package: Path) -> None:
    [wheel] = package.glob("python/*.whl")
    with zipfile.ZipFile(wheel) as archive:
        metadata = archive.read(f"podberth-{VERSION}.dist-info/METADATA").decode()
    urls = dict(each.split(", ") for each in re.findall(r"^Project-URL: (.+)$", metadata, re.MULTILINE))
    assert urls.keys() == {"Homepage", "Documentation", "Changelog", "Issues"}
    assert urls["Homepage"] == REPOSITORY
    for name in ("Documentation", "Changelog"):
        tag, _, path = urls[name].removeprefix(f"{REPOSITORY}/blob/").partition("/")
        assert tag == TAG
        assert (ROOT / path).is_file()


def test_the_kubectl_plugin_is_the_same_when_it_is_built_again(package: Path, tmp_path: Path) -> None:
    build = steps("package")["Build the kubectl plugin"]
    run(build, ROOT, DIST=str(tmp_path), TMPDIR=str(tmp_path), PODBERTH_REPOSITORY=REPOSITORY)
    for name in (PLUGIN, "podberth.yaml"):
        assert (tmp_path / "krew" / name).read_bytes() == (package / "krew" / name).read_bytes()
    assert f"{REPOSITORY}/releases/download/{TAG}/{PLUGIN}" in (tmp_path / "krew" / "podberth.yaml").read_text()


@pytest.mark.parametrize(("runner", "last"), [("uvx", "--from"), ("pipx", "--spec")])
def test_krew_installs_the_kubectl_plugin(package: Path, krew: Path, tmp_path: Path, runner: str, last: str) -> None:
    own = {"HOME": str(tmp_path), "KREW_ROOT": str(tmp_path / "krew"), "KEPT": str(tmp_path / "kept")}
    manifest, archive = package / "krew" / "podberth.yaml", package / "krew" / PLUGIN
    install = [str(krew), "install", f"--manifest={manifest}", f"--archive={archive}"]
    # krew says that it is not run by kubectl, and wants git on PATH.
    done = subprocess.run(install, env={**os.environ, **own}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    plugin = tmp_path / "krew" / "bin" / "kubectl-podberth"
    path = f"{_stand_ins(tmp_path, runner)}:/usr/bin:/bin"
    subprocess.run([plugin, "why", "a pod"], env={**own, "PATH": path}, check=True)
    assert (tmp_path / "kept").read_text().rstrip() == (
        f"{_RUNS[runner]} {last} podberth[cluster]=={VERSION} kubectl-podberth why a pod"
    )


def test_a_plugin_that_nothing_can_run_says_what_it_wants(package: Path, tmp_path: Path) -> None:
    shutil.unpack_archive(package / "krew" / PLUGIN, tmp_path)
    done = subprocess.run(
        ["/bin/sh", tmp_path / "kubectl-podberth", "why"],
        env={"PATH": str(tmp_path / "none")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr.startswith("kubectl podberth: got neither uvx nor pipx on PATH, want one of them; do: ")


def test_a_chart_without_the_name_of_a_registry_is_not_built(helm: Path, tmp_path: Path) -> None:
    path = f"{helm.parent}:{os.environ['PATH']}"
    done = ran(steps("package")["Build the chart"], ROOT, DIST=str(tmp_path), PATH=path, REGISTRY="")
    assert done.returncode
    assert not list(tmp_path.rglob("*.tgz"))


def test_the_chart_that_is_pulled_names_images_that_are_pulled(published: Published, tmp_path: Path) -> None:
    pulled = published.asked(
        "helm", "template", "podberth", f"oci://{published.registry}/charts/podberth", "--version", VERSION
    )
    named = images_of(documents(pulled))
    assert named == {f"{published.registry}/{name}:{VERSION}" for name in NAMES}
    for name in NAMES:
        image = f"docker://{published.registry}/{name}:{VERSION}"
        published.asked("skopeo", "copy", image, f"oci:{tmp_path / name}")
        [got] = json.loads((tmp_path / name / "index.json").read_text())["manifests"]
        assert got["digest"] in published.digests[name].values()


@pytest.mark.parametrize("name", NAMES)
def test_both_architectures_are_behind_one_name(published: Published, name: str) -> None:
    index = json.loads(published.asked("crane", "manifest", f"{published.registry}/{name}:{VERSION}"))
    assert index["mediaType"] == "application/vnd.oci.image.index.v1+json"
    assert {each["platform"]["architecture"]: each["digest"] for each in index["manifests"]} == published.digests[name]


@pytest.mark.parametrize("name", NAMES)
def test_an_image_is_signed_by_its_digest(published: Published, name: str) -> None:
    image = f"{published.registry}/{name}"
    for architecture, digest in published.digests[name].items():
        list_ = f"images-{architecture}/{name}-{VERSION}.spdx.json"
        assert f"cosign attest --yes --type spdxjson --predicate {list_} {image}@{digest}" in published.kept
    raw = published.asked("skopeo", "inspect", "--raw", f"docker://{image}:{VERSION}")
    digest = hashlib.sha256(raw.encode()).hexdigest()
    assert f"cosign sign --yes --recursive {image}@sha256:{digest}" in published.kept


def test_the_chart_is_signed_by_its_digest(published: Published) -> None:
    chart = f"{published.registry}/charts/podberth"
    digest = published.asked("crane", "digest", f"{chart}:{VERSION}").strip()
    assert f"cosign sign --yes {chart}@{digest}" in published.kept


def test_every_file_of_the_release_is_signed(published: Published) -> None:
    files = published.kept[-1].partition("--generate-notes ")[2].split()
    lists = [f"{name}-{VERSION}-{each}.spdx.json" for name in NAMES for each in ("amd64", "arm64")]
    package = [f"podberth-{VERSION}{each}" for each in ("-py3-none-any.whl", ".tar.gz", ".tgz")]
    package += [PLUGIN, "podberth.yaml"]
    signed = {f"page/{each}" for each in [*lists, *package]}
    assert set(files) == signed | {f"{each}.sigstore.json" for each in signed}
    for each in signed:
        assert f"cosign sign-blob --yes --bundle {each}.sigstore.json {each}" in published.kept
    assert published.kept[-1].startswith(f"gh release create {TAG} --repo you/podberth --verify-tag ")


def test_the_registry_asks_who_pulls(published: Published, tmp_path: Path) -> None:
    stranger = {**os.environ, **published.environment, "HOME": str(tmp_path)}
    image = f"{published.registry}/podberth:{VERSION}"
    done = subprocess.run(["crane", "digest", image], env=stranger, capture_output=True, text=True, check=False)
    assert done.returncode
    assert "401" in done.stderr


def _stand_ins(folder: Path, *names: str) -> Path:
    """Return a folder of programs that keep their arguments."""
    programs = folder / "programs"
    programs.mkdir()
    for name in names:
        (programs / name).write_text(KEPT)
        (programs / name).chmod(0o755)
    return programs


def _artifacts(folder: Path, package: Path, images: Mapping[str, Image]) -> dict[str, dict[str, str]]:
    """Lay out what the other jobs leave, as actions/download-artifact does: a folder for each, by name."""
    uploads: list[dict[str, Any]] = [
        each["with"]
        for job in ("images", "package")
        for each in read(RELEASE)["jobs"][job]["steps"]
        if each.get("uses", "").startswith("actions/upload-artifact@")
    ]
    assert [each["name"] for each in uploads] == ["images-${{ matrix.architecture }}", "package"]
    (folder / "package").symlink_to(package)
    digests: dict[str, dict[str, str]] = {name: {} for name in NAMES}
    for architecture in ("amd64", "arm64"):
        made = folder / f"images-{architecture}"
        made.mkdir()
        for name, image in images.items():
            archive = made / image.archive.name
            digests[name][architecture] = for_architecture(image.archive, archive, architecture)
            archive.with_suffix(".spdx.json").write_bytes(image.spdx.read_bytes())
    # Debian's and Ubuntu's skopeo come with one in /etc.
    (folder / ".config" / "containers").mkdir(parents=True)
    (folder / ".config" / "containers" / "policy.json").write_text('{"default": [{"type": "insecureAcceptAnything"}]}')
    return digests
