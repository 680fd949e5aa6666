"""The text of ``podberth explain --brief`` about policies: the writes, and why each other policy says nothing."""

import re
from collections.abc import Iterable, Iterator, Sequence

from ..admission.explain import Evaluated, Explained, PolicyExplained
from ..cel.trace import Traced
from ..check.report.styled_lines import Line, Span, visible
from .terminal import columns, cut

_CONDITION = "spec.matchConditions["
# A map that an expression looks values up in: its entries say nothing of why a condition is false
_TABLE = re.compile(r"\{[^{}]*,[^{}]*\}")
# Decisions that the lines of the pod's denial and warnings already have, and those that the writes show
_SHOWN_ELSEWHERE = ("mutate", "deny", "warn")


def effects(policies: Sequence[Explained], width: int) -> Iterator[Line]:
    """Yield the lines about what the policies of an explanation do, each at most ``width`` columns wide."""
    for policy in policies:
        for label, text in dict.fromkeys(_effects(policy.askings)):
            yield _row(Span(f"{policy.policy} {label}", "green"), text, width)


def without_effect(policies: Sequence[Explained], width: int) -> Iterator[Line]:
    """Yield the lines about the policies that do nothing, each at most ``width`` columns wide."""
    silent = [each.policy for each in policies if _applies(each.askings) and not _acts(each.askings)]
    if silent:
        yield Line((Span(f"apply, and change nothing ({len(silent)}): "), Span(", ".join(silent))), 2)
    others = [each for each in policies if not _applies(each.askings) and each.askings and not _acts(each.askings)]
    if others:
        yield Line((Span(f"do not apply ({len(others)}):"),))
    longest = max((columns(each.policy) for each in others), default=0)
    for each in others:
        name = f"  {each.policy}{' ' * (longest - columns(each.policy))}"
        yield _row(Span(name, "bold"), why_not(each.askings[0]), width)


def why_not(asking: PolicyExplained) -> str:
    """Return why a policy does not apply; if a matchCondition is false, with the part of it that makes it false."""
    found = next((each for each in asking.expressions if _is_false_condition(each)), None)
    if found is None or found.tree is None:
        return asking.why
    name = asking.why.removeprefix("matchConditions ").removesuffix(": false")
    return f"{name} is false: {' '.join(_TABLE.sub('{…}', _cause(found.tree).text).split())}"


def _is_false_condition(expression: Evaluated) -> bool:
    return expression.path.startswith(_CONDITION) and expression.answer.value is False and not expression.answer.error


def _cause(part: Traced) -> Traced:
    """Return the only false operand of a conjunction, and of conjunctions inside it; the part itself if it is none."""
    false = [each for each in part.parts if each.asked and each.answer.value is False]
    return _cause(false[0]) if "&&" in part.text and len(false) == 1 else part


def _applies(askings: Iterable[PolicyExplained]) -> bool:
    return any(each.matched for each in askings)


def _acts(askings: Iterable[PolicyExplained]) -> bool:
    return any(each.written or each.decisions or each.left_out for each in askings)


def _effects(askings: Iterable[PolicyExplained]) -> Iterator[tuple[str, str]]:
    """Yield (label, text) for each write of a policy, each mutation left out, and each decision that is shown here."""
    for asking in askings:
        for written in asking.written:
            paths = ", ".join(f"{each['op']} {each['path']}" for each in written.patch)
            yield "writes", f"{written.reason} ({paths})" if written.reason else paths
        yield from (("writes nothing", why) for _, why in asking.left_out)
        for each in asking.decisions:
            if each.action not in _SHOWN_ELSEWHERE:
                yield each.action, each.message


def _row(lead: Span, text: str, width: int) -> Line:
    """Return one line of a lead and a text, of which the text is cut."""
    return Line((lead, Span("  "), Span(cut(visible(text), width - columns(lead.text) - 2))))
