"""Reads NVIDIA's GPUs: which questions are asked of NVML, and what is kept between two rounds of them.

Kept are the session, the set of events with the XIDs that it brought, and what each GPU is, for one that falls off the
bus no longer says so. Handles are taken anew in each round: after a
restart of the driver the old ones are void.
"""

import time
from dataclasses import replace
from itertools import combinations
from typing import Any

from ..errors import DeviceError
from ..topology.derive import APPLICATION_XIDS
from ..topology.model import Unseen
from ..topology.observation import Health, Observation, ObservedGpu, ObservedInstance, ObservedPair
from ..topology.usage import Usage
from . import nvml
from .nvidia_usage import usage_of
from .nvml import Asking, Gone

# A reconfiguration takes seconds and a round of questions milliseconds: a few rounds tell a step of it from all of it.
_ROUNDS = 3
# A call into the library holds back signals: who stops the agent should not wait for longer.
_SLICE_SECONDS = 1.0
# Faults come in bursts, hundreds a second: what follows an event so soon belongs to the same look.
_BURST_SECONDS = 0.25
_MOST_FAILURES = 10  # counted: 2 ** 10 seconds are longer than anybody waits
_MOST_XIDS = 16  # of one GPU; more only repeat that it is broken


class NvidiaReader:
    """A session with NVIDIA's driver."""

    def __init__(self) -> None:
        """Open the driver.

        Raises:
            DeviceError: there is none, or it cannot be opened.
        """
        nvml.start()
        self._events: Any = None
        self._listening: dict[int, int] = {}
        """The index of a GPU by its handle's identity."""
        self._unheard: tuple[Unseen, ...] = ()
        self._xids: dict[int, dict[int, None]] = {}
        self._known: dict[int, ObservedGpu] = {}
        self._failures = 0

    def read(self) -> Observation:
        """Look at everything now; a driver that was restarted since is opened again.

        Raises:
            DeviceError: the driver is away, or does not answer.
        """
        try:
            return self._look()
        except Gone:
            self._forget()
            nvml.start()
        try:
            return self._look()
        except Gone as gone:
            raise DeviceError(f"NVIDIA: the driver does not answer: {gone}") from gone

    def usage(self, seen: Observation) -> Usage:
        """Ask the GPUs of a look what they do now.

        Raises:
            DeviceError: the driver was restarted, or is away; the next look opens it again.
        """
        try:
            return usage_of((gpu.index, gpu.address) for gpu in seen.gpus)
        except Gone as gone:
            raise DeviceError(f"NVIDIA: the driver does not answer: {gone}") from gone

    def wait(self, seconds: float) -> bool:
        """Wait for events of GPUs; an end of all events is one too, because something must have happened.

        A burst of events is told once, and XIDs that say nothing of the GPU are not told at all.
        The first end is told at once; where it repeats itself (a GPU that is lost makes every wait fail) each time is
        a longer pause, so that it never becomes a loop.
        """
        told, deadline = False, time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            if self._events is None:
                time.sleep(min(left, _SLICE_SECONDS))
                continue
            try:
                event = nvml.next_event(self._events, min(left, _SLICE_SECONDS))
            except Gone:
                self._deafen()
                time.sleep(min(left, 2.0**self._failures - 1))
                self._failures = min(self._failures + 1, _MOST_FAILURES)
                return True
            self._failures = 0
            if event is not None and self._take(*event):
                told = True
                deadline = min(deadline, time.monotonic() + _BURST_SECONDS)
        return told

    def close(self) -> None:
        """Let the driver go."""
        self._forget()

    def _forget(self) -> None:
        self._deafen()
        self._xids.clear()
        self._known.clear()
        nvml.stop()

    def _deafen(self) -> None:
        if self._events is not None:
            nvml.free_events(self._events)
        self._events = None

    def _take(self, identity: int, xid: int) -> bool:
        """Note an event; tell whether it can have changed what there is to say."""
        index = self._listening.get(identity)
        if xid in APPLICATION_XIDS:
            return False
        if xid and index is not None and len(self._xids.setdefault(index, {})) < _MOST_XIDS:
            self._xids[index][xid] = None
        return True

    def _look(self) -> Observation:
        asking = Asking()
        indexes = range(nvml.device_count())
        devices = {
            index: device
            for index in indexes
            if (device := asking.ask("GPU", (index,), nvml.device, index)) is not None
        }
        gpus = [_gpu(asking, index, devices[index]) if index in devices else _nothing(index) for index in indexes]
        # A GPU that is lost makes every call about it and another fail.
        sound = [index for index in devices if index not in asking.faults]
        pairs = {pair: _pair(asking, pair, *(devices[index] for index in pair)) for pair in combinations(sound, 2)}
        if self._events is None or sorted(self._listening.values()) != sound:
            self._deafen()
            self._listen({index: devices[index] for index in sound})
        return Observation(
            gpus=tuple(self._with_faults(gpu, asking) for gpu in gpus),
            pairs=pairs,
            # A faulty GPU's problem says enough.
            unseen=tuple(
                each for each in (*asking.unseen, *self._unheard) if not asking.faults.keys() & set(each.gpus)
            ),
        )

    def _with_faults(self, gpu: ObservedGpu, asking: Asking) -> ObservedGpu:
        faults, xids = tuple(asking.faults.get(gpu.index, ())), tuple(self._xids.get(gpu.index, ()))
        known = self._known.get(gpu.index)
        if not faults:
            self._known[gpu.index] = gpu
        elif known is not None:
            gpu = replace(
                gpu,
                uuid=gpu.uuid or known.uuid,
                product=gpu.product or known.product,
                address=gpu.address or known.address,
                pci_id=gpu.pci_id or known.pci_id,
                memory_mib=gpu.memory_mib or known.memory_mib,
            )
        return replace(gpu, health=replace(gpu.health, faults=faults, xids=xids))

    def _listen(self, devices: dict[int, Any]) -> None:
        """Start to listen to every GPU that has events."""
        asking = Asking()
        self._listening = {nvml.identity(device): index for index, device in devices.items()}
        self._events = asking.ask("events", (), nvml.new_events)
        for index, device in devices.items() if self._events is not None else ():
            asking.ask("events", (index,), nvml.listen, self._events, device)
        self._unheard = tuple(asking.unseen)


