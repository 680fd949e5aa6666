"""Checks manifests: reads the policies, the snapshot and the files, and decides in one process or in several."""

import gc
import os
import sys
from bisect import bisect_right
from collections import Counter, deque
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property, partial
from itertools import starmap
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final

from ..admission.snapshot import Snapshot, load_working
from ..admission.unlabelled import unlabelled_text
from ..check.live_workloads import Supposition, suppose
from ..check.natives import Beside, Natives, natives_of, params_in
from ..check.other_files import chart_result
from ..check.report.results import ALL, Shown
from ..check.result import Report
from ..check.run import Checked, CheckSettings, check, report, unreadable
from ..check.sources import Document, SourceFile, read
from ..check.surroundings import referred, surroundings, within
from ..errors import Problem
from ..facts.cluster import ClusterFacts
from ..files.cluster_files import ClusterFiles
from ..files.library import ALONE, served
from ..files.loading import read_policy_texts
from ..files.manifests import STDIN, Listing, read_manifest
from ..files.repository import charts, patches
from ..kube.documents import load_documents
from ..native.documents import is_native, kinds_of_params, others_of
from ..native.judge import Surroundings
from ..policy.exceptions import of_unknown, without_effect
from ..policy.parse import ParsedPolicies, parse_policies

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

# The least number of files for one process. A second process costs as much processor time as 150 files, because results
# are sent to the first. For 10,000 files, two processes need 0.56 of the time of one (bench/README.md).
_FILES_OF_A_PROCESS: Final = 500
# The number of files between two collections of garbage; the command disables Python's own. A decision leaves 130
# objects in reference cycles, 15 KB. A collection looks only at objects that are newer than the last one.
_FILES_OF_A_COLLECTION: Final = 100
_NO_NODE: Final = "no node is known: placement is not checked; give --topology, or --simulate"
# More processes would only wait for the process that reads their results.
_MOST_PROCESSES: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckRequest:
    """The files to check, and the settings of the check."""

    listing: Listing
    settings: CheckSettings
    policies: "Policies"
    objects: ClusterFacts | None
    """The facts of the cluster; None: no node is known."""
    jobs: int | None
    """The number of processes that check files; None if the number of files decides."""
    sources: bool
    """Whether the results keep the parsed documents, which some output formats need."""
    cluster_files: ClusterFiles = field(default_factory=ClusterFiles)
    as_if: Collection[Supposition] = ()
    """The assumptions about the policies (``check.live_workloads``), for example that all policies have
    validationActions Deny."""
    now: datetime = field(default_factory=partial(datetime.now, UTC))
    """The time of the check, which decides whether an exception is in force."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """The outcome of a check. ``talk`` has lines for the user that are written to stderr."""

    report: Report
    texts: Mapping[str, str]
    """The texts of the files that could be read, by file name."""
    descriptions: Mapping[str, str]
    """The descriptions of the policies, by policy name."""
    talk: tuple[str, ...]
    notes: tuple[str, ...] = ()
    """Lines for the user about what was checked with, which are written to stderr, too, but not with --quiet."""
    shown: Shown = ALL
    broken_policies: bool
    """Whether a policy from a file has errors. A GPUPolicy of the cluster with errors does not count."""


@dataclass(frozen=True, kw_only=True)
class Policies:
    """The policies of a check as texts, each with the name of the file, and the problems of reading the files.

    ``where`` says where the policies come from, and ends the line "checked with N policies" for the user.
    """

    texts: Sequence[tuple[str, str]]
    problems: Sequence[Problem]
    where: str
    objects: Sequence[tuple[str, str]] = ()
    """The cluster's GPUPolicies as (name, text); these GPUPolicies replace the policies of the same names in ``texts``.
    """
    tested: bool = False
    """Whether podberth ships all policies of the check; the tests of every release have compiled the shipped policies.
    """

    alone: bool = False
    """Whether the policies are those of ``./policies``, and the user did not name them."""
    has_natives: bool = False
    """Whether the cluster has native policies by which the check judges, too."""

    def load(
        self, objects: ClusterFacts, as_if: Collection[Supposition], cluster_files: ClusterFiles, now: datetime
    ) -> tuple[Snapshot, ParsedPolicies, tuple[Problem, ...]]:
        """Compile the policies; return (a snapshot with the policies, the policies as written, all problems).

        Policies that do not compile are not in the snapshot. If a GPUPolicy of the cluster does not compile, the file's
        policy with an equal name is used.

        Args:
            objects: the facts of the cluster.
            as_if: the assumptions under which the policies are checked, such as validationActions Deny.
            cluster_files: the files that describe the cluster.
            now: the moment of the check, at which exceptions are in force or not.
        """
        files, over_them = self._files, self._over_them
        environment, names = cluster_files.environment(), cluster_files.names()
        # With the fields of another API server a shipped policy may not compile.
        checked = self.tested and cluster_files.pod_schema is None

        def compiled() -> tuple[ParsedPolicies, Snapshot, tuple[Problem, ...]]:
            parsed = over(files, over_them.values())
            return parsed, *load_working(suppose(parsed, as_if), objects, environment, names, checked=checked)

        parsed, snapshot, broken = compiled()
        if faulty := over_them.keys() & {each.file for each in broken}:
            over_them = {file: each for file, each in over_them.items() if file not in faulty}
            parsed, snapshot, others = compiled()
            broken = (*broken, *others)
        problems = tuple(sorted({*self.problems, *broken}))
        if not (snapshot.policies or snapshot.namespaced or problems or parsed.others or self.has_natives):
            where = self.where.partition(" in ")[2] or self.where.strip()
            problems = (Problem(where, 0, 0, "", "got no policy, want GPUPolicy documents"),)
        return snapshot.at(now), parsed, problems

    def natives(self) -> list[Document]:
        """Return the native policies and bindings in the files."""
        return [each.document for _, each in self._files.others if is_native(each.document)]

    def look_for_tenants_params(self) -> bool:
        """Return whether a policy has params in a namespace other than podberth's own."""
        parsed = [self._files, *self._over_them.values()]
        references = (each.policy.spec.param_ref for one in parsed for each in one.policies)
        return any(each is not None and each.is_elsewhere for each in references)

    @cached_property
    def _over_them(self) -> dict[str, ParsedPolicies]:
        return {name: parse_policies([(name, text)]) for name, text in self.objects}

    @cached_property
    def _files(self) -> ParsedPolicies:
        return parse_policies(self.texts, others_of(self.texts))

    def counted(self, snapshot: Snapshot, problems: Collection[Problem]) -> Iterator[str]:
        """Yield a line for the user that says how many policies the snapshot has, and where the policies come from.

        Nothing is yielded if the snapshot has no policy because of ``problems``, which say so themselves.
        """
        count = len(snapshot.policies)
        alone = f", {ALONE}" if self.alone else ""
        if count or not problems:
            yield f"checked with {count} polic{'y' if count == 1 else 'ies'}{self.where}{alone}"


