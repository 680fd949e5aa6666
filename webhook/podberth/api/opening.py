"""Imports the API server's client, whose library is an extra: the one place that reports its absence."""

from typing import TYPE_CHECKING

from ..errors import UsageError

if TYPE_CHECKING:
    from .client import ClusterClient


def client_class(what: str) -> "type[ClusterClient]":
    """Return the class of clients; ``what`` is the flag or command that needs the cluster, for the message.

    Raises:
        UsageError: the library of the client is not installed.
    """
    try:
        from .client import ClusterClient  # noqa: PLC0415 - an extra, and 20 MB that other processes do not load
    except ImportError as error:
        raise UsageError(
            f"{what}: got {error}, want the package kubernetes: pip install 'podberth[cluster]'"
        ) from error
    return ClusterClient
