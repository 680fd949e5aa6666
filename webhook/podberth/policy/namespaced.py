"""Compiles the policies of namespaces, within limits for each namespace.

Tenants write these policies, and each review of a pod evaluates them after the cluster's policies. So all policies of a
namespace together have a smaller limit than one GPUPolicy. Older policies are accepted first, so a new policy never
takes an older one out of force. A policy that does not compile, or exceeds the limits, has no effect on any pod or
policy.
"""

from collections import defaultdict
from collections.abc import Iterable
from typing import Final

from ..cel.engine import Environment, Late, Room
from ..errors import Problem
from ..kube.paths import Path
from .compile import OF_GPU_POLICIES, CompiledPolicy, Names
from .parse import ParsedNamespaced

MOST_OF_NAMESPACE: Final = 16
"""The maximum number of policies of a namespace. Each costs a review some 0.1 ms besides its expressions."""
MOST_MICROSECONDS: Final = 27_000
"""The maximum cost of all policies of a namespace in one review. ``bench.hostile`` has the slowest known pods in a
namespace with so many: the shipped policies and these take less than 100 ms together."""
_EXPRESSION_MICROSECONDS: Final = 10
"""The time of evaluating an expression, in addition to its computed cost. It matters here and not for a GPUPolicy,
because the limit is smaller and a thousand validations may fail, each with a message."""
_PART_MICROSECONDS: Final = 7
"""The time of loading a part, in the first review after a change; 5,000 parts of conditions took 36 ms."""
MOST_PARTS: Final = 5_000
"""The maximum number of parts (``cel.compile_limits``) of all policies of a namespace: twice the largest shipped one.
Compiling so many takes an eighth of a second and 2 MiB."""
MOST_BYTES: Final = 16 * 1024
"""The maximum size of one policy as JSON, twice the largest shipped one of this kind."""
_SPEC: Final[Path] = ("spec",)
# What a namespace's admin may not see stays out: nodes and their taints.
_NOT_OF_NAMESPACES: Final = frozenset({"topology", "mig", "jsonpatch"})
NAMES: Final = Names(OF_GPU_POLICIES.conditions - _NOT_OF_NAMESPACES, OF_GPU_POLICIES.others - _NOT_OF_NAMESPACES)
"""The names that the expressions of a NamespacedGPUPolicy may use."""


class NamespacedPolicy(CompiledPolicy):
    """A NamespacedGPUPolicy that is ready for evaluation."""

    def __init__(self, parsed: ParsedNamespaced, environment: Environment, room: Room) -> None:
        """Create the policy without compiling it; ``room`` limits the syntax-tree nodes that may be compiled."""
        super().__init__(parsed, environment, room, NAMES)
        self.namespace = parsed.namespace

    @property
    def name(self) -> str:
        """The policy's name as ``namespace/name``; no GPUPolicy can have such a name."""
        return f"{self.namespace}/{self.source.metadata.name}"


def compile_namespaced(
    parsed: Iterable[ParsedNamespaced],
    environment: Environment,
    *,
    late: Late | None = None,
    within: Room | None = None,
) -> tuple[tuple[NamespacedPolicy, ...], tuple[Problem, ...]]:
    """Return (the policies that compile within the limits of their namespace, the problems of all other policies).

    Both are sorted.

    Args:
        parsed: the policies.
        environment: the names and functions that their expressions may use.
        late: called before each expression; returns True when the time is over. If None, the time limit is that of
            ``environment.deadline``.
        within: the limit on the syntax-tree nodes of the policies of all namespaces; None: only each namespace has a
            limit.
    """
    is_late = late or environment.deadline()
    by_namespace: defaultdict[str, list[ParsedNamespaced]] = defaultdict(list)
    for each in parsed:
        by_namespace[each.namespace].append(each)
    compiled: list[NamespacedPolicy] = []
    problems: list[Problem] = []
    for namespace, those in sorted(by_namespace.items()):
        room = Room(MOST_PARTS, f"namespace {namespace}", MOST_PARTS, within)
        taken = _Taken(namespace)
        for each in sorted(those, key=lambda one: (one.created, one.policy.name)):
            if each.policy.spec.disabled:
                continue
            policy = NamespacedPolicy(each, environment, Room.of_policy(room))
            left = room.left
            wrong = taken.full(each) or policy.check(is_late) or taken.take(policy, each, left - room.left)
            problems += wrong
            if not wrong:
                compiled.append(policy)
    return tuple(sorted(compiled, key=lambda each: each.name)), tuple(sorted(problems))


def by_namespace(policies: Iterable[NamespacedPolicy]) -> dict[str, tuple[NamespacedPolicy, ...]]:
    """Return a mapping from namespace to the policies of the namespace, in the given order."""
    found: dict[str, list[NamespacedPolicy]] = {}
    for each in policies:
        found.setdefault(each.namespace, []).append(each)
    return {namespace: tuple(those) for namespace, those in found.items()}


class _Taken:
    """The number and the cost of the policies of one namespace that were accepted so far."""

    def __init__(self, namespace: str) -> None:
        self._namespace = namespace
        self._count = 0
        self._microseconds = 0.0
        # The policies without params share one conversion of the pod. Those of the cluster have another.
        self._shared = 0.0

    def full(self, parsed: ParsedNamespaced) -> tuple[Problem, ...]:
        """Return a problem if the namespace has the maximum number of policies already; else nothing."""
        if self._count < MOST_OF_NAMESPACE:
            return ()
        got = f"got more than {MOST_OF_NAMESPACE} policies in namespace {self._namespace}, of which the oldest count"
        return (parsed.problem(_SPEC, f"{got}; make one of several"),)

    def take(self, policy: NamespacedPolicy, parsed: ParsedNamespaced, parts: int) -> tuple[Problem, ...]:
        """Add an accepted policy to the sums, or return a problem if its cost exceeds the rest of the limit.

        ``parts`` is the number of syntax-tree nodes in the policy's expressions.
        """
        conversion = policy.cost_with_params - policy.cost_microseconds
        has_params = policy.source.spec.param_ref is not None
        added = conversion if has_params else max(0.0, conversion - self._shared)
        # If one condition fails, all conditions are evaluated twice: together, and then each alone.
        cost = policy.cost_microseconds + policy.conditions_microseconds + policy.comparing_microseconds + added
        cost += _EXPRESSION_MICROSECONDS * policy.expression_count + _PART_MICROSECONDS * parts
        if self._microseconds + cost > MOST_MICROSECONDS:
            got = f"got up to {cost / 1000:,.0f} ms, after {self._microseconds / 1000:,.0f} ms of older policies of"
            want = f"want {MOST_MICROSECONDS // 1000} ms for all of a namespace; make it cheaper"
            return (parsed.problem(_SPEC, f"{got} namespace {self._namespace}; {want}"),)
        self._count += 1
        self._microseconds += cost
        self._shared += 0.0 if has_params else added
        return ()
