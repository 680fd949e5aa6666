"""Compiles the expressions of refused documents, for their problems alone."""

from collections.abc import Iterable

from ..cel.engine import Environment, Late
from ..errors import Problem
from .compile import compile_policies
from .exceptions import compile_exceptions
from .model import GPUPolicy
from .namespaced import compile_namespaced
from .parse import ParsedException, ParsedNamespaced, ParsedPolicies, ParsedPolicy
from .refusals import too_large


def problems_of_refused(
    parsed: ParsedPolicies, environment: Environment, *, late: Late | None = None
) -> tuple[Problem, ...]:
    """Return the problems of the expressions in ``parsed.refused``, sorted.

    Policies that are disabled or too large are not compiled. An expression of which ``parsed.problems`` has a problem
    is left out.

    ``late`` is called before each expression; it returns True when the time is over. If None, the time limit is that of
    ``environment.deadline``.
    """
    late = late or environment.deadline()
    policies = [each for each in parsed.refused if isinstance(each, ParsedPolicy) and _is_compiled(each.policy)]
    alone = [each for each in policies if isinstance(each, ParsedNamespaced)]
    of_cluster = [each for each in policies if not isinstance(each, ParsedNamespaced)]
    exceptions = [each for each in parsed.refused if isinstance(each, ParsedException)]
    _, problems = compile_policies(of_cluster, environment, late=late)
    _, of_exceptions = compile_exceptions(exceptions, environment, late=late)
    _, own = compile_namespaced(alone, environment, late=late)
    return unreported([*problems, *of_exceptions, *own], parsed.problems)


def unreported(found: Iterable[Problem], reported: Iterable[Problem]) -> tuple[Problem, ...]:
    """Return the problems of expressions of which ``reported`` has no problem, sorted.

    Such an expression may be a valid one in the place of a wrong value (``policy.partial``), which has one line.
    Several documents of a file may have the same field with a problem, on different lines.
    """
    places = {(each.file, each.line, each.where) for each in reported}
    return tuple(sorted(each for each in found if (each.file, each.line, each.where) not in places))


def _is_compiled(policy: GPUPolicy) -> bool:
    return not policy.spec.disabled and not too_large(policy)
