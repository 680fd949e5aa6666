"""The environment that policies are compiled in, with a limit of time: the core has no clock."""

import time

from ..cel.engine import Environment, Late
from ..kube.schema import PodSchema

COMPILE_SECONDS = 60.0
"""The largest set of policies takes 5 s of a whole core (``cel.bounds``); a pod may have a tenth of one."""


def new_environment(pod_schema: PodSchema | None = None) -> Environment:
    """Return an environment for one set of policies; None: they are checked against the packaged schema."""
    return Environment(pod_schema or PodSchema.packaged(), deadline=_begin)


def _begin() -> Late:
    end = time.monotonic() + COMPILE_SECONDS
    return lambda: time.monotonic() > end
