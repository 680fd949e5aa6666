"""podberth's own CEL functions: queries of the index of nodes, and of the MIG tables.

Each function is a row of a table: a CEL signature, and a Python function of the current review. Each function returns a
value for all arguments that type-check, so an exception here is a bug. A new function needs only a new row.

In CEL, the result of ``topology.nodes`` is a number: the index of the node set in the review. The fields of the result
are functions of that number, so node selector terms are converted for CEL only if an expression uses the terms.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from types import MappingProxyType
from typing import Any

from ..devices import mig, mig_nearest, mig_placement
from ..devices.mig_tables import TABLES
from ..devices.resources import NVIDIA_GPU, recognise
from ..kube.paths import escape
from ..topology.index import Need, NodeSet, TopologyIndex
from ..topology.need import CHOSEN_BY
from ..topology.whole_gang import Roles
from ..workload import command_line, models
from .libraries import Overload
from .libraries.authz import Authorizer
from .types import NODES


@dataclass(frozen=True)
class ReviewContext:
    """The inputs of podberth's functions in one review: the cluster, and the pod's requirements of a node."""

    index: TopologyIndex
    need: Need
    class_resources: frozenset[str] = frozenset()
    """The extended resources that DeviceClasses serve: these resources are available although no node lists the
    resources."""
    members: int = 0
    """The number of the gang's pods that request accelerators; 0 if unknown."""
    roles: Roles = ()
    """The needs of the gang's roles, each with the number of the role's pods; empty if all roles have equal needs."""
    authorizer: Authorizer | None = None
    """The rights of all users, for native policies; None if the rights are not known."""
    _sets: list[NodeSet] = field(default_factory=list, init=False, repr=False, compare=False)

    def handle(self, nodes: NodeSet) -> int:
        """Return the number that represents a node set in the review's expressions; equal sets have equal numbers."""
        # The index remembers its answers, so identity is equality; a review has a handful of questions.
        for number, known in enumerate(self._sets):
            if known is nodes:
                return number
        self._sets.append(nodes)
        return len(self._sets) - 1

    def nodes(self, handle: int) -> NodeSet:
        """Return the node set that the number ``handle`` represents."""
        return self._sets[handle]

    @cached_property
    def mig_nodes(self) -> NodeSet:
        """The nodes that the pod's node selection allows and whose taints the pod tolerates.

        Requested devices do not count.
        """
        return self.index.nodes(replace(self.need, requests=(), per_container=0, memory_mib=0))

    @cached_property
    def gpu_nodes(self) -> NodeSet:
        """The nodes that could run the pod if the pod requested one whole GPU."""
        return self.index.nodes(replace(self.need, requests=((NVIDIA_GPU, 1),), per_container=1, memory_mib=0))

    def levels_of_gang(self) -> tuple[str, str]:
        """Return (the narrowest level with a domain that fits the gang, the narrowest level with only fitting domains).

        A level's name is empty if no level qualifies.
        """
        if self.roles:
            return self.index.levels(self.roles) if self.need.requests else ("", "")
        nodes = self.index.nodes(self.need)
        return nodes.narrowest_level(self.members), nodes.narrowest_safe_level(self.members)


@dataclass(frozen=True, slots=True, kw_only=True)
class Function(Overload):
    """A member function that podberth adds to CEL; the overload id is the function's name in the engine at run time."""

    call: Callable[..., Any]
    """The Python implementation; the arguments are the review, and the operands with types in ``CARRIED``."""
    reads: tuple[tuple[str, ...], ...] = ()
    """The access paths that the function's result depends on, besides the operands."""


CARRIED = frozenset({"int", "string", "list(string)", NODES.name})
"""The operand types whose values are passed to the Python function.

Operands of other types (topology, mig, gpu) are not passed, because the review has the values.
"""

# ``topology.nodes`` answers for the current pod, so it reads the pod's own selection of nodes beside ``gpu``.
_CHOICE = tuple(("object", *path) for path in CHOSEN_BY)

