"""A decision without a server around it: the shipped policies over a simulated cluster, and reviews to decide on."""

from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import Any

import orjson

from podberth.admission.review import AdmissionRequest, decode_review
from podberth.admission.snapshot import Snapshot, load_snapshot
from podberth.cel.engine import Environment
from podberth.cluster.files import read_policy_texts
from podberth.conventions import Conventions
from podberth.kube.schema import PodSchema
from podberth.policy.parse import parse_policies
from podberth.topology.objects import collect

from . import ROOT
from .reviews import distinct, numbered

POLICIES = ROOT / "policies"


def snapshot(cluster: Iterable[dict[str, Any]], policies: Path = POLICIES) -> Snapshot:
    """Compile the policies below a folder, their params beside them, over a cluster."""
    texts, _ = read_policy_texts(policies)
    parsed = parse_policies(texts)
    return load_snapshot(parsed, collect(cluster, now=None), Environment(PodSchema.packaged()), Conventions())


def requests(count: int, *, serial: int = 0) -> list[AdmissionRequest]:
    """Decode reviews; with another ``serial`` they are of other pods, which ask for the same."""
    reviews = enumerate(islice(distinct(), count), serial)
    return [decode_review(orjson.loads(numbered(each, number))) for number, each in reviews]
