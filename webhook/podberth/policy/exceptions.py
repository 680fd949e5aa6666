"""Exceptions from policies, compiled: who is excepted from what, and until when.

The module has no clock: the present time is an argument of every function that needs it. An exception of a file has no
time of creation, so its year is counted from the present time.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final, Literal, TypeAlias

from ..cel.cost import MAX_MICROSECONDS, too_expensive
from ..cel.engine import CompileError, Environment, Expression, Late, Room, Want
from ..errors import Problem
from ..kube.positions import Path
from ..kube.selector import label_selector_matches
from .compile import LATE
from .exception_model import GPUPolicyException
from .parse import ParsedException

ExceptionState: TypeAlias = Literal["active", "expired", "tooLong"]
EXCEPTION_STATES: Final[tuple[ExceptionState, ...]] = ("active", "expired", "tooLong")

MOST: Final = timedelta(days=366)
"""The longest time that an exception lasts: a year, with the day of a leap year."""
NEVER: Final = datetime.max.replace(tzinfo=UTC)
"""The instant of a change that does not come."""
_NAMES: Final = frozenset({"object", "oldObject", "request", "gpu", "gang"})
_EXPRESSION: Final[Path] = ("spec", "expression")
_END: Final[Path] = ("spec", "expiresAt")


@dataclass(frozen=True, slots=True, eq=False)
class CompiledException:
    """An exception that is ready for evaluation; ``expression`` is None if it has none."""

    parsed: ParsedException
    expression: Expression | None

    @property
    def name(self) -> str:
        """The exception's name."""
        return self.parsed.source.name

    @property
    def policies(self) -> tuple[str, ...]:
        """The names of the policies that it excepts from."""
        return self.parsed.source.spec.policies

    def state(self, now: datetime) -> ExceptionState:
        """Return whether the exception has an effect at ``now`` (active), or why it has none."""
        return state_of(self.parsed.source, now)

    def changes_after(self, now: datetime) -> datetime:
        """Return the next instant at which ``state`` changes; the last possible time if it never does."""
        source = self.parsed.source
        match self.state(now):
            case "active":
                return source.expires_at
            case "tooLong" if source.created_at is None:
                return source.expires_at - MOST
            case _:
                return NEVER

    def selects(self, labels: Mapping[str, Any]) -> bool:
        """Return whether podSelector selects a pod; neither its namespace nor the expression is looked at."""
        return label_selector_matches(self.parsed.source.spec.pod_selector.document, labels)


def state_of(source: GPUPolicyException, now: datetime) -> ExceptionState:
    """Return the state of an exception at ``now``, as ``CompiledException.state`` does."""
    if now >= source.expires_at:
        return "expired"
    return "tooLong" if source.expires_at - (source.created_at or now) > MOST else "active"


def by_namespace(exceptions: Iterable[CompiledException]) -> dict[str, tuple[CompiledException, ...]]:
    """Return exceptions by each of their namespaces, in each in the given order."""
    found: dict[str, list[CompiledException]] = {}
    for each in exceptions:
        for namespace in dict.fromkeys(each.parsed.source.spec.namespaces):
            found.setdefault(namespace, []).append(each)
    return {namespace: tuple(those) for namespace, those in found.items()}


def compile_exceptions(
    parsed: Iterable[ParsedException], environment: Environment, *, late: Late | None = None
) -> tuple[tuple[CompiledException, ...], tuple[Problem, ...]]:
    """Compile exceptions; return those that compile, by name, and the problems of the others, sorted.

    The expressions of all exceptions of one namespace cost as much as those of one policy at most (MAX_MICROSECONDS),
    for any pod there may be compared with all of them. Those that are given first have room first, so that no object of
    the cluster takes the room of a file.

    ``late`` is called before each expression; it returns True when the time is over. If None, the environment limits
    the time.
    """
    compiled: list[CompiledException] = []
    problems: list[Problem] = []
    room, spent = Room.of_set(), dict[str, float]()
    is_late = late or environment.deadline()
    for each in parsed:
        text = each.source.spec.expression
        if text is None:
            compiled.append(CompiledException(each, None))
            continue
        if is_late():
            problems.append(each.problem(_EXPRESSION, LATE))
            continue
        own = Room.of_policy(room)
        try:
            expression = environment.compile(text, want=Want.BOOL, names=_NAMES, room=own)
            expression.load(own)
        except CompileError as error:
            problems += [each.problem(_EXPRESSION, one.message, one.line, one.column) for one in error.problems]
            continue
        cost = expression.costs[""].with_result
        if cost.microseconds > MAX_MICROSECONDS:
            message = too_expensive(cost.microseconds, cost)
            problems.append(each.problem(_EXPRESSION, message, cost.line, cost.column))
            continue
        if message := _charged(spent, each, cost.microseconds):
            problems.append(each.problem(_EXPRESSION, message))
            continue
        compiled.append(CompiledException(each, expression))
    return tuple(sorted(compiled, key=lambda each: each.name)), tuple(sorted(problems))


def _charged(spent: dict[str, float], exception: ParsedException, microseconds: float) -> str:
    """Add the cost of an exception to what is ``spent`` in each of its namespaces.

    Return a message instead if a namespace has no room for it; else an empty text.
    """
    namespaces = frozenset(exception.source.spec.namespaces)
    full = sorted(each for each in namespaces if spent.get(each, 0) + microseconds > MAX_MICROSECONDS)
    if full:
        before = spent[full[0]] / 1000
        return (
            f"got up to {microseconds / 1000:,.0f} ms, after {before:,.0f} ms of other exceptions of namespace "
            f"{full[0]}; want {MAX_MICROSECONDS // 1000} ms for all of a namespace; delete those that "
            "have ended, or use podSelector"
        )
    for each in namespaces:
        spent[each] = spent.get(each, 0) + microseconds
    return ""


def without_effect(
    parsed: Iterable[ParsedException], now: datetime, states: Iterable[ExceptionState] = ("expired", "tooLong")
) -> tuple[Problem, ...]:
    """Return a problem for each exception that has no effect at ``now`` because it is in one of the ``states``."""
    found = ((each, state_of(each.source, now)) for each in parsed)
    return tuple(sorted(each.problem(_END, _SAID[state]) for each, state in found if state in states))


_SAID: Final[Mapping[ExceptionState, str]] = {
    "expired": "the exception has expired and has no effect; delete it, or ask again",
    "tooLong": f"the exception has no effect: got more than {MOST.days} days, want that at most",
}


def of_unknown(parsed: Iterable[ParsedException], policies: Iterable[str]) -> tuple[Problem, ...]:
    """Return a problem for each name of an exception's list that is not among the names ``policies``."""
    known = frozenset(policies)
    return tuple(
        each.problem(("spec", "policies", index), f"got {name!r}, and there is no policy of this name")
        for each in parsed
        for index, name in enumerate(each.source.spec.policies)
        if name not in known
    )
