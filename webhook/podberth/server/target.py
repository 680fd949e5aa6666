"""The target of a request (path and query): the decider that it names, and the deadline."""

import re
from dataclasses import dataclass
from urllib.parse import parse_qs

from .state import Decider, Deciders

# apiserver: timeoutSeconds is 10 by default, and 30 at most (admissionregistration/v1
# types.go)
DEFAULT_TIMEOUT_SECONDS = 10.0
MAX_TIMEOUT_SECONDS = 30.0
# The apiserver's clock starts before it dials; a dial with a TLS handshake takes a few milliseconds within a
# cluster. A tenth of the shortest legal timeout, 1 s, is 100 ms.
BUDGET_SHARE = 0.9

# Go's time.Duration.String(), in which client-go writes the parameter: "5s", "1m0s", "500ms".
_DURATION = re.compile(r"(?:\d{1,6}(?:\.\d{1,9})?(?:h|ms|m|s|us|µs|ns))+", re.ASCII)
_PART = re.compile(r"(\d+(?:\.\d+)?)(h|ms|m|s|us|µs|ns)", re.ASCII)
_UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}


@dataclass(frozen=True, slots=True)
class Target:
    """A resolved target. ``decider`` is None if nothing is served under the path."""

    path: str
    decider: Decider | None
    budget_seconds: float


def resolve(deciders: Deciders, target: str) -> Target:
    """Resolve the target of a request line. An invalid timeout counts as none."""
    path, _, query = target.partition("?")
    return Target(path, deciders.get(path), timeout_seconds(query) * BUDGET_SHARE)


def timeout_seconds(query: str) -> float:
    """Return the ``timeout`` of a query, in seconds."""
    try:
        value = parse_qs(query, max_num_fields=16).get("timeout", [""])[0]
    except ValueError:
        return DEFAULT_TIMEOUT_SECONDS
    if not _DURATION.fullmatch(value):
        return DEFAULT_TIMEOUT_SECONDS
    seconds = sum(float(number) * _UNITS[unit] for number, unit in _PART.findall(value))
    return min(seconds, MAX_TIMEOUT_SECONDS) if seconds > 0 else DEFAULT_TIMEOUT_SECONDS
