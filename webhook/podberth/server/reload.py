"""Reloads files when they change. The last valid version stays in force, and problems are logged.

One task checks all files in turn. Reading and compiling happen in a thread: a large snapshot takes seconds, and reviews
do not wait for the snapshot.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from secrets import token_bytes
from typing import Final, Protocol

from ..admission.namespace_params import NamespaceParams
from ..admission.snapshot import Snapshot, count_needing_every_pod, reads_namespace_params, reads_topology
from ..api.protocol import NAMESPACES, PARAMS, Document
from ..cluster.layered_policies import LayeredPolicies
from ..cluster.live_policies import TakesPolicies
from ..cluster.policy_status import PolicyStatuses
from ..cluster.whole_objects import Held
from ..errors import PodberthError, PolicyError, TopologyError
from ..facts.cluster import ClusterFacts
from ..files.source import Loaded, SnapshotSource, Verdict
from ..mutation.seal import Sealer
from ..policy.namespaced import NamespacedPolicy
from ..telemetry.log import Log
from ..telemetry.metrics import Metrics
from ..topology.index import TopologyIndex
from ..wellknown import NAMESPACE
from .memory import settle
from .port_tls import CertificateFiles, PortTls, read_pair
from .state import ServingState

_KEPT: Final = "cannot be used; the last good one stays in force"
_NOT_LISTED: Final = "its ConfigMaps are not listed yet; try again"
_USABLE: Final = frozenset({"active", "disabled"})
# The name of the part that could not be loaded, by the type of its error.
_WHAT: tuple[tuple[type[PodberthError], str], ...] = (
    (PolicyError, "policies"),
    (TopologyError, "topology"),
)


class Watched(Protocol):
    """The interface of an object that loads files or objects of the cluster, and loads them again after a change."""

    @property
    def what(self) -> str:
        """The name of the loaded files or objects, such as "policies" or "certificate", for error messages."""

    async def refresh(self) -> None:
        """Load the files or objects if they have changed since the last call.

        If a load has failed, the next load follows after the next change.

        Raises:
            PodberthError: the new version cannot be used; the previous version stays in force.
        """


class WatchedSnapshot:
    """Watches policies and topology, and builds the snapshot from which reviews are decided."""

    what = "policies"

    def __init__(
        self, source: SnapshotSource, state: ServingState, metrics: Metrics, log: Log, *, live: bool = False
    ) -> None:
        """Create the watcher without a snapshot.

        If ``live`` is set, ``source`` is only the source of policies, and the ``adopt`` methods receive changes of the
        cluster's state.
        """
        self._live = live
        self._topology: TopologyIndex | None = None
        self._objects: Held | None = None
        self._workloads: ClusterFacts | None = None
        self._params: Mapping[str, NamespaceParams] | str | None = None
        self._namespaced: Mapping[str, tuple[NamespacedPolicy, ...]] | None = None
        self._loaded: Loaded | None = None
        # A random key is used until the real key is known: with a public key anybody could seal.
        self._sealer = Sealer.of(token_bytes())
        self._source = source
        self._state = state
        self._metrics = metrics
        self._log = log
        self._seen: dict[str, object] = {}
        self._reported: list[Verdict] = []
        self._replaced: dict[str, Verdict] = {}
        self._loading = asyncio.Lock()
        self.when_loaded: Callable[[], None] = lambda: None
        """The function that is called after each load of policies."""
        self.when_params_wanted: Callable[[], Awaitable[None]] | None = None
        """The function that returns once tenants' params are known. The function is called before policies that need
        tenants' params come into force, so that no pod is decided on without these params."""

    async def refresh(self) -> None:
        """Load policies and topology if either has changed.

        A call during a load waits for that load, then checks again.

        Raises:
            PodberthError: the policies or the topology cannot be used; the previous snapshot stays in force.
        """
        async with self._loading:
            revision = dict(await asyncio.to_thread(self._source.revision))
            changed = [what for what in revision if revision[what] != self._seen.get(what)]
            if changed:
                # Taken before the load, so that a change during the load causes another one.
                self._seen = revision
                loaded = await asyncio.to_thread(self._source.load)
                if self.when_params_wanted is not None and any(map(reads_namespace_params, loaded.snapshot.policies)):
                    await self.when_params_wanted()
                self._publish(loaded, changed)

    def adopt(self, topology: TopologyIndex) -> None:
        """Make decisions from the index of nodes ``topology`` from now on; the compiled policies stay in use."""
        first, self._topology = self._topology is None, topology
        self._metrics.nodes.set(topology.node_count)
        if self._state.snapshot is not None:
            self._state.snapshot = self._state.snapshot.with_topology(topology)
        else:
            self._put_in_force()
        if first:
            self._metrics.reloaded("topology", ok=True)
            self._log.event("info", "loaded", what=["topology"], nodes=topology.node_count)
            settle()

    def adopt_sealer(self, sealer: Sealer) -> None:
        """Seal records and check seals with the keys of ``sealer`` from now on."""
        self._sealer = sealer
        if self._state.snapshot is not None:
            self._state.snapshot = self._state.snapshot.with_sealer(sealer)

    @property
    def verdicts(self) -> Sequence[Verdict]:
        """The result of loading each GPUPolicy of the cluster (state and problems), from the last load."""
        return self._loaded.verdicts if self._loaded else ()

    @property
    def readers(self) -> frozenset[str]:
        """The names of the policies in the last load whose expressions read the cluster's nodes."""
        policies = self._loaded.snapshot.policies if self._loaded else ()
        return frozenset(each.name for each in policies if reads_topology(each))

    async def adopt_objects(self, objects: Held) -> None:
        """Make decisions from the Namespaces and params objects in ``objects`` from now on."""
        self._objects = objects
        self._put_in_force()
        self._state.wake_waiting()

    def adopt_namespaced(self, policies: Mapping[str, tuple[NamespacedPolicy, ...]]) -> None:
        """Use ``policies``, the cluster's NamespacedGPUPolicies, from now on; the policies of files stay in force."""
        first, self._namespaced = self._namespaced is None, policies
        if self._state.snapshot is None or self._loaded is None or first:
            self._put_in_force()
        else:
            self._state.snapshot = self._state.snapshot.with_namespaced(self._all_namespaced(self._loaded.snapshot))

    def _all_namespaced(self, loaded: Snapshot) -> Mapping[str, tuple[NamespacedPolicy, ...]]:
        """Return a mapping from namespace to policies: the cluster's NamespacedGPUPolicies, then those of files.

        ``loaded`` has the policies of files. A policy of a file is left out if the cluster has a policy with the same
        namespace and name.
        """
        found = dict(self._namespaced or {})
        for namespace, of_files in loaded.namespaced.items():
            live = found.get(namespace, ())
            names = {each.name for each in live}
            found[namespace] = (*live, *(each for each in of_files if each.name not in names))
        return found

    def adopt_params(self, params: Mapping[str, NamespaceParams] | str) -> None:
        """Make decisions from the ConfigMaps of tenants in ``params`` from now on.

        If podberth cannot watch the ConfigMaps, ``params`` is the reason as text.
        """
        self._params = params
        if self._state.snapshot is not None:
            self._state.snapshot = self._state.snapshot.with_followed_params(params)

    def adopt_workloads(self, workloads: ClusterFacts) -> None:
        """Make decisions from the owners, groups, claims and device classes in ``workloads`` from now on."""
        self._workloads = workloads
        if self._state.snapshot is not None:
            self._state.snapshot = self._state.snapshot.with_workloads(workloads)
        else:
            self._put_in_force()
        self._state.wake_waiting()

    def _put_in_force(self) -> None:
        """Build the snapshot and make decisions from it from now on, if all parts of the snapshot are known.

        Params from files remain the defaults for params that the cluster does not have.
        """
        if self._loaded is None or not self._loaded.complete:
            return
        if self._live and None in (self._topology, self._objects, self._workloads, self._namespaced):
            return
        snapshot = self._loaded.snapshot.with_sealer(self._sealer)
        if self._topology is not None:
            snapshot = snapshot.with_topology(self._topology)
        if self._objects is not None:
            params = {(NAMESPACE, name): each for name, each in self._objects[PARAMS].items()}
            snapshot = snapshot.with_objects(self._objects[NAMESPACES], params)
        if self._workloads is not None:
            snapshot = snapshot.with_workloads(self._workloads)
        if self._live:
            snapshot = snapshot.with_namespaced(self._all_namespaced(self._loaded.snapshot))
            snapshot = snapshot.with_followed_params(_NOT_LISTED if self._params is None else self._params)
        self._state.snapshot = snapshot

    def _publish(self, loaded: Loaded, changed: Sequence[str]) -> None:
        self._loaded = loaded
        self._put_in_force()
        snapshot = self._state.snapshot or loaded.snapshot
        policies, nodes = len(snapshot.policies), (self._topology or snapshot.topology).node_count
        self._metrics.policies.set(policies)
        for phase, count in count_needing_every_pod(snapshot.policies).items():
            self._metrics.policies_for_every_pod.labels(phase).set(count)
        self._metrics.nodes.set(nodes)
        self._metrics.exceptions({each.name: each.parsed.source.expires_at for each in snapshot.exceptions})
        self._metrics.policy_objects([each.state for each in loaded.verdicts])
        usable = not loaded.refused and all(each.state in _USABLE for each in loaded.verdicts)
        for what in changed:
            self._metrics.reloaded(what, ok=usable)
        if "topology" in changed:
            loaded_at = time.monotonic()
            self._metrics.topology_age = lambda: time.monotonic() - loaded_at
        if loaded.refused:
            self._log.event("error", f"policies: {_KEPT}", problems=list(map(str, loaded.refused)))
        self._log_replaced(loaded.verdicts)
        self._log_broken(loaded.verdicts)
        for note in snapshot.notes:
            self._log.event("warning", "policies", problem=str(note))
        for warning in loaded.warnings:
            self._log.event("warning", "topology", problem=warning)
        self._log.event("info", "loaded", what=list(changed), policies=policies, nodes=nodes)
        settle()
        self.when_loaded()

    def _log_replaced(self, verdicts: Sequence[Verdict]) -> None:
        """Log once which policies of files a GPUPolicy replaces, and which are in force again.

        A GPUPolicy with ``spec.disabled`` switches off the policy of files with its name.
        """
        replaced = {each.name: each for each in verdicts if each.replaces and each.state in _USABLE}
        for name, each in replaced.items():
            before = self._replaced.get(name)
            if before is None or (before.state, before.replaces) != (each.state, each.replaces):
                does = "replaces it" if each.state == "active" else "switches it off"
                self._log.event("info", f"policies: {name} of {each.replaces}: a GPUPolicy {does}")
        present = {each.name for each in verdicts}
        for name in self._replaced.keys() - present:
            self._log.event("info", f"policies: {name}: its GPUPolicy is gone; the policy of files decides again")
        # The last good version of a GPUPolicy that is broken now may still replace the policy of files.
        self._replaced = {name: each for name, each in self._replaced.items() if name in present} | replaced

    def _log_broken(self, verdicts: Sequence[Verdict]) -> None:
        """Log every broken policy once, and again when the policy's problems change."""
        broken = [each for each in verdicts if each.state not in _USABLE]
        for each in broken:
            if each not in self._reported:
                state = "the last good one stays in force" if each.state == "outdated" else "nothing is in its place"
                if each.replaces:
                    state += f", or that of {each.replaces} where there was none"
                problems = [str(problem) for problem in each.problems]
                message = f"policies: {each.name} cannot be used; {state}"
                self._log.event("error", message, generation=each.generation, problems=problems)
        self._reported = broken


