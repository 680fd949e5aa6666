"""Replicas that share authorities: whatever order they act in, and wherever one dies, no leaf in force is refused.

The world is a Secret and two webhook configurations, with the API server's optimistic concurrency, and API servers that
go by a configuration some time after it was written. Each replica makes its look as the server does (read the
configurations, read the Secret, write one thing) and may be interrupted between any two requests.
"""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from podberth.pki.authorities import SECRET_KEY, Authorities, certificates_in, decode, encode
from podberth.pki.issue import clock_tolerance
from podberth.pki.replica_certificate import SignedLeaf, sign, signing_due
from podberth.pki.rotation import Held, Lifetimes, Registration, Store, Trust, new_signer, plan, rotated
from properties import examples

if TYPE_CHECKING:
    from cryptography import x509

PROFILE = Lifetimes(ca_life=timedelta(days=30), leaf_life=timedelta(days=1), trust=timedelta(seconds=60))
# An API server has taken a configuration within this time; the profile's margin is above it.
TAKEN = timedelta(seconds=45)
# A look is given up after this time (server/shared_certificate.py).
LOOK = PROFILE.trust / 2
START = datetime(2026, 1, 1, tzinfo=UTC)
CONFIGURATIONS = ("mutating", "validating")
SERVERS = 2
REPLICAS = 3


@dataclass
class Stored:
    """An object of the API server's: its content, and the version that a write must name."""

    content: bytes = b""
    version: int = 1


@dataclass
class View:
    """What one API server goes by, and what it has not taken yet: content and when it must have."""

    content: bytes = b""
    pending: list[tuple[bytes, datetime]] = field(default_factory=list)


@dataclass
class Replica:
    """One process. ``step`` counts the requests of the look under way."""

    skew: timedelta
    leaf: SignedLeaf | None = None
    held: Held | None = None
    step: int = 0
    began: datetime = START
    read: dict[str, Stored] = field(default_factory=dict)
    secret: Stored | None = None
    todo: Store | Trust | None = None
    read_at: datetime = START