def _nothing(index: int) -> ObservedGpu:
    """Stand in for a GPU of which not even the handle can be had."""
    return ObservedGpu(index=index, links=None)


def _gpu(asking: Asking, index: int, device: Any) -> ObservedGpu:
    ask, whose = asking.ask, (index,)
    address, pci_id = ask("PCI address", whose, nvml.pci, device) or ("", "")
    mig_mode, instances = _mig(asking, index, device)
    return ObservedGpu(
        index=index,
        uuid=ask("UUID", whose, nvml.uuid, device) or "",
        product=ask("product", whose, nvml.product, device) or "",
        address=address,
        pci_id=pci_id,
        memory_mib=ask("memory", whose, nvml.memory_mib, device) or 0,
        links=ask("NVLink", whose, nvml.active_links, device),
        fabric=ask("NVLink fabric", whose, nvml.fabric, device),
        platform=ask("place in the rack", whose, nvml.platform, device),
        mig_mode=mig_mode,
        instances=instances,
        profiles=ask("MIG profiles", whose, nvml.profiles, device) or (),
        health=Health(
            recovery_action=ask("recovery action", whose, nvml.recovery_action, device),
            remap=ask("remapped rows", whose, nvml.remap_state, device),
            unrepairable_memory=ask("unrepairable memory", whose, nvml.unrepairable_memory, device),
            uncorrectable_errors=ask("ECC errors", whose, nvml.uncorrectable_errors, device),
        ),
    )


def _mig(asking: Asking, index: int, device: Any) -> tuple[tuple[bool, bool] | None, tuple[ObservedInstance, ...]]:
    """Read mode and instances of a GPU so that they belong together: what is asked before and after is the same."""
    ask, whose = asking.ask, (index,)

    def devices() -> tuple[tuple[bool, bool] | None, tuple[tuple[int, str], ...] | None]:
        mode = ask("MIG mode", whose, nvml.mig_mode, device)
        return mode, ask("MIG devices", whose, nvml.mig_devices, device) if mode and mode[0] else None

    before = devices()
    for _ in range(_ROUNDS):
        mode, found = before
        instances = tuple(
            ObservedInstance(
                id=instance, name=name, placement=ask("MIG placements", whose, nvml.placement, device, instance)
            )
            for instance, name in found or ()
        )
        before = devices()
        if before == (mode, found):
            return mode, instances
    asking.unseen.append(Unseen(what="MIG devices", why="reconfiguration is under way", gpus=whose))
    return before[0], ()


def _pair(asking: Asking, pair: tuple[int, int], one: Any, other: Any) -> ObservedPair:
    return ObservedPair(
        level=asking.ask("PCIe level", pair, nvml.level, one, other),
        linked=asking.ask("peer-to-peer state", pair, nvml.linked, one, other),
    )
