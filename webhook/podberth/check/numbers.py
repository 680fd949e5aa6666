"""Checks numbers of manifests: unfilled placeholders, and integers that no API server accepts.

In a name or an image a placeholder does no harm here; in a count it makes every decision on the pod worthless.
"""

import re
from collections.abc import Iterator
from typing import Any, Final

from ..kube.patch import Path

# $GPUS, ${GPUS}, $(GPUS), {{ .Values.gpus }}, {% … %}, <gpus>, %GPUS%, __GPUS__, @GPUS@: whole values, one or several.
_PLACEHOLDER: Final = re.compile(
    r"\s*(?:\$\{[^}]*\}|\$\([^)]*\)|\$[A-Za-z_]\w*|\{\{.*?\}\}|\{%.*?%\}"
    r"|<[A-Za-z][\w .-]*>|%[A-Z_]+%|__\w+__|@[A-Z_]+@)[\w.]*\s*"
)
# The int32 and int64 fields that define the number and order of pods, for every kind in the workload table
_NUMBERS: Final = frozenset(
    {
        "activeDeadlineSeconds",
        "backoffLimit",
        "completions",
        "gpu",
        "maxReplicas",
        "minAvailable",
        "minMember",
        "minReplicas",
        "numNodes",
        "numProcPerNode",
        "parallelism",
        "priority",
        "replicas",
        "size",
        "terminationGracePeriodSeconds",
    }
)
_QUANTITY_HOLDERS: Final = frozenset({("limits",), ("requests",)})

# Integers of the API are int32 and int64: apimachinery reads no others
_INT64: Final = 2**63
_SHOWN: Final = 10**30

ADVICE: Final = (
    "expand it first, for example: helm template … | podberth check -, or envsubst < FILE | podberth check -"
)


def is_placeholder(value: object) -> bool:
    """Return whether a value consists only of placeholders."""
    return isinstance(value, str) and _PLACEHOLDER.fullmatch(value) is not None


def wrong_numbers(document: dict[str, Any]) -> Iterator[tuple[Path, str]]:
    """Yield the place of each invalid number of a document, with the problem."""
    waiting: list[tuple[Path, Any]] = [((), document)]
    while waiting:
        path, value = waiting.pop()
        if isinstance(value, dict):
            waiting += [((*path, key), each) for key, each in reversed(value.items())]
        elif isinstance(value, list):
            waiting += [((*path, at), each) for at, each in reversed(list(enumerate(value)))]
        elif path and (path[-1] in _NUMBERS or path[-2:-1] in _QUANTITY_HOLDERS) and is_placeholder(value):
            yield path, f"got the placeholder {value.strip()[:60]}, want a number; {ADVICE}"
        elif type(value) is int and not -_INT64 <= value < _INT64:
            yield path, f"got {value if abs(value) < _SHOWN else 'a number'} beyond 64 bits, want what an int64 holds"
