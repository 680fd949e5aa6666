"""Functions of policies beyond CEL itself: questions to the topology index and to the MIG tables.

Each function is a row of a table, bound to plain Python over the current review. The functions are total: any argument
that type-checks gets an answer, so an exception here is a bug. A new function is a new row; nothing else knows it.

The answer of ``topology.nodes`` is a number in CEL, the index of the node set in the review, and its fields are
functions of that number. So a question costs one call, and terms are converted for CEL only where they are used.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from types import MappingProxyType
from typing import Any

from ..devices import mig, mig_nearest, mig_placement, products
from ..devices.mig_tables import TABLES
from ..devices.resources import recognise
from ..kube.paths import escape
from ..topology.index import NodeSet
from ..topology.need import CHOSEN_BY
from ..workload import command_line, models
from .context import ReviewContext
from .types import NODES

__all__ = ["CARRIED", "FUNCTIONS", "NODES_FIELDS", "Function", "ReviewContext"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Function:
    """A member function of policies, with the Python function that computes it."""

    id: str
    """The overload's name, and the name of the run-time function."""
    name: str
    receiver: str
    parameters: tuple[str, ...]
    result: str
    call: Callable[..., Any]
    """Called with the review and the arguments whose types are in ``CARRIED``."""
    reads: tuple[tuple[str, ...], ...] = ()
    """The access paths that the answer depends on beside the arguments."""

    @property
    def operands(self) -> tuple[str, ...]:
        """The types of receiver and parameters."""
        return (self.receiver, *self.parameters)


CARRIED = frozenset({"int", "string", "list(string)", NODES.name})
"""Operand types whose value reaches Python. The others (topology, mig, gpu) only name the question; the review has
their values."""

# ``topology.nodes`` answers for the current pod, so it reads the pod's own selection of nodes beside ``gpu``.
_CHOICE = tuple(("object", *path) for path in CHOSEN_BY)

# And for the current gang: the number of its pods with accelerators. Their requests go with the pod's own need.
_OF_THE_GANG = (*_CHOICE, ("gang", "accelerated"))

_PROFILES = tuple(sorted({profile for table in TABLES for profile in table.rows}))

# A line for the user has 256 characters, and a third guess is seldom better than the second.
_MOST_SUGGESTIONS = 3


def _nodes(review: ReviewContext) -> int:
    return review.handle(review.index.nodes(review.need))


def _with_link_domain(review: ReviewContext, nodes: int, size: int) -> int:
    return review.handle(review.nodes(nodes).with_link_domain(size))


def _narrowest_level(review: ReviewContext, nodes: int, members: int) -> str:
    return review.nodes(nodes).narrowest_level(max(members, 0))


def _narrowest_safe_level(review: ReviewContext, nodes: int, members: int) -> str:
    return review.nodes(nodes).narrowest_safe_level(max(members, 0))


def _smallest(review: ReviewContext, memory_mib: int, slices: int = 0) -> dict[str, Any]:
    offers = review.mig_nodes.mig_offers
    found = mig.smallest(memory_mib, offers, slices=slices)
    return _profile(found, offers[found]) if found else _profile()


def _parse(_: ReviewContext, name: str) -> dict[str, Any]:
    return _profile(name, mig.memory_mib(name))


def _profile(name: str = "", memory_mib: int = 0) -> dict[str, Any]:
    """Make a MigProfile of a name in any spelling; for a text that is no profile, one that does not exist."""
    try:
        profile = mig.parse(name)
    except ValueError:
        return {"exist": False, "resource": "", "profile": "", "slices": 0, "memoryMiB": 0}
    return {
        "exist": True,
        "resource": "" if profile.compute else profile.resource,
        "profile": profile.name,
        "slices": profile.compute or profile.slices,
        "memoryMiB": memory_mib,
    }


def _known(review: ReviewContext, name: str) -> bool:
    return mig.known(name) or _profile(name)["profile"] in review.index.mig_profiles


def _offered(review: ReviewContext, name: str) -> bool:
    try:
        return _offers(review, name if "/" in name else mig.parse(name).resource)
    except ValueError:
        return False


def _offers(review: ReviewContext, resource: str) -> bool:
    return review.index.offers(resource) or resource in review.class_resources


def _memory_mib(review: ReviewContext, name: str) -> int:
    return review.index.memory_mib(name) or products.most_memory_mib(name)


