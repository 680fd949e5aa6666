"""Determines, from the waiting pods of a gang, how many pods must start together.

A pod has the gang's size in an annotation, or else the pod's owner states the size. Some owners make the last pods only
after the first pods run, and for some owners the number of pods is not known. In both cases the pods start one by one,
because a group of all pods would wait for ever.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ...kinds.systems import PodGroupKind
from ...kube.object_names import NamespacedName
from ...kube.pod import OwnerReference
from ...workload.gangs import gang_of
from ...workload.stages import is_guess
from .lineage import documents, on_top
from .world import WaitingPod, World


@dataclass(frozen=True, slots=True)
class Word:
    """The size of a gang, as one of the gang's parties states it.

    A party is a topmost owner of the gang's pods, or all pods without an owner together. A gang may have several
    parties, which may state different sizes.
    """

    size: int
    """The number of pods in the gang; 0 if the party does not know the number."""
    staged: str
    """The field of the owner that makes some pods wait until other pods run; empty if there is no such field."""
    newest: float
    """The creation time of the party's newest pod, in seconds since the epoch."""


@dataclass(frozen=True, slots=True)
class Consensus:
    """The size of a gang that follows from the statements of all its parties (the topmost owners of its pods)."""

    sizes: frozenset[int]
    """All sizes that parties state; empty if none states a size. Size 1 means that the pods start one by one."""
    staged: str = ""
    """The field of an owner that makes the pods start in stages; empty if all pods are made together."""
    guessed: bool = False
    """Whether an owner is unknown, so that podberth does not know if the pods start in stages."""


@dataclass(frozen=True, slots=True)
class WaitingGang:
    """The waiting pods of one gang, with the group that the pods name."""

    system: PodGroupKind
    place: NamespacedName
    members: Sequence[WaitingPod]
    words: Mapping[str, Word]
    """The statement of each party about the gang's size, by the key of the party (``party``)."""
    owners: Mapping[str, OwnerReference]

    @property
    def kind(self) -> str:
        """The kind of the gang's group."""
        return self.system.kinds[0]

    @property
    def verdict(self) -> Consensus:
        """The gang's size that follows from the statements of all topmost owners of its pods."""
        return judge(self.words.values())

    @property
    def newest(self) -> float:
        """The creation time of the gang's newest pod, in seconds since the epoch."""
        return max(word.newest for word in self.words.values())


def party(owner: OwnerReference) -> str:
    """Return the key in ``WaitingGang.words`` for a topmost owner of pods: the owner's uid.

    The key is empty if ``owner`` is a Pod, because all pods without an owner have one key.
    """
    return "" if owner.kind == "Pod" else owner.uid


def words(members: Iterable[WaitingPod], world: World) -> dict[str, Word]:
    """Return what each topmost owner of a gang's pods states about the gang's size, by the owner's key (``party``).

    ``members`` are the gang's waiting pods. Pods whose owner no longer exists are ignored.
    """
    parties: dict[str, list[WaitingPod]] = {}
    for pod in sorted(members, key=lambda pod: (pod.created, pod.size)):
        top = on_top(pod, world)
        if top is not None:
            parties.setdefault(party(top), []).append(pod)
    return {name: _word(pods, world) for name, pods in parties.items()}


def _word(pods: Sequence[WaitingPod], world: World) -> Word:
    """Return the statement of one party (a topmost owner) about the gang's size.

    ``pods`` are all waiting pods of the party, the oldest first. The size comes from the owners of the newest pod, or
    else from the newest pod that states a size.
    """
    newest = pods[-1]
    gang = gang_of(newest.gang_keys, newest.namespace, documents(newest, world))
    # The templates of a known owner are the best source of the size; the next best is what admission wrote on a pod.
    size = gang.apart or next((pod.size for pod in reversed(pods) if pod.size), gang.size)
    return Word(size, "" if size == 1 else gang.staged, newest.created)


def judge(said: Iterable[Word]) -> Consensus:
    """Return the size of a gang that follows from the statements of all its parties (topmost owners).

    If the pods of one party start in stages, the size is 1, so that the pods start one by one: a group of all pods
    could never reach the minimum. Else the result has every size that a party states.
    """
    said = tuple(said)
    # A field that certainly makes the pods start in stages takes precedence over one that possibly does.
    staged = min((word.staged for word in said if word.staged), key=is_guess, default="")
    if staged:
        return Consensus(frozenset({1}), staged, is_guess(staged))
    return Consensus(frozenset(word.size for word in said if word.size))
