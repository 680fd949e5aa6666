"""Reads policies and a cluster snapshot from files, for the server, ``podberth check`` and ``podberth test``."""

import os
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import orjson

from ..admission.snapshot import load_snapshot
from ..conventions import Conventions
from ..errors import PolicyError, Problem, TopologyError, UsageError
from ..facts.cluster import ClusterFacts, collect
from ..facts.object_kinds import Document
from ..facts.with_holdings import collect_with_holdings
from ..kube.documents import PositionedDocument, load_documents
from ..kube.openapi import prune
from ..kube.schema import PodSchema
from ..native.documents import native_policies, others_of
from ..policy.parse import ParsedPolicies, parse_policies
from ..suite import GOLDEN_SUFFIX, TESTS
from ..topology.holdings import Holdings
from ..topology.node import Node
from .deadline import new_environment
from .reading import MAX_FILE_BYTES, MAX_POLICIES_BYTES, MAX_POLICY_BYTES, in_time, read_in_time, read_text, reason_of
from .source import Loaded

SUFFIXES = frozenset({".yaml", ".yml", ".json"})
# The largest number of problems in one error: a line for each bad file or document would help nobody.
_MAX_PROBLEMS = 20
# os.walk calls itself for each level before Python 3.12, and a thousand are too many.
_MOST_LEVELS = 64
_WANTED = "want what kubectl get nodes,configmaps -o yaml prints"


def read_policy_texts(*directories: Path) -> tuple[list[tuple[str, str]], list[Problem]]:
    """Return (file, text) of every policy file below each directory, by path, and the problems of unreadable files.

    A file in place of a directory is read, too.
    """
    texts, problems = list[tuple[str, str]](), list[Problem]()
    for directory in directories:
        files, unlisted = _listing(directory)
        found, unreadable = _texts(directory, filter(_is_policy, files))
        if files == [directory] and not found:
            problems.append(Problem(str(directory), 0, 0, "", "got no directory, want that of the policies"))
            continue
        texts += found
        problems += [*unlisted, *unreadable]
    return texts, problems


def _is_policy(file: Path) -> bool:
    return file.name not in TESTS and not file.name.endswith(GOLDEN_SUFFIX)


@dataclass(frozen=True, slots=True)
class SuiteFiles:
    """A test suite, and the policies and golden files in the suite's folder, each as (file, text)."""

    suite: tuple[str, str]
    policies: tuple[tuple[str, str], ...]
    goldens: tuple[tuple[str, str], ...]
    """The golden files of the folder: expected pods with which the suite compares whole pods."""
    problems: tuple[Problem, ...]
    """The problems of the folder's files that could not be read."""
    across: bool = False
    """Whether the policies are those of the folders below, for the folder has none of its own."""


def find_suites(directory: Path) -> list[SuiteFiles]:
    """Return every suite below ``directory``, ordered by path, with the policies in the suite's folder.

    A suite in a folder without policies of its own is a suite of all policies in the folders below.

    Raises:
        UsageError: the directory does not exist, or a folder below it cannot be read.
    """
    files, problems = _listing(directory)
    if problems or files == [directory]:
        raise UsageError("\n".join(map(str, problems)) or f"{directory}: got no directory, want that of the policies")
    found = []
    for file in files:
        if file.name in TESTS:
            suites, wrong = _texts(file, [file])
            beside = [each for each in files if each.parent == file.parent]
            own = [each for each in beside if _is_policy(each)]
            below = (each for each in files if file.parent in each.parents and _is_policy(each))
            policies, unreadable = _texts(file.parent, own or below)
            goldens, unread = _texts(file.parent, (each for each in beside if each.name.endswith(GOLDEN_SUFFIX)))
            suite = suites[0] if suites else (str(file), "")
            found.append(
                SuiteFiles(suite, tuple(policies), tuple(goldens), (*wrong, *unreadable, *unread), across=not own)
            )
    return found


@dataclass(frozen=True, slots=True)
class LintFiles:
    """The policy files that are linted, with the params and tests in the files' folders."""

    policies: tuple[tuple[str, str], ...]
    """Every policy file as (file, text)."""
    tests: tuple[str, ...]
    asked: frozenset[str]
    """The files that the user named, whose problems are reported; other files of the same folders are only read."""


