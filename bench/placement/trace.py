"""The OpenB trace's node and pod lists, read strictly: what cannot be understood is named by its line.

Columns: https://github.com/alibaba/clusterdata, cluster-trace-gpu-v2023. The files carry no licence, so they are read
from a folder that the caller names and are not in this repository.
"""

import csv
import io
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

NODE_FILE = "openb_node_list_gpu_node.csv"
POD_FILE = "openb_pod_list_default.csv"

WHOLE_MILLI = 1000
"""``gpu_milli`` of a pod that wants its GPUs for itself."""

# As many as fit on a screen; a file of another kind has one problem to a line.
_SHOWN_PROBLEMS = 10


class TraceError(Exception):
    """A file is not the trace that it should be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceNode:
    """A machine."""

    name: str
    cpu_milli: int
    memory_mib: int
    gpus: int
    model: str
    """Alibaba's word; G2 and G3 are undisclosed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TracePod:
    """A pod; the trace's are independent of each other."""

    name: str
    cpu_milli: int
    memory_mib: int
    gpus: int
    gpu_milli: int
    """Thousandths of each GPU; less than 1000 only for one GPU, 0 without."""
    created: int
    """Seconds since the trace began."""
    gang: str = ""
    """The gang that is laid over it (arrivals.py); empty: it is on its own."""

    @property
    def asked(self) -> float:
        """GPUs that it has use for."""
        return self.gpus * self.gpu_milli / WHOLE_MILLI

    @property
    def shares(self) -> bool:
        """Whether a part of a GPU is enough."""
        return self.gpus == 1 and self.gpu_milli < WHOLE_MILLI


T = TypeVar("T")
Row = Mapping[str, str]


def read_nodes(text: str, where: str = NODE_FILE) -> tuple[TraceNode, ...]:
    """Read the machines, in the file's order; TraceError names every line that is wrong."""
    return tuple(_read(text, where, ("sn", "cpu_milli", "memory_mib", "gpu", "model"), _node))


def read_pods(text: str, where: str = POD_FILE) -> tuple[TracePod, ...]:
    """Read the pods in the order of their arrival; TraceError names every line that is wrong."""
    columns = ("name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli", "creation_time")
    # sorted() is stable: pods of one second stay as they stand in the file.
    return tuple(sorted(_read(text, where, columns, _pod), key=lambda pod: pod.created))


def sample(items: Sequence[T], count: int, seed: int) -> tuple[T, ...]:
    """Take so many at equal distances, in order; the seed says where the first one stands.

    Equal distances keep proportions: of what is sorted by kind, each kind keeps its share, give or take one.
    """
    if not 0 < count < len(items):
        return tuple(items)
    # Which machines are drawn is no secret; which ones they were can be repeated.
    start = random.Random(seed).random()  # noqa: S311
    return tuple(items[int((number + start) * len(items) / count)] for number in range(count))


def _read(text: str, where: str, columns: Sequence[str], build: Callable[[Row], T]) -> list[T]:
    reader = csv.DictReader(io.StringIO(text))
    if missing := [column for column in columns if column not in (reader.fieldnames or ())]:
        got = ", ".join(reader.fieldnames or ()) or "nothing"
        raise TraceError(f"{where}:1: columns: got {got}, want {', '.join(missing)} too; do: name the trace's folder")
    found: list[T] = []
    problems: list[str] = []
    for line, row in enumerate(reader, 2):
        try:
            found.append(build(row))
        except ValueError as error:
            problems.append(f"{where}:{line}: {error}")
    if problems:
        raise TraceError("\n".join(_capped(problems)))
    if not found:
        raise TraceError(f"{where}: rows: got none, want at least one")
    return found


def _capped(problems: list[str]) -> Iterator[str]:
    yield from problems[:_SHOWN_PROBLEMS]
    if len(problems) > _SHOWN_PROBLEMS:
        yield f"and {len(problems) - _SHOWN_PROBLEMS} more"


def _node(row: Row) -> TraceNode:
    return TraceNode(
        name=_text(row, "sn"),
        cpu_milli=_number(row, "cpu_milli", least=1),
        memory_mib=_number(row, "memory_mib", least=1),
        gpus=_number(row, "gpu", least=1),
        model=_text(row, "model"),
    )


def _pod(row: Row) -> TracePod:
    gpus, milli = _number(row, "num_gpu"), _number(row, "gpu_milli")
    least, most = (1, WHOLE_MILLI) if gpus == 1 else (WHOLE_MILLI, WHOLE_MILLI) if gpus else (0, 0)
    if not least <= milli <= most:
        raise ValueError(f"gpu_milli: got {milli} of {gpus} GPUs, want {least} to {most}")
    return TracePod(
        name=_text(row, "name"),
        cpu_milli=_number(row, "cpu_milli"),
        memory_mib=_number(row, "memory_mib"),
        gpus=gpus,
        gpu_milli=milli,
        created=_number(row, "creation_time"),
    )


def _text(row: Row, column: str) -> str:
    # DictReader fills a short line with None.
    if value := (row[column] or "").strip():
        return value
    raise ValueError(f"{column}: got nothing, want a word")


def _number(row: Row, column: str, *, least: int = 0) -> int:
    value = (row[column] or "").strip()
    if not (value.isascii() and value.isdigit() and int(value) >= least):
        raise ValueError(f"{column}: got {value!r}, want a whole number from {least}")
    return int(value)
