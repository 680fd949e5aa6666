"""What all tests share: the control plane's fixtures, and an account of what this machine could not run.

A test is left out for one of seven reasons: it needs the control plane, or another program in Go, and there is
nothing to build or take one from; it needs hosts of its own, and nobody may make network namespaces here; it needs
the images, which are made on Debian, or another program that reads them; it needs data of ../shared, which is no part
of this repository; it looks at pages in a browser and there is none; it bundles the playground's editor and there is
no npm; it needs a newer Kubernetes than the one that `make test-versions` asks for. With CI=true only the last four
may happen; any other test that does not run, a skip included, fails the run.
"""

import gc
import os
import shutil
from collections import Counter
from collections.abc import Collection, Generator
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, settings

from browser import find_browser
from controlplane import build
from controlplane.client import EXISTING_VARIABLE
from controlplane.fixtures import cluster, control_plane
from e2e.never_lost.hosts import lacking
from gotools.build import missing, program
from second_run import SecondRuns
from shares import BACK, FOLDER, Share, options
from stage_times import StageTimes

__all__ = ["chromium", "cluster", "control_plane"]

SHARED = Path(__file__).parents[2] / "shared"

_CONTROL_PLANE = "Go 1.26+ (https://go.dev/dl/), or KUBEBUILDER_ASSETS"
_GO_PROGRAMS = {
    "cert_manager": ("cert-manager",),
    "crane": ("crane",),
    "helm": ("helm",),
    "kubeconform": ("kubeconform",),
    "krew": ("krew",),
    "kubelet_program": ("kubelet",),
    "operator_programs": ("trainer", "training-operator"),
    "prometheus_program": ("prometheus",),
    "promtool": ("promtool",),
    "registry_program": ("registry",),
}
"""By the fixture, the programs of tests/gotools."""
_GO = "Go 1.26+ (https://go.dev/dl/)"
_HOSTS = "network namespaces, as root may make them (unshare, ip)"
_SHARED_DATA = "data in ../shared"
_BROWSER = "a Chromium (Debian: apt-get install chromium), or CHROMIUM=/path/to/it"
_DEBIAN = "Debian's apt-get and dpkg-deb, and root for chroot: images are made of its packages"
_CONTAINERD = "containerd, and root to run it (Debian: apt-get install containerd)"
_SKOPEO = "skopeo (Debian: apt-get install skopeo)"
_RELEASE = "Kubernetes"
_NPM = "npm and its registry (Debian: apt-get install npm)"
_ZSH = "zsh (Debian: apt-get install zsh)"
_PERMITTED = (_SHARED_DATA, _BROWSER, _NPM, _RELEASE, _ZSH)
# How long an example takes is bench/'s affair: a busy machine is slow. CI=true has other defaults, which stay.
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")
# `make test` has a tenth of the default of 100 examples (tests/lanes.py); properties.examples takes part in that.
settings.register_profile("quick", max_examples=10)
# By hand, for what the code of a property's subject is changed in: pytest --hypothesis-profile=thorough tests/property
settings.register_profile("thorough", max_examples=1000)

# All that is in these starts a control plane of its own, or has the fixture.
_ON_CONTROL_PLANES = ("tests/e2e/", "tests/controlplane/test_controlplane.py", "tests/deployment/test_status.py")
_FIXTURES = frozenset({"control_plane", "stage"})

_LEFT_OUT = pytest.StashKey[Counter[str]]()


@pytest.fixture(scope="session")
def chromium() -> Path:
    """Return the browser that tests look at pages with; where there is none they are left out."""
    found = find_browser()
    assert found is not None
    return found


@pytest.fixture(scope="session")
def zsh() -> Path:
    """Return zsh, in which completion is tried."""
    found = shutil.which("zsh")
    assert found is not None
    return Path(found)


@pytest.fixture(scope="session")
def npm() -> Path:
    """Return npm, which installs what the playground's editor is bundled from."""
    found = shutil.which("npm")
    assert found is not None
    return Path(found)


@pytest.fixture(scope="session")
def cert_manager() -> Path:
    """Return the program that runs cert-manager's controllers and its injector."""
    return program("cert-manager")


@pytest.fixture(scope="session")
def helm() -> Path:
    """Return Helm's helm."""
    return program("helm")


@pytest.fixture(scope="session")
def kubeconform() -> Path:
    """Return kubeconform, which checks manifests against schemas."""
    return program("kubeconform")


@pytest.fixture(scope="session")
def kubelet_program() -> Path:
    """Return the program that serves the kubelet's PodResources API."""
    return program("kubelet")


@pytest.fixture(scope="session")
def operator_programs() -> dict[str, Path]:
    """Return the operators that run here, by name."""
    return {name: program(name) for name in _GO_PROGRAMS["operator_programs"]}


@pytest.fixture(scope="session")
def prometheus_program() -> Path:
    """Return Prometheus itself."""
    return program("prometheus")


@pytest.fixture(scope="session")
def promtool() -> Path:
    """Return Prometheus' promtool."""
    return program("promtool")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the options of the two runs of `make test`."""
    options(parser)


def pytest_configure(config: pytest.Config) -> None:
    """Make the marker known, and start the accounts."""
    if folder := config.getoption(FOLDER):
        config.pluginmanager.register(Share(folder, from_the_back=config.getoption(BACK)))
    config.pluginmanager.register(StageTimes())
    config.pluginmanager.register(SecondRuns())
    config.addinivalue_line("markers", "shared(path): needs this file or folder of ../shared")
    config.addinivalue_line("markers", "hosts: has hosts of its own, in network namespaces")
    config.addinivalue_line("markers", "since(minor): needs Kubernetes 1.<minor> or later")
    config.addinivalue_line("markers", "go_program: needs a program of tests/gotools; set by the fixtures of a test")
    config.stash[_LEFT_OUT] = Counter()


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark a test that needs a program in Go, so that `make test` can do without it."""
    if _go_programs(item):
        item.add_marker("go_program")


