"""The files that describe a cluster beside its objects: its own names, and the fields that its API server knows."""

from dataclasses import dataclass
from pathlib import Path

from ..cel.engine import Environment
from ..conventions import Conventions
from .deadline import new_environment
from .loading import read_pod_schema


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterFiles:
    """The files of ``--conventions`` and ``--pod-schema``; None for those that podberth ships."""

    conventions: Path | None = None
    pod_schema: Path | None = None

    def names(self) -> Conventions:
        """Return the conventions of the cluster.

        The reader of the file is imported only if it is needed.

        Raises:
            UsageError: the file cannot be read or is invalid.
        """
        if self.conventions is None:
            return Conventions()
        from .naming import read_conventions  # noqa: PLC0415 - importing it takes 4 ms

        return read_conventions(self.conventions)

    def environment(self) -> Environment:
        """Return an environment for compiling policies with the cluster's fields of a Pod.

        Raises:
            UsageError: the file cannot be read, or is no schema.
        """
        return new_environment(read_pod_schema(self.pod_schema))
