"""The lines of ``podberth status`` about outages of podberth.

One line predicts whether new pods are refused while podberth is down. Another line is about the pods that were created
without podberth.
"""

from collections.abc import Iterator
from typing import Any, Final

from ..policy.every_pod import MUTATING, VALIDATING
from ..words import counted, named
from .observation import Fact, InstallationState, LetThrough, Row, Unread, unread

_NARROW: Final = "asks-for-accelerators"
"""The match condition of the webhook entries whose failurePolicy the kustomize component fail-closed sets to Fail."""
_COMPONENT: Final = "the component fail-closed (docs/install.md)"


def outage(observed: InstallationState) -> Iterator[Row]:
    """Yield a line on whether new pods are refused while podberth is down, and a line on pods that podberth has missed.

    Podberth has missed a pod if the pod has no record, and policies would change or deny the pod now. The first line is
    left out unless both webhook configurations exist, and the second line if the pods were not checked.
    """
    found = {kind: each for kind, each in observed.configurations.items() if each and not isinstance(each, Unread)}
    if found.keys() >= {MUTATING, VALIDATING}:
        yield _fail_closed({kind: [*map(dict, each.get("webhooks") or ())] for kind, each in found.items()})
    if isinstance(observed.let_through, Unread):
        yield unread("let through", observed.let_through)
    elif observed.let_through is not None:
        yield _let_through(observed.let_through)


def _fail_closed(entries: dict[str, list[dict[str, Any]]]) -> Row:
    closed = [each for found in entries.values() for each in found if each.get("failurePolicy", "Fail") == "Fail"]
    names = tuple(str(each.get("name", "")) for each in closed)
    wide = tuple(str(each.get("name", "")) for each in closed if not _is_narrow(each))
    facts: dict[str, Fact] = {"entries": names, "wide": wide}
    if not closed:
        text = "no: while podberth is away, pods are created as they are written, and judged by nobody"
        return Row("fail closed", "note", f"{text}; {_COMPONENT} refuses those that ask for accelerators", facts)
    if wide:
        text = (
            f"failurePolicy Fail of {named(wide)}: what asks for no accelerator is refused, too, while podberth is away"
        )
        return Row("fail closed", "attention", f"{text}; apply what you installed from again", facts)
    half = [
        kind for kind in (MUTATING, VALIDATING) if not any(_creates(each) and each in closed for each in entries[kind])
    ]
    if len(half) == len(entries):
        text = "updates alone: while podberth is away, pods are created as they are written, and updates are refused"
        return Row("fail closed", "attention", f"{text}; add {_COMPONENT}", facts)
    if half:
        text = f"not in the {' and the '.join(half)}: pods that ask for accelerators are created in part unseen"
        return Row("fail closed", "attention", f"{text}; add {_COMPONENT}, or take it out", facts)
    updates = "; so are updates of their spec" if any(not _creates(each) for each in closed) else ""
    text = f"yes: while podberth is away, new pods that ask for accelerators are refused{updates}"
    return Row("fail closed", "ok", text, facts)


def _is_narrow(entry: dict[str, Any]) -> bool:
    return any(each.get("name") == _NARROW for each in entry.get("matchConditions") or ())


def _creates(entry: dict[str, Any]) -> bool:
    return any({"CREATE", "*"} & set(rule.get("operations") or ()) for rule in entry.get("rules") or ())


def _let_through(found: LetThrough) -> Row:
    since = f"since {found.since:%Y-%m-%d %H:%M}Z"
    more = "; there are more pods than were looked at" if found.truncated else ""
    pods = tuple(sorted({*found.changed, *found.denied}))
    facts: dict[str, Fact] = {
        "pods": pods,
        "changed": found.changed,
        "denied": found.denied,
        "policies": found.policies,
        "cut": found.truncated,
    }
    if not pods:
        return Row("let through", "ok", f"no pod that asks for accelerators, {since}{more}", facts)
    text = f"{counted(len(pods), 'pod')} {since}: {named(pods)}; policies of now: {named(found.policies)}{more}"
    return Row("let through", "attention", f"{text}; create them again (docs/status.md, Let through)", facts)
