"""Puts scenes to both sides and gathers the pairs in which they differ."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from random import Random
from typing import TypeAlias

from controlplane.api import Api
from podberth.native.resources import Resources

from . import mutating
from .answers import Answer, difference, worded_apart
from .files import Files
from .ours import Ours
from .scenes import Document, Scene, namespaces, objects, params, scene
from .tally import Pair, Tally
from .upstream import COLLECTIONS, OtherRefusalError, Upstream

BATCH = 40
"""The policies that are in force together, each in a namespace of its own."""
_ROUNDS = 4
_Counted: TypeAlias = tuple[Pair, str, Sequence[tuple[str, str]]]
"""The arguments of ``Tally.add``."""


def compare(api: Api, *, policies: int, seed: int) -> Tally:
    """Return what came of that many policies, each with a dozen objects, put to an API server and to podberth."""
    tally = Tally()
    count = min(BATCH, policies)
    upstream = Upstream(api, namespaces(count), params(count))
    try:
        ours = Ours(upstream.namespaces, upstream.params, upstream.user)
        for start in range(0, policies, count):
            for each in _batch(upstream, ours, seed, start, min(count, policies - start)):
                tally.add(*each)
    finally:
        upstream.remove()
    return tally


def compare_files(api: Api, files: Files, *, seed: int) -> Tally:
    """Return what came of the policies of files, each with the objects of the files and some dozens that are generated.

    An object that the API server refuses for another reason is counted, and not compared.
    """
    tally = Tally()
    definitions = list(files.definitions.values())
    upstream = Upstream(api, namespaces(BATCH), [])
    try:
        upstream.define(definitions)
        stored = [upstream.store(*each) for each in files.params(Resources(definitions))]
        ours = Ours(upstream.namespaces, [*upstream.params, *stored], upstream.user, definitions)
        for start in range(0, len(files.policies), BATCH):
            scenes = files.scenes(start, BATCH)
            with upstream.in_force(scenes) as refused:
                for each in scenes:
                    given = [*files.objects(each.number, COLLECTIONS), *_generated(seed, each.number)]
                    for document, own in zip(given, ours.answers(each, given), strict=True):
                        try:
                            tally.add(*pair(upstream, each, document, own, refused))
                        except OtherRefusalError:
                            tally.outcomes["refused for another reason"] += 1
        _compare_mutating(upstream, files, (stored, definitions), (seed, tally))
    finally:
        upstream.forget(definitions)
        upstream.remove()
    return tally


def _compare_mutating(
    upstream: Upstream, files: Files, beside: tuple[list[Document], list[Document]], of: tuple[int, Tally]
) -> None:
    """Add what came of the MutatingAdmissionPolicies of files; ``beside`` are params and definitions."""
    ours, (seed, tally) = mutating.Ours(upstream, beside=[*beside[0], *beside[1]]), of
    for start in range(0, len(files.mutating), BATCH):
        scenes = files.mutating_scenes(start, BATCH)
        with upstream.mutating(scenes) as refused:
            for each in scenes:
                given = [*files.objects(each.number, COLLECTIONS), *_generated(seed, each.number)]
                known = [document for document in given if document["kind"] in mutating.KINDS]
                for counted in mutating.pairs(upstream, ours, each, known, refused):
                    tally.add(*counted)


def _generated(seed: int, number: int) -> list[Document]:
    every = chain.from_iterable(objects(_random(f"{seed} files", each), number) for each in range(_ROUNDS))
    return [each for each in every if "name" in each["metadata"]]


def _batch(upstream: Upstream, ours: Ours, seed: int, start: int, count: int) -> Iterator[_Counted]:
    scenes = [scene(_random(seed, start + each), each, start) for each in range(count)]
    with upstream.in_force(scenes) as refused:
        for each in scenes:
            given = objects(_random(f"{seed} objects", start + each.number), each.number)
            for document, own in zip(given, ours.answers(each, given), strict=True):
                yield pair(upstream, each, document, own, refused)


def pair(upstream: Upstream, of: Scene, document: Document, own: Answer, refused: Mapping[int, str]) -> _Counted:
    """Put one object to the API server, and return what the tally counts; ``own`` is podberth's answer."""
    why = refused.get(of.number)
    theirs = Answer(refused=why) if why else upstream.answer(document)
    found = Pair([of.policy], document, own, theirs, difference(own, theirs))
    return found, _outcome(theirs), worded_apart(own, theirs)


def _random(of: object, number: int) -> Random:
    return Random(f"{of} {number}")  # noqa: S311 - the same in each run


def _outcome(answer: Answer) -> str:
    if answer.refused:
        return "policy refused"
    if answer.messages:
        return "denied, with an error" if "resulted in error" in answer.messages[0] else "denied"
    return "warned" if answer.warnings else "allowed"
