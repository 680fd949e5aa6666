"""Which tests run: those that a change needs (`make test`), or all (`make test-all`), in two lanes side by side.

A test of processes that the core stands on is listed here; each other one runs in `make test-all` alone. The two lanes
of a run share its tests (tests/shares.py), so they take about the same time.
"""

from pathlib import Path
from typing import Final, NamedTuple

from shares import BACK, FOLDER


class Lane(NamedTuple):
    """One run of pytest: its name, and its arguments."""

    name: str
    arguments: tuple[str, ...]


# A tenth of the examples of each property (tests/conftest.py), and no program in Go but the control plane.
_QUICK: Final = ("--hypothesis-profile=quick", "-m", "not go_program")

# Pure code.
_PURE: Final = ("tests/unit", "tests/property", "tests/conformance")
# The programs of bench/ are no part of podberth, and some of them take long.
_BENCHES: Final = ("--ignore=tests/unit/bench",)

# The server, as a process or in the event loop of a test: no control plane.
_SERVER: Final = tuple(
    f"tests/integration/test_{name}.py"
    for name in (
        "answers",
        "awaited",
        "certs",
        "clients",
        "connections",
        "events",
        "limits",
        "policies_judged",
        "process",
        "reflector",
        "reload",
        "review_events",
        "served",
    )
)

# podberth in front of a real API server, and its manifests. Those of e2e share a cluster.
_CLUSTER: Final = (
    *(
        f"tests/e2e/test_{name}.py"
        for name in (
            "conflicts",
            "examples",
            "gangs",
            "messages",
            "params",
            "reapply",
            "registration",
            "required",
            "wire",
            "workloads",
        )
    ),
    *(f"tests/deployment/test_{name}.py" for name in ("crd", "guards", "overlays", "rights_table")),
)

CHANGE: Final = (*_CLUSTER, *_SERVER, *_PURE, *_BENCHES, *_QUICK)
ALL: Final = ("tests",)


def lanes(arguments: tuple[str, ...], folder: Path) -> tuple[Lane, Lane]:
    """Return the two runs that share the tests of these arguments; ``folder`` is empty."""
    shared = (*arguments, f"{FOLDER}={folder}")
    return Lane("from the front", shared), Lane("from the back", (*shared, BACK))
