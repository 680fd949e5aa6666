"""The lines of ``podberth status`` about GPUPolicyExceptions: those in force, ending soon, and without effect."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Final, Literal, TypeAlias

from pydantic import ValidationError

from ..policy.exception_model import GPUPolicyException
from ..policy.exceptions import state_of
from ..wellknown import API_VERSION, EXCEPTION_KIND
from ..words import named
from .observation import Document, InstallationState, Row, Unread, unread

_SOON: Final = timedelta(days=7)
"""An exception "ends soon" if it ends within this time; the alert PodberthExceptionExpires has the same limit."""
_State: TypeAlias = Literal["active", "soon", "expired", "tooLong", "broken"]


def exceptions(observed: InstallationState) -> Iterator[Row]:
    """Yield the report's line about the GPUPolicyExceptions of the cluster; nothing if the cluster has none."""
    objects = observed.exceptions
    if isinstance(objects, Unread):
        yield unread("exceptions", objects)
        return
    if not objects:
        return
    found: dict[_State, list[str]] = {"active": [], "soon": [], "expired": [], "tooLong": [], "broken": []}
    for each in sorted(objects, key=lambda one: str(one["metadata"]["name"])):
        found[_state(each, observed.now)].append(str(each["metadata"]["name"]))
    soon, expired, long, broken = found["soon"], found["expired"], found["tooLong"], found["broken"]
    parts = [f"{len(found['active']) + len(soon)} in force"]
    parts += [f"ending within {_SOON.days} days: {named(soon)}"] if soon else []
    parts += [f"expired, without effect: {named(expired)}; delete them"] if expired else []
    parts += [f"longer than a year, without effect: {named(long)}"] if long else []
    parts += [f"broken, without effect: {named(broken)}"] if broken else []
    state: Literal["attention", "ok"] = "attention" if expired or long or broken else "ok"
    yield Row("exceptions", state, ", ".join(parts), {name: tuple(names) for name, names in found.items()})


def _state(document: Document, now: datetime) -> _State:
    try:
        # The objects of a list lack both fields.
        one = GPUPolicyException.model_validate({"apiVersion": API_VERSION, "kind": EXCEPTION_KIND, **document})
    except ValidationError:
        return "broken"
    state = state_of(one, now)
    return "soon" if state == "active" and one.expires_at - now <= _SOON else state
