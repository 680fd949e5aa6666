"""The place of a kubeconfig, and the order of several; kubectl's rules are in `kubectl config --help`."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from podberth.api.client import ClusterClient
from podberth.api.opening import Kubeconfig, find_kubeconfig, namespace_of
from podberth.api.protocol import Timing
from podberth.errors import UsageError
from podberth.files.reading import MAX_SMALL_BYTES


def write(path: Path, *contexts: str, current: str = "") -> Path:
    """Write a kubeconfig whose contexts lead to clusters of their names."""
    document: dict[str, Any] = {
        "clusters": [{"name": each, "cluster": {"server": f"http://{each}.example"}} for each in contexts],
        "users": [],
        "contexts": [{"name": each, "context": {"cluster": each, "user": ""}} for each in contexts],
        "current-context": current,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document))
    return path


def test_a_flag_comes_before_the_variable_and_that_before_the_home_directory(tmp_path: Path) -> None:
    usual = write(tmp_path / ".kube" / "config", "a")
    environ = {"HOME": str(tmp_path)}
    flagged, missing = Path("flagged"), tmp_path / "missing"
    found = find_kubeconfig(flagged, "c", {**environ, "KUBECONFIG": "named"})
    assert found == Kubeconfig((flagged,), "c")
    named = find_kubeconfig(None, "", {**environ, "KUBECONFIG": f"{missing}:{usual}:"})
    assert named == Kubeconfig((usual,), "", "KUBECONFIG")
    assert find_kubeconfig(None, "", {"KUBECONFIG": str(missing)}) == Kubeconfig((missing,), "", "KUBECONFIG")
    assert find_kubeconfig(None, "", environ) == Kubeconfig((usual,), "", "kubeconfig")


def test_without_any_it_is_a_pods_service_account_which_has_no_contexts(tmp_path: Path) -> None:
    assert find_kubeconfig(None, "", {"HOME": str(tmp_path)}) is None
    assert find_kubeconfig(None, "", {}) is None
    with pytest.raises(UsageError, match=r"^--context: got 'c' and no kubeconfig, want both; "):
        find_kubeconfig(None, "c", {"HOME": str(tmp_path)})


def host(kubeconfig: Kubeconfig) -> str:
    client = ClusterClient(kubeconfig, Timing())
    return str(client._loader._cluster["server"])


def test_the_first_current_context_of_several_files_counts_and_every_context_can_be_named(tmp_path: Path) -> None:
    files = (
        write(tmp_path / "one", "a"),
        write(tmp_path / "two", "b", "shared", current="b"),
        write(tmp_path / "three", "c", current="c"),
    )
    assert host(Kubeconfig(files)) == "http://b.example"
    assert host(Kubeconfig(files, "c")) == "http://c.example"
    assert host(Kubeconfig(files[2:], "c")) == "http://c.example"


def test_the_namespace_is_that_of_the_context_or_default(tmp_path: Path) -> None:
    file = write(tmp_path / "one", "a", "b", current="a")
    document = json.loads(file.read_text())
    document["contexts"][1]["context"]["namespace"] = "team-b"
    file.write_text(json.dumps(document))
    assert namespace_of(Kubeconfig((file,))) == "default"
    assert namespace_of(Kubeconfig((file,), "b")) == "team-b"
    with pytest.raises(UsageError, match=r"cannot be used: .*nowhere.*; want a kubeconfig"):
        namespace_of(Kubeconfig((file,), "nowhere"))


@pytest.mark.parametrize("number", [1, 2])
def test_a_context_that_there_is_not_is_refused_by_name(tmp_path: Path, number: int) -> None:
    files = tuple(write(tmp_path / name, name, current=name) for name in ("one", "two")[:number])
    with pytest.raises(UsageError, match=r"--kubeconfig: .*one.* cannot be used: .*nowhere"):
        ClusterClient(Kubeconfig(files, "nowhere"), Timing())


def test_a_kubeconfig_that_is_no_file_of_a_bounded_size_is_refused_at_once(tmp_path: Path) -> None:
    pipe, large = tmp_path / "pipe", tmp_path / "large"
    os.mkfifo(pipe)
    with large.open("wb") as file:
        file.truncate(MAX_SMALL_BYTES + 1)
    for path, said in (
        (pipe, "got a named pipe, want a regular file"),
        (Path("/dev/zero"), "got a device, want a regular file"),
        (large, "got more than 1 MiB, want that at most"),
    ):
        with pytest.raises(UsageError, match=f"^--kubeconfig: {path}: cannot be used: {said}"):
            ClusterClient(Kubeconfig((path,)), Timing())
        with pytest.raises(UsageError, match=said):
            namespace_of(Kubeconfig((path,)))