def _capacity(review: ReviewContext, name: str) -> int:
    return max((mig_placement.capacity(name, model) for model in review.mig_nodes.mig_models), default=0)


def _gpu_nodes(review: ReviewContext, name: str) -> int:
    return review.handle(review.gpu_nodes.with_instances(_profile(name)["profile"]))


def _fits(review: ReviewContext, names: list[Any]) -> bool:
    # An element of a dyn list may be of any type, and a value that is no name fits nowhere.
    wanted = [name if isinstance(name, str) else "" for name in names]
    return any(mig_placement.fits(wanted, model) for model in review.mig_nodes.mig_models)


def _nearest(review: ReviewContext, name: str) -> str:
    return next(_suggested(review, name), "")


def _suggestions(review: ReviewContext, name: str) -> list[str]:
    return list(islice(_suggested(review, name), _MOST_SUGGESTIONS))


def _suggested(review: ReviewContext, name: str) -> Iterator[str]:
    """Yield profiles of the cluster, then those that exist, each the best first, in the requested form."""
    is_shared = name.startswith(mig.RESOURCE_PREFIX) and name.endswith(mig.SHARED_SUFFIX)
    offers = filter(_is_shared_mig, review.index.offered) if is_shared else review.mig_nodes.mig_offers
    seen: set[str] = set()
    for candidates in (sorted(offers), _PROFILES):
        # Twice as many: a profile and its resource are one suggestion.
        for found in mig_nearest.suggestions(name, candidates, most=2 * _MOST_SUGGESTIONS):
            profile = mig.parse(found)
            spelled = profile.resource if name.startswith(mig.RESOURCE_PREFIX) else profile.name
            spelled += mig.SHARED_SUFFIX if is_shared else ""
            if spelled not in seen:
                seen.add(spelled)
                yield spelled


def _is_shared_mig(resource: str) -> bool:
    accelerator = recognise(resource)
    return accelerator is not None and accelerator.kind == "shared" and bool(accelerator.profile)


def _commands(_: ReviewContext, line: list[Any]) -> list[list[str]]:
    return command_line.commands(line) if _are_texts(line) else []


def _flag(_: ReviewContext, words: list[Any], names: list[Any]) -> str:
    return command_line.flag(words, names) if _are_texts([*words, *names]) else ""


def _are_texts(found: list[Any]) -> bool:
    """Return whether a list holds only strings: an element of a dyn list may be of any type."""
    return all(isinstance(each, str) for each in found)


def _named(_: ReviewContext, name: str) -> dict[str, Any]:
    model = models.named(name)
    return {"millions": model.millions, "dense": model.is_dense}


def _escape_key(_: ReviewContext, key: str) -> str:
    return escape(key)


