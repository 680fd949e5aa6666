"""Reads policies and a cluster snapshot from files, for the server, the checks and the tests alike."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from ..admission.snapshot import load_snapshot
from ..cel.engine import Environment
from ..conventions import Conventions
from ..errors import PolicyError, Problem, TopologyError
from ..kube.documents import load_documents
from ..kube.schema import PodSchema
from ..policy.parse import parse_policies
from ..topology.objects import ClusterObjects, collect
from .source import Loaded

SUFFIXES = frozenset({".yaml", ".yml", ".json"})
# Stand beside the policy that they test (suite.model) and are no policies.
TESTS = frozenset({"tests.yaml", "tests.yml", "tests.json"})
# A line for each bad document of a broken snapshot helps nobody.
_MAX_PROBLEMS = 20


def read_policy_texts(directory: Path) -> tuple[list[tuple[str, str]], list[Problem]]:
    """Return (file, text) of every policy file below ``directory``, in order of path, and which cannot be read."""
    texts: list[tuple[str, str]] = []
    problems: list[Problem] = []
    if not directory.is_dir():
        return [], [Problem(str(directory), 0, 0, "", "got no directory, want the directory of the policies")]
    for path in _files(directory):
        if path.name in TESTS:
            continue
        try:
            texts.append((str(path), path.read_text(encoding="utf-8")))
        except (OSError, UnicodeDecodeError) as error:
            problems.append(Problem(str(path), 0, 0, "", f"cannot be read: {error}"))
    return texts, problems


def read_objects(path: Path) -> ClusterObjects:
    """Return the objects of a snapshot: a file, or every file below a directory.

    Nothing is stale in it: what files hold is as old as they are.

    Raises:
        TopologyError: a file cannot be read, or is no YAML or JSON.
    """
    documents = []
    problems: list[Problem] = []
    if not path.exists():
        raise TopologyError(f"{path}: got nothing, want a file or directory of Kubernetes objects")
    for file in _files(path) if path.is_dir() else [path]:
        try:
            text = file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            problems.append(Problem(str(file), 0, 0, "", f"cannot be read: {error}"))
            continue
        positioned, wrong = load_documents(text, str(file))
        problems += wrong
        documents += [each.document for each in positioned]
    if problems:
        raise TopologyError("\n".join(map(str, sorted(problems)[:_MAX_PROBLEMS])))
    return collect(documents, now=None)


class FileSource:
    """A ``SnapshotSource`` of a policies directory and, where there is one, a cluster snapshot."""

    def __init__(self, policies: Path, topology: Path | None, conventions: Conventions | None = None) -> None:
        """Remember where; nothing is read yet."""
        self._policies = policies
        self._topology = topology
        self._conventions = conventions or Conventions()
        self._objects: tuple[object, ClusterObjects] = (None, ClusterObjects())

    def revision(self) -> Mapping[str, object]:
        """Return what identifies the files as they are now."""
        parts = {"policies": self._policies, "topology": self._topology}
        return {what: _fingerprint(path) for what, path in parts.items() if path is not None}

    def load(self) -> Loaded:
        """Read the policies, and the snapshot if it has changed: ten thousand nodes take 3 s as JSON, 54 s as YAML."""
        texts, unreadable = read_policy_texts(self._policies)
        if unreadable:
            raise PolicyError(tuple(unreadable))
        parsed = parse_policies(texts)
        objects = self._cluster()
        environment = Environment(PodSchema.packaged())
        return Loaded(load_snapshot(parsed, objects, environment, self._conventions), objects.problems)

    def _cluster(self) -> ClusterObjects:
        if self._topology is None:
            return ClusterObjects()
        fingerprint = _fingerprint(self._topology)
        if fingerprint != self._objects[0]:
            self._objects = (fingerprint, read_objects(self._topology))
        return self._objects[1]


def _files(directory: Path) -> list[Path]:
    """Return the documents below a directory in order of path.

    Names with a leading dot are left out: the kubelet keeps a mounted ConfigMap's real files in ``..data``, and links
    the visible names there (kubernetes pkg/volume/util/atomic_writer.go); reading both would find everything twice.
    """
    return sorted(_walk(directory))


def _walk(directory: Path) -> Iterator[Path]:
    for folder, folders, names in os.walk(directory):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in names:
            path = Path(folder, name)
            if not name.startswith(".") and path.suffix in SUFFIXES:
                yield path


def _fingerprint(path: Path) -> object:
    """Return inode, size and time of every file: a swapped link or an edit in place changes one of them."""
    found: list[tuple[str | int | None, ...]] = []
    for file in _files(path) if path.is_dir() else [path]:
        try:
            status = file.stat()
        except OSError as error:
            found.append((str(file), error.errno))
        else:
            found.append((str(file), status.st_ino, status.st_size, status.st_mtime_ns))
    return tuple(found)
