"""The agent's loop: look, conclude, and give out the document whenever it is another one than before."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from ..errors import DeviceError
from ..topology.codec import encode_topology
from ..topology.derive import derive
from .reader import Reader, observe
from .sysfs import Sysfs

_MOST_FAILURES = 20  # counted: 2 ** 20 seconds are longer than any interval


def documents(
    reader: Reader,
    sysfs: Sysfs,
    *,
    node: str,
    interval_seconds: float,
    now: Callable[[], str],
    say: Callable[[str], None],
) -> Iterator[dict[str, Any]]:
    """Yield the node's topology ConfigMap now and after each change, without end.

    A driver that goes away later is waited for, ever longer up to the interval; what was given out stays true until
    the heartbeat says otherwise. ``say`` hears of it once.

    Raises:
        DeviceError: nothing can be read at the start, or never again by this process.
    """
    last, failures = None, 0
    while True:
        try:
            topology = derive(observe(reader, sysfs))
        except DeviceError as error:
            if last is None or error.lasting:
                raise
            if not failures:
                say(str(error))
            reader.wait(min(interval_seconds, 2.0**failures))
            failures = min(failures + 1, _MOST_FAILURES)
            continue
        failures = 0
        if topology != last:
            last = topology
            yield encode_topology(node, replace(topology, observed=now()))
        reader.wait(interval_seconds)
