"""An immutable map of which a change makes another map at the cost of a small part of it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final

# A change among 50,000 entries copies 200 of them. More parts would make the many maps of a few entries expensive.
_PARTS: Final = 256


@dataclass(frozen=True, slots=True, eq=False)
class PersistentMap(Mapping[Any, Any]):
    """A map whose keys are divided by their hash into parts. A changed map shares the parts without a change.

    No value is None.
    """

    parts: tuple[dict[Any, Any], ...] = ({},) * _PARTS

    def changed(self, changes: Mapping[Any, Any]) -> "PersistentMap":
        """Return the map with other values at some keys; None removes a key."""
        parts = list(self.parts)
        for key, value in changes.items():
            place = hash(key) % _PARTS
            if parts[place] is self.parts[place]:
                parts[place] = parts[place].copy()
            if value is None:
                parts[place].pop(key, None)
            else:
                parts[place][key] = value
        return PersistentMap(tuple(parts))

    def get(self, key: object, default: Any = None) -> Any:
        """Return the value at a key, or the default."""
        return self.parts[hash(key) % _PARTS].get(key, default)

    def __getitem__(self, key: object) -> Any:
        """Return the value at a key."""
        return self.parts[hash(key) % _PARTS][key]

    def __contains__(self, key: object) -> bool:
        """Tell whether there is a value at a key."""
        return key in self.parts[hash(key) % _PARTS]

    def __iter__(self) -> Iterator[Any]:
        """Iterate over the keys, in no order."""
        return chain.from_iterable(self.parts)

    def __len__(self) -> int:
        """Count the keys."""
        return sum(map(len, self.parts))

    def __bool__(self) -> bool:
        """Tell whether there is any key."""
        return any(self.parts)
