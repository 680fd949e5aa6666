"""The I/O of a check of manifests: reads policies, snapshot and files, and decides in one process or several."""

import gc
import os
import sys
from bisect import bisect_right
from collections import Counter, deque
from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final

from ..admission.snapshot import Snapshot, load_working
from ..check.live_workloads import Supposition, suppose
from ..check.other_files import chart_result
from ..check.result import Report
from ..check.run import Checked, CheckSettings, check, report, unreadable
from ..check.sources import Document, SourceFile, read
from ..check.surroundings import referred, surroundings, within
from ..conventions import Conventions
from ..errors import Problem
from ..facts.cluster import ClusterFacts
from ..files.deadline import new_environment
from ..files.library import served
from ..files.loading import read_policy_texts, read_topology
from ..files.manifests import STDIN, Listing, read_manifest
from ..files.repository import charts, patches
from ..kube.documents import load_documents
from ..policy.parse import ParsedPolicies, parse_policies

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

# A second process costs as much processor time as 150 files, since it compiles for itself and its results are sent. Two
# need 0.56 of the time of one for 10,000 files (bench/README.md).
_FILES_OF_A_PROCESS: Final = 500
# The command disables the collector. A decision leaves 130 objects that refer to each other, 15 KB: those since the
# last collection are looked through, and no others.
_FILES_OF_A_COLLECTION: Final = 100
# More would only wait for the one that reads their results.
_MOST_PROCESSES: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckRequest:
    """The files to check, and the settings of the check."""

    listing: Listing
    settings: CheckSettings
    policies: Path | None
    """The directory of the policies; None for the policies that podberth ships."""
    topology: Path | None
    conventions: Path | None
    jobs: int | None
    """The number of processes; None: as many as suit the number of files."""
    sources: bool
    """Whether the results keep the parsed documents, which some formats need."""
    as_if: Collection[Supposition] = ()
    """The assumptions about the policies, as in ``check.live_workloads``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """The outcome of a check. ``talk`` has lines for the user, which are written to stderr."""

    report: Report
    texts: Mapping[str, str]
    """The texts of the readable files, by file name."""
    descriptions: Mapping[str, str]
    """The descriptions of the policies, by policy name."""
    talk: tuple[str, ...]
    broken_policies: bool
    """Whether a policy of files is broken; in place of a broken GPUPolicy of the cluster its file's was checked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Policies:
    """The texts of the policies, each with its file's name, and the problems of reading them.

    ``where`` says where the policies come from, and is the end of the line "checked with N policies" for the user.
    """

    texts: Sequence[tuple[str, str]]
    problems: Sequence[Problem]
    where: str
    objects: Sequence[tuple[str, str]] = ()
    """The texts of the cluster's GPUPolicies, which replace the policies of their names in ``texts``."""
    tested: bool = False
    """Whether all are shipped policies, which the tests of every release compile."""

    def load(
        self, objects: ClusterFacts, as_if: Collection[Supposition], conventions: Path | None
    ) -> tuple[Snapshot, ParsedPolicies, tuple[Problem, ...]]:
        """Return the snapshot with the compiled policies, the policies as written, and all problems of the policies.

        Policies that do not compile are not in the snapshot; the file's policy takes the place of a faulty GPUPolicy.

        Args:
            objects: the facts of the cluster.
            as_if: the assumptions under which the policies are checked, such as validationActions Deny.
            conventions: the file with the cluster's conventions; None for the presets.
        """
        files, over_them = parse_policies(self.texts), {each[0]: parse_policies([each]) for each in self.objects}
        environment, names = new_environment(), conventions_of(conventions)

        def compiled() -> tuple[ParsedPolicies, Snapshot, tuple[Problem, ...]]:
            parsed = over(files, over_them.values())
            return parsed, *load_working(suppose(parsed, as_if), objects, environment, names, checked=self.tested)

        parsed, snapshot, broken = compiled()
        if faulty := over_them.keys() & {each.file for each in broken}:
            over_them = {file: each for file, each in over_them.items() if file not in faulty}
            parsed, snapshot, others = compiled()
            broken = (*broken, *others)
        problems = tuple(sorted({*self.problems, *broken}))
        if not snapshot.policies and not problems:
            where = self.where.partition(" in ")[2] or self.where.strip()
            problems = (Problem(where, 0, 0, "", "got no policy, want GPUPolicy documents"),)
        return snapshot, parsed, problems

    def counted(self, snapshot: Snapshot) -> str:
        """Return a line for the user about the number of policies and their source."""
        count = len(snapshot.policies)
        return f"checked with {count} polic{'y' if count == 1 else 'ies'}{self.where}"


