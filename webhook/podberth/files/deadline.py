"""Makes CEL environments that limit the time for compiling policies. The package ``cel`` itself reads no clock."""

import time

from ..cel.engine import Environment, Late
from ..kube.schema import PodSchema

COMPILE_SECONDS = 60.0
"""The time limit for compiling one set of policies.

The largest set takes 5 s of a whole core (``cel.compile_limits``); a pod may have only a tenth of a core.
"""


def new_environment(pod_schema: PodSchema | None = None) -> Environment:
    """Return a CEL environment for compiling one set of policies, with ``pod_schema`` or the packaged Pod schema."""
    return Environment(pod_schema or PodSchema.packaged(), deadline=_begin)


def _begin() -> Late:
    end = time.monotonic() + COMPILE_SECONDS
    return lambda: time.monotonic() > end
