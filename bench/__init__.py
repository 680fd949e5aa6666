"""Speed and memory as ratios, each taken in one run: see README.md.

The package is run from the repository's root, a script at a time: ``python -m bench.serve``. Its parts share the pods
and the control plane of the tests, which is why ``tests/`` is put on the path here.

    serve       reviews per second per core against a typed Go webhook that does nothing, and what the policies cost
    topology    decisions, updates and memory of an index of 10,000 nodes
    create      pod create on a real API server against native admission policies
    cel_engine  what the CEL engine itself costs (docs/adr/0002-cel-engine.md)
    hotpath     where the time of one review goes
    hostile_connections  what strangers' connections take of a serving process
    agent       what the node agent costs its node, and fleets of them the API server
    operators   no speed either: gangs that compete, by operator, on the real scheduler
    fuzz        no speed: whether answers to mutated reviews are as they must be
    placement   no speed: what becomes of a cluster's GPUs, by a trace and the real scheduler
"""

import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]

sys.path.insert(0, str(ROOT / "tests"))
