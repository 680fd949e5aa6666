"""Objects that are kept whole, by name; all are passed on together whenever one of them changes."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from ..api.protocol import Document, Resource

# Events that arrive together are passed on together: a tenth of the second in which an answer has to follow an event.
_TOGETHER_SECONDS: Final = 0.1


async def rounds(wake: asyncio.Event) -> AsyncIterator[None]:
    """Yield at once, and again whenever ``wake`` has been set since; for ever.

    After a quiet time the next round is at once: the first pod of a new Namespace, or of a new Job, is on its way.
    """
    while True:
        wake.clear()
        yield
        handed_on = time.monotonic()
        await wake.wait()
        await asyncio.sleep(max(0.0, handed_on + _TOGETHER_SECONDS - time.monotonic()))


# Fields that the API server changes on every write, and that podberth does not read.
_OF_THE_WRITE = ("resourceVersion", "managedFields")

Held: TypeAlias = Mapping[Resource, Mapping[str, Document]]
"""The objects of each resource by name, without ``managedFields``."""


class LiveObjects:
    """The objects of some resources."""

    def __init__(self, resources: Sequence[Resource], on_change: Callable[[Held], Awaitable[None]]) -> None:
        """Start empty. ``on_change`` is first called when everything is listed."""
        self._on_change = on_change
        self._wake = asyncio.Event()
        self.sinks = {resource: _Kept(self._wake.set) for resource in resources}

    def left_out(self, resource: Resource) -> Mapping[str, int]:
        """Return how many objects cannot be used, by reason: every object can."""
        del resource
        return {}

    async def hand_on(self) -> None:
        """Pass on the objects now, and whenever they change."""
        async for _ in rounds(self._wake):
            await self._on_change({resource: dict(kept.objects) for resource, kept in self.sinks.items()})


class _Kept:
    """The objects of one resource."""

    def __init__(self, stir: Callable[[], None]) -> None:
        self.objects: dict[str, Document] = {}
        self._stir = stir

    def put(self, name: str, document: Document) -> None:
        """Keep an object; an unchanged one has no effect."""
        known = self.objects.get(name)
        self.objects[name] = _without(document, "managedFields")
        if known is None or _without(known, *_OF_THE_WRITE) != _without(document, *_OF_THE_WRITE):
            self._stir()

    def drop(self, name: str) -> None:
        """Remove it."""
        del self.objects[name]
        self._stir()

    def lost(self, at: float) -> None:
        """Keep the objects."""

    def regained(self, at: float) -> None:
        """Continue."""


def _without(document: Document, *fields: str) -> Document:
    metadata: dict[str, Any] = document["metadata"]
    return {**document, "metadata": {key: metadata[key] for key in metadata if key not in fields}}