FUNCTIONS: tuple[Function, ...] = (
    Function(
        id="topology_nodes",
        name="nodes",
        receiver="podberth.Topology",
        parameters=("podberth.Gpu",),
        result=NODES.name,
        call=_nodes,
        reads=_CHOICE,
    ),
    Function(
        id="nodes_with_link_domain",
        name="withLinkDomain",
        receiver=NODES.name,
        parameters=("int",),
        result=NODES.name,
        call=_with_link_domain,
    ),
    Function(
        id="nodes_narrowest_level",
        name="narrowestLevel",
        receiver=NODES.name,
        parameters=("int",),
        result="string",
        call=_narrowest_level,
    ),
    Function(
        id="nodes_narrowest_safe_level",
        name="narrowestSafeLevel",
        receiver=NODES.name,
        parameters=("int",),
        result="string",
        call=_narrowest_safe_level,
    ),
    Function(
        id="topology_narrowest_level",
        name="narrowestLevel",
        receiver="podberth.Topology",
        parameters=("podberth.Gang",),
        result="string",
        call=lambda review: review.levels_of_gang()[0],
        reads=_OF_THE_GANG,
    ),
    Function(
        id="topology_narrowest_safe_level",
        name="narrowestSafeLevel",
        receiver="podberth.Topology",
        parameters=("podberth.Gang",),
        result="string",
        call=lambda review: review.levels_of_gang()[1],
        reads=_OF_THE_GANG,
    ),
    Function(
        id="topology_offers",
        name="offers",
        receiver="podberth.Topology",
        parameters=("string",),
        result="bool",
        call=_offers,
    ),
    Function(
        id="topology_memory_mib",
        name="memoryMiB",
        receiver="podberth.Topology",
        parameters=("string",),
        result="int",
        call=_memory_mib,
    ),
    Function(
        id="mig_smallest",
        name="smallest",
        receiver="podberth.Mig",
        parameters=("int",),
        result="podberth.MigProfile",
        call=_smallest,
        reads=_CHOICE,
    ),
    Function(
        id="mig_smallest_slices",
        name="smallest",
        receiver="podberth.Mig",
        parameters=("int", "int"),
        result="podberth.MigProfile",
        call=_smallest,
        reads=_CHOICE,
    ),
    Function(
        id="mig_parse",
        name="parse",
        receiver="podberth.Mig",
        parameters=("string",),
        result="podberth.MigProfile",
        call=_parse,
    ),
    Function(id="mig_known", name="known", receiver="podberth.Mig", parameters=("string",), result="bool", call=_known),
    Function(
        id="mig_offered", name="offered", receiver="podberth.Mig", parameters=("string",), result="bool", call=_offered
    ),
    Function(
        id="mig_capacity",
        name="capacity",
        receiver="podberth.Mig",
        parameters=("string",),
        result="int",
        call=_capacity,
        reads=_CHOICE,
    ),
    Function(
        id="mig_gpu_nodes",
        name="gpuNodes",
        receiver="podberth.Mig",
        parameters=("string",),
        result=NODES.name,
        call=_gpu_nodes,
        reads=_CHOICE,
    ),
    Function(
        id="mig_fits",
        name="fits",
        receiver="podberth.Mig",
        parameters=("list(string)",),
        result="bool",
        call=_fits,
        reads=_CHOICE,
    ),
    Function(
        id="mig_nearest",
        name="nearest",
        receiver="podberth.Mig",
        parameters=("string",),
        result="string",
        call=_nearest,
        reads=_CHOICE,
    ),
    Function(
        id="mig_suggestions",
        name="suggestions",
        receiver="podberth.Mig",
        parameters=("string",),
        result="list(string)",
        call=_suggestions,
        reads=_CHOICE,
    ),
    # Upstream has it as a function of its own (apiserver pkg/cel/library/jsonpatch.go): here a member of a variable.
    Function(
        id="jsonpatch_escape_key",
        name="escapeKey",
        receiver="podberth.JsonPatch",
        parameters=("string",),
        result="string",
        call=_escape_key,
    ),
    Function(
        id="shell_commands",
        name="commands",
        receiver="podberth.Shell",
        parameters=("list(string)",),
        result="list(list(string))",
        call=_commands,
    ),
    Function(
        id="shell_flag",
        name="flag",
        receiver="podberth.Shell",
        parameters=("list(string)", "list(string)"),
        result="string",
        call=_flag,
    ),
    Function(
        id="models_named",
        name="named",
        receiver="podberth.Models",
        parameters=("string",),
        result="podberth.NamedModel",
        call=_named,
    ),
)

NODES_FIELDS: Mapping[str, Callable[[NodeSet], Any]] = MappingProxyType(
    {
        "exist": lambda nodes: nodes.exist,
        "count": lambda nodes: nodes.count,
        "transientCount": lambda nodes: nodes.transient_count,
        "unwell": lambda nodes: nodes.unwell,
        "terms": lambda nodes: list(nodes.placement.terms),
        "preferredTerms": lambda nodes: list(nodes.placement.preferred),
        "requiredTerms": lambda nodes: list(nodes.placement.required),
        "taints": lambda nodes: [taint.as_dict() for taint in nodes.taints],
        "tolerations": lambda nodes: list(nodes.tolerations),
        "shared": lambda nodes: nodes.shared,
        "leastMemoryMiB": lambda nodes: nodes.memory_mib[0],
        "mostMemoryMiB": lambda nodes: nodes.memory_mib[1],
        "separable": lambda nodes: nodes.placement.separable,
        "requirable": lambda nodes: nodes.placement.requirable,
        "obstacle": lambda nodes: nodes.placement.obstacle,
        "missingLabel": lambda nodes: nodes.placement.missing_label,
    }
)
"""The fields of Nodes (typed in ``cel.typing``) with their sources."""
