"""The slowest pods that ``bench.hostile_search`` has found, kept as cases of ``bench.hostile``."""

from collections.abc import Mapping

from .genome import Genome

FOUND: Mapping[str, Genome] = {}
