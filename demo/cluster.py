"""`make demo-cluster`: kubectl apply of every example on a real control plane, without podberth and with it.

So are two gangs that want more machines than there are. In between podberth is installed from manifests/, with its
controller. In the last act the cluster changes, and podberth follows. The API server, the controllers and the
scheduler are Kubernetes' own; only the nodes are simulated. No root, no containers, no GPU. The first run builds the
control plane.
"""

import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

# The parts stand beside the script and in tests/, wherever it is started from.
ROOT = Path(__file__).resolve().parents[1]
sys.path[0:1] = [str(ROOT), str(ROOT / "tests")]

from bench.fleet.churn import Machine  # noqa: E402

from controlplane.build import assets  # noqa: E402
from controlplane.cluster import ControlPlane  # noqa: E402
from demo import cluster_of_shapes as simulated  # noqa: E402
from demo import examples, outcome, rings, walk  # noqa: E402
from demo.agents import Agents  # noqa: E402
from demo.changes import Act, Lag  # noqa: E402
from demo.examples import Example, tolerating  # noqa: E402
from demo.install import Installation  # noqa: E402
from demo.outcome import Placements  # noqa: E402
from demo.progress import Progress  # noqa: E402
from demo.run import run  # noqa: E402
from demo.trial import Trial  # noqa: E402
from podberth.cli.terminal import Terminal  # noqa: E402
from podberth.kube.yaml_text import as_yaml  # noqa: E402

_WITHOUT, _BY_HAND, _WITH = "without-podberth", "toleration-by-hand", "with-podberth"
_RINGS_WITHOUT, _RINGS_WITH = "two-gangs-without", "two-gangs-with"
_CHANGING = "changes"
_GANG_EXAMPLE = "training-indexed-job.yaml"


@dataclass(frozen=True, slots=True)
class Stage:
    """The running control plane, with nodes, and where to speak."""

    control_plane: ControlPlane
    directory: Path
    progress: Progress
    terminal: Terminal

    def without_podberth(self, wanted: Sequence[Example]) -> tuple[Placements, Placements]:
        """Apply the examples to the cluster as it is; and the gang once more, with the toleration that it lacks."""
        without, by_hand = self._trial(_WITHOUT, ROOT), self._trial(_BY_HAND, self.directory)
        self.terminal.heading("without podberth")
        for example in wanted:
            without.apply(self.terminal, example.shown_path, example.documents, example.what)
        self.terminal.heading("without podberth, the toleration written by hand")
        gang = next(example for example in wanted if example.path.name == _GANG_EXAMPLE)
        documents = tuple(map(tolerating, gang.documents))
        file = Path(f"{gang.path.stem}-tolerating.yaml")
        (self.directory / file).write_text("---\n".join(map(as_yaml, documents)), encoding="utf-8")
        by_hand.apply(self.terminal, file, documents, f"{gang.what}, and a toleration of nvidia.com/gpu")
        found = without.placements(), by_hand.placements()
        self.progress.say("deleting what was made")
        for trial in (without, by_hand):
            trial.remove()
        return found

    def with_podberth(self, wanted: Sequence[Example]) -> Placements:
        """Apply the examples to the cluster with podberth in front of it."""
        trial = self._trial(_WITH, ROOT)
        self.terminal.heading("with podberth")
        for example in wanted:
            trial.apply(self.terminal, example.shown_path, example.documents, example.what)
        found = trial.placements()
        self.progress.say("deleting what was made")
        trial.remove()
        return found

    def rings(self, *, grouped: bool) -> Placements:
        """Apply two gangs that want more machines than there are; with podberth, in groups that it makes.

        Nothing is placed, and the reason is shown, where groups are wanted and the API server serves none.
        """
        self.terminal.heading(f"two gangs for the same machines, {'with' if grouped else 'without'} podberth")
        if grouped and not rings.groups_are_served(self.control_plane):
            rings.leave_out(self.terminal)
            return {}
        trial = self._trial(_RINGS_WITH if grouped else _RINGS_WITHOUT, self.directory)
        if grouped:
            rings.choose(trial, self.terminal)
        found = (rings.apply_grouped if grouped else rings.apply)(trial, self.terminal)
        self.progress.say("deleting what was made")
        trial.remove()
        return found

    def changes(self, agents: Agents) -> Lag:
        """Let the cluster change under podberth."""
        return Act(self._trial(_CHANGING, self.directory), agents, self.progress, self.terminal).show()

    @contextmanager
    def podberth(self) -> Iterator[Agents]:
        """Install podberth and have it in force, with an agent for every node with GPUs; yield the agents."""
        directory = self.directory / "install"
        with (
            closing(Installation(self.control_plane, directory, self.progress, self.terminal)) as installation,
            closing(Agents(self.control_plane, self.directory / "agents")) as agents,
        ):
            machines = [Machine(name, pool.shape) for pool in simulated.POOLS for name, _ in pool.node_names()]
            agents.start([machine for machine in machines if machine.shape], installation.apply())
            self.progress.say("the agents of all nodes with GPUs have published")
            installation.start()
            self.progress.say("the API server calls podberth")
            yield agents

    def _trial(self, namespace: str, directory: Path) -> Trial:
        self.control_plane.add_namespace(namespace)
        return Trial(self.control_plane, namespace, directory)


def show(directory: Path, progress: Progress, terminal: Terminal) -> None:
    """Run the demonstration."""
    with progress.stage("executables of the control plane: built, or found"):
        progress.say("looking for the control plane's executables (built on the first run, 3 to 7 minutes)")
        assets()
    with ExitStack() as running:
        with progress.stage("start of the control plane, with its nodes"):
            control_plane = running.enter_context(_started(directory, progress))
        walk.show_cluster(terminal)
        # Gangs first, while the racks are empty: what comes later finds room anywhere.
        wanted = sorted(examples.load(), key=lambda example: -example.replicas)
        stage = Stage(control_plane, directory, progress, terminal)
        with progress.stage("the examples without podberth"):
            without, by_hand = stage.without_podberth(wanted)
            rings_without = stage.rings(grouped=False)
        with progress.stage("install, until podberth answers"):
            agents = running.enter_context(stage.podberth())
        with progress.stage("the examples with podberth"):
            with_podberth = stage.with_podberth(wanted)
            rings_with = stage.rings(grouped=True)
        outcome.show(terminal, without, with_podberth)
        outcome.show_gangs(terminal, {_WITHOUT: without, _BY_HAND: by_hand, _WITH: with_podberth})
        if rings_with:
            rings.show(terminal, {_WITHOUT: rings_without, _WITH: rings_with})
        with progress.stage("the cluster changes"):
            lag = stage.changes(agents)
        outcome.show_stages(terminal, progress.stages)
        outcome.show_end(terminal, without, with_podberth, lag, progress.seconds)


@contextmanager
def _started(directory: Path, progress: Progress) -> Iterator[ControlPlane]:
    """Have a control plane with the simulated nodes."""
    progress.say("starting etcd, kube-apiserver, kube-controller-manager and kube-scheduler")
    with ControlPlane.start(directory / "control-plane") as control_plane:
        version = control_plane.api.read("/version")["gitVersion"]
        progress.say(f"Kubernetes {version} is ready; adding {simulated.node_count()} simulated nodes")
        control_plane.add_nodes(simulated.nodes())
        yield control_plane
        progress.say("stopping the control plane")


if __name__ == "__main__":
    sys.exit(run(show))