def following(
    source: LayeredPolicies, snapshot: WatchedSnapshot, statuses: PolicyStatuses, metrics: Metrics, log: Log
) -> TakesPolicies:
    """Return a function that takes the cluster's GPUPolicies and passes the verdicts on them to ``statuses``.

    The function gives the GPUPolicies to ``source`` and makes ``snapshot`` load all policies from ``source`` again; a
    thread compiles the policies.
    """

    def report() -> None:
        statuses.receive(source.judged(), snapshot.verdicts, snapshot.readers)

    async def take(documents: Mapping[str, Document]) -> None:
        source.take(documents)
        await _refresh(snapshot, metrics, log)
        report()

    # A change of files may change which of their policies a GPUPolicy replaces.
    snapshot.when_loaded = report
    return take


class WatchedCertificate:
    """Watches the files of the serving certificate, and loads each new version."""

    what = "certificate"

    def __init__(self, files: CertificateFiles, tls: PortTls, state: ServingState, metrics: Metrics, log: Log) -> None:
        self._files = files
        self._tls = tls
        self._state = state
        self._metrics = metrics
        self._log = log
        self._seen: object = None

    async def refresh(self) -> None:
        """Load certificate and key if either file has changed.

        Raises:
            CertificateError: a file cannot be used; the previous certificate stays in use.
        """
        revision = await asyncio.to_thread(self._files.revision)
        if revision != self._seen:
            self._seen = revision
            leaf, certificate, key = await asyncio.to_thread(read_pair, self._files)
            # Not in a thread: handshakes use the context.
            self._tls.show(certificate, key, str(self._files.certificate))
            self._state.certificate = True
            until = leaf.validity.not_after
            self._metrics.certificate_not_after.set(until.timestamp())
            self._metrics.reloaded(self.what, ok=True)
            self._log.event("info", "loaded", what=[self.what], names=list(leaf.names), not_after=until)


async def watch(watched: Sequence[Watched], interval_seconds: float, metrics: Metrics, log: Log) -> None:
    """Call ``refresh`` of each object of ``watched`` in turn, every ``interval_seconds``, until cancelled."""
    while True:
        await asyncio.sleep(interval_seconds)
        for each in watched:
            await _refresh(each, metrics, log)


async def _refresh(watched: Watched, metrics: Metrics, log: Log) -> None:
    """Call ``refresh`` of ``watched``, and log the error if ``refresh`` fails."""
    try:
        await watched.refresh()
    except PodberthError as error:
        what = next((what for kind, what in _WHAT if isinstance(error, kind)), watched.what)
        metrics.reloaded(what, ok=False)
        log.event("error", f"{what}: {_KEPT}", problems=str(error).splitlines())
    except Exception as error:  # noqa: BLE001 - a bug in loading something new must not end the watch
        metrics.reloaded(watched.what, ok=False)
        log.fault(f"{watched.what}: a bug in podberth; the last good one stays in force", error)
