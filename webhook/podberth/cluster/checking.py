"""The wiring of a check: reads policies, snapshot and manifests, and has them decided on, in one process or several."""

import multiprocessing
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import BinaryIO

from ..admission.snapshot import Snapshot, load_working
from ..cel.engine import Environment
from ..check.formats import Outcome
from ..check.run import Checked, Settings, check, report, unreadable
from ..check.sources import Document, read
from ..check.surroundings import referred, surroundings, within
from ..errors import Problem
from ..kube.schema import PodSchema
from ..policy.parse import parse_policies
from ..topology.objects import ClusterObjects
from .files import read_objects, read_policy_texts
from .library import served
from .manifests import STDIN, Listing, read_manifest
from .naming import read_conventions


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What to check, and by what."""

    listing: Listing
    settings: Settings
    policies: Path | None
    """None: those that podberth ships."""
    topology: Path | None
    conventions: Path | None
    jobs: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """What came of it. ``talk`` is for a person, one line each."""

    outcome: Outcome
    talk: tuple[str, ...]
    broken_policies: bool


def run_check(request: Request, stdin: BinaryIO) -> Done:
    """Check every file; what cannot be read is part of the report.

    Raises:
        UsageError: a setting that makes no sense.
        TopologyError: the snapshot cannot be used.
    """
    snapshot, problems, talk = _load(request)
    items = [_Item(file, read_manifest(file, stdin) if file == STDIN else None) for file in request.listing.files]
    jobs = max(1, min(request.jobs, len(items)))
    shares = [items[start::jobs] for start in range(jobs)]
    done = _together(shares[0], snapshot, request.settings) if jobs == 1 else _apart(shares, snapshot, request.settings)
    refused = [
        Checked(file=each.file, documents=0, results=(unreadable(each),), patched=())
        for each in request.listing.problems
    ]
    checked = [*refused, *(each for each, _ in done)]
    outcome = Outcome(
        report=report(checked),
        texts={each.file: text for each, text in done},
        patched={each.file: each.patched for each in checked if each.patched},
    )
    return Done(outcome=outcome, talk=tuple(talk), broken_policies=bool(problems))


def _load(request: Request) -> tuple[Snapshot, Sequence[Problem], list[str]]:
    """Return the snapshot, what is wrong with the policies, and what is to be said of both."""
    directory = request.policies or served()
    texts, unread = read_policy_texts(directory)
    objects = read_objects(request.topology) if request.topology is not None else ClusterObjects()
    snapshot, problems = load_working(
        parse_policies(texts),
        objects,
        Environment(PodSchema.packaged()),
        read_conventions(request.conventions),
        checked=request.policies is None,  # the tests of every release compile them
    )
    problems = tuple(sorted([*unread, *problems]))
    if not snapshot.policies and not problems:
        problems = (Problem(str(directory), 0, 0, "", "got no policy, want GPUPolicy documents"),)
    which = "" if request.policies else " that podberth ships"
    talk = [f"decided by the {len(snapshot.policies)} policies{which} in {directory}"]
    if request.topology is None:
        talk.append("no node is known: give --topology to have placement decided on, too")
    return snapshot, problems, [*talk, *map(str, problems), *objects.problems]


# ---- the files -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Item:
    """A file to read, or what standard input held."""

    file: str
    given: tuple[str, str] | Problem | None


class _Share:
    """Some of the files, read; each is decided on when all others have been read, too."""

    def __init__(self, items: Iterable[_Item], settings: Settings) -> None:
        self._settings = settings
        found = [each.given or read_manifest(each.file) for each in items]
        self._files = [each if isinstance(each, Problem) else read(*each) for each in found]

    def surroundings(self) -> list[Document]:
        """Return what these files say of the cluster."""
        files = [each for each in self._files if not isinstance(each, Problem)]
        return surroundings(files, self._settings.namespace)

    def decide(self, snapshot: Snapshot, documents: Sequence[Document]) -> "list[_Done]":
        """Decide on everything in the files, in the cluster that ``documents`` are in, too."""
        known = tuple(referred(documents))
        whole = within(snapshot, documents)
        return [
            (Checked(file=each.file, documents=0, results=(unreadable(each),), patched=()), "")
            if isinstance(each, Problem)
            else (check(each, whole, self._settings, known), each.text)
            for each in self._files
        ]


_Done = tuple[Checked, str]
"""A file's outcome and its text."""


def _together(items: Sequence[_Item], snapshot: Snapshot, settings: Settings) -> list[_Done]:
    share = _Share(items, settings)
    return share.decide(snapshot, share.surroundings())


def _apart(shares: Sequence[Sequence[_Item]], snapshot: Snapshot, settings: Settings) -> list[_Done]:
    """Have each share decided on by a process of its own, which inherits the compiled policies."""
    context = multiprocessing.get_context("fork")
    found: list[list[_Done]] = []
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


def _work(pipe: Connection, items: Sequence[_Item], snapshot: Snapshot, settings: Settings) -> None:
    share = _Share(items, settings)
    pipe.send(share.surroundings())
    pipe.send(share.decide(snapshot, pipe.recv()))
    pipe.close()
