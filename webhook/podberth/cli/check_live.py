"""The part of ``podberth check`` that checks live workloads, from the output of kubectl or from the API server."""

import argparse
import asyncio
import sys
from collections.abc import Collection, Sequence
from dataclasses import replace

from ..check.run import CheckSettings
from ..checking.against import LiveRequest, read_snapshot, run_live
from ..checking.run import Done, Policies
from ..errors import ClusterError, UsageError
from .access import cluster_files_of, kubeconfig_of
from .formats import FORMATS
from .live_flags import OF_CLUSTER, policies_of
from .simulated import facts_of


def run(arguments: argparse.Namespace, settings: CheckSettings, formats: Collection[str]) -> tuple[Done, bool]:
    """Check the live workloads; return (the outcome, whether the check is complete).

    The check is incomplete if the objects of a kind could not be listed, or a PolicyReport could not be written.

    Raises:
        UsageError: flags contradict each other.
        ClusterError: the API server does not answer or refuses, or serves no API for PolicyReports.
    """
    _refuse(arguments, formats)
    request = LiveRequest(
        settings=settings,
        objects=facts_of(arguments),
        cluster_files=cluster_files_of(arguments),
        as_if=arguments.judged_as,
    )
    if not arguments.cluster:
        gathered = read_snapshot(arguments.against, sys.stdin.buffer)
        return run_live(request, policies_of(arguments.policies), gathered), True
    from ..checking.survey import SurveyedCluster  # noqa: PLC0415 - 80 ms, for which a check of a snapshot does not wait

    kubeconfig, namespace = kubeconfig_of(arguments), arguments.namespace or ""
    cluster = SurveyedCluster(kubeconfig=kubeconfig, namespace=namespace, page=arguments.page)
    survey = asyncio.run(
        cluster.survey(
            frozenset(settings.template_paths),
            nodes=request.objects is None,
            policies=_files(arguments.policies),
            objects=OF_CLUSTER in arguments.policies or not arguments.policies,
            reports=arguments.report,
        )
    )
    done = run_live(request, survey.policies, survey.gathered)
    complete = not survey.gathered.missing
    done, talk = replace(done, notes=(*done.notes, *survey.notes)), [*done.talk]
    if arguments.report and done.broken_policies:
        talk.append("reports: none is written, for a policy of files is broken; fix it")
    elif arguments.report:
        try:
            writer = asyncio.run(cluster.write(done.report))
        except ClusterError as error:  # the findings are shown all the same
            talk.append(f"reports: none is written: {error}")
            complete = False
        else:
            changed = f"{writer.written} written, {writer.removed} removed"
            talk += [f"reports: {changed}, the others unchanged", *writer.refused]
            complete = complete and not writer.refused
    return replace(done, talk=tuple(talk)), complete


def _files(policies: Sequence[str]) -> Policies:
    """Return the policies of files in the values of --policies; none if the only value is ``cluster``."""
    if list(policies) == [OF_CLUSTER]:
        return Policies(texts=(), problems=(), where="")
    return policies_of(policies, or_own=False)


def _refuse(arguments: argparse.Namespace, formats: Collection[str]) -> None:
    for each in FORMATS:
        if each.of_manifests and each.name in formats:
            raise UsageError(
                f"-o: got {each.name} for live workloads, want a format without manifests, as text or json"
            )
    if (arguments.jobs or 1) > 1:
        raise UsageError(f"--jobs: got {arguments.jobs} for live workloads, want 1")
