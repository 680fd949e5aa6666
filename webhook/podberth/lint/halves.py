"""Policies of which some expression does not compile, made ready for the lint rules by stand-ins for that expression.

Only findings that do not depend on such an expression are kept.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final

from ..cel.engine import Environment, Room, Want
from ..kube.paths import Path
from ..kube.positions import render_path
from ..policy.compile import CompiledPolicy
from ..policy.namespaced import NamespacedPolicy
from ..policy.parse import ParsedNamespaced, ParsedPolicy
from ..policy.partial import with_values
from .findings import Level, Linted, LintFinding

_STAND_IN: Final = "dyn(object.kind)"
_CONDITION: Final = "object.kind == ''"
_UNREAD: Final = frozenset({"unused-variable", "unused-template"})
"""The rules about names that nothing reads; an expression that does not compile may read them."""
_GUARDED: Final = ("matchConditions", "variables", "mutations", "validations", "auditAnnotations")
"""The fields with expressions; those behind the first are evaluated only where all matchConditions hold."""


def halves_of(policies: Iterable[ParsedPolicy], environment: Environment) -> Iterator[Linted]:
    """Yield those of the policies that compile with stand-ins; a policy that compiles without any is left out."""
    late = environment.deadline()
    for parsed in policies:
        policy = _uncompiled(parsed, environment)
        policy.check(late)
        values = {path: _CONDITION if want is Want.BOOL else _STAND_IN for path, want in policy.broken.items()}
        source = with_values(parsed.policy, {("spec", *path): each for path, each in values.items()})
        if not values or source is None:
            continue
        half = replace(parsed, policy=source)
        compiled = _uncompiled(half, environment)
        if not compiled.check(late):
            yield Linted(
                parsed=half,
                compiled=compiled,
                environment=environment,
                uncertain=tuple(_uncertain(values)),
            )


def is_certain(finding: LintFinding, halves: Iterable[Linted]) -> bool:
    """Return whether a finding depends on no expression that does not compile; notes may always depend on one."""
    own = [each for each in halves if each.parsed.file == finding.problem.file]
    where = finding.problem.where
    return not own or (
        finding.level > Level.NOTE
        and finding.rule not in _UNREAD
        and not any(where.startswith(each.uncertain) for each in own)
    )


def _uncompiled(parsed: ParsedPolicy, environment: Environment) -> CompiledPolicy:
    room = Room.of_policy()
    if isinstance(parsed, ParsedNamespaced):
        return NamespacedPolicy(parsed, environment, room)
    return CompiledPolicy(parsed, environment, room)


def _uncertain(paths: Iterable[Path]) -> Iterator[str]:
    """Yield the beginning of the fields that depend on each expression, by its path in the spec."""
    for field, index, *_ in paths:
        yield from map("spec.{}".format, _GUARDED) if field == _GUARDED[0] else [render_path(("spec", field, index))]
