"""Compiles exceptions from policies, and decides at which time an exception has an effect.

The module has no clock: the present time is an argument of every function that needs it. An exception of a file has no
time of creation, so its duration is counted from the present time.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final, Literal, TypeAlias

from ..cel.cost import MAX_MICROSECONDS, too_expensive
from ..cel.engine import CompileError, Environment, Expression, Late, Room, Want
from ..errors import Problem
from ..kube.paths import Path
from ..words import did_you_mean
from .compile import LATE
from .exception_model import GPUPolicyException, rfc3339
from .parse import ParsedException

ExceptionState: TypeAlias = Literal["active", "expired", "tooLong"]

MOST: Final = timedelta(days=366)
"""The maximum duration of an exception: one year, also a leap year."""
NEVER: Final = datetime.max.replace(tzinfo=UTC)
"""The result of ``changes_after`` for an exception whose state does not change any more."""
NAMES: Final = frozenset({"object", "oldObject", "request", "gpu", "gang"})
"""The names (CEL variables) that the expression of an exception may use."""
MOST_COMPARED: Final = 500
"""The maximum number of policy names and label requirements of all exceptions of one namespace together.

Each name or requirement takes at most a microsecond of a review. For a workload of 12 roles, 250 exceptions with one
name and one label are compared 24 times, which takes 8 to 16 ms of /validate-workload (``bench.excepted``).
"""
_EXPRESSION: Final[Path] = ("spec", "expression")
_POLICIES: Final[Path] = ("spec", "policies")
_END: Final[Path] = ("spec", "expiresAt")


@dataclass(frozen=True, slots=True, eq=False)
class CompiledException:
    """An exception that is ready for evaluation; ``expression`` is None if the exception has no expression."""

    parsed: ParsedException
    expression: Expression | None
    policies: tuple[str, ...] = field(init=False)
    """The names of the policies that are not evaluated for the selected pods."""
    selects: Callable[[Mapping[str, Any]], bool] = field(init=False)
    """Returns whether podSelector selects a pod with the given labels; namespace and expression are not compared."""

    def __post_init__(self) -> None:
        spec = self.parsed.source.spec
        object.__setattr__(self, "policies", spec.policies)
        object.__setattr__(self, "selects", spec.pod_selector.matches)

    @property
    def name(self) -> str:
        """The exception's name."""
        return self.parsed.source.name

    def state(self, now: datetime) -> ExceptionState:
        """Return the state of the exception at ``now``: active, or the reason why the exception has no effect."""
        return state_of(self.parsed.source, now)

    def changes_after(self, now: datetime) -> datetime:
        """Return the next instant after ``now`` at which ``state`` changes.

        NEVER if the state does not change any more.
        """
        source = self.parsed.source
        match self.state(now):
            case "active":
                return source.expires_at
            case "tooLong" if source.created_at is None:
                return source.expires_at - MOST
            case _:
                return NEVER

    @property
    def selects_all(self) -> bool:
        """Whether podSelector is empty; an empty podSelector selects pods whose labels are unknown, too."""
        return self.parsed.source.spec.pod_selector.empty


def state_of(source: GPUPolicyException, now: datetime) -> ExceptionState:
    """Return the state of an exception at the time ``now``: expired, too long, or active."""
    if now >= source.expires_at:
        return "expired"
    return "tooLong" if source.expires_at - (source.created_at or now) > MOST else "active"


def by_namespace(exceptions: Iterable[CompiledException]) -> dict[str, tuple[CompiledException, ...]]:
    """Return a mapping from namespace to the exceptions for the namespace, in the given order."""
    found: dict[str, list[CompiledException]] = {}
    for each in exceptions:
        for namespace in dict.fromkeys(each.parsed.source.spec.namespaces):
            found.setdefault(namespace, []).append(each)
    return {namespace: tuple(those) for namespace, those in found.items()}


def compile_exceptions(
    parsed: Iterable[ParsedException], environment: Environment, *, late: Late | None = None
) -> tuple[tuple[CompiledException, ...], tuple[Problem, ...]]:
    """Return (exceptions that compile, sorted by name; sorted problems of all other exceptions).

    A pod may be compared with all exceptions of its namespace. So all expressions of one namespace's exceptions
    together have the limit of one policy's expressions (MAX_MICROSECONDS). The number of policy names and label
    requirements in a namespace's exceptions is limited, too (MOST_COMPARED). Exceptions are counted in the given order.
    Callers pass exceptions of files first, and so exceptions of the cluster cannot use up the limits.

    ``environment`` has the names and functions that expressions may use. ``late`` is called before each expression; it
    returns True when the time is over. If None, the time limit is that of ``environment.deadline``.
    """
    compiled: list[CompiledException] = []
    problems: list[Problem] = []
    room, taken = Room.of_set(), _Taken()
    is_late = late or environment.deadline()
    for each in parsed:
        if message := taken.too_many(each):
            problems.append(each.problem(_POLICIES, message))
            continue
        text = each.source.spec.expression
        if text is None:
            taken.take(each)
            compiled.append(CompiledException(each, None))
            continue
        if is_late():
            problems.append(each.problem(_EXPRESSION, LATE))
            continue
        own = Room.of_policy(room)
        try:
            expression = environment.compile(text, want=Want.BOOL, names=NAMES, room=own)
            expression.load(own)
        except CompileError as error:
            problems += [each.problem(_EXPRESSION, one.message, one.line, one.column) for one in error.problems]
            continue
        cost = expression.costs[""].with_result
        if cost.microseconds > MAX_MICROSECONDS:
            message = too_expensive(cost.microseconds, cost)
            problems.append(each.problem(_EXPRESSION, message, cost.line, cost.column))
            continue
        if message := taken.too_long(each, cost.microseconds):
            problems.append(each.problem(_EXPRESSION, message))
            continue
        taken.take(each, cost.microseconds)
        compiled.append(CompiledException(each, expression))
    return tuple(sorted(compiled, key=lambda each: each.name)), tuple(sorted(problems))


