"""The mutation ``env``: adds environment variables to every container, init container and sidecar that lacks them."""

from collections.abc import Mapping
from typing import Any

from ...errors import EvaluationError
from ...kube.patch import Draft
from .. import leaf
from ..change import Change, Skipped
from ..concern import Concern, Present, is_string_map
from ..conflict import Conflict, ConflictCase, Resolution
from ..containers import containers


def add(draft: Draft, values: Mapping[str, object]) -> Change | Skipped | None:
    """Append environment variables after the user's variables. A variable with a null value is left out.

    A container that has a variable in ``env``, with any value, keeps the variable. A container that may get the
    variable from ``envFrom`` does not get it from podberth: podberth does not know the content of ``envFrom``, and a
    variable in ``env`` would override the content (core/v1 Container).

    Returns:
        The change: the added variables of each container. None if all containers have the variables; Skipped if
        ``envFrom`` is the only reason why nothing is added.

    Raises:
        EvaluationError: a value is not a string.
    """
    for name, value in values.items():
        if value is not None and not isinstance(value, str):
            raise EvaluationError(f"env[{name}]: got {leaf.kind(value)}, want a string")
    wrote: dict[str, dict[str, str]] = {}
    hidden: set[str] = set()
    for path, container in containers(draft):
        if not isinstance(container.get("env"), list | None):
            raise EvaluationError(f"env: got {leaf.kind(container['env'])} in the pod, want a list")
        added, unknown = _missing(container, values)
        hidden |= unknown
        for name, value in added.items():
            draft.append((*path, "env"), {"name": name, "value": value})
        if added:
            wrote[container.get("name") or ""] = added
    if not wrote:
        return Skipped(f"envFrom may set {', '.join(sorted(hidden))}") if hidden else None
    return Change("env", wrote, lambda: _phrase(wrote))


def _missing(container: dict[str, Any], values: Mapping[str, object]) -> tuple[dict[str, str], set[str]]:
    """Return (the environment variables that a container lacks, the names that the container's envFrom may define)."""
    present = {str(item.get("name")) for item in _maps(container.get("env"))}
    prefixes = tuple(str(source.get("prefix") or "") for source in _maps(container.get("envFrom")))
    absent = {name: value for name, value in sorted(values.items()) if isinstance(value, str) and name not in present}
    unknown = {name for name in absent if name.startswith(prefixes)}
    return {name: value for name, value in absent.items() if name not in unknown}, unknown


def _maps(value: object) -> list[dict[str, Any]]:
    """Return the items of a list that are maps; empty if ``value`` is no list."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _phrase(wrote: Mapping[str, Mapping[str, str]]) -> str:
    names = sorted({f"{name}={value}" for added in wrote.values() for name, value in added.items()})
    return f"env {', '.join(names)} in container {', '.join(wrote)}"


def _present(draft: Draft) -> dict[str, dict[str, Any]]:
    """Return a mapping from container name to the values of environment variables, by variable name.

    A variable with ``valueFrom`` has the value None.
    """
    return {
        container.get("name") or "": {str(item.get("name")): item.get("value") for item in _maps(container.get("env"))}
        for _, container in containers(draft)
    }


def _holds(there: Present, wrote: Mapping[str, Mapping[str, str]]) -> bool:
    present = there.read(_present)
    return all(name in present and values.items() <= present[name].items() for name, values in wrote.items())


def _conflicts(case: ConflictCase) -> Resolution:
    found: list[Conflict] = []
    for path, container in containers(case.draft):
        label = container.get("name") or ""
        for item in _maps(container.get("env")):
            variable = str(item.get("name"))
            if case.proposal.leaves.get(variable) in (None, item.get("value")):
                continue
            other = next((name for name, wrote in case.others.by("env") if variable in wrote.get(label, {})), None)
            other = other or case.others.item_writer((*path, "env"), container["env"], variable)
            found += [Conflict(f"env {variable} of container {label}", other)] if other is not None else []
    return found, case.proposal


CONCERN = Concern(
    name="env",
    build=lambda draft, proposal, _: add(draft, proposal.leaves),
    is_valid=lambda wrote: isinstance(wrote, dict) and bool(wrote) and all(map(is_string_map, wrote.values())),
    holds=_holds,
    conflicts=_conflicts,
)