def find_policies(paths: Iterable[Path]) -> LintFiles:
    """Return the policy files at or below ``paths``, with the tests in the files' folders.

    The files beside a file in ``paths`` are returned, too, except unreadable ones.

    Raises:
        UsageError: a file at or below ``paths`` cannot be read, or there is no policy file.
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
            beside, _ = _listing(path.parent, below=False)
            listed.update(dict.fromkeys(beside))
    texts, unreadable = _texts(Path(", ".join(map(str, paths))), filter(_is_policy, sorted(listed)))
    problems += [each for each in unreadable if each.file in asked or Path(each.file) not in listed]
    if problems:
        wanted = "; want policy files, or folders that have them"
        raise UsageError("\n".join(f"{each}{wanted}" for each in problems))
    if not texts:
        named = ", ".join(map(str, paths))
        raise UsageError(
            f"{named}: got no policy file, want *.yaml, *.yml or *.json below it; write a first one with podberth "
            "policies init NAME DIR"
        )
    return LintFiles(tuple(texts), tuple(str(file) for file in listed if file.name in TESTS), frozenset(asked))


def read_folder(folder: Path) -> LintFiles:
    """Return the policy files and tests of a folder, without folders below; unreadable files are left out."""
    files, _ = _listing(folder, below=False)
    texts, _ = _texts(folder, filter(_is_policy, files))
    return LintFiles(tuple(texts), tuple(str(file) for file in files if file.name in TESTS), frozenset(map(str, files)))


def read_objects(path: Path) -> ClusterFacts:
    """Return the facts of the objects in a snapshot: one file, or every file below a directory.

    No node of the snapshot counts as stale, because the heartbeats in the snapshot are as old as the file.

    Raises:
        TopologyError: there is no file, or a file cannot be read, is no YAML or JSON, or has no object.
    """
    return collect(_documents(path), now=None)


def _documents(path: Path) -> list[Document]:
    found, problems = read_documents(path, _WANTED)
    if problems:
        raise TopologyError("\n".join(map(str, problems)))
    return [each.document for _, each in found]


def read_documents(path: Path, wanted: str) -> tuple[list[tuple[str, PositionedDocument]], list[Problem]]:
    """Return (pairs of file and document, problems) for one file, or for every file below a directory.

    Only the first ``_MAX_PROBLEMS`` problems are returned. A file without a document is a problem, whose message ends
    with the text ``wanted``.
    """
    files, problems = _listing(path)
    texts, unreadable = _texts(path, files, MAX_FILE_BYTES, MAX_FILE_BYTES)
    problems += unreadable
    documents = []
    for file, text in texts:
        positioned, wrong = load_documents(text, file)
        problems += wrong or ([] if positioned else [_no_object(file, wanted)])
        documents += [(file, each) for each in positioned]
    if not documents and not problems:
        problems.append(_no_object(str(path), wanted))
    return documents, sorted(problems)[:_MAX_PROBLEMS]


def read_topology(path: Path) -> ClusterFacts:
    """Return the facts of a cluster snapshot that has at least one Node.

    Raises:
        TopologyError: the snapshot cannot be read, or no object is a Node.
    """
    objects = read_objects(path)
    require_node(str(path), objects.nodes)
    return objects


def read_topology_with_holdings(path: Path) -> tuple[ClusterFacts, Holdings | None]:
    """Return (facts of a cluster snapshot, accelerators that Pods hold); the second value is None without Pods.

    Raises:
        TopologyError: the snapshot cannot be read, or no object is a Node.
    """
    objects, holdings = collect_with_holdings(_documents(path), now=None)
    require_node(str(path), objects.nodes)
    return objects, holdings


def require_node(file: str, nodes: Collection[Node]) -> None:
    """Raise TopologyError, with the name ``file`` of the snapshot, if the snapshot has no nodes."""
    if not nodes:
        raise TopologyError(str(Problem(file, 0, 0, "", f"got no Node, {_WANTED}")))


def _no_object(file: str, wanted: str) -> Problem:
    return Problem(file, 0, 0, "", f"got no object, {wanted}")


def read_pod_schema(path: Path | None) -> PodSchema:
    """Return the schema of a Pod: the packaged schema, or that in the file of ``kubectl get --raw /openapi/v3/api/v1``.

    Raises:
        UsageError: the file cannot be read, or is not the output of that command.
    """
    if path is None:
        return PodSchema.packaged()
    try:
        return PodSchema.from_document(prune(orjson.loads(read_in_time(path, MAX_FILE_BYTES))))
    except OSError as error:
        raise UsageError(f"--pod-schema: {path}: cannot be read: {error.strerror}") from error
    except (ValueError, AttributeError, TypeError, KeyError) as error:
        wanted = "what kubectl get --raw /openapi/v3/api/v1 prints"
        raise UsageError(f"--pod-schema: {path}: got {str(error)[:120]}, want {wanted}") from error


def not_served(parsed: ParsedPolicies) -> tuple[Problem, ...]:
    """Return a note for each native policy in policy files, which podberth does not serve."""
    message = "the API server judges by it, and podberth does not serve it; kubectl apply it"
    return tuple(
        each.positions.problem(
            file, ("kind",), f"{each.document['kind']} {each.document['metadata']['name']}: {message}"
        )
        for file, each in native_policies(parsed.others)
    )


class PolicyFiles:
    """Reads a directory of policy files, which take effect together or not at all."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._held: Mapping[str, str] = {}
        """The file of each policy in the last set that could be used, by the policy's name."""

    def revision(self) -> object:
        """Return a value that changes when the files change."""
        return _fingerprint(self._directory)

    def read(self) -> ParsedPolicies:
        """Read and parse the files; the result includes the problems of single policies.

        Raises:
            PolicyError: a file cannot be read, or has no policies any more, although it had some when the policies
                could last be used.
        """
        texts, unreadable = read_policy_texts(self._directory)
        if unreadable:
            raise PolicyError(tuple(unreadable[:_MAX_PROBLEMS]))
        parsed = parse_policies(texts, others_of(texts))
        held = _files_of(parsed)
        gone = {self._held[name] for name in self._held.keys() - held.keys()} - set(held.values())
        message = "got no policy, where there was one; delete the file to have it gone, or restart podberth"
        emptied = [Problem(file, 0, 0, "", message) for file, _ in texts if file in gone]
        if emptied and not parsed.problems:
            raise PolicyError(tuple(emptied))
        return parsed

    def hold(self, parsed: ParsedPolicies) -> None:
        """Note that the policies ``parsed`` could be used.

        From now on, ``read`` compares the files with these policies.
        """
        self._held = _files_of(parsed)


