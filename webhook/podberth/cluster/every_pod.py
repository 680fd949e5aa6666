"""Whether the cluster's webhook configurations send all pods, for policies of ``scope: All``."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from ..api.protocol import Document, read_object
from ..errors import ClusterError
from ..files.source import Verdict
from ..kube.api_path import ApiPath
from ..policy.every_pod import entries_wanted, sends_every_pod
from .shared_ca import KINDS

if TYPE_CHECKING:
    from ..api.client import ClusterClient

CONDITION: Final = "EveryPodSent"
Entries: TypeAlias = Mapping[str, bool | str]
"""By kind of configuration, whether it has an entry for every pod; a text: why that is unknown."""


async def entries(client: "ClusterClient", name: str) -> Entries:
    """Read the two configurations of that name; a missing one has no entry.

    Raises:
        ClusterError: no answer came; a refusal is a text in the result.
    """
    return {kind: await _entry(client, path.below(name)) for kind, path in KINDS.items()}


async def _entry(client: "ClusterClient", path: ApiPath) -> bool | str:
    try:
        return sends_every_pod(read_object(await client.get(path, {}), path))
    except ClusterError as error:
        if error.status == HTTPStatus.FORBIDDEN:
            return str(error)
        if error.status != HTTPStatus.NOT_FOUND:
            raise
        return False


def entries_condition(document: Document, verdict: Verdict, known: Entries) -> dict[str, Any] | None:
    """Return the condition of a policy that needs entries for every pod; None: it needs none, or does not compile."""
    wanted = entries_wanted(document)
    if verdict.problems or not wanted:
        return None
    lacking = [kind for kind in wanted if known[kind] is False]
    unread = [text for kind in wanted if isinstance(text := known[kind], str)]
    if lacking:
        got = f"scope All, and the {' and the '.join(lacking)} sends pods with GPUs and of gangs only"
        status, reason, message = "False", "NoEntry", f"{got}; add the component all-pods (docs/policy.md, Scope)"
    elif unread:
        status, reason, message = "Unknown", "NotRead", unread[0]
    else:
        status, reason, message = "True", "EntryExists", ""
    return {
        "type": CONDITION,
        "status": status,
        "observedGeneration": verdict.generation,
        "reason": reason,
        "message": message,
    }
