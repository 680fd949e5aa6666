"""A decision without a server around it: the shipped policies over a simulated cluster, and reviews to decide on."""

import shutil
from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import Any

import orjson

from podberth.admission.review import AdmissionRequest, decode_review
from podberth.admission.snapshot import Snapshot, load_snapshot
from podberth.cel.engine import Environment
from podberth.conventions import Conventions
from podberth.facts.cluster import collect
from podberth.files.loading import read_policy_texts
from podberth.kube.schema import PodSchema
from podberth.policy.parse import parse_policies

from . import ROOT
from .reviews import distinct, numbered

POLICIES = ROOT / "policies"
# What nearly every pod with GPUs needs; the rest of the library is for some pods.
_FOUR = ("gang-topology", "gpu-tolerations", "mig-right-size", "multi-gpu-nvlink")


def four_policies(folder: Path) -> Path:
    """Copy the four policies that write on ordinary pods below ``folder``, which is made; return it."""
    for name in _FOUR:
        shutil.copytree(POLICIES / name, folder / name)
    return folder


def snapshot(cluster: Iterable[dict[str, Any]], *, library: bool = False) -> Snapshot:
    """Compile the four policies, or all that are shipped, with the params beside them, over a cluster."""
    return snapshot_of([POLICIES] if library else [POLICIES / name for name in _FOUR], cluster)


def snapshot_of(folders: Iterable[Path], cluster: Iterable[dict[str, Any]], *, requiring: bool = False) -> Snapshot:
    """Compile the policies of folders, with the params beside them, over a cluster.

    With ``requiring``, what the params prefer is required.
    """
    texts, _ = read_policy_texts(*folders)
    if requiring:
        texts = [(name, text.replace("mode: preferred", "mode: required")) for name, text in texts]
    parsed = parse_policies(texts)
    return load_snapshot(parsed, collect(cluster, now=None), Environment(PodSchema.packaged()), Conventions())


def requests(count: int, *, serial: int = 0) -> list[AdmissionRequest]:
    """Decode reviews; with another ``serial`` they are of other pods, which ask for the same."""
    reviews = enumerate(islice(distinct(), count), serial)
    return [decode_review(orjson.loads(numbered(each, number))) for number, each in reviews]
