"""`python -m controlplane`: a control plane to try things on by hand, until Ctrl-C."""

import argparse
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from .build import BuildError
from .cluster import ControlPlane
from .kubelet import gpu_node
from .process import ComponentError

# The project's exit codes: 2 is configuration, 3 the cluster.
_CONFIGURATION_FAULT, _CLUSTER_FAULT = 2, 3


def main(arguments: Sequence[str] | None = None) -> int:
    """Start it, write the kubeconfig's path to stdout, wait for Ctrl-C or SIGTERM, stop it."""
    options = _parser().parse_args(arguments)
    # Ctrl-C too: what a shell has put into the background ignores it.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    try:
        with ExitStack() as stack:
            directory = options.directory or Path(tempfile.mkdtemp(prefix="podberth-demo-"))
            if not options.directory:
                stack.callback(shutil.rmtree, directory, ignore_errors=True)
            control_plane = stack.enter_context(ControlPlane.start(directory, job_gangs=options.job_gangs))
            control_plane.add_nodes(_racks(options.nodes, options.gpus, options.rack_size))
            sys.stdout.write(f"{control_plane.kubeconfig}\n")
            sys.stdout.flush()
            _say(
                f"the control plane runs, with {options.nodes} simulated nodes; in another terminal:\n"
                f"  export KUBECONFIG={control_plane.kubeconfig} PATH={control_plane.kubectl_path.parent}:$PATH\n"
                "  kubectl get nodes -L rack\n"
                f"logs: {directory / 'logs'}; Ctrl-C stops it"
            )
            while True:
                # Not signal.pause: a signal that comes just before it would be lost.
                time.sleep(1)
    except KeyboardInterrupt:
        _say("stopped")
    except BuildError as error:
        _say(str(error))
        return _CONFIGURATION_FAULT
    except ComponentError as error:
        _say(str(error))
        return _CLUSTER_FAULT
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m controlplane", description=__doc__)
    parser.add_argument("--directory", type=Path, help="where its files go, and stay (default: a temporary folder)")
    parser.add_argument("--nodes", type=int, default=8, help="simulated nodes (default: %(default)s)")
    parser.add_argument("--gpus", type=int, default=8, help="GPUs of each node (default: %(default)s)")
    parser.add_argument("--rack-size", type=int, default=2, help="nodes of each rack (default: %(default)s)")
    parser.add_argument(
        "--job-gangs", action="store_true", help="let the Job controller make PodGroups (gate WorkloadWithJob)"
    )
    return parser


def _racks(nodes: int, gpus: int, rack_size: int) -> list[dict[str, Any]]:
    return [
        gpu_node(f"node-{number}", gpus=gpus, labels={"rack": f"rack-{number // rack_size}"}) for number in range(nodes)
    ]


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")


if __name__ == "__main__":
    sys.exit(main())
