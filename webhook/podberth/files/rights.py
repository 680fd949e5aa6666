"""Reads the file of ``--authorizer``, which says who may do what: a cluster's RBAC objects."""

from pathlib import Path
from typing import Final

from ..errors import UsageError
from ..native.rbac import Rights, rights_of
from .loading import read_documents

_WANTED: Final = "want what kubectl get clusterroles,clusterrolebindings,roles,rolebindings -A -o json prints"
_MOST_PROBLEMS: Final = 20


def read_rights(path: Path) -> Rights:
    """Return the rights in a file, or in every file below a directory.

    Raises:
        UsageError: a file cannot be read, the API server would refuse an object, or there is no binding.
    """
    documents, problems = read_documents(path, _WANTED)
    rights, wrong = rights_of(documents)
    problems += wrong
    if not problems and not rights.bindings:
        raise UsageError(f"--authorizer: {path}: got no binding of a role, {_WANTED}")
    if problems:
        raise UsageError("\n".join(f"--authorizer: {each}" for each in problems[:_MOST_PROBLEMS]))
    return rights
