"""Which tests run: those that a change needs (`make test`), or all (`make test-all`), in two lanes side by side.

A test of processes that the core stands on is listed here; each other one runs in `make test-all` alone. The two lanes
of a run take about the same time: `seconds of each folder`, at the end of each lane, says how long they took.
"""

from typing import Final, NamedTuple


class Lane(NamedTuple):
    """One run of pytest: its name, and its arguments."""

    name: str
    arguments: tuple[str, ...]


# A tenth of the examples of each property (tests/conftest.py), and no program in Go but the control plane.
_QUICK: Final = ("--hypothesis-profile=quick", "-m", "not go_program")

# Pure code, whole.
_PURE: Final = ("tests/unit", "tests/property", "tests/conformance")

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

# podberth in front of a real API server, and its manifests. Those of e2e, but the last three, share a cluster.
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
            "cluster_policies",
            "cluster_workloads",
            "controller",
        )
    ),
    *(f"tests/deployment/test_{name}.py" for name in ("crd", "guards", "overlays", "rights_table")),
)

CHANGE: Final = (
    Lane("of processes", (*_CLUSTER, *_SERVER, *_QUICK)),
    Lane("of pure code", (*_PURE, *_QUICK)),
)
ALL: Final = (
    Lane("end to end", ("tests/e2e",)),
    Lane("all but end to end", ("--ignore=tests/e2e",)),
)
