"""Combines the parts of an agent's metrics."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from ..settings import Address
from .kubelet import open_kubelet
from .meter import Meter
from .metrics_server import serving
from .publish import Say
from .reader import UsageReader


@contextmanager
def metering(
    reader: UsageReader,
    address: Address,
    *,
    node: str,
    interval_seconds: float,
    pod_resources: Path | None,
    say: Say,
) -> Iterator[Meter]:
    """Serve the metrics of a reader while the block runs; its value is the reader to use from then on.

    Raises:
        UsageError: the address cannot be used, or the libraries for ``pod_resources`` are not installed.
    """
    kubelet = None if pod_resources is None else open_kubelet(pod_resources, partial(say, "warning"))
    meter = Meter(reader, node=node, interval_seconds=interval_seconds, kubelet=kubelet)
    with serving(address, meter) as port:
        say("info", f"metrics: listening on port {port}")
        yield meter
