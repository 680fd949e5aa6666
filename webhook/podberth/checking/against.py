"""Checks live workloads, from the output of ``kubectl get -o yaml`` or from the API server's lists: the I/O.

``checking.run`` checks manifests.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from typing import BinaryIO

from ..check.live_workloads import Supposition, check_workload, live_report
from ..check.owners import top_owners
from ..check.run import CheckSettings, unreadable
from ..check.sources import SourceFile, read
from ..check.surroundings import referred, surroundings, within
from ..errors import Problem, UsageError
from ..facts.cluster import ClusterFacts, collect
from ..facts.object_kinds import kinds_of
from ..files.cluster_files import ClusterFiles
from ..files.manifests import find_manifests, read_manifest
from ..native.documents import native_policies
from ..policy.parse import ParsedPolicies
from .run import Done, Policies, about_exceptions


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveRequest:
    """The settings of a check of live workloads, except the workloads and the policies themselves."""

    settings: CheckSettings
    objects: ClusterFacts | None
    """The facts of the cluster from elsewhere; None: they come from the objects of the cluster that were read."""
    cluster_files: ClusterFiles = field(default_factory=ClusterFiles)
    as_if: Collection[Supposition] = ()
    now: datetime = field(default_factory=partial(datetime.now, UTC))
    """The time of the check, which decides whether an exception is in force."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gathered:
    """The objects of a cluster that were read.

    ``missing`` lists the objects that could not be read, with the reasons.
    """

    files: Sequence[SourceFile]
    problems: Sequence[Problem] = ()
    missing: Sequence[str] = ()
    is_makerless: bool = False
    """Whether no replica of podberth's controller runs, so that missing PodGroups are not made."""
    now: datetime | None = None
    """The time with which the nodes' heartbeats are compared; None if no node is to be reported as stale."""


def read_snapshot(paths: Sequence[str], stdin: BinaryIO) -> Gathered:
    """Return the objects in the given files or in standard input, with the problems of reading them.

    Raises:
        UsageError: there is neither an object nor a problem in the input.
    """
    listing = find_manifests(paths)
    problems = list(listing.problems)
    files: list[SourceFile] = []
    for name in listing.files:
        text = read_manifest(name, stdin)
        if isinstance(text, Problem):
            problems.append(text)
        else:
            files.append(read(*text))
    if not problems and not any(each.sources or each.problems for each in files):
        wanted = "want what kubectl get deployments,jobs,pods -A -o yaml prints"
        raise UsageError(f"--against: {', '.join(paths)}: got no object, {wanted}")
    return Gathered(files=files, problems=problems)


def run_live(request: LiveRequest, policies: Policies, gathered: Gathered) -> Done:
    """Check every workload against the policies; return the outcome.

    The report in the outcome also names the objects that cannot be read.

    Raises:
        UsageError: a setting is invalid.
        TopologyError: the file with the nodes cannot be used.
    """
    settings = request.settings
    objects = _objects(request, gathered)
    of_cluster = {file for file, _ in policies.objects}
    snapshot, parsed, problems = policies.load(objects, request.as_if, request.cluster_files, request.now)
    around = surroundings(gathered.files, settings.namespace)
    known = tuple(referred(around))
    whole = within(snapshot, around)
    sources = [each for file in gathered.files for each in file.sources]
    tops = top_owners(sources, settings, known, whole.facts.namespaces)
    unread = [*gathered.problems, *(each for file in gathered.files for each in file.problems)]
    report = live_report(
        [check_workload(each, whole, settings, known) for each in tops.owners],
        tops,
        parsed.policies,
        unread=[unreadable(each) for each in unread],
        missing=gathered.missing,
    )
    return Done(
        report=report,
        texts={},
        descriptions={each.name: each.source.spec.description for each in snapshot.policies},
        notes=(policies.counted(snapshot),),
        talk=(
            *_talk(request, parsed),
            *(() if objects.nodes else ("no node is known: placement is not checked; want Nodes in the snapshot",)),
            *_not_judged(parsed),
            *map(str, problems),
            *map(str, about_exceptions(parsed, request.now)),
            *objects.problems,
        ),
        broken_policies=any(each.file not in of_cluster for each in problems),
    )


def _objects(request: LiveRequest, gathered: Gathered) -> ClusterFacts:
    if request.objects is not None:
        return request.objects
    contents = [each.content for file in gathered.files for each in file.sources]
    return replace(
        collect([each for each in contents if kinds_of(each)], now=gathered.now),
        listed=True,
        is_makerless=gathered.is_makerless,
    )


def _not_judged(parsed: ParsedPolicies) -> list[str]:
    """Return a line for the user about native policies in the files; empty if there are none."""
    names = sorted({each.document["metadata"]["name"] for _, each in native_policies(parsed.others)})
    return [f"live workloads are not judged by native policies: {', '.join(names)}"] if names else []


def _talk(request: LiveRequest, parsed: ParsedPolicies) -> list[str]:
    talk = []
    specs = sorted((each.policy.name, each.policy.spec) for each in parsed.policies)
    lenient = [
        f"{name} ({', '.join(spec.validation_actions)})"
        for name, spec in specs
        if spec.validations and "Deny" not in spec.validation_actions
    ]
    if "deny" in request.as_if and lenient:
        talk.append(f"checked as if they denied: {', '.join(lenient)}")
    partial = [f"{name} ({spec.rollout.percent} percent)" for name, spec in specs if spec.rollout is not None]
    if "rolled-out" in request.as_if and partial:
        talk.append(f"checked as if they were rolled out: {', '.join(partial)}")
    return talk
