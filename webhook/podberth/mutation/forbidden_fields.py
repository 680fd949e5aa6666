"""The fields that no policy may write (docs/rules.md, rules 1 and 15).

The check is for mutations that can write any field. All other mutations write none of these fields.
"""

from collections.abc import Iterator
from typing import Any

import orjson

from ..errors import EvaluationError
from ..kube.patch import Draft
from ..kube.paths import Path
from ..kube.shape import shape_problems
from ..wellknown import APPLIED_ANNOTATION, HOSTNAME_LABEL
from . import affinity
from .change import Change

FORBIDDEN: tuple[Path, ...] = (
    ("apiVersion",),
    ("kind",),
    ("status",),
    ("metadata", "name"),
    ("metadata", "generateName"),
    ("metadata", "namespace"),
    ("metadata", "uid"),
    ("metadata", "annotations", APPLIED_ANNOTATION),
    ("spec", "nodeName"),
    ("spec", "nodeSelector", HOSTNAME_LABEL),
    ("spec", "ephemeralContainers"),
)
_PARTS: tuple[Path, ...] = (("metadata",), ("spec",))
# The record is an annotation that users read, so it has no long values.
_LONGEST_VALUE = 256


def take(draft: Draft, document: dict[str, Any], concern: str) -> Change | None:
    """Make the draft equal to ``document``, and return the change; None if both were equal already.

    ``concern`` is the name of the mutation that made ``document``.

    Returns:
        The change as RFC 6902 operations; values of more than _LONGEST_VALUE bytes are omitted.

    Raises:
        EvaluationError: a field of the document has a wrong type, ``metadata`` or ``spec`` is missing, a field differs
            that no policy may write, or the node affinity names a host that the draft did not name.
    """
    trial = draft.fork()
    trial.become(document)
    problems = shape_problems(trial.document)
    if problems:
        raise EvaluationError(f"{concern}: {problems[0]}")
    for part in _PARTS:
        if isinstance(draft.get(part), dict) and not isinstance(trial.get(part), dict):
            raise EvaluationError(f"{concern}: may not take {part[0]} away")
    for path in FORBIDDEN:
        if trial.get(path) != draft.get(path):
            raise EvaluationError(f"{concern}: may not write {'.'.join(map(str, path))}; no policy may")
    before = set(_hosts(draft))
    if any(host not in before for host in _hosts(trial)):
        raise EvaluationError(f"{concern}: may not name a host in node affinity; the scheduler chooses the node")
    wrote = [_short(each) for each in trial.changes(since=draft)]
    if not wrote:
        return None
    draft.become(document)
    return Change(concern, wrote, lambda: "writes " + ", ".join(each["path"] for each in wrote))


def _short(operation: dict[str, Any]) -> dict[str, Any]:
    if len(orjson.dumps(operation.get("value"))) <= _LONGEST_VALUE:
        return operation
    return {key: operation[key] for key in ("op", "path")}


def _hosts(draft: Draft) -> Iterator[str]:
    """Yield, as text, each requirement of the pod's node affinity that names a host, by label or ``matchFields``."""
    preferred = [item.get("preference") or {} for item in draft.get(affinity.PREFERRED) or ()]
    for term in (*(draft.get(affinity.REQUIRED) or ()), *preferred):
        # matchFields can match the node's name alone (core/v1 NodeSelectorTerm).
        yield from (repr(item) for item in term.get("matchFields") or ())
        yield from (repr(item) for item in term.get("matchExpressions") or () if item.get("key") == HOSTNAME_LABEL)