class Cluster(RuleBasedStateMachine):
    """Hypothesis chooses who does the next request, who dies, and how time passes."""

    def __init__(self) -> None:
        super().__init__()
        self.now = START
        self.secret: Stored | None = None
        self.version = 1
        self.made_at = START
        self.configurations = {name: Stored() for name in CONFIGURATIONS}
        self.views = {(name, number): View() for name in CONFIGURATIONS for number in range(SERVERS)}
        self.replicas: list[Replica] = []
        self.last_leaf: dict[x509.Certificate, datetime] = {}

    @initialize(skews=st.tuples(*[st.integers(-30, 30)] * REPLICAS))
    def start(self, skews: tuple[int, ...]) -> None:
        self.replicas = [Replica(timedelta(minutes=skew)) for skew in skews]
        assert max(skews) - min(skews) <= clock_tolerance(PROFILE.leaf_life) / timedelta(minutes=1)

    # ---- replicas ---------------------------------------------------------------------------------------------------

    @rule(number=st.integers(0, REPLICAS - 1), requests=st.integers(1, 4))
    def act(self, number: int, requests: int) -> None:
        for _ in range(requests):
            self._request(self.replicas[number])

    @rule(number=st.integers(0, REPLICAS - 1), looks=st.integers(1, 4))
    def look(self, number: int, looks: int) -> None:
        """Whole looks without an interruption, as most are."""
        replica = self.replicas[number]
        replica.step = 0
        for _ in range(looks):
            self._request(replica)
            while replica.step:
                self._request(replica)

    @rule(number=st.integers(0, REPLICAS - 1))
    def crash(self, number: int) -> None:
        self.replicas[number] = Replica(self.replicas[number].skew)

    def _request(self, replica: Replica) -> None:
        if replica.step and self.now - replica.began > LOOK:
            replica.step = 0
        if replica.step == 0:
            replica.began = self.now
            self._read_configuration(replica, CONFIGURATIONS[0])
        elif replica.step == 1:
            self._read_configuration(replica, CONFIGURATIONS[1])
        elif replica.step == 2:
            replica.read_at = self.now + replica.skew
            replica.secret = Stored(self.secret.content, self.secret.version) if self.secret else None
            if replica.secret:
                self._decide(replica)
                return
        elif replica.step == 3:  # there was no Secret: what is trusted now, and not before, is to be kept
            self._read_configuration(replica, CONFIGURATIONS[0])
        elif replica.step == 4:
            self._read_configuration(replica, CONFIGURATIONS[1])
            self._decide(replica)
            return
        else:
            self._write(replica)
            return
        replica.step += 1

    def _read_configuration(self, replica: Replica, name: str) -> None:
        found = self.configurations[name]
        replica.read[name] = Stored(found.content, found.version)

    def _decide(self, replica: Replica) -> None:
        now = self.now + replica.skew
        authorities = self._decoded(replica.secret)
        registrations = [Registration(name, each.version, (each.content,)) for name, each in replica.read.items()]
        planned = plan(authorities, registrations, replica.held, now, PROFILE)
        replica.held, replica.todo = planned.held, planned.action
        if authorities and signing_due(replica.leaf, authorities, now):
            assert authorities.current
            replica.leaf = sign(authorities.current, ("podberth",), replica.read_at, 0.5)
            authority = replica.leaf.authority
            self.last_leaf[authority] = max(self.last_leaf.get(authority, START), replica.leaf.validity.not_after)
        replica.step = 5 if replica.todo else 0

    def _write(self, replica: Replica) -> None:
        todo = replica.todo
        replica.step = 0
        if isinstance(todo, Store):
            self._store(replica.secret, todo.authorities)
        elif todo:
            name, *more = todo.where
            if self.configurations[name].version == replica.read[name].version:
                self._configure(name, todo.pem)
            if more:
                replica.todo = Trust(tuple(more), todo.pem)
                replica.step = 5

    def _store(self, read: Stored | None, authorities: Authorities) -> None:
        if (read and read.version) == (self.secret and self.secret.version):
            if read is None:
                self.made_at = self.now
            self.version += 1
            self.secret = Stored(encode(authorities), self.version)

    def _configure(self, name: str, content: bytes) -> None:
        found = self.configurations[name]
        self.configurations[name] = Stored(content, found.version + 1)
        for number in range(SERVERS):
            self.views[name, number].pending.append((content, self.now + TAKEN))

    @staticmethod
    def _decoded(secret: Stored | None) -> Authorities | None:
        return decode({SECRET_KEY: secret.content}, "Secret") if secret else None

    # ---- the world --------------------------------------------------------------------------------------------------

    # Within the margins, much of a leaf's life, a little more than it, two thirds of an authority's, more than all.
    @rule(seconds=st.sampled_from([1, 20, 60, 70, 600, 14 * 3600, 88_200, 21 * 86400, 40 * 86400]))
    def wait(self, seconds: int) -> None:
        self.now += timedelta(seconds=seconds)
        for view in self.views.values():
            while view.pending and view.pending[0][1] <= self.now:
                view.content = view.pending.pop(0)[0]

    @rule(name=st.sampled_from(CONFIGURATIONS), number=st.integers(0, SERVERS - 1))
    def take(self, name: str, number: int) -> None:
        view = self.views[name, number]
        if view.pending:
            view.content = view.pending.pop(0)[0]

    @precondition(lambda self: self.secret is not None)
    @rule()
    def rotate(self) -> None:
        """As `podberth certs rotate` does."""
        authorities = self._decoded(self.secret)
        assert authorities
        if authorities.next is None:
            signer = new_signer(PROFILE.ca_life, PROFILE.leaf_life, self.now)
            self._store(self.secret, rotated(authorities, signer))

    # Twice within one look of a replica is left out: nobody does it, and nothing could be done.
    @precondition(lambda self: self.secret is not None and self.now - self.made_at > PROFILE.trust)
    @rule()
    def delete(self) -> None:
        self.secret = None

    # ---- what must hold ---------------------------------------------------------------------------------------------

    @invariant()
    def every_leaf_in_force_is_trusted_by_every_api_server(self) -> None:
        for replica in self.replicas:
            leaf = replica.leaf
            if leaf and leaf.validity.not_before <= self.now < leaf.validity.not_after:
                for where, view in self.views.items():
                    trusted = certificates_in(view.content)
                    # One that trusts nobody of whom a leaf is alive refuses everything as it is.
                    if any(self.now < self.last_leaf.get(each, START) for each in trusted):
                        assert leaf.authority in trusted, (where, replica, self.now)

    @invariant()
    def at_most_two_keys_are_kept(self) -> None:
        if self.secret:
            assert self.secret.content.count(b"PRIVATE KEY-----\\n") <= 4  # BEGIN and END of each

    def teardown(self) -> None:
        """Left alone, all come to one authority, in every configuration, and to leaves of it."""
        for _ in range(12):
            for number in range(REPLICAS):
                self.look(number, 4)
            self.wait(70)
        self.wait(26 * 3600)
        for _ in range(2):
            for number in range(REPLICAS):
                self.look(number, 4)
        authorities = self._decoded(self.secret)
        assert authorities
        assert authorities.current
        for replica in self.replicas:
            assert replica.leaf
            assert replica.leaf.authority == authorities.current.certificate
            assert self.now < replica.leaf.validity.not_after
        for found in self.configurations.values():
            assert set(certificates_in(found.content)) == set(authorities.trusted)


TestCluster = Cluster.TestCase
TestCluster.settings = settings(
    max_examples=examples(100),
    stateful_step_count=60,
    suppress_health_check=list(HealthCheck),
)
