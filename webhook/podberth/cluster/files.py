"""Reads policies and a cluster snapshot from files, for the server, the checks and the tests alike."""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import orjson

from ..admission.snapshot import load_snapshot
from ..cel.engine import Environment
from ..conventions import Conventions
from ..errors import PolicyError, Problem, TopologyError, UsageError
from ..kube.documents import load_documents
from ..kube.openapi import prune
from ..kube.schema import PodSchema
from ..policy.parse import parse_policies
from ..suite.model import GOLDEN_SUFFIX
from ..topology.objects import ClusterObjects, collect
from .deadline import compile_seconds
from .source import Loaded

SUFFIXES = frozenset({".yaml", ".yml", ".json"})
# Stand beside the policy that they test (suite.model) and are no policies.
TESTS = frozenset({"tests.yaml", "tests.yml", "tests.json"})
# A line for each bad document of a broken snapshot helps nobody.
_MAX_PROBLEMS = 20


def read_policy_texts(directory: Path) -> tuple[list[tuple[str, str]], list[Problem]]:
    """Return (file, text) of every policy file below ``directory``, in order of path, and which cannot be read."""
    files, problems = _listing(directory)
    if files == [directory]:
        return [], [Problem(str(directory), 0, 0, "", "got no directory, want that of the policies")]
    texts, unreadable = _texts(filter(_is_policy, files))
    return texts, [*problems, *unreadable]


def _is_policy(file: Path) -> bool:
    return file.name not in TESTS and not file.name.endswith(GOLDEN_SUFFIX)


@dataclass(frozen=True, slots=True)
class SuiteFiles:
    """A suite and what stands beside it, as (file, text); ``problems`` where one cannot be read."""

    suite: tuple[str, str]
    policies: tuple[tuple[str, str], ...]
    goldens: tuple[tuple[str, str], ...]
    """The pods that the suite expects as a whole."""
    problems: tuple[Problem, ...]


def find_suites(directory: Path) -> list[SuiteFiles]:
    """Return every suite below ``directory`` with the policies of its folder, in order of path.

    Raises:
        UsageError: there is no such directory, or a folder below it cannot be read.
    """
    files, problems = _listing(directory)
    if problems or files == [directory]:
        raise UsageError("\n".join(map(str, problems)) or f"{directory}: got no directory, want that of the policies")
    found = []
    for file in files:
        if file.name in TESTS:
            suites, wrong = _texts([file])
            beside = [each for each in files if each.parent == file.parent]
            policies, unreadable = _texts(filter(_is_policy, beside))
            goldens, unread = _texts(each for each in beside if each.name.endswith(GOLDEN_SUFFIX))
            suite = suites[0] if suites else (str(file), "")
            found.append(SuiteFiles(suite, tuple(policies), tuple(goldens), (*wrong, *unreadable, *unread)))
    return found


@dataclass(frozen=True, slots=True)
class LintFiles:
    """What is linted, with what stands beside it: a file's folder says what its params and tests are."""

    policies: tuple[tuple[str, str], ...]
    """(file, text) of every policy file."""
    tests: tuple[str, ...]
    asked: frozenset[str]
    """The files that findings are wanted of."""


def find_policies(paths: Iterable[Path]) -> LintFiles:
    """Return the policy files at ``paths``, directories recursively, and all that stand beside a file.

    Raises:
        UsageError: one cannot be read, or there is no policy file at all.
    """
    listed: dict[Path, None] = {}
    asked: set[str] = set()
    problems: list[Problem] = []
    for path in paths:
        files, wrong = _listing(path)
        problems += wrong
        asked.update(map(str, files))
        listed.update(dict.fromkeys(files))
        if files == [path]:
            beside, _ = _listing(path.parent)
            listed.update(dict.fromkeys(each for each in beside if each.parent == path.parent))
    texts, unreadable = _texts(filter(_is_policy, sorted(listed)))
    if problems or unreadable:
        raise UsageError("\n".join(map(str, [*problems, *unreadable])))
    if not texts:
        named = ", ".join(map(str, paths))
        raise UsageError(f"{named}: got no policy file, want *.yaml, *.yml or *.json below it")
    return LintFiles(tuple(texts), tuple(str(file) for file in listed if file.name in TESTS), frozenset(asked))