@pytest.hookimpl(trylast=True)  # what -m and -k have taken out needs nothing
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Take out what cannot run here, and put what needs the control plane last: the quick tests speak first.

    Where two runs share the tests it comes first: one run begins with it, and the other with the quick tests. All tests
    of the images are among these, so that one run alone builds them.
    """
    without = _lacks_control_plane()
    needs = {item: _need(item, without=without) for item in items}
    left_out = [item for item in items if needs[item]]
    config.stash[_LEFT_OUT].update(needs[item] for item in left_out)
    config.hook.pytest_deselected(items=left_out)
    shared = config.getoption(FOLDER) is not None
    items[:] = sorted((item for item in items if not needs[item]), key=_is_late, reverse=shared)


def pytest_collection_finish() -> None:
    """Keep modules, tests and tables out of every later garbage collection: they live until the end."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Account for a test that leaves itself out while it runs."""
    report = yield
    if report.skipped and not hasattr(report, "wasxfail") and isinstance(report.longrepr, tuple):
        reason = report.longrepr[2].removeprefix("Skipped: ")
        item.config.stash[_LEFT_OUT][f"{item.nodeid} says: {reason}"] += 1
    return report


def pytest_sessionfinish(session: pytest.Session) -> None:
    """With CI=true, fail where anything but missing shared data was left out."""
    if session.exitstatus == pytest.ExitCode.OK and _forbidden(session.config):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_unconfigure(config: pytest.Config) -> None:
    """Say in one line, the last, what was left out and what it needs."""
    left_out = config.stash[_LEFT_OUT]
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if not left_out or reporter is None:
        return
    forbidden = _forbidden(config)
    parts = (f"{count} need {need}" if " says: " not in need else need for need, count in sorted(left_out.items()))
    verdict = f"; with CI=true only for {' or '.join(_PERMITTED)} may a test be left out: failed" if forbidden else ""
    reporter.write_line(f"left out: {'; '.join(parts)}{verdict}", red=forbidden, yellow=not forbidden)


def _forbidden(config: pytest.Config) -> bool:
    strict = os.environ.get("CI") == "true"
    return strict and any(not need.startswith(_PERMITTED) for need in config.stash[_LEFT_OUT])


def _need(item: pytest.Item, *, without: bool) -> str:
    """Return what a test needs that is not here; empty if nothing."""
    if without and _uses_control_plane(item):
        return _CONTROL_PLANE
    if lack := _lacks_for_programs(getattr(item, "fixturenames", ())):
        return lack
    if lack := _GO if any(map(missing, _go_programs(item))) else _lacks_for_images(getattr(item, "fixturenames", ())):
        return lack
    if item.get_closest_marker("hosts") and (lack := _lacks_hosts()):
        return f"{_HOSTS}: {lack}"
    absent = [path for mark in item.iter_markers("shared") for path in mark.args if not (SHARED / path).exists()]
    if absent:
        return f"{_SHARED_DATA} ({', '.join(absent)})"
    newer = [mark.args[0] for mark in item.iter_markers("since") if mark.args[0] > build.minor()]
    return f"{_RELEASE} 1.{max(newer)}" if newer else ""


def _go_programs(item: pytest.Item) -> list[str]:
    """Return the programs of tests/gotools that the fixtures of a test stand for."""
    return [name for fixture in getattr(item, "fixturenames", ()) for name in _GO_PROGRAMS.get(fixture, ())]


def _lacks_for_programs(fixtures: Collection[str]) -> str:
    """Return what a test of pages or of a shell needs that is not here; empty if nothing."""
    if "chromium" in fixtures and find_browser() is None:
        return _BROWSER
    if "zsh" in fixtures and shutil.which("zsh") is None:
        return _ZSH
    return _NPM if "npm" in fixtures and shutil.which("npm") is None else ""


def _lacks_for_images(fixtures: Collection[str]) -> str:
    """Return what a test of the images needs that is not here; empty if nothing."""
    if "images" in fixtures and (os.geteuid() or not shutil.which("apt-get") or not shutil.which("dpkg-deb")):
        return _DEBIAN
    if "containerd" in fixtures and (os.geteuid() or not shutil.which("containerd")):
        return _CONTAINERD
    return _SKOPEO if "skopeo" in fixtures and not shutil.which("skopeo") else ""


def _is_late(item: pytest.Item) -> bool:
    return _uses_control_plane(item) and "images" not in getattr(item, "fixturenames", ())


def _uses_control_plane(item: pytest.Item) -> bool:
    fixtures = set(getattr(item, "fixturenames", ()))
    if "cluster" in fixtures and not os.environ.get(EXISTING_VARIABLE):
        return True
    return bool(_FIXTURES & fixtures) or item.nodeid.startswith(_ON_CONTROL_PLANES)


@cache
def _lacks_hosts() -> str:
    """Return why no host can be made here; empty where one can."""
    with TemporaryDirectory() as directory:
        return lacking(Path(directory))


def _lacks_control_plane() -> bool:
    """Return whether there is neither a control plane here nor what one is built with."""
    try:
        # Without a PATH there is no Go: this finds what is given or built already, and builds nothing.
        build.assets({**os.environ, "PATH": ""})
    except build.BuildError:
        pass
    else:
        return False
    try:
        build._require_go({**os.environ, "GOWORK": "off"})
    except build.BuildError:
        return True
    return False
