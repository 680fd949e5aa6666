"""Finds what is free in place of an exhausted MIG profile: larger or equal slices, and whole GPUs."""

from collections import Counter
from typing import Final

from ..devices.mig import RESOURCE_PREFIX, Profile, parse
from ..devices.resources import NVIDIA_GPU
from ..kube.amounts import is_device, number, shown
from ..words import listed
from .machines import Machine
from .selection import accepts, selects
from .steps import Step

_MOST: Final = 3


def alternatives(step: Step, resource: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return (evidence, remedies): what is free of larger or equal devices than the MIG resource ``resource``.

    Counted are nodes whose pods were read, and that the pod selects and tolerates. A node counts if it has room for all
    that the pod asks for, with the other devices in place of ``resource``. The smallest devices come first.
    """
    wanted = _profile(resource)
    if wanted is None:
        return (), ()
    free: Counter[str] = Counter()
    for machine in step.every:
        if machine.pods is None or not (selects(step, machine) and accepts(step, machine)):
            continue
        for name in filter(is_device, machine.offers):
            if name != resource and _is_enough(name, wanted) and _holds(step, machine, resource, name):
                free[name] += machine.free[name]
    names = sorted(free, key=lambda name: (name == NVIDIA_GPU, _profile(name) or wanted))[:_MOST]
    if not names:
        return (), ()
    texts = listed([shown(name, free[name]) for name in names])
    least = names[0]
    return (f"free meanwhile, and enough: {texts}",), (f"ask for {least}: {number(least, free[least])} free",)


def _profile(resource: str) -> Profile | None:
    """Return the profile of a MIG resource; None for any other resource."""
    if not resource.startswith(RESOURCE_PREFIX):
        return None
    try:
        return parse(resource)
    except ValueError:
        return None


def _is_enough(name: str, wanted: Profile) -> bool:
    """Return whether a device is a whole GPU, or a slice of at least the memory and compute of ``wanted``."""
    found = _profile(name)
    if found is None:
        return name == NVIDIA_GPU
    larger = found.slices >= wanted.slices and found.memory_gb >= wanted.memory_gb
    return larger and {*wanted.attributes} <= {*found.attributes}


def _holds(step: Step, machine: Machine, resource: str, name: str) -> bool:
    """Return whether a node has room for the pod with the devices ``name`` in place of ``resource``."""
    wants = Counter({each: amount for each, amount in step.wants.items() if each != resource})
    wants[name] += step.wants[resource]
    return all(machine.free.get(each, 0) >= amount for each, amount in wants.items())