def read_objects(path: Path) -> ClusterObjects:
    """Return the objects of a snapshot: a file, or every file below a directory.

    Nothing is stale in it: what files hold is as old as they are.

    Raises:
        TopologyError: a file cannot be read, is no YAML or JSON, or there is no object at all. The last is what a file
            looks like while the command that writes it has only just begun.
    """
    files, problems = _listing(path)
    texts, unreadable = _texts(files)
    problems += unreadable
    documents = []
    for file, text in texts:
        positioned, wrong = load_documents(text, file)
        problems += wrong
        documents += [each.document for each in positioned]
    if not documents and not problems:
        problems.append(
            Problem(str(path), 0, 0, "", "got no object, want what kubectl get nodes,configmaps -o yaml prints")
        )
    if problems:
        raise TopologyError("\n".join(map(str, sorted(problems)[:_MAX_PROBLEMS])))
    return collect(documents, now=None)


def read_pod_schema(path: Path | None) -> PodSchema:
    """Return the packaged schema, or that of a cluster, from what ``kubectl get --raw /openapi/v3/api/v1`` prints.

    Raises:
        UsageError: the file is something else.
    """
    if path is None:
        return PodSchema.packaged()
    try:
        return PodSchema.from_document(prune(orjson.loads(path.read_bytes())))
    except OSError as error:
        raise UsageError(f"--pod-schema: {path}: cannot be read: {error.strerror}") from error
    except (ValueError, AttributeError, TypeError, KeyError) as error:
        wanted = "what kubectl get --raw /openapi/v3/api/v1 prints"
        raise UsageError(f"--pod-schema: {path}: got {str(error)[:120]}, want {wanted}") from error


class FileSource:
    """A ``SnapshotSource`` of a policies directory and, where there is one, a cluster snapshot."""

    def __init__(
        self,
        policies: Path,
        topology: Path | None,
        conventions: Conventions | None = None,
        pod_schema: PodSchema | None = None,
    ) -> None:
        """Remember where; nothing is read yet. Policies are checked against ``pod_schema``; None: the packaged one."""
        self._policies = policies
        self._topology = topology
        self._conventions = conventions or Conventions()
        self._pod_schema = pod_schema or PodSchema.packaged()
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
        environment = Environment(self._pod_schema, deadline=compile_seconds())
        return Loaded(load_snapshot(parsed, objects, environment, self._conventions), objects.problems)

    def _cluster(self) -> ClusterObjects:
        if self._topology is None:
            return ClusterObjects()
        fingerprint = _fingerprint(self._topology)
        if fingerprint != self._objects[0]:
            self._objects = (fingerprint, read_objects(self._topology))
        return self._objects[1]


def _texts(files: Iterable[Path]) -> tuple[list[tuple[str, str]], list[Problem]]:
    texts: list[tuple[str, str]] = []
    problems: list[Problem] = []
    for file in files:
        try:
            texts.append((str(file), file.read_text(encoding="utf-8")))
        except (OSError, UnicodeDecodeError) as error:
            problems.append(Problem(str(file), 0, 0, "", f"cannot be read: {reason_of(error)}"))
    return texts, problems


def reason_of(error: OSError | UnicodeDecodeError) -> str:
    """Return why a file cannot be read, without its name and without the number of the error."""
    return str(getattr(error, "strerror", None) or error)


def _listing(path: Path) -> tuple[list[Path], list[Problem]]:
    """Return the documents below a directory in order of path, and the folders that cannot be read; of a file, itself.

    Names with a leading dot are left out: the kubelet keeps a mounted ConfigMap's real files in ``..data``, and links
    the visible names there (kubernetes pkg/volume/util/atomic_writer.go); reading both would find everything twice.
    """
    problems: list[Problem] = []

    def unreadable(error: OSError) -> None:
        problems.append(Problem(str(error.filename), 0, 0, "", f"cannot be read: {error.strerror}"))

    try:
        if not path.is_dir():
            return [path], problems
    except OSError as error:
        unreadable(error)
        return [], problems
    found: list[Path] = []
    for folder, folders, names in os.walk(path, onerror=unreadable):
        folders[:] = [name for name in folders if not name.startswith(".")]
        found += [Path(folder, name) for name in names if not name.startswith(".") and Path(name).suffix in SUFFIXES]
    return sorted(found), problems


def _fingerprint(path: Path) -> object:
    """Return inode, size and time of every file: a swapped link or an edit in place changes one of them."""
    files, problems = _listing(path)
    found: list[tuple[str | int | None, ...]] = [(str(problem),) for problem in problems]
    for file in files:
        try:
            status = file.stat()
        except OSError as error:
            found.append((str(file), error.errno))
        else:
            found.append((str(file), status.st_ino, status.st_size, status.st_mtime_ns))
    return tuple(found)