# And for the current gang: the number of its pods with accelerators. Their requests go with the pod's own need.
_OF_THE_GANG = (*_CHOICE, ("gang", "accelerated"))

_PROFILES = tuple(sorted({profile for table in TABLES for profile in table.rows}))

# A line for the user has 256 characters, and a third guess is seldom better than the second.
_MOST_SUGGESTIONS = 3


def _smallest(review: ReviewContext, memory_mib: int, slices: int = 0) -> dict[str, Any]:
    offers = review.mig_nodes.mig_offers
    found = mig.smallest(memory_mib, offers, slices=slices)
    return _profile(found, offers[found]) if found else _profile()


def _profile(name: str = "", memory_mib: int = 0) -> dict[str, Any]:
    """Return the MigProfile with the name ``name``; the name may have any form that ``mig.parse`` accepts.

    ``memory_mib`` becomes the field ``memoryMiB``. If the name is no profile's name, ``exist`` is False and the other
    fields are empty.
    """
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


def _offered(review: ReviewContext, name: str) -> bool:
    try:
        return _offers(review, name if "/" in name else mig.parse(name).resource)
    except ValueError:
        return False


def _offers(review: ReviewContext, resource: str) -> bool:
    return review.index.offers(resource) or resource in review.class_resources


def _capacity(review: ReviewContext, name: str) -> int:
    return max((mig_placement.capacity(name, each) for each in review.mig_nodes.mig_models), default=0)


def _fits(review: ReviewContext, names: list[Any]) -> bool:
    # An element of a dyn list may be of any type, and a value that is no name fits nowhere.
    wanted = [name if isinstance(name, str) else "" for name in names]
    return any(mig_placement.fits(wanted, model) for model in review.mig_nodes.mig_models)


def _suggested(review: ReviewContext, name: str) -> Iterator[str]:
    """Yield names of MIG profiles to suggest in place of ``name``, in the spelling of ``name``, the best match first.

    Similar profiles that the cluster's nodes offer come before others that the nodes' GPUs have. If no known GPU has
    MIG, the others are all existing profiles.
    """
    is_shared = name.startswith(mig.RESOURCE_PREFIX) and name.endswith(mig.SHARED_SUFFIX)
    offers = filter(_is_shared_mig, review.index.offered) if is_shared else review.mig_nodes.mig_offers
    seen: set[str] = set()
    for candidates in (sorted(offers), sorted(review.index.mig_profiles) or _PROFILES):
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


def _are_texts(found: list[Any]) -> bool:
    """Return whether all elements of a list are strings; in CEL the elements of a list of dyn may have any type."""
    return all(isinstance(each, str) for each in found)


def _named(_: ReviewContext, name: str) -> dict[str, Any]:
    model = models.named(name)
    return {"millions": model.millions, "dense": model.is_dense}


def _row(signature: str, call: Callable[..., Any], reads: tuple[tuple[str, ...], ...] = ()) -> Function:
    """Return the Function with a signature, for example "Receiver.name(type, type): type".

    ``reads`` are the paths that the function ``call`` reads besides its arguments (``cel.reads``).
    """
    path, _, rest = signature.partition("(")
    inside, _, result = rest.rpartition("): ")
    receiver, _, name = path.rpartition(".")
    arguments = inside.split(", ")
    unique = path if len(arguments) == 1 else f"{path}{len(arguments)}"
    parameters = (f"podberth.{receiver}", *arguments)
    return Function(id=unique, name=name, parameters=parameters, result=result, call=call, reads=reads)


