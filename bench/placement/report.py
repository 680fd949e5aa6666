"""The tables: a column for each replay, so that they stand side by side."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal, TypeAlias

from .outcome import Moment, Outcome
from .overlay import WHOLE, Machine
from .trace import TracePod

When: TypeAlias = Literal["at_first", "at_end"]

_SHARES = (0.5, 0.75, 1.0)


def cluster(machines: Sequence[Machine]) -> str:
    """Say in a line which machines there are, and how their GPUs are cut."""
    kinds = _counted(each.kind for each in machines)
    gpus = sum(machine.gpus for machine in machines)
    cut = (unit for machine in machines for unit in machine.units if unit.resource != WHOLE and not unit.device)
    instances = _counted(unit.resource.removeprefix("nvidia.com/mig-") for unit in cut)
    return f"{len(machines)} machines with {gpus:,.0f} GPUs: {kinds}; MIG instances: {instances or 'none'}."


def arrivals(pods: Sequence[TracePod]) -> str:
    """Say in a line what was replayed."""
    sharing = sum(pod.shares for pod in pods)
    multi = sum(pod.gpus > 1 for pod in pods)
    asked = sum(pod.asked for pod in pods)
    whole = sum(pod.gpus for pod in pods)
    gangs = len({pod.gang for pod in pods if pod.gang})
    return (
        f"{len(pods):,} pods that have use for {asked:,.0f} GPUs, and ask for {whole:,} where none is shared: "
        f"{sharing:,} need a part of one, {multi} several, {sum(not pod.gpus for pod in pods)} none; "
        f"{gangs or 'no'} gangs."
    )


def moments(outcomes: Mapping[str, Outcome], when: When) -> tuple[Sequence[str], list[Sequence[str]]]:
    """Return header and rows of the figures at a moment."""
    at = [getattr(outcome, when) for outcome in outcomes.values()]
    capacity = [outcome.capacity_gpus for outcome in outcomes.values()]
    rows: list[Sequence[str]] = []
    if when == "at_first":
        rows.append(("pods before it", *(_count(outcome.first) for outcome in outcomes.values())))
        small = (_count(outcome.first_small) for outcome in outcomes.values())
        rows.append(("pods before the first of one GPU or less", *small))
    rows += [
        ("pods placed", *(f"{each.placed_pods:,}" for each in at)),
        ("GPUs allocated", *map(_gpus, (each.held_gpus for each in at), capacity)),
        ("GPUs that the placed pods have use for", *map(_gpus, (each.used_gpus for each in at), capacity)),
        ("GPUs free", *map(_gpus, (each.free_gpus for each in at), capacity)),
        ("fragmented of what is free (FGD)", *map(_fragmented, at)),
        ("pods of several GPUs in one link domain", *(f"{each.together} of {each.multi}" for each in at)),
        ("such pods that came while linked ones were free", *(str(each.linkable) for each in at)),
        ("pods with a part: right MIG size", *(str(each.got("right")) for each in at)),
        ("larger MIG instance", *(str(each.got("larger")) for each in at)),
        ("whole GPU", *(str(each.got("whole")) for each in at)),
    ]
    if when == "at_end":
        for share in _SHARES:
            found = [each for outcome in outcomes.values() if (each := outcome.arrived(share))]
            if len(found) == len(outcomes):
                title = f"fragmented when use for {share:.0%} of the GPUs had arrived"
                rows.append((title, *map(_fragmented, found)))
    if any(each.gangs for each in at):
        rows += [
            ("gangs of which all pods are placed", *(f"{each.whole_gangs} of {each.gangs}" for each in at)),
            ("such gangs in one rack", *(str(each.racked_gangs) for each in at)),
            ("gangs of which some pods are placed", *(str(each.half_gangs) for each in at)),
        ]
    return ("", *outcomes), rows


def reasons(outcomes: Mapping[str, Outcome]) -> Iterator[str]:
    """Yield what the scheduler said about each replay's first refusal."""
    for name, outcome in outcomes.items():
        yield f"- {name}: {outcome.reason or 'every pod was placed'}"


def _counted(words: Iterable[str]) -> str:
    return ", ".join(f"{count:,} {word}" for word, count in Counter(words).most_common())


def _count(first: int | None) -> str:
    return "all were placed" if first is None else f"{first:,}"


def _fragmented(moment: Moment) -> str:
    return f"{moment.fragmented_gpus:,.0f} ({moment.fragmentation:.0%})"


def _gpus(value: float, capacity: float) -> str:
    return f"{value:,.0f} ({value / capacity:.0%})"
