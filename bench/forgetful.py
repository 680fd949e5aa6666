"""A memory that finds nothing, and ``podberth`` with it: what each decision costs from the start (`bench.serve`)."""

from typing import Any

from podberth.__main__ import main
from podberth.admission.recall import Recall


class Forgetful(Recall):
    """A memory that never finds anything."""

    def find(self, _: Any, default: Any = None) -> Any:
        """Return the default."""
        return default


if __name__ == "__main__":
    Recall.find = Forgetful.find  # type: ignore[method-assign, assignment]
    main()
