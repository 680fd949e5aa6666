"""Checks for tests: manifests as text, decided on by the shipped policies over a small simulated cluster."""

from functools import cache
from pathlib import Path
from textwrap import dedent
from typing import Any

from podberth.admission.snapshot import Snapshot
from podberth.check.result import Report, Result
from podberth.check.run import CheckSettings, check, report
from podberth.check.sources import read
from podberth.check.surroundings import referred, surroundings, within
from podberth.facts.cluster import collect
from podberth.kube.patch import apply
from snapshots import cluster, library, over

ROOT = Path(__file__).parents[1]


@cache
def shipped(*, nodes: bool = True) -> Snapshot:
    """Return the shipped policies over a cluster of H100, L4 and MIG nodes, or over one of which nothing is known."""
    objects = cluster(hgx_h100_8=3, l4_4=2, dgx_a100_8_mig_mixed=1) if nodes else []
    return over(library(), collect(objects, now=None))


def checked(*texts: str, by: Snapshot | None = None, settings: CheckSettings | None = None) -> Report:
    """Check manifests, the first of which is ``m0.yaml``; each text may be indented as a whole."""
    settings = settings or CheckSettings()
    files = [read(f"m{number}.yaml", dedent(text)) for number, text in enumerate(texts)]
    documents = surroundings(files, settings.namespace)
    snapshot = within(by or shipped(), documents)
    return report([check(each, snapshot, settings, tuple(referred(documents))) for each in files])


def one(text: str, *, by: Snapshot | None = None, settings: CheckSettings | None = None) -> Result:
    """Check a manifest of one pod template."""
    [result] = checked(text, by=by, settings=settings).results
    return result


def patched(found: Report) -> list[dict[str, Any]]:
    """Return every document as the report's changes leave it, in order."""
    documents: dict[int, tuple[dict[str, Any], list[dict[str, Any]]]] = {}
    for result in found.results:
        if result.source is None:
            continue
        operations = documents.setdefault(id(result.source), (result.source.document, []))[1]
        for change in result.changes:
            value = {} if change.op == "remove" else {"value": change.value}
            operations.append({"op": change.op, "path": change.path, **value})
    return [apply(document, operations) for document, operations in documents.values()]
