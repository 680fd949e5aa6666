"""The waiting pods of a gang whose group is podberth's to make, and how many start together by what they say.

A pod says the size by an annotation, else its owner does. Of some owners not all pods are made before the first ones
run, and of some nobody knows how many there are: these start one by one, for a group of all would wait for ever.
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
    """What a party says of its gang now."""

    size: int
    """How many pods it has; 0: nobody says."""
    staged: str
    """The field by which some are made only when others run; empty: none that is known."""
    newest: float
    """When the newest of its pods was made."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What several parties say together."""

    sizes: frozenset[int]
    """All that are said; one by one: 1. Empty: nobody says any."""
    staged: str = ""
    """The field by which the pods start in stages; empty: they come together."""
    guessed: bool = False
    """Whether they only may start so, for nothing is known of an owner."""


@dataclass(frozen=True, slots=True)
class Gang:
    """The waiting pods of a gang."""

    system: PodGroupKind
    place: Place
    members: Sequence[WaitingPod]
    words: Mapping[str, Word]
    """By party."""
    owners: Mapping[str, OwnerReference]

    @property
    def kind(self) -> str:
        """Of its group."""
        return self.system.kinds[0]

    @property
    def verdict(self) -> Verdict:
        """What all its parties say."""
        return judge(self.words.values())

    @property
    def newest(self) -> float:
        """When the newest of its pods was made."""
        return max(word.newest for word in self.words.values())


def party(owner: OwnerReference) -> str:
    """Return who has a say in the size of a gang: an owner on top, and bare pods together."""
    return "" if owner.kind == "Pod" else owner.uid


def words(members: Iterable[WaitingPod], world: World) -> dict[str, Word]:
    """Return what each party says; pods whose owner is gone have no say."""
    parties: dict[str, list[WaitingPod]] = {}
    for pod in sorted(members, key=lambda pod: (pod.created, pod.size)):
        top = on_top(pod, world)
        if top is not None:
            parties.setdefault(party(top), []).append(pod)
    return {name: _word(pods, world) for name, pods in parties.items()}


def _word(pods: Sequence[WaitingPod], world: World) -> Word:
    """Return what pods say, the newest last; what is read of the newest's owners holds for all of them."""
    newest = pods[-1]
    gang = gang_of(newest.told, newest.namespace, documents(newest, world))
    # Of the templates of a known owner nobody knows better; else a pod says what admission knew.
    size = gang.apart or next((pod.size for pod in reversed(pods) if pod.size), gang.size)
    return Word(size, "" if size == 1 else gang.staged, newest.created)


def judge(said: Iterable[Word]) -> Verdict:
    """Return what parties say together: where one comes in stages, no group of all has its minimum."""
    said = tuple(said)
    # A field that is known comes before one that may be there.
    staged = min((word.staged for word in said if word.staged), key=is_guess, default="")
    if staged:
        return Verdict(frozenset({1}), staged, is_guess(staged))
    return Verdict(frozenset(word.size for word in said if word.size))
