"""Reads NVIDIA's GPUs through NVML, and keeps the state that is needed between two readings.

The state is the NVML session, the set of events with the received XIDs, and the identity of each GPU, because a GPU
that falls off the bus no longer reports the identity. Each reading takes new handles: a restart of the driver makes old
handles invalid.
"""

import time
from dataclasses import replace
from itertools import combinations
from typing import Any

from ..errors import DeviceError
from ..topology.derive import APPLICATION_XIDS
from ..topology.node import Unseen
from ..topology.observation import Health, Observation, ObservedGpu, ObservedInstance, ObservedPair
from ..topology.usage import Usage
from . import nvml
from .nvidia_usage import usage_of
from .nvml import Gone, NvmlRound
from .sysfs import Sysfs

# A MIG reconfiguration takes seconds, and one round of calls milliseconds. If the GPU changes during each of so many
# rounds, a reconfiguration is in progress.
_ROUNDS = 3
# The longest wait in one call of the library. Signals are handled only after the call, so it delays the agent's stop.
_SLICE_SECONDS = 1.0
# Faults come in bursts, hundreds a second. Events within this time after the first one cause only one reading.
_BURST_SECONDS = 0.25
_MOST_FAILURES = 10  # further failures are not counted: 2 ** 10 seconds are longer than any wait
_MOST_XIDS = 16  # XIDs kept of one GPU; further ones only repeat that it is broken


class NvidiaReader:
    """Reads NVIDIA's GPUs in one NVML session, and opens a new session when the driver was restarted."""

    def __init__(self, sysfs: Sysfs) -> None:
        """Open a session with the driver; ``sysfs`` shows how many GPUs the driver has.

        Raises:
            DeviceError: there is no driver, or the driver cannot be opened.
        """
        nvml.start()
        self._sysfs = sysfs
        self._events: Any = None
        self._listening: dict[int, int] = {}
        """The index of each GPU whose events are received, by ``nvml.identity`` of the GPU."""
        self._unheard: tuple[Unseen, ...] = ()
        self._xids: dict[int, dict[int, None]] = {}
        self._known: dict[int, ObservedGpu] = {}
        self._failures = 0

    def read(self) -> Observation:
        """Read all GPUs now; if the driver was restarted, open a new session first.

        Raises:
            DeviceError: the driver is gone, does not answer, or lists none of its GPUs.
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
        """Return the usage of the GPUs in the observation ``seen``, read now.

        Raises:
            DeviceError: the driver was restarted or is gone; the next ``read`` opens a new session.
        """
        try:
            return usage_of((gpu.index, gpu.address) for gpu in seen.gpus)
        except Gone as gone:
            raise DeviceError(f"NVIDIA: the driver does not answer: {gone}") from gone

    def wait(self, seconds: float) -> bool:
        """Wait for events of GPUs, at most ``seconds``; return True if an event requires a new reading.

        Events within a short time of the first one are reported together. XIDs that an application causes are not
        reported. If the driver makes a wait fail, the failure counts as an event. The first failure is reported at
        once. If failures repeat (a lost GPU makes every wait fail), the pauses grow, so that waiting never becomes a
        busy loop.
        """
        reported, deadline = False, time.monotonic() + seconds
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
                reported = True
                deadline = min(deadline, time.monotonic() + _BURST_SECONDS)
        return reported

    def close(self) -> None:
        """End the session with the driver."""
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
        """Record the XID of an event; return whether the event can change the observation.

        ``identity`` is the number by which the driver identifies the GPU.
        """
        index = self._listening.get(identity)
        if xid in APPLICATION_XIDS:
            return False
        if xid and index is not None and len(self._xids.setdefault(index, {})) < _MOST_XIDS:
            self._xids[index][xid] = None
        return True

    def _look(self) -> Observation:
        asking = NvmlRound()
        indexes = range(nvml.device_count())
        hidden = self._hidden(asking, len(indexes))
        devices = {
            index: device
            for index in indexes
            if (device := asking.ask("GPU", (index,), nvml.device, index)) is not None
        }
        without_handle = {index: ObservedGpu(index=index, links=None) for index in indexes if index not in devices}
        gpus = [without_handle.get(index) or _gpu(asking, index, devices[index]) for index in indexes]
        # A lost GPU makes every call about it and another GPU fail.
        sound = [index for index in devices if index not in asking.faults]
        pairs = {pair: _pair(asking, pair, *(devices[index] for index in pair)) for pair in combinations(sound, 2)}
        if self._events is None or sorted(self._listening.values()) != sound:
            self._deafen()
            self._listen({index: devices[index] for index in sound})
        return Observation(
            gpus=tuple(self._with_faults(gpu, asking) for gpu in gpus),
            hidden=hidden,
            pairs=pairs,
            # A faulty GPU's problem is reported already.
            unseen=tuple(
                each for each in (*asking.unseen, *self._unheard) if not asking.faults.keys() & set(each.gpus)
            ),
        )

    def _hidden(self, asking: NvmlRound, listed: int) -> int:
        """Return the number of the driver's GPUs that NVML does not list, because this process cannot open them.

        ``listed`` is the number of GPUs that NVML lists. If GPUs are missing, the reason is added to ``asking.unseen``.

        Raises:
            DeviceError: NVML lists no GPU.
        """
        # nvml.h says that nvmlDeviceGetCount_v2 counts them, and driver 580 does not.
        bound = len(self._sysfs.bound_to("nvidia"))
        if bound <= listed:
            return 0
        why = f"NVML lists {listed} of {bound} GPUs; each needs its file /dev/nvidiaN"
        if not listed:
            raise DeviceError(f"NVIDIA: {why}")
        asking.unseen.append(Unseen(what="GPUs", why=why))
        return bound - listed

    def _with_faults(self, gpu: ObservedGpu, asking: NvmlRound) -> ObservedGpu:
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
        """Subscribe to the events of ``devices``, a mapping from index to handle; a GPU without events is left out."""
        asking = NvmlRound()
        self._listening = {nvml.identity(device): index for index, device in devices.items()}
        self._events = asking.ask("events", (), nvml.new_events)
        for index, device in devices.items() if self._events is not None else ():
            asking.ask("events", (index,), nvml.listen, self._events, device)
        self._unheard = tuple(asking.unseen)


def _gpu(asking: NvmlRound, index: int, device: Any) -> ObservedGpu:
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


def _mig(asking: NvmlRound, index: int, device: Any) -> tuple[tuple[bool, bool] | None, tuple[ObservedInstance, ...]]:
    """Return the MIG mode of a GPU as (enabled now, enabled after a reset), and the GPU's MIG instances.

    The mode and the list of instances are read again after the placements of the instances. After a change, everything
    is read again; if the changes go on, no instances are returned.
    """
    ask, whose = asking.ask, (index,)

    def devices() -> tuple[tuple[bool, bool] | None, tuple[tuple[int, str], ...] | None]:
        mode = ask("MIG mode", whose, nvml.mig_mode, device)
        return mode, ask("MIG devices", whose, nvml.mig_devices, device) if mode and mode[0] else None

    noted, before = len(asking.unseen), devices()
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
        # A call that failed because the instance was gone says nothing about the layout that is read next.
        del asking.unseen[noted:]
    asking.unseen.append(Unseen(what="MIG devices", why="reconfiguration is under way", gpus=whose))
    return before[0], ()


def _pair(asking: NvmlRound, pair: tuple[int, int], one: Any, other: Any) -> ObservedPair:
    return ObservedPair(
        level=asking.ask("PCIe level", pair, nvml.level, one, other),
        linked=asking.ask("peer-to-peer state", pair, nvml.linked, one, other),
    )
