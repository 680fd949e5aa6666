"""What each shipped policy costs: ``python -m bench.policies``.

One after the other, each alone over the same cluster. "ordinary" is /mutate and /validate on the reviews of
``reviews.py``, all different, as in a server that has been up for a while; beside it the ratio to the same without any
policy, taken in the same round. "its own" is a decision of both on the pods of the policy's own suite with nothing
remembered, the most expensive one: what the first pod of its kind pays. Microseconds of processor time.
"""

import argparse
import gc
import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import count, islice
from pathlib import Path
from statistics import median

import orjson

from builders import review
from podberth.admission import decide
from podberth.admission.review import AdmissionRequest, decode_review
from podberth.admission.snapshot import Snapshot
from podberth.kube.patch import apply
from podberth.suite.case_file import parse_suite

from . import clusters, decisions
from .figures import table
from .reviews import distinct, numbered

_NOTHING = "no policy"
_REVIEWS = 400
_TRIES = 5


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    cluster = list(clusters.documents(1000, 50))
    folders = sorted(path for path in decisions.POLICIES.iterdir() if path.is_dir())
    snapshots = {_NOTHING: decisions.snapshot_of([], cluster)}
    snapshots |= {folder.name: decisions.snapshot_of([folder], cluster) for folder in folders}
    snapshots["all of them"] = decisions.snapshot_of(folders, cluster)
    bodies = list(islice(distinct(), _REVIEWS))
    gc.collect()
    gc.freeze()
    serials = count()
    ordinary: dict[str, list[float]] = {name: [] for name in snapshots}
    for _ in range(options.rounds + 1):
        for name, snapshot in snapshots.items():
            ordinary[name].append(_ordinary(bodies, serials, snapshot))
    rows = []
    for name, snapshot in snapshots.items():
        times = ordinary[name][1:]  # the first round fills what is remembered
        ratio = median(mine / none for mine, none in zip(times, ordinary[_NOTHING][1:], strict=True))
        folder = decisions.POLICIES / name
        own = max(_own(each, snapshot) for each in _pods(folder)) if folder.is_dir() else None
        rows.append((name, f"{median(times):.0f}", f"{ratio:.2f}", "" if own is None else f"{own:.0f}"))
    print(table(("policy", "ordinary µs", "/ no policy", "its own µs, first"), rows))


def _ordinary(bodies: list[bytes], serials: Iterator[int], snapshot: Snapshot) -> float:
    texts = [numbered(body, next(serials)) for body in bodies]
    requests = [decode_review(orjson.loads(text), len(text)) for text in texts]
    began = time.process_time()
    for request in requests:
        _decide(request, snapshot)
    return (time.process_time() - began) / len(requests) * 1e6


def _decide(request: AdmissionRequest, snapshot: Snapshot) -> None:
    outcome = decide.mutate(request, snapshot)
    final = apply(request.object or {}, outcome.patch)
    decide.validate(replace(request, object=final), snapshot)


def _own(request: AdmissionRequest, snapshot: Snapshot) -> float:
    """Return the least of several tries, each with nothing remembered."""
    took = []
    for _ in range(_TRIES):
        fresh = replace(snapshot)  # without what was remembered
        began = time.process_time()
        _decide(request, fresh)
        took.append(time.process_time() - began)
    return min(took) * 1e6


def _pods(folder: Path) -> Iterator[AdmissionRequest]:
    """Yield the reviews of the suite's pods."""
    file = folder / "tests.yaml"
    suite, problems = parse_suite(file.read_text(), str(file))
    if suite is None or problems:
        raise SystemExit("\n".join(map(str, problems)))
    for case in suite.cases:
        if case.pod is not None:
            pod = {"apiVersion": "v1", "kind": "Pod", **case.pod}
            yield decode_review(review(pod, namespace="team-vision"))


if __name__ == "__main__":
    main()
