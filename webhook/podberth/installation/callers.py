"""The clients whose reviews are answered: the API server by its client certificate, or any client."""

from collections.abc import Iterator
from typing import Final

from .model import Fact, Observed, Row, Unread, named, spoken, unread
from .options import option

_METRIC: Final = "podberth_client_certificate_required"
_HOW: Final = "docs/install.md, Only the API server may ask"


def callers(observed: Observed) -> Iterator[Row]:
    """Return whether each replica requires client certificates; without its metrics, the Deployment's flags decide."""
    said = {each.name: each.value(_METRIC) for each in spoken(observed.replicas)}
    known = {name: bool(value) for name, value in said.items() if value is not None}
    if not known:
        if isinstance(observed.deployment, Unread):
            yield unread("callers", observed.deployment)
            return
        if observed.deployment is None:
            return
        known = {"": bool(option(observed.deployment, "client-ca"))}
    open_to_all = tuple(sorted(name for name, required in known.items() if not required))
    facts: dict[str, Fact] = {"anybody": bool(open_to_all)}
    if not open_to_all:
        yield Row("callers", "ok", "only clients with a client certificate are answered", facts)
    elif len(open_to_all) < len(known):
        text = f"{named(open_to_all)} answer any client, the others only clients with a client certificate"
        yield Row("callers", "attention", f"{text}; a rollout is under way, or their flags differ", facts)
    else:
        text = "any client in the cluster's network is answered: no client certificate is required"
        yield Row("callers", "note", f"{text} ({_HOW})", facts)