FUNCTIONS: tuple[Function, ...] = (
    _row(
        "Topology.nodes(podberth.Gpu): podberth.Nodes",
        lambda review: review.handle(review.index.nodes(review.need)),
        _CHOICE,
    ),
    _row(
        "Nodes.withLinkDomain(int): podberth.Nodes",
        lambda review, nodes, size: review.handle(review.nodes(nodes).with_link_domain(size)),
    ),
    _row(
        "Nodes.narrowestLevel(int): string",
        lambda review, nodes, members: review.nodes(nodes).narrowest_level(max(members, 0)),
    ),
    _row(
        "Nodes.narrowestSafeLevel(int): string",
        lambda review, nodes, members: review.nodes(nodes).narrowest_safe_level(max(members, 0)),
    ),
    _row(
        "Nodes.anyOffers(string): bool",
        lambda review, nodes, name: name in review.index.resources_of(review.nodes(nodes)),
    ),
    _row("Topology.narrowestLevel(podberth.Gang): string", lambda review: review.levels_of_gang()[0], _OF_THE_GANG),
    _row("Topology.narrowestSafeLevel(podberth.Gang): string", lambda review: review.levels_of_gang()[1], _OF_THE_GANG),
    _row("Topology.offers(string): bool", _offers),
    _row(
        "Topology.memoryMiB(string): int",
        lambda review, name: review.index.memory_mib.get(name) or mig.most_memory_mib(name),
    ),
    _row("Mig.smallest(int): podberth.MigProfile", _smallest, _CHOICE),
    _row("Mig.smallest(int, int): podberth.MigProfile", _smallest, _CHOICE),
    _row("Mig.parse(string): podberth.MigProfile", lambda _, name: _profile(name, mig.memory_mib(name))),
    _row(
        "Mig.known(string): bool",
        lambda review, name: mig.known(name) or _profile(name)["profile"] in review.index.mig_profiles,
    ),
    _row("Mig.offered(string): bool", _offered),
    _row("Mig.capacity(string): int", _capacity, _CHOICE),
    _row(
        "Mig.gpuNodes(string): podberth.Nodes",
        lambda review, name: review.handle(review.gpu_nodes.with_instances(_profile(name)["profile"])),
        _CHOICE,
    ),
    _row("Mig.fits(list(string)): bool", _fits, _CHOICE),
    _row("Mig.nearest(string): string", lambda review, name: next(_suggested(review, name), ""), _CHOICE),
    _row(
        "Mig.suggestions(string): list(string)",
        lambda review, name: list(islice(_suggested(review, name), _MOST_SUGGESTIONS)),
        _CHOICE,
    ),
    # Upstream has it as a function of its own (apiserver pkg/cel/library/jsonpatch.go): here a member of a variable.
    _row("JsonPatch.escapeKey(string): string", lambda _, key: escape(key)),
    _row(
        "Shell.commands(list(string)): list(list(string))",
        lambda _, line: command_line.commands(line) if _are_texts(line) else [],
    ),
    _row(
        "Shell.flag(list(string), list(string)): string",
        lambda _, words, names: command_line.flag(words, names) if _are_texts([*words, *names]) else "",
    ),
    _row("Models.named(string): podberth.NamedModel", _named),
)


NODES_FIELDS: Mapping[str, Callable[[NodeSet], Any]] = MappingProxyType(
    {
        "exist": lambda nodes: nodes.exist,
        "count": lambda nodes: nodes.count,
        "transientCount": lambda nodes: nodes.transient_count,
        "transientReasons": lambda nodes: nodes.transient_reasons,
        "terms": lambda nodes: list(nodes.placement.terms),
        "preferredTerms": lambda nodes: list(nodes.placement.preferred),
        "requiredTerms": lambda nodes: list(nodes.placement.required),
        "taints": lambda nodes: [taint._asdict() for taint in nodes.taints],
        "tolerations": lambda nodes: list(nodes.tolerations),
        "shared": lambda nodes: nodes.shared,
        "cut": lambda nodes: nodes.cut,
        "instance": lambda nodes: nodes.instance,
        "linksKnown": lambda nodes: nodes.links_known,
        "leastMemoryMiB": lambda nodes: nodes.memory_mib[0],
        "mostMemoryMiB": lambda nodes: nodes.memory_mib[1],
        "separable": lambda nodes: nodes.placement.separable,
        "requirable": lambda nodes: nodes.placement.requirable,
        "obstacle": lambda nodes: nodes.placement.obstacle,
        "missingLabel": lambda nodes: nodes.placement.missing_label,
    }
)
"""The fields of the CEL type Nodes (declared in ``cel.typing``), each with the Python function that computes the field.
"""