def _files_of(parsed: ParsedPolicies) -> dict[str, str]:
    return {each.policy.name: each.file for each in parsed.policies}


@dataclass
class FileSource:
    """A source of snapshots that reads policies from a directory.

    The nodes and other objects are read from the file ``topology``, unless ``topology`` is None.
    """

    policies: Path
    topology: Path | None
    conventions: Conventions = field(default_factory=Conventions)
    pod_schema: PodSchema | None = None
    """The schema of a Pod against which policies are checked; None for the packaged one."""

    def __post_init__(self) -> None:
        self._objects: tuple[object, ClusterFacts] = (None, ClusterFacts())
        self._files = PolicyFiles(self.policies)

    def revision(self) -> Mapping[str, object]:
        """Return a mapping from ``policies``, and ``topology`` if there is a topology file, to a value.

        The value changes when the files with the policies, or with the topology, change.
        """
        found = {"policies": self._files.revision()}
        return found if self.topology is None else {**found, "topology": _fingerprint(self.topology)}

    def load(self) -> Loaded:
        """Return a snapshot of the policies and the cluster; the cluster's files are read only if they have changed.

        Reading 10,000 nodes takes 3 s as JSON and 54 s as YAML.
        """
        parsed = self._files.read()
        objects = self._cluster()
        snapshot = load_snapshot(parsed, objects, new_environment(self.pod_schema), self.conventions)
        self._files.hold(parsed)
        return Loaded(replace(snapshot, notes=(*snapshot.notes, *not_served(parsed))), objects.problems)

    def _cluster(self) -> ClusterFacts:
        if self.topology is None:
            return ClusterFacts()
        fingerprint = _fingerprint(self.topology)
        seen, known = self._objects
        if fingerprint != seen:
            objects = read_objects(self.topology)
            if known.nodes and not objects.nodes:
                message = "got no Node, where there was one or more; restart podberth if that is meant"
                raise TopologyError(str(Problem(str(self.topology), 0, 0, "", message)))
            self._objects = (fingerprint, objects)
        return self._objects[1]


