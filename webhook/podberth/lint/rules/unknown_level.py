"""A topology level that is no label of a known node. It needs `--topology` or `--simulate`.

The rule compares levels that are written as literals with the label keys of the nodes, and with the levels that
podberth knows (`--conventions` adds levels of a cluster). A level that no node has does not have domains: a preference
for it changes nothing, and a requirement keeps the pods waiting.

Bad:

    mutations:
    - topology: {level: "'topology.kubernetes.io/zones'", mode: preferred}

Good:

    mutations:
    - topology: {level: "'topology.kubernetes.io/zone'", mode: preferred}
"""

from collections.abc import Iterable, Iterator

from ...cel.tree import Call, Literal, Tree
from ...errors import Problem
from ...words import did_you_mean
from ..findings import Library


def check(library: Library) -> Iterator[Problem]:
    """Yield a problem for each topology level that is neither a label of a known node nor in the conventions."""
    if not library.nodes:
        return
    known = {*library.conventions.levels, *(key for node in library.nodes for key in node.labels)}
    for mutation, leaf in library.leaves("topology"):
        place, tree = mutation.placed(leaf)
        for level in _results(tree) if leaf.name == "level" else ():
            key = str(level.value)
            if key not in ("", *known):
                meant = did_you_mean(key, _alike(key, known)) or "; want a label key of the nodes"
                yield mutation.policy.within(place, level, f"no known node has the label {key}{meant}")


def _alike(key: str, known: Iterable[str]) -> list[str]:
    """Return the known label keys whose name, without the prefix, is similar to that of ``key``, sorted."""
    name = key.rpartition("/")[2]
    return sorted(each for each in known if name == (own := each.rpartition("/")[2]) or did_you_mean(name, [own]))


def _results(tree: Tree) -> Iterator[Literal]:
    """Yield the literals that may be the result of an expression."""
    match tree:
        case Literal():
            yield tree
        case Call(function="_?_:_", operands=(_, *branches)):
            for each in branches:
                yield from _results(each)
        case _:
            return
