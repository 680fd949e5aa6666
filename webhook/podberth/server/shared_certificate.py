"""The serving certificate that each replica signs itself, with a CA that all replicas share.

This module carries out decisions of other modules: ``pki.rotation`` decides which step is due for the CA certificates,
and ``pki.replica_certificate`` decides when the serving certificate is replaced. The private key stays in this process.
The certificate stays in force even while the API server cannot be reached.
"""

import asyncio
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Final

from ..cluster.shared_ca import ReadConfiguration, ReadSecret, SharedAuthorities
from ..errors import ClusterError, PodberthError
from ..pki.authorities import Authorities, validity
from ..pki.replica_certificate import SignedLeaf, sign, signing_due
from ..pki.rotation import Held, Lifetimes, Store, Trust, name, plan, stage
from ..telemetry.log import Log
from ..telemetry.metrics import Metrics
from .port_tls import PortTls
from .state import ServingState

# The most checks without a pause between them. A rotation takes four writes, and another replica may be faster at each.
_LOOKS_AT_ONCE = 12
# A check is three small reads. A caBundle that somebody has removed is written again within this time.
_LONGEST_PAUSE_SECONDS = 10.0
# The least number of checks within the time that API servers take to use a new caBundle (``Lifetimes.trust``), so that
# a hurried rotation need not wait longer for a replica.
_LOOKS_IN_TRUST = 3
_FIRST_WAIT_SECONDS = 0.25
_LONGEST_WAIT_SECONDS = 30.0
# A check is cancelled after ``Lifetimes.trust`` divided by this number, so that no decision on older data is written.
_VIEW_SHARE = 2
# The random share of a pause is added to this share, so that replicas do not make their checks at the same moments.
_LEAST_SHARE: Final = 0.5


@dataclass(slots=True)
class SharedCertificate:
    """Keeps the shared CA certificates and this replica's serving certificate up to date.

    The caller runs ``run`` as a task. The port has no certificate until ``run`` has signed the first serving
    certificate.
    """

    shared: SharedAuthorities
    names: Sequence[str]
    profile: Lifetimes
    tls: PortTls
    state: ServingState
    metrics: Metrics
    log: Log
    use_key: Callable[[bytes, str], None]
    """The function that receives the key for sealing records, and the name of the place where that key was found."""
    _record_key: bytes = b""
    _leaf: SignedLeaf | None = None
    _held: Held | None = None
    _failures: int = 0

    async def run(self) -> None:
        """Keep the certificates up to date until the task is cancelled.

        Each check reads the Secret with the shared CA certificates and the webhook configurations. Then the work
        that is due, if any, is done: the serving certificate is signed, or CA certificates are written to the Secret or
        to the configurations.
        """
        while True:
            wait_seconds = await self._turn()
            leaf = self._leaf
            # With an expired certificate the replica is not ready, so that clients ask other replicas.
            self.state.certificate = leaf is not None and datetime.now(UTC) < leaf.validity.not_after
            await asyncio.sleep(wait_seconds)

    async def _turn(self) -> float:
        """Do all certificate work that is due now; return the number of seconds to wait before the next check."""
        chance = random.random()  # noqa: S311 - to spread, not to hide
        trust_seconds = self.profile.trust.total_seconds()
        try:
            for _ in range(_LOOKS_AT_ONCE):
                async with asyncio.timeout(trust_seconds / _VIEW_SHARE):
                    if not await self._look():
                        break
        except Exception as error:  # noqa: BLE001 - a bug must not end the watch
            await self.shared.reset()
            self._report(error)
            bound = min(_LONGEST_WAIT_SECONDS, _FIRST_WAIT_SECONDS * 2.0 ** min(self._failures, 30))
            self._failures += 1
            return bound * (_LEAST_SHARE + chance / 2)
        self._failures = 0
        pause_seconds = min(_LONGEST_PAUSE_SECONDS, trust_seconds / _LOOKS_IN_TRUST / (1 + _LEAST_SHARE))
        return pause_seconds * (_LEAST_SHARE + chance)

    async def _look(self) -> bool:
        """Read the Secret and the webhook configurations, and take at most one action; return whether more may be due.

        The webhook configurations are read before the Secret, so that a replica with outdated data cannot remove a
        newer certificate from ``caBundle``.
        """
        configurations = await self.shared.configurations()
        read_at = datetime.now(UTC)
        secret = await self.shared.secret()
        if secret is None:
            # The configurations are read again, because a new Secret has to keep the certificates that are trusted now,
            # and not those from before the Secret was deleted.
            configurations = await self.shared.configurations()
        else:
            # If the Secret has lost its key, the previous key is kept.
            if secret.record_key:
                self._record_key = secret.record_key
                self.use_key(secret.record_key, self.shared.where)
            self._sign(secret.authorities, read_at)
        registrations = [each.registration for each in configurations]
        known = secret.authorities if secret else None
        planned = plan(known, registrations, self._held, datetime.now(UTC), self.profile)
        self._held = planned.held
        action = planned.action
        if action is None and secret is not None and not secret.record_key:
            action = Store(secret.authorities, "the Secret had no record.key")
        return await self._act(action, secret, configurations)

    async def _act(
        self, action: Store | Trust | None, secret: ReadSecret | None, configurations: Sequence[ReadConfiguration]
    ) -> bool:
        if action is None:
            return False
        try:
            if isinstance(action, Store):
                await self.shared.store(secret, action.authorities, self._record_key)
                self.log.event(
                    "info",
                    "certificate authorities: stored",
                    stage=stage(action.authorities),
                    authorities=[name(each) for each in action.authorities.trusted],
                    reason=action.why,
                )
            else:
                for each in configurations:
                    if each.registration.where in action.where:
                        await self.shared.trust(each, action.pem)
                self.log.event("info", "certificate authorities: wrote caBundle", configurations=list(action.where))
        except ClusterError as error:
            if error.status != HTTPStatus.CONFLICT:
                raise
            self.log.event("info", "certificate authorities: another writer was faster; reading again")
        return True

    def _sign(self, authorities: Authorities, read_at: datetime) -> None:
        if signer := authorities.current or authorities.next:
            self.metrics.ca_not_after.set(validity(signer.certificate).not_after.timestamp())
        self.metrics.rotation(stage(authorities))
        why = signing_due(self._leaf, authorities, datetime.now(UTC))
        if why and authorities.current:
            leaf = sign(authorities.current, self.names, read_at, random.random())  # noqa: S311 - to spread
            self.tls.show(leaf.issued.certificate, leaf.issued.key, "the certificate that was just signed")
            self._leaf = leaf
            self.state.certificate = True
            until = leaf.validity.not_after
            self.metrics.certificate_not_after.set(until.timestamp())
            self.metrics.reloaded("certificate", ok=True)
            self.log.event("info", "signed a certificate", authority=name(leaf.authority), not_after=until, reason=why)

    def _report(self, error: Exception) -> None:
        self.metrics.reloaded("certificate", ok=False)
        kept = "certificate authorities: cannot be looked after; the certificate in force stays"
        if isinstance(error, PodberthError):
            self.log.event("error", kept, problems=str(error).splitlines())
        elif isinstance(error, TimeoutError):
            self.log.event("error", kept, problems=["the API server: got no answer in time; it is asked again"])
        else:
            self.log.fault(f"{kept}; a bug in podberth", error)
