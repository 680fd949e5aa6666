"""Reads the facts of a snapshot, and the accelerators that the snapshot's Pods hold.

``ClusterFacts`` has no Pods: decisions are made from ``ClusterFacts``, and no decision may depend on which accelerators
are free.
"""

from collections.abc import Iterable
from datetime import datetime
from typing import Final

from ..kube.unchecked import is_pod
from ..topology.holdings import Holdings
from .cluster import ClusterFacts, collect
from .object_kinds import Document, unlist

_SLICE: Final = "ResourceSlice"  # no fact of a decision is read from it
_OF_CLAIMS: Final = (_SLICE, "ResourceClaim")


def collect_with_holdings(
    documents: Iterable[Document], *, now: datetime | None
) -> tuple[ClusterFacts, Holdings | None]:
    """Return (the facts of all objects, the accelerators that Pods and ResourceClaims hold).

    The second value is None if there is no Pod among the objects. Every cluster with nodes has Pods, so without Pods it
    is unknown which accelerators are free.
    """
    singles = [single for document in documents for single in unlist(document)]
    pods = [each for each in singles if is_pod(each)]
    slices, claims = ([each for each in singles if each.get("kind") == kind] for kind in _OF_CLAIMS)
    others = [each for each in singles if not is_pod(each) and each.get("kind") != _SLICE]
    # As items of one list: a list among the items is a problem of the document, and is not read.
    facts = collect([{"kind": "List", "items": others}], now=now)
    return facts, Holdings.of(facts.nodes, pods, slices, claims) if pods else None