class _Taken:
    """The sums, by namespace, of two numbers of the accepted exceptions: of microseconds, and of compared items.

    The compared items of an exception are its policy names and the label requirements of its podSelector.
    """

    def __init__(self) -> None:
        self._microseconds: defaultdict[str, float] = defaultdict(float)
        self._compared: Counter[str] = Counter()

    def too_many(self, exception: ParsedException) -> str:
        """Return a message if an exception's policy names and label requirements exceed a namespace's limit.

        The message is empty if they do not.
        """
        number = _compared(exception)
        full = _full(exception, self._compared, number, MOST_COMPARED)
        if not full:
            return ""
        return (
            f"got {number:,} names of policies and requirements of podSelector, after {self._compared[full]:,} of "
            f"other exceptions of namespace {full}; want {MOST_COMPARED:,} for all of a namespace; delete those that "
            "have ended"
        )

    def too_long(self, exception: ParsedException, microseconds: float) -> str:
        """Return a message if the cost of an exception's expression exceeds a namespace's limit; else empty."""
        full = _full(exception, self._microseconds, microseconds, MAX_MICROSECONDS)
        if not full:
            return ""
        return (
            f"got up to {microseconds / 1000:,.0f} ms, after {self._microseconds[full] / 1000:,.0f} ms of other "
            f"exceptions of namespace {full}; want {MAX_MICROSECONDS // 1000} ms for all of a namespace; delete those "
            "that have ended, or use podSelector"
        )

    def take(self, exception: ParsedException, microseconds: float = 0) -> None:
        """Add an exception to the sums of the exception's namespaces.

        ``microseconds`` is the maximum time of the exception's expression.
        """
        for each in frozenset(exception.source.spec.namespaces):
            self._compared[each] += _compared(exception)
            self._microseconds[each] += microseconds


def _full(exception: ParsedException, taken: Mapping[str, float], more: float, most: float) -> str:
    """Return the first namespace whose limit ``most`` an exception exceeds; empty if there is none.

    ``taken`` has the sum of the accepted exceptions for each namespace, to which the exception adds ``more``.
    """
    namespaces = frozenset(exception.source.spec.namespaces)
    return min((each for each in namespaces if taken[each] + more > most), default="")


def _compared(exception: ParsedException) -> int:
    """Return the number of policy names and label requirements of an exception."""
    spec = exception.source.spec
    return len(spec.policies) + len(spec.pod_selector.match_labels) + len(spec.pod_selector.match_expressions)


def without_effect(
    parsed: Iterable[ParsedException], now: datetime, states: Iterable[ExceptionState] = ("expired", "tooLong")
) -> tuple[Problem, ...]:
    """Return a problem for each exception that has no effect at ``now``, for the reasons ``states``."""
    found = ((each, state_of(each.source, now)) for each in parsed)
    return tuple(
        sorted(each.problem(_END, _SAID[state] + _beginning(each, state)) for each, state in found if state in states)
    )


def _beginning(exception: ParsedException, state: ExceptionState) -> str:
    """Return from which instant on an exception that is too long has an effect as a file; else empty."""
    source = exception.source
    if state != "tooLong" or source.created_at is not None:
        return ""
    return f"; in a file it has an effect from {rfc3339(source.expires_at - MOST)} on"


_SAID: Final[Mapping[ExceptionState, str]] = {
    "expired": "the exception has expired and has no effect; delete it, or ask again",
    "tooLong": f"the exception has no effect: got more than {MOST.days} days, want that at most",
}


def of_unknown(parsed: Iterable[ParsedException], policies: Iterable[str]) -> tuple[Problem, ...]:
    """Return a problem for each policy name in an exception's list that is not in ``policies``."""
    known = sorted(set(policies))
    return tuple(
        each.problem(
            ("spec", "policies", index),
            f"got {name!r}, and there is no policy of this name{did_you_mean(name, known)}",
        )
        for each in parsed
        for index, name in enumerate(each.source.spec.policies)
        if name not in known
    )
