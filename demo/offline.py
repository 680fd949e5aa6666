"""`make demo`: every example through a real podberth, over HTTPS, on a simulated cluster. No cluster, no GPU.

For each: what podberth changes, which policy and why, and where the pod could run before and where now.
"""

import sys
from contextlib import closing
from pathlib import Path

# The parts stand beside the script and in tests/, wherever it is started from.
ROOT = Path(__file__).resolve().parents[1]
sys.path[0:1] = [str(ROOT), str(ROOT / "tests")]

from demo import cluster_of_shapes as simulated  # noqa: E402
from demo import examples, walk  # noqa: E402
from demo.progress import Progress  # noqa: E402
from demo.reviews import Webhook  # noqa: E402
from demo.run import run  # noqa: E402
from e2e.podberth_process import Podberth  # noqa: E402
from podberth.admission.reach import ReachableCluster  # noqa: E402
from podberth.cli.terminal import Terminal  # noqa: E402
from podberth.facts.cluster import collect  # noqa: E402
from podberth.kube.yaml_text import as_yaml  # noqa: E402


def show(directory: Path, progress: Progress, terminal: Terminal) -> None:
    """Run the demonstration."""
    snapshot = directory / "cluster.yaml"
    documents = [*simulated.nodes(), *simulated.topology()]
    snapshot.write_text(as_yaml({"apiVersion": "v1", "kind": "List", "items": documents}), encoding="utf-8")
    progress.say(f"{simulated.node_count()} simulated nodes; starting podberth with certificates of its own")
    served = directory / "podberth"
    with closing(Podberth(served, snapshot)) as podberth:
        podberth.start()
        progress.say(f"podberth answers at {podberth.endpoint.url}; sending the examples")
        walk.show_cluster(terminal)
        walk.show_method(terminal)
        wanted, cluster, tally = examples.load(), ReachableCluster(collect(documents, now=None).nodes), walk.Tally()
        with closing(Webhook(podberth.endpoint.url, served / "ca.crt")) as webhook:
            for number, example in enumerate(wanted, 1):
                terminal.heading(f"{number} of {len(wanted)}: {example.shown_path}")
                walk.show_example(terminal, example, webhook, cluster, tally)
        walk.show_end(terminal, tally, progress.seconds)
        progress.say("stopping podberth")


if __name__ == "__main__":
    sys.exit(run(show))