def over(files: ParsedPolicies, objects: Iterable[ParsedPolicies]) -> ParsedPolicies:
    """Return the policies of a check: the policies of files, and the GPUPolicies ``objects`` of the cluster.

    ``objects`` has the result of parsing each GPUPolicy. A GPUPolicy replaces a file's policy with an equal name,
    unless the GPUPolicy cannot be parsed. The caller leaves out GPUPolicies that do not compile. Disabled policies are
    left out.
    """
    policies = {each.policy.name: each for each in files.policies}
    exceptions = {each.source.name: each for each in files.exceptions}
    namespaced = {(each.namespace, each.policy.name): each for each in files.namespaced}
    problems, refused = list(files.problems), list(files.refused)
    for parsed in objects:
        policies |= {each.policy.name: each for each in parsed.policies}
        exceptions |= {each.source.name: each for each in parsed.exceptions}
        namespaced |= {(each.namespace, each.policy.name): each for each in parsed.namespaced}
        problems += parsed.problems
        refused += parsed.refused
    enabled = (each for each in policies.values() if not each.policy.spec.disabled)
    return ParsedPolicies(
        tuple(enabled),
        files.params,
        tuple(sorted(problems)),
        files.others,
        tuple(exceptions.values()),
        tuple(namespaced.values()),
        tuple(refused),
    )


def about_exceptions(parsed: ParsedPolicies, now: datetime) -> tuple[Problem, ...]:
    """Return a problem for each exception without effect, and for each missing policy that an exception names."""
    names = (each.policy.name for each in parsed.policies)
    return tuple(sorted([*without_effect(parsed.exceptions, now), *of_unknown(parsed.exceptions, names)]))


def assumptions(report: Report) -> Iterator[str]:
    """Yield the lines for the user about Namespaces that no given file has."""
    yield from starmap(unlabelled_text, report.unknown_namespaces.items())


def _held_back(report: Report) -> Iterator[str]:
    """Yield a line for the user about the policies whose rollout leaves out a workload; nothing if there are none.

    The report about live workloads has such lines itself.
    """
    if held_back := sorted({name for result in report.results for name in result.held_back}):
        yield f"rollout: not asked about all workloads here: {', '.join(held_back)}; to ask about all: --as rolled-out"


