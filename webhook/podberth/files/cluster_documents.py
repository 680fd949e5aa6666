"""Reads a cluster's documents from files, folders and standard input, and recognises ConfigMaps that are params.

Code that shows or writes a snapshot uses this module; code that makes decisions from a snapshot uses
``loading.read_objects``.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Final

from ..errors import PolicyError, Problem, TopologyError
from ..facts.object_kinds import Document
from ..facts.trim import IsParam
from ..kube.documents import load_documents
from ..policy.model import GPUPolicy
from ..policy.parse import parse_policies
from ..wellknown import NAMESPACE, PARAMS_LABEL
from .library import shipped
from .loading import read_policy_texts
from .manifests import find_manifests, read_manifest

# A line for each bad document of a broken snapshot would help nobody.
_MAX_PROBLEMS: Final = 20


def read_documents(paths: Sequence[str], stdin: BinaryIO) -> list[Document]:
    """Return every object or List in the files, unchanged and in order; ``-`` is standard input.

    Raises:
        TopologyError: a file cannot be read or is no YAML or JSON, or no file has an object.
    """
    listing = find_manifests(paths)
    problems = list(listing.problems)
    documents: list[Document] = []
    for file in listing.files:
        read = read_manifest(file, stdin)
        if isinstance(read, Problem):
            problems.append(read)
            continue
        positioned, wrong = load_documents(read[1], file)
        problems += wrong
        documents += [each.document for each in positioned]
    if not documents and not problems:
        wanted = "want what kubectl get nodes,configmaps --all-namespaces -o yaml prints"
        problems = [Problem(", ".join(paths), 0, 0, "", f"got no object, {wanted}")]
    if problems:
        raise TopologyError("\n".join(map(str, sorted(problems)[:_MAX_PROBLEMS])))
    return documents


def params_of(directory: Path | None) -> IsParam:
    """Return a function that recognises the ConfigMaps that the policies below a directory use as params.

    If ``directory`` is None, the function recognises the params of all policies that podberth ships, optional policies
    included.

    Raises:
        PolicyError: a policy cannot be read.
        UsageError: the policies that podberth ships are not installed.
    """
    policies = _policies(directory)
    references = [policy.spec.param_ref for policy in policies if policy.spec.param_ref is not None]

    def is_param(namespace: str, name: str, labels: Mapping[str, Any]) -> bool:
        return any(
            reference.namespace in {None, namespace}
            and (namespace == NAMESPACE or labels.get(PARAMS_LABEL) == "true")
            and (
                reference.name == name if reference.label_selector is None else reference.label_selector.matches(labels)
            )
            for reference in references
        )

    return is_param


def _policies(directory: Path | None) -> Iterable[GPUPolicy]:
    if directory is None:
        return [policy for each in shipped() for policy in each.policies]
    texts, problems = read_policy_texts(directory)
    parsed = parse_policies(texts)
    if problems or parsed.problems:
        raise PolicyError(tuple(sorted([*problems, *parsed.problems])))
    return [each.policy for each in parsed.policies]