def _texts(
    place: Path, files: Iterable[Path], most: int = MAX_POLICY_BYTES, most_together: int | None = None
) -> tuple[list[tuple[str, str]], list[Problem]]:
    """Return (file, text) of each readable file, and a problem for each unreadable file.

    All files are below the directory ``place``.

    A file may have at most ``most`` bytes, and all files together ``most_together`` (None: the limit for policies). If
    all files together have more, no text is returned, and the problem is about ``place``.
    """
    most_together = most_together or MAX_POLICIES_BYTES
    wanted = tuple(files)
    if not wanted:
        return [], []
    try:
        texts, problems, left_out = in_time(place, partial(_texts_now, wanted, most, most_together))
    except TimeoutError as error:
        return [], [_unreadable(place, error)]
    if left_out:
        got = f"got more than {most_together // 2**20} MiB in all files together, want that at most; take some away"
        problems.append(Problem(str(place), 0, 0, "", got))
    return texts, problems


def _texts_now(
    files: Iterable[Path], most: int, most_together: int
) -> tuple[list[tuple[str, str]], list[Problem], bool]:
    texts: list[tuple[str, str]] = []
    problems: list[Problem] = []
    size = 0
    for file in files:
        try:
            text = read_text(file, most)
        except (OSError, UnicodeDecodeError) as error:
            problems.append(_unreadable(file, error))
            continue
        size += len(text)
        if size > most_together:
            # No texts are returned: nobody uses a part of a folder, and the last good set needs the memory.
            return [], problems, True
        texts.append((str(file), text))
    return texts, problems, False


def _unreadable(path: Path, error: OSError | UnicodeDecodeError) -> Problem:
    return Problem(str(path), 0, 0, "", f"cannot be read: {reason_of(error)}")


def _listing(path: Path, *, below: bool = True) -> tuple[list[Path], list[Problem]]:
    """Return (the YAML and JSON files below a directory, sorted by path; a problem for each unreadable folder).

    If ``path`` is a file, only ``path`` is returned. If ``below`` is False, only the files in the directory itself are
    returned.

    Names with a leading dot are left out: the kubelet keeps a mounted ConfigMap's real files in ``..data``, and links
    the visible names to these files (kubernetes pkg/volume/util/atomic_writer.go). Without this rule, every file would
    be found twice.
    """
    try:
        return in_time(path, partial(_listing_now, path, below))
    except OSError as error:
        return [], [_unreadable(path, error)]


def _listing_now(path: Path, below: bool) -> tuple[list[Path], list[Problem]]:
    problems: list[Problem] = []

    def unreadable(error: OSError) -> None:
        problems.append(_unreadable(Path(error.filename), error))

    if not path.is_dir():
        return [path], problems
    found: list[Path] = []
    top = str(path).count(os.sep)
    for folder, folders, names in os.walk(path, onerror=unreadable):
        folders[:] = [name for name in folders if below and not name.startswith(".")]
        found += [Path(folder, name) for name in names if name[:1] != "." and Path(name).suffix in SUFFIXES]
        if folders and folder.count(os.sep) - top >= _MOST_LEVELS:
            folders.clear()
            message = f"got folders in folders, want {_MOST_LEVELS} levels at most; move them up"
            problems.append(Problem(folder, 0, 0, "", message))
    return sorted(found), problems


def revision_of(path: Path) -> object:
    """Return a value that changes with the files below a directory, or with a file and those in its folder."""
    if path.is_dir():
        return _fingerprint(path)
    # The folder has no file whose name ends otherwise than those of YAML and JSON.
    return _fingerprint(path), _fingerprint(path.parent, below=False)


def _fingerprint(path: Path, *, below: bool = True) -> object:
    """Return a value that differs after any change of the files at or below ``path``: content, link target, permission.

    If ``path`` cannot be read, the value is the text of the error. If ``below`` is False, folders below ``path`` are
    left out.
    """
    try:
        return in_time(path, partial(_fingerprint_now, path, below))
    except OSError as error:
        return str(_unreadable(path, error))


def _fingerprint_now(path: Path, below: bool) -> object:
    files, problems = _listing_now(path, below)
    found: list[tuple[str | int | None, ...]] = [(str(problem),) for problem in problems]
    for file in files:
        try:
            status = file.stat()
        except OSError as error:
            found.append((str(file), error.errno))
        else:
            found.append((str(file), status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns))
    return tuple(found)