def policies_in(*folders: Path | None) -> Policies:
    """Return the policies in the files below some folders; None stands for the policies that podberth ships.

    Raises:
        UsageError: the policies that podberth ships are not installed.
    """
    places = [each or served() for each in folders]
    texts, problems = read_policy_texts(*places)
    shipped = ["" if each else " that podberth ships" for each in folders]
    where = " and".join(f"{which} in {place}" for which, place in zip(shipped, places, strict=True))
    return Policies(texts=texts, problems=problems, where=where, tested=set(folders) == {None})


def run_check(request: CheckRequest, stdin: BinaryIO) -> Done:
    """Check every file and return the outcome; the outcome's report names unreadable files.

    Raises:
        UsageError: a setting is invalid.
        TopologyError: the snapshot cannot be used.
    """
    policies = request.policies
    objects = request.objects or ClusterFacts()
    snapshot, parsed, problems = policies.load(objects, request.as_if, request.cluster_files, request.now)
    beside = Beside(parsed.others)
    templates = charts(request.listing.found)
    items = _items(request.listing, templates, stdin)
    jobs = max(1, min(request.jobs or processes_for(len(items)), len(items)))
    shares = [items[start::jobs] for start in range(jobs)]
    if jobs == 1:
        done, natives = _together(_Share(shares[0], request.settings, beside), snapshot, sources=request.sources)
    else:
        done, natives = _apart(shares, snapshot, request.settings, beside)
        done = [_with_sources(*each) for each in done] if request.sources else done
    problems = tuple(sorted([*problems, *(natives.problems if natives else ())]))
    refused = [Checked(file=each.file, documents=0, results=(unreadable(each),)) for each in request.listing.problems]
    refused += [
        Checked(file=folder, documents=0, results=(chart_result(folder, count),))
        for folder, count in sorted(Counter(templates.values()).items())
    ]
    found = report([*refused, *(each for each, _ in done)])
    return Done(
        report=found,
        texts={each.file: text for each, text in done},
        descriptions={each.name: each.source.spec.description for each in snapshot.policies},
        notes=(
            *policies.counted(snapshot, problems),
            *(natives.talk() if natives else ()),
            *(() if request.objects else (_NO_NODE,)),
            *assumptions(found),
            *_held_back(found),
        ),
        talk=(
            *map(str, problems),
            *map(str, about_exceptions(parsed, request.now)),
            *objects.problems,
        ),
        broken_policies=bool(problems),
    )


