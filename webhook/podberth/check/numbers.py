"""Finds placeholders in place of numbers in manifests, and integers that no API server accepts.

A placeholder in a name or an image does not affect a decision; a placeholder in a number makes every decision on the
pod worthless.
"""

import re
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from ..kinds.dossiers import DOSSIERS
from ..kube import mishaps
from ..kube.paths import Path
from ..kube.walk import values
from .result import shown

# One placeholder: $GPUS, ${GPUS}, $(GPUS), {{ .Values.gpus }}, {% … %}, <gpus>, %GPUS%, __GPUS__, @GPUS@.
_ONE: Final = (
    r"(?:\$\{[^}]*\}|\$\([^)]*\)|\$[A-Za-z_]\w*|\{\{.*?\}\}|\{%.*?%\}"
    r"|<[A-Za-z][\w .-]*>|%[A-Z_]+%|__\w+__|@[A-Z_]+@)"
)
# In the place of a number, words in capitals are a placeholder, too: GPU_COUNT, PLACEHOLDER_NUM_NODES; and so is a
# word that says that it is one: replicas_placeholder, template-num-nodes.
_PLACEHOLDER: Final = re.compile(
    rf"\s*(?:{_ONE}[\w.]*|[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+|[a-z_-]*(?:placeholder|template)[a-z_-]*)\s*"
)
# The message of workload.gangs about a role whose number of pods cannot be read
_QUOTED: Final = re.compile(r'^roles: got "([^"]+)" for a number of pods')
_PART: Final = re.compile(_ONE)
# A name with a placeholder in it, such as MODEL_NAME-web, or words in capitals, as in "FILLED BY THE OPERATOR": no
# valid name has them.
_IN_A_NAME: Final = re.compile(rf".*(?:{_ONE}|[A-Z]{{2,}}(?:_[A-Z]+)+).*|[A-Z]+(?:[ _-][A-Z]+)*", re.DOTALL)
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
QUANTITY_HOLDERS: Final = frozenset({("limits",), ("requests",)})
"""The last step of a path to quantities by resource, as a path."""

# Integers of the API are int32 and int64: apimachinery reads no others
_INT64: Final = 2**63
_SHOWN: Final = 10**30
# The rules by which operators replace placeholders
_FILLED_IN: Final = tuple(each for row in DOSSIERS for each in row.filled_in)
# The commands by which kinds with parameters of their own fill these in
_FILLED_BY: Final = {
    api_version: kind.filled_by
    for row in DOSSIERS
    for kind in row.kinds
    if kind.filled_by
    for api_version in kind.api_versions
}

_EXPAND: Final = "expand it first, for example: {} | podberth check -"


def advice(placeholder: str, api_version: str) -> str:
    """Return advice on how to replace a placeholder such as ``${N}``: the kind's command, helm, envsubst or by hand.

    ``api_version`` is the document's.
    """
    if api_version in _FILLED_BY:
        return _EXPAND.format(_FILLED_BY[api_version])
    if "{{" in placeholder or "{%" in placeholder:
        return mishaps.advice(placeholder)
    if "$" in placeholder:
        return _EXPAND.format("envsubst < FILE")
    return "fill it in first"


def unfilled_text(found: Sequence[tuple[Path, str]], lines: Sequence[int], api_version: str) -> str:
    """Return one message about all placeholders in place of numbers of a document.

    ``found`` has (path, placeholder) for each of them, and ``lines`` the sorted lines of the file where they are.
    """
    names = list(dict.fromkeys(name for _, name in found))
    where = f" (line{'s' if len(lines) > 1 else ''} {shown([*map(str, lines)])})" if len(found) > 1 else ""
    what = "placeholders" if len(names) > 1 else "the placeholder"
    of_resources = {path[-1] == name for path, name in found}
    want = "numbers" if len(names) > 1 else "a number"
    if True in of_resources:
        want = f"{want} and names of resources" if False in of_resources else "the name of a resource"
    return f"got {what} {shown(names)}{where}, want {want}; {advice(found[0][1], api_version)}"


def is_filled_in_later(name: str) -> bool:
    """Return whether a name contains a placeholder, or consists of words in capitals, such as "YOUR-NAMESPACE"."""
    return _IN_A_NAME.fullmatch(name) is not None


def without_placeholder_names(document: dict[str, Any]) -> dict[str, Any]:
    """Return a document without its name and generateName, where these hold placeholders: no gang has such a name."""
    metadata = document.get("metadata")
    if not isinstance(metadata, dict):
        return document
    names = [key for key in ("name", "generateName") if is_filled_in_later(str(metadata.get(key, "")))]
    kept = {key: value for key, value in metadata.items() if key not in names}
    return {**document, "metadata": kept} if names else document


def holds_placeholder(key: str) -> bool:
    """Return whether the name of a field contains a placeholder. A name in capitals is no placeholder."""
    return _PART.search(key) is not None


def is_placeholder(value: object) -> bool:
    """Return whether a value is a placeholder, with or without a unit, such as ``${MEMORY}Gi``."""
    return isinstance(value, str) and _PLACEHOLDER.fullmatch(value) is not None


class Numbers(NamedTuple):
    """The placeholders and invalid numbers that prevent a decision on a document's pods, each as (path, text)."""

    unfilled: list[tuple[Path, str]]
    """The placeholders that stand for numbers or for the names of resources."""
    wrong: list[tuple[Path, str]]
    """A message about each integer that no API server accepts."""
    later: list[tuple[Path, str]]
    """A message about each placeholder that an operator fills in itself; podberth does not decide on such pods."""


def numbers_in(document: dict[str, Any]) -> Numbers:
    """Return the placeholders in place of numbers and the invalid integers of a document, in the document's order."""
    found = Numbers([], [], [])
    for path, value in values(document):
        if path[-2:-1] in QUANTITY_HOLDERS and holds_placeholder(str(path[-1])):
            found.unfilled.append((path, str(path[-1])[:60]))
        if type(value) is int:
            if not -_INT64 <= value < _INT64:
                got = value if abs(value) < _SHOWN else "a number"
                found.wrong.append((path, f"got {got} beyond 64 bits, want what an int64 holds"))
        elif type(value) is str and _is_number(path) and is_placeholder(value):
            name = value.strip()[:60]
            rule = next((each for each in _FILLED_IN if each.is_own(document, path, value)), None)
            if rule is None:
                found.unfilled.append((path, name))
            elif rule.later:
                found.later.append((path, f"{name}: {rule.later}"))
    return found


def is_of_a_placeholder(message: str) -> bool:
    """Return whether an error message about a gang is caused by a placeholder in place of a number of pods."""
    quoted = _QUOTED.search(message)
    return quoted is not None and is_placeholder(quoted[1])


def place_of_number(document: dict[str, Any], message: str) -> Path:
    """Return the path in ``document`` of the invalid number of pods that an error message quotes.

    The path is empty if the message quotes no number, or a number that the document does not have.
    """
    quoted = _QUOTED.search(message)
    found = (path for path, value in values(document) if quoted and value == quoted[1] and _is_number(path))
    return next(found, ()) if quoted else ()


def _is_number(path: Path) -> bool:
    return path[-1] in _NUMBERS or path[-2:-1] in QUANTITY_HOLDERS
