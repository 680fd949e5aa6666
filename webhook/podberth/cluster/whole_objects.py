"""Keeps whole objects by name, and calls a function with all objects whenever an object changes."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from ..api.protocol import Document, Resource

# Events within this time are passed on together. It is a tenth of the second in which an event has to take effect.
_TOGETHER_SECONDS: Final = 0.1


async def rounds(wake: asyncio.Event) -> AsyncIterator[None]:
    """Yield at once, and again each time that ``wake`` has been set, without end.

    After the caller's loop has handled an item, at least a tenth of a second passes before the next item, so
    simultaneous changes are handled together. After a longer quiet time, a change is yielded at once: the first pod of
    a new Namespace or Job may be waiting.
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
"""The objects of each resource, by name and without ``managedFields``."""


class LiveObjects:
    """Follows some resources, keeps the objects, and passes all objects to a function when an object changes."""

    def __init__(self, resources: Sequence[Resource], on_change: Callable[[Held], Awaitable[None]]) -> None:
        """Create the collection without objects.

        ``on_change`` is called with all objects: first when all resources are listed, then after changes.
        """
        self._on_change = on_change
        self._wake = asyncio.Event()
        self.sinks = {resource: _Kept(self._wake.set) for resource in resources}

    async def hand_on(self) -> None:
        """Pass the objects to ``on_change`` now, and again whenever an object changes."""
        async for _ in rounds(self._wake):
            await self._on_change({resource: dict(kept.objects) for resource, kept in self.sinks.items()})


class _Kept:
    """Receives the objects of one resource, and keeps the objects."""

    sight = None

    def __init__(self, notify: Callable[[], None]) -> None:
        self.objects: dict[str, Document] = {}
        self._notify = notify

    def put(self, name: str, document: Document) -> None:
        """Keep an object, and call ``notify`` if the object has changed in more than its ``resourceVersion``."""
        known = self.objects.get(name)
        self.objects[name] = without(document, "managedFields")
        if known is None or without(known, *_OF_THE_WRITE) != without(document, *_OF_THE_WRITE):
            self._notify()

    def drop(self, name: str) -> None:
        """Remove the object with the name ``name``."""
        del self.objects[name]
        self._notify()


def without(document: Document, *fields: str) -> Document:
    """Return an object without some fields of its metadata."""
    metadata: dict[str, Any] = document["metadata"]
    return {**document, "metadata": {key: metadata[key] for key in metadata if key not in fields}}
