"""Finds whether a container cannot start because its program is not for the architecture of its node."""

from typing import Final

from ..kube.unchecked import at, mapping_at, text_at
from ..words import counted, listed
from .diagnosis import Diagnosis
from .machines import machines
from .picture import Document, Picture

_LABEL: Final = "kubernetes.io/arch"
# The kernel's ENOEXEC (execve(2)), in the words of runc and of a shell.
_ENOEXEC: Final = "exec format error"


def is_foreign(status: Document) -> bool:
    """Return whether the node's kernel could not execute the program of a container that neither runs nor is done."""
    state = mapping_at(status, "state")
    is_done = at(state, "terminated", "exitCode") == 0
    return "running" not in state and not is_done and bool(_message(status))


def _message(status: Document) -> str:
    """Return the message in the status of a container that has the kernel's error; empty if there is none."""
    places = (("state", "waiting"), ("state", "terminated"), ("lastState", "terminated"))
    texts = (" ".join(text_at(status, *place, "message").split()) for place in places)
    return next((each for each in texts if _ENOEXEC in each.lower()), "")


def not_runnable(picture: Picture, status: Document, what: str) -> Diagnosis:
    """Return the diagnosis that the program of a container is not for the architecture of its node."""
    on, image, name = text_at(picture.spec, "nodeName"), text_at(status, "image"), text_at(status, "name")
    by_arch: dict[str, list[str]] = {}
    for machine in machines(picture):
        if arch := machine.labels.get(_LABEL):
            by_arch.setdefault(arch, []).append(machine.name)
    mine = next((arch for arch, names in by_arch.items() if on in names), "")
    others = sorted(by_arch.keys() - {mine})
    have = listed([f"{arch} ({counted(len(by_arch[arch]), 'node')})" for arch in others])
    return Diagnosis(
        cause="architecture",
        title=f"{what} {name} cannot run on node {on}{f', which is {mine}' if mine else ''}: "
        "its program is for another architecture, or a script without #!",
        evidence=(
            _message(status),
            f"its image is {image}",
            *((f"other nodes are {have} ({_LABEL})",) if mine and others else ()),
        ),
        do=(
            f"use an image that is built for {mine or 'the architecture of the node'} as well",
            *(
                (f"or, if the image is for {others[0]}, add to spec.nodeSelector: {{{_LABEL}: {others[0]}}}",)
                if mine and others
                else ()
            ),
        ),
        waits=False,
    )