def over(files: ParsedPolicies, objects: Iterable[ParsedPolicies]) -> ParsedPolicies:
    """Return the policies that decide together: those of files, and those of the GPUPolicies ``objects``.

    ``objects`` has the result of parsing each GPUPolicy. A GPUPolicy replaces the files' policy of its name, unless it
    cannot be parsed; the caller leaves out GPUPolicies that do not compile. Disabled policies are left out.
    """
    policies = {each.policy.name: each for each in files.policies}
    problems = list(files.problems)
    for parsed in objects:
        policies |= {each.policy.name: each for each in parsed.policies}
        problems += parsed.problems
    enabled = (each for each in policies.values() if not each.policy.spec.disabled)
    return ParsedPolicies(tuple(enabled), files.params, tuple(sorted(problems)))


def policies_in(directory: Path | None) -> Policies:
    """Return the policies below a directory; for None, the policies that podberth ships.

    Raises:
        UsageError: the policies that podberth ships are not installed.
    """
    where = directory or served()
    texts, problems = read_policy_texts(where)
    which = " that podberth ships" if directory is None else ""
    return Policies(texts=texts, problems=problems, where=f"{which} in {where}", tested=directory is None)


def run_check(request: CheckRequest, stdin: BinaryIO) -> Done:
    """Check every file and return the outcome; unreadable files are part of the report.

    Raises:
        UsageError: a setting is invalid.
        TopologyError: the snapshot cannot be used.
    """
    policies = policies_in(request.policies)
    objects = read_topology(request.topology) if request.topology is not None else ClusterFacts()
    snapshot, _, problems = policies.load(objects, request.as_if, request.conventions)
    templates = charts(request.listing.found)
    items = _items(request.listing, templates, stdin)
    jobs = max(1, min(request.jobs or processes_for(len(items)), len(items)))
    shares = [items[start::jobs] for start in range(jobs)]
    if jobs == 1:
        done = _together(shares[0], snapshot, request)
    else:
        done = _apart(shares, snapshot, request.settings)
        done = [_with_sources(*each) for each in done] if request.sources else done
    refused = [Checked(file=each.file, documents=0, results=(unreadable(each),)) for each in request.listing.problems]
    refused += [
        Checked(file=folder, documents=0, results=(chart_result(folder, count),))
        for folder, count in sorted(Counter(templates.values()).items())
    ]
    return Done(
        report=report([*refused, *(each for each, _ in done)]),
        texts={each.file: text for each, text in done},
        descriptions={each.name: each.source.spec.description for each in snapshot.policies},
        talk=(
            policies.counted(snapshot),
            *(() if request.topology else ("no node is known: placement is not checked; give --topology",)),
            *map(str, problems),
            *objects.problems,
        ),
        broken_policies=bool(problems),
    )


def conventions_of(path: Path | None) -> Conventions:
    """Return the conventions in a file; the presets if ``path`` is None.

    The reader of the file is imported only if it is needed.
    """
    if path is None:
        return Conventions()
    from ..files.naming import read_conventions  # noqa: PLC0415 - importing it takes 4 ms

    return read_conventions(path)


