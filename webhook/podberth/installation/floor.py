"""The line of ``podberth status`` about the floor: the native policies that stand in while podberth does not answer."""

from collections.abc import Iterator
from typing import Final

from ..devices.resources import COUNTED_KINDS, recognise
from ..kube.unchecked import mapping_at, text_at
from ..wellknown import FLOOR_PARAMS
from ..words import counted, named
from .observation import Document, Fact, InstallationState, ObservedObject, Row, Unread, unread

_INSTALL: Final = "apply what you installed from again (docs/install.md)"
_PAGE: Final = "docs/native-policies.md, The floor"


def floor(observed: InstallationState) -> Iterator[Row]:
    """Yield a line on whether the floor is complete and its params know the accelerators of the nodes.

    There is no line without the ConfigMap ``podberth-floor``: the floor is then not installed.
    """
    if isinstance(observed.params, Unread) or not (present := _params(observed.params)):
        return
    for found in observed.floor.values():
        if isinstance(found, Unread):
            yield unread("floor", found)
            return
    data = mapping_at(present, "data")
    missing = tuple(key.replace("/", " ") for key, found in observed.floor.items() if found is None)
    lacking = tuple(sorted({name for name in _offered(observed) if name.replace("/", "_") not in data}))
    facts: dict[str, Fact] = {"resources": len(data.keys() - {"nodes"}), "missing": missing, "lacking": lacking}
    if missing:
        yield Row("floor", "attention", f"missing: {named(missing)}; {_INSTALL}", facts)
    elif stale := _stale(observed.controller, lacking):
        yield Row("floor", "attention", stale, facts)
    else:
        known = counted(len(data.keys() - {"nodes"}), "resource")
        yield Row("floor", "ok", f"native policies stand in while podberth is away, and know {known} of nodes", facts)


def _stale(controller: ObservedObject, lacking: tuple[str, ...]) -> str:
    if controller is None:
        return f"its params grow stale without a controller; add the component controller ({_PAGE})"
    if not isinstance(controller, Unread) and not _keeps(controller):
        return f"its params grow stale: the controller runs without --floor; {_INSTALL}"
    return f"its params lack {named(lacking)}, which nodes offer; see the controller's log" if lacking else ""


def _params(found: tuple[Document, ...]) -> Document | None:
    return next((each for each in found if text_at(each, "metadata", "name") == FLOOR_PARAMS), None)


def _keeps(controller: Document) -> bool:
    [container, *_] = controller["spec"]["template"]["spec"]["containers"]
    return "--floor" in (container.get("args") or ())


def _offered(observed: InstallationState) -> Iterator[str]:
    """Yield the names of the accelerators that nodes have; a name may come several times."""
    for node in () if isinstance(observed.nodes, Unread) else observed.nodes:
        for name, amount in mapping_at(node, "status", "capacity").items():
            found = recognise(name)
            if found and found.kind in COUNTED_KINDS and amount != "0":
                yield name
