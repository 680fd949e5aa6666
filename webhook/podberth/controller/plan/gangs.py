"""The waiting pods of a gang whose group podberth makes, and the number that starts together.

A pod has the size in an annotation, else its owner has it. Some owners make their last pods only after the first ones
run, and for some the number is not known: these start one by one, because a group of all would wait for ever.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ...kinds.systems import PodGroupKind
from ...kube.pod import OwnerReference
from ...workload.gangs import gang_of
from ...workload.stages import is_guess
from .lineage import documents, on_top
from .model import Place, WaitingPod, World


@dataclass(frozen=True, slots=True)
class Word:
    """The present statement of a party about its gang."""

    size: int
    """The number of pods; 0: unknown."""
    staged: str
    """The field by which some pods are made only after others run; empty: none is known."""
    newest: float
    """The creation time of its newest pod."""


@dataclass(frozen=True, slots=True)
class Consensus:
    """The combined statement of several parties."""

    sizes: frozenset[int]
    """All sizes that parties state. A size of 1 means that the pods start one by one; empty: no party states a size."""
    staged: str = ""
    """The field by which the pods start in stages; empty: they come together."""
    guessed: bool = False
    """Whether the stages are only possible, because an owner is unknown."""


@dataclass(frozen=True, slots=True)
class WaitingGang:
    """The waiting pods of a gang."""

    system: PodGroupKind
    place: Place
    members: Sequence[WaitingPod]
    words: Mapping[str, Word]
    """Statements by party."""
    owners: Mapping[str, OwnerReference]

    @property
    def kind(self) -> str:
        """The kind of its group."""
        return self.system.kinds[0]

    @property
    def verdict(self) -> Consensus:
        """The combined statement of all its parties."""
        return judge(self.words.values())

    @property
    def newest(self) -> float:
        """The creation time of its newest pod."""
        return max(word.newest for word in self.words.values())


def party(owner: OwnerReference) -> str:
    """Return the party that states the size of a gang: an owner on top, or all bare pods together."""
    return "" if owner.kind == "Pod" else owner.uid


def words(members: Iterable[WaitingPod], world: World) -> dict[str, Word]:
    """Return each party's statement; pods whose owner is gone make none."""
    parties: dict[str, list[WaitingPod]] = {}
    for pod in sorted(members, key=lambda pod: (pod.created, pod.size)):
        top = on_top(pod, world)
        if top is not None:
            parties.setdefault(party(top), []).append(pod)
    return {name: _word(pods, world) for name, pods in parties.items()}


def _word(pods: Sequence[WaitingPod], world: World) -> Word:
    """Return the statement of pods, the newest last; the facts from the newest pod's owners hold for all of them."""
    newest = pods[-1]
    gang = gang_of(newest.gang_keys, newest.namespace, documents(newest, world))
    # The templates of a known owner are the best source; else the pod has the facts from admission.
    size = gang.apart or next((pod.size for pod in reversed(pods) if pod.size), gang.size)
    return Word(size, "" if size == 1 else gang.staged, newest.created)


def judge(said: Iterable[Word]) -> Consensus:
    """Return the combined statement: if one party comes in stages, no group of all reaches its minimum."""
    said = tuple(said)
    # A known field comes before a possible one.
    staged = min((word.staged for word in said if word.staged), key=is_guess, default="")
    if staged:
        return Consensus(frozenset({1}), staged, is_guess(staged))
    return Consensus(frozenset(word.size for word in said if word.size))
