"""A process that reads through the library, which LD_LIBRARY_PATH lets the loader find as it finds a driver's.

A line of JSON in is a call, ``[name, argument]``; a line of JSON out is its answer: ``{"configMap": …}``, ``{"changed":
…}``, ``{"usage": …}`` or ``{"error": …, "lasting": …}``.
"""

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from podberth.agent.nvidia import NvidiaReader
from podberth.agent.reader import located
from podberth.agent.sysfs import Sysfs
from podberth.errors import DeviceError
from podberth.topology.codec import decode_topology, encode_topology
from podberth.topology.derive import derive


def main() -> None:
    """Answer until the input ends."""
    readers: list[NvidiaReader] = []
    sysfs = Sysfs(Path(sys.argv[1]))
    for line in sys.stdin:
        name, argument = json.loads(line)
        try:
            answer = _answer(readers, sysfs, name, argument)
        except DeviceError as error:
            answer = {"error": str(error), "lasting": error.lasting}
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


def _answer(readers: list[NvidiaReader], sysfs: Sysfs, name: str, argument: float | None) -> dict[str, Any]:
    if not readers:
        readers.append(NvidiaReader(sysfs))
    if name == "wait":
        return {"changed": readers[0].wait(argument or 0.0)}
    if name == "usage":
        return {"usage": asdict(readers[0].usage(readers[0].read()))}
    config_map = encode_topology("node", derive(located(readers[0].read(), sysfs)))
    decode_topology(config_map)  # what was read is always a document that the webhook takes
    return {"configMap": config_map}


if __name__ == "__main__":
    main()