def processes_for(files: int) -> int:
    """Return the number of processes that check ``files`` files.

    A process checks at least ``_FILES_OF_A_PROCESS`` files. There is at most one process for each processor, and at
    most ``_MOST_PROCESSES`` in all. Outside Linux, the result is 1: the processors that this process may use are not
    known, and system libraries may fail after a fork.
    """
    processors = len(os.sched_getaffinity(0)) if sys.platform == "linux" else 1
    return max(1, min(files // _FILES_OF_A_PROCESS, processors, _MOST_PROCESSES))


# ---- the files -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Item:
    """A file that is to be read, or the content of standard input."""

    file: str
    given: tuple[str, str] | Problem | None
    found: bool = False
    """Whether the file was found in a folder, and not named by the user."""
    patch_of: str = ""
    """The kustomization that uses the file as a patch; empty if none does."""

    def read(self) -> SourceFile | Problem:
        """Return the file with its objects, or the problem of reading the file."""
        text = self.given or read_manifest(self.file)
        return text if isinstance(text, Problem) else read(*text, found=self.found, patch_of=self.patch_of)


def _items(listing: Listing, templates: Container[str], stdin: BinaryIO) -> list[_Item]:
    """Return the files that are to be read, without the templates of Helm charts."""
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
    """A part of the files of a check.

    Several processes read the parts. When all processes have read their files, each process decides on its objects.
    """

    def __init__(self, items: Iterable[_Item], settings: CheckSettings, beside: Beside) -> None:
        self._settings = settings
        self._beside = beside
        self._files = deque(each.read() for each in items)

    def surroundings(self) -> list[Document]:
        """Return the objects in the part's files on which decisions about other objects depend, such as Namespaces."""
        return surroundings(self._read(), self._settings.namespace)

    def params(self, documents: Sequence[Document]) -> list[Document]:
        """Return the objects in the part's files that the native policies of any file may have as params.

        ``documents`` has the native policies and the ConfigMaps of all files of the check.
        """
        kinds = kinds_of_params([*self._beside.contents, *documents]) - {("", "ConfigMap")}
        return list(params_in(self._read(), kinds)) if kinds else []

    def decide(
        self, snapshot: Snapshot, documents: Sequence[Document], params: Sequence[Document], *, sources: bool
    ) -> "tuple[list[_Done], Natives | None]":
        """Return (the results for all files of this part, the compiled native policies; None if there are none).

        Each file is removed from the part to free memory.

        ``documents`` has the Namespaces and other objects that decisions depend on, and ``params`` the params, from all
        files of the check. The results keep the parsed documents of the files only if ``sources`` is true.
        """
        known = tuple(referred(documents))
        whole = within(snapshot, documents)
        about = Surroundings(namespace=self._settings.namespace, requester=self._settings.requester)
        natives = natives_of(self._beside, [*documents, *params], whole, about)
        settings = replace(self._settings, natives=natives)
        done: list[_Done] = []
        while self._files:
            file = self._files.popleft()
            if isinstance(file, Problem):
                done.append((Checked(file=file.file, documents=0, results=(unreadable(file),)), ""))
                continue
            checked = check(file, whole, settings, known)
            done.append((checked if sources else _without_sources(checked), file.text))
            if len(done) % _FILES_OF_A_COLLECTION == 0:
                gc.collect(0)
        return done, natives

    def _read(self) -> list[SourceFile]:
        return [each for each in self._files if not isinstance(each, Problem)]


_Done = tuple[Checked, str]
"""The results for a file, and the file's text."""


def _together(share: _Share, snapshot: Snapshot, *, sources: bool) -> "tuple[list[_Done], Natives | None]":
    documents = share.surroundings()
    return share.decide(snapshot, documents, share.params(documents), sources=sources)


def _apart(
    shares: Sequence[Sequence[_Item]], snapshot: Snapshot, settings: CheckSettings, beside: Beside
) -> "tuple[list[_Done], Natives | None]":
    """Return (the results for all files, the compiled native policies; None if there are none).

    Each part of the files is read and decided on in a separate process. ``beside`` has the objects in the policies'
    folder that are neither GPUPolicies nor ConfigMaps, such as native policies.

    The processes are forked, so that each process inherits the compiled policies.
    """
    import multiprocessing  # noqa: PLC0415 - most checks do not need it

    context = multiprocessing.get_context("fork")
    with ExitStack() as stack:
        pipes: list[Connection] = []
        for share in shares:
            ours, theirs = context.Pipe()
            worker = context.Process(target=_work, args=(theirs, share, snapshot, settings, beside))
            worker.start()
            stack.callback(worker.join)
            theirs.close()
            pipes.append(stack.enter_context(ours))
        documents, params = _gathered(pipes), _gathered(pipes)
        found = [pipe.recv() for pipe in pipes]
    dealt = [iter(each) for each in found]
    done = [next(dealt[at % len(dealt)]) for at in range(sum(map(len, found)))]
    # The native policies' problems and notes are the same in every share, so those of an empty share are returned.
    return done, _Share((), settings, beside).decide(snapshot, documents, params, sources=False)[1]


def _gathered(pipes: "Sequence[Connection]") -> list[Document]:
    """Receive the objects that each process has read, and send the objects of all processes to every process.

    Returns:
        The objects of all processes.
    """
    found = [document for pipe in pipes for document in pipe.recv()]
    for pipe in pipes:
        pipe.send(found)
    return found


def _work(
    pipe: "Connection", items: Sequence[_Item], snapshot: Snapshot, settings: CheckSettings, beside: Beside
) -> None:
    share = _Share(items, settings, beside)
    pipe.send(share.surroundings())
    documents = pipe.recv()
    pipe.send(share.params(documents))
    done, _ = share.decide(snapshot, documents, pipe.recv(), sources=False)
    pipe.send(done)
    pipe.close()


def _without_sources(checked: Checked) -> Checked:
    """Return a file's results without the parsed documents, to be sent through a pipe.

    Parsing the documents again is cheaper than sending documents.
    """
    return replace(checked, results=tuple(replace(each, source=None) for each in checked.results))


def _with_sources(checked: Checked, text: str) -> _Done:
    """Return a file's results with the documents, which are parsed again from ``text``, and the file's text."""
    documents = load_documents(text, checked.file, last_wins=True)[0]
    starts = [each.positions.root.position.line for each in documents]
    results = tuple(
        replace(each, source=documents[max(bisect_right(starts, each.line) - 1, 0)]) if each.kind and starts else each
        for each in checked.results
    )
    return replace(checked, results=results), text
