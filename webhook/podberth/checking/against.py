"""Checks live workloads, from the output of ``kubectl get -o yaml`` or from the API server's lists: the I/O.

``checking.run`` checks manifests.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from typing import BinaryIO, Final

from ..admission.snapshot import Snapshot
from ..check.live_workloads import Supposition, check_workload, has_effect, live_report
from ..check.natives import Beside, Natives, natives_among
from ..check.owners import top_owners
from ..check.run import CheckSettings, check_object, unreadable
from ..check.sources import Document, SourceFile, read, without_place
from ..check.surroundings import referred, surroundings, within
from ..errors import Problem, UsageError
from ..facts.cluster import ClusterFacts, collect
from ..facts.object_kinds import kinds_of
from ..files.cluster_files import ClusterFiles
from ..files.manifests import find_manifests, read_manifest
from ..native.documents import identity_of, is_native
from ..native.judge import Surroundings
from ..policy.parse import ParsedPolicies
from .run import Done, Policies, about_exceptions, assumptions

CLUSTER: Final = "cluster"
"""The name that messages have in place of a file's name if an object comes from a cluster."""


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
    natives: Sequence[Document] = ()
    """The cluster's native policies and bindings, and the params of native policies, if they were listed apart."""
    talk: Sequence[str] = ()
    """Lines for the user about native policies that are not evaluated."""
    unjudged: Collection[tuple[str, str]] = ()
    """The (kind, name) of each binding that is not evaluated, because its params could not be listed; ``natives`` has
    none of these."""
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
    natives = _natives(settings, parsed, gathered, around, whole)
    settings = replace(settings, natives=natives)
    problems = tuple(sorted([*problems, *(natives.problems if natives else ())]))
    tops = top_owners(sources, settings, known, whole.facts.namespaces)
    unread = [unreadable(each) for each in gathered.problems]
    unread += [unreadable(each) for file in gathered.files for each in file.problems]
    for each in (*sources, *(without_place(CLUSTER, each) for each in gathered.natives)):
        if is_native(each.content):  # the API server has taken it, and podberth may be unable to compile it
            unread += [result for result in check_object(each, whole, settings, known) if result.errors]
    found = [(each, check_workload(each, whole, settings, known)) for each in tops.owners]
    judged = [results for owner, results in found if not owner.unseen or any(map(has_effect, results))]
    report = live_report(
        judged,
        replace(tops, exempt=tops.exempt + len(found) - len(judged)),
        parsed.policies,
        unread=unread,
        missing=gathered.missing,
    )
    return Done(
        report=report,
        texts={},
        descriptions={each.name: each.source.spec.description for each in snapshot.policies},
        notes=(*policies.counted(snapshot, problems), *assumptions(report)),
        talk=(
            *(natives.talk() if natives else ()),
            *gathered.talk,
            *_talk(request, parsed),
            *(() if objects.nodes else ("no node is known: placement is not checked; want Nodes in the snapshot",)),
            *map(str, problems),
            *map(str, about_exceptions(parsed, request.now)),
            *objects.problems,
        ),
        broken_policies=any(each.file not in of_cluster for each in problems),
    )


def _natives(
    settings: CheckSettings, parsed: ParsedPolicies, gathered: Gathered, around: Sequence[Document], snapshot: Snapshot
) -> Natives | None:
    """Return the native policies of the policies' folder and of the cluster; None if there are none."""
    beside = Beside(tuple(each for each in parsed.others if identity_of(each[1].document) not in gathered.unjudged))
    about = Surroundings(namespace=settings.namespace, requester=settings.requester)
    return natives_among(gathered.files, beside, [*around, *gathered.natives], snapshot, about)


def _objects(request: LiveRequest, gathered: Gathered) -> ClusterFacts:
    if request.objects is not None:
        return request.objects
    contents = [each.content for file in gathered.files for each in file.sources]
    return replace(
        collect([each for each in contents if kinds_of(each)], now=gathered.now),
        listed=True,
        is_makerless=gathered.is_makerless,
    )


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
