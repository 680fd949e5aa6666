"""The way to the API server's client, whose library is an extra: the one place that says so where it is missing."""

from typing import TYPE_CHECKING

from ..errors import UsageError

if TYPE_CHECKING:
    from .client import ClusterClient


def client_class(what: str) -> "type[ClusterClient]":
    """Return what makes clients; ``what`` is what somebody wanted of the cluster, for the message.

    Raises:
        UsageError: what asks the cluster is not installed.
    """
    try:
        from .client import ClusterClient  # noqa: PLC0415 - an extra, and 20 MB for those who do without
    except ImportError as error:
        raise UsageError(
            f"{what}: got {error}, want the package kubernetes: pip install 'podberth[cluster]'"
        ) from error
    return ClusterClient