def processes_for(files: int) -> int:
    """Return the number of processes for a check of so many files: one below 1,000, and one except on Linux.

    Elsewhere the processors that this process may use are not known, and system libraries may not survive a fork.
    """
    processors = len(os.sched_getaffinity(0)) if sys.platform == "linux" else 1
    return max(1, min(files // _FILES_OF_A_PROCESS, processors, _MOST_PROCESSES))


# ---- the files -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Item:
    """A file to read, or the content of standard input."""

    file: str
    given: tuple[str, str] | Problem | None
    found: bool = False
    """Whether the file was found in a folder, and not named by the user."""
    patch_of: str = ""
    """The kustomization that uses the file as a patch; empty if none does."""

    def read(self) -> SourceFile | Problem:
        """Return the file with its objects, or the problem of reading it."""
        text = self.given or read_manifest(self.file)
        return text if isinstance(text, Problem) else read(*text, found=self.found, patch_of=self.patch_of)


def _items(listing: Listing, templates: Container[str], stdin: BinaryIO) -> list[_Item]:
    """Return the files to read, without the templates of Helm charts."""
    patched = patches([file for file in listing.files if file in listing.found])
    return [
        _Item(
            file,
            read_manifest(file, stdin) if file == STDIN else None,
            found=file in listing.found,
            patch_of=patched.get(file, ""),
        )
        for file in listing.files
        if file not in templates
    ]


class _Share:
    """Some of the files to check, already read; one process decides on them once all files are read."""

    def __init__(self, items: Iterable[_Item], settings: CheckSettings) -> None:
        self._settings = settings
        self._files = deque(each.read() for each in items)

    def surroundings(self) -> list[Document]:
        """Return the objects in these files on which decisions on other objects depend."""
        files = [each for each in self._files if not isinstance(each, Problem)]
        return surroundings(files, self._settings.namespace)

    def decide(self, snapshot: Snapshot, documents: Sequence[Document], *, sources: bool) -> "list[_Done]":
        """Return the results for all files of the share, which lets go of them; ``documents`` are of all shares.

        The results keep the files' parsed documents only with ``sources``.
        """
        known = tuple(referred(documents))
        whole = within(snapshot, documents)
        done: list[_Done] = []
        while self._files:
            file = self._files.popleft()
            if isinstance(file, Problem):
                done.append((Checked(file=file.file, documents=0, results=(unreadable(file),)), ""))
                continue
            checked = check(file, whole, self._settings, known)
            done.append((checked if sources else _without_sources(checked), file.text))
            if len(done) % _FILES_OF_A_COLLECTION == 0:
                gc.collect(0)
        return done


_Done = tuple[Checked, str]
"""The results for a file, and the file's text."""


def _together(items: Sequence[_Item], snapshot: Snapshot, request: CheckRequest) -> list[_Done]:
    share = _Share(items, request.settings)
    return share.decide(snapshot, share.surroundings(), sources=request.sources)


def _apart(shares: Sequence[Sequence[_Item]], snapshot: Snapshot, settings: CheckSettings) -> list[_Done]:
    """Decide on each share in its own process, forked so that it inherits the compiled policies; return all results."""
    import multiprocessing  # noqa: PLC0415 - most checks do without

    context = multiprocessing.get_context("fork")
    with ExitStack() as stack:
        pipes: list[Connection] = []
        for share in shares:
            ours, theirs = context.Pipe()
            worker = context.Process(target=_work, args=(theirs, share, snapshot, settings))
            worker.start()
            stack.callback(worker.join)
            theirs.close()
            pipes.append(stack.enter_context(ours))
        documents = [document for pipe in pipes for document in pipe.recv()]
        for pipe in pipes:
            pipe.send(documents)
        found = [pipe.recv() for pipe in pipes]
    dealt = [iter(each) for each in found]
    return [next(dealt[at % len(dealt)]) for at in range(sum(map(len, found)))]


def _work(pipe: "Connection", items: Sequence[_Item], snapshot: Snapshot, settings: CheckSettings) -> None:
    share = _Share(items, settings)
    pipe.send(share.surroundings())
    pipe.send(share.decide(snapshot, pipe.recv(), sources=False))
    pipe.close()


def _without_sources(checked: Checked) -> Checked:
    """Return a file's results without their documents. To send these through a pipe costs more than to parse again."""
    return replace(checked, results=tuple(replace(each, source=None) for each in checked.results))


def _with_sources(checked: Checked, text: str) -> _Done:
    """Return a file's results with their documents, parsed again from the file's text, and the text."""
    documents = load_documents(text, checked.file, last_wins=True)[0]
    starts = [each.positions.root.position.line for each in documents]
    results = tuple(
        replace(each, source=documents[max(bisect_right(starts, each.line) - 1, 0)]) if each.kind and starts else each
        for each in checked.results
    )
    return replace(checked, results=results), text
