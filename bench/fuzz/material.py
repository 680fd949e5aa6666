"""Real pods, workloads and policies, as text: who wants one decodes a copy.

Pods are those that a real API server sent (tests/captured), those that controllers would make of every manifest of the
tests and the examples, those that the sources of operators make (tests/operator_pods), those in the suites of the
policies, and those of bench's load.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import orjson

from operator_pods import ALONE, CASES, GROUPED
from podberth.kube.documents import load_documents
from podberth.workload.templates import templates

from .. import ROOT, reviews

JSON = dict[str, Any]
NAMESPACES = ("default", "ml", "team-vision")
"""Where pods are made, and known; the first two have groups and claims."""
UNKNOWN_NAMESPACE = "team-search"
"""Where few are, for a policy that asks for the Namespace denies there."""
LIBRARY = (ROOT / "policies", ROOT / "optional-policies")
_OF_THE_LOAD = 40


@dataclass(frozen=True, slots=True)
class Material:
    """Documents as JSON text."""

    pods: tuple[bytes, ...]
    workloads: tuple[bytes, ...]
    policies: tuple[bytes, ...]
    owners: tuple[JSON, ...]
    """The objects that own some of the pods, for the snapshot."""


@cache
def material() -> Material:
    """Return all of it; read once in a process."""
    pods: list[JSON] = []
    workloads: list[JSON] = []
    owners: list[JSON] = []
    for path in sorted((ROOT / "tests" / "captured").glob("*.json")):
        for each in orjson.loads(path.read_bytes()):
            request = each["review"]["request"]
            (pods if request["kind"]["kind"] == "Pod" else workloads).append(request["object"])
    for number, document in enumerate(_manifests()):
        document["metadata"] |= {"uid": f"owner-{number}"}
        made = [each.pod for each in templates(document, namespace="default") if not each.problems]
        pods += made
        workloads.append(document)
        owners.append(document)
    for made, of in _operators():
        pods += made
        owners += of
    pods += [document for document, _ in GROUPED]
    pods += _of_suites()
    pods += [
        orjson.loads(reviews.numbered(each, number))["request"]["object"]
        for number, each in enumerate(reviews.distinct(_OF_THE_LOAD))
    ]
    return Material(_texts(pods), _texts(workloads), _texts(_policies()), tuple(owners))


def _texts(documents: list[JSON]) -> tuple[bytes, ...]:
    return tuple(dict.fromkeys(map(orjson.dumps, documents)))


def _documents(file: Path) -> Iterator[JSON]:
    found, problems = load_documents(file.read_text(), file.name)
    if problems:
        raise SystemExit(f"bench: {file}: {problems[0]}")
    for each in found:
        # What an alias repeats is shared, and what is made of it is changed.
        document: JSON = orjson.loads(orjson.dumps(each.document))
        yield from document["items"] if document.get("kind") == "List" else (document,)


def _manifests() -> Iterator[JSON]:
    for folder in ("tests/manifests", "examples"):
        for file in sorted((ROOT / folder).glob("*.yaml")):
            yield from _documents(file)


def _operators() -> Iterator[tuple[list[JSON], list[JSON]]]:
    """Yield the pods of each operator's case, and their owners under uids that no other case has."""
    cases = [([pod for pod, _, _ in case.members[:3]], case.owners) for case in CASES]
    cases += [([pod], owners) for _, pod, owners in ALONE]
    for number, (pods, owners) in enumerate(cases):
        yield (
            [_owned(pod, number, owners) for pod in pods],
            [_with_uid(owner, f"{uid}-{number}") for uid, owner in owners.items()],
        )


def _owned(pod: JSON, number: int, owners: Mapping[str, Any]) -> JSON:
    text = orjson.dumps(pod)
    for uid in owners:
        text = text.replace(orjson.dumps(uid), orjson.dumps(f"{uid}-{number}"))
    document: JSON = orjson.loads(text)
    return document


def _with_uid(owner: JSON, uid: str) -> JSON:
    return {**owner, "metadata": {"name": uid, **owner.get("metadata", {}), "uid": uid}}


def _of_suites() -> Iterator[JSON]:
    for folder in LIBRARY:
        for file in sorted(folder.glob("*/tests.yaml")):
            for suite in _documents(file):
                for case in suite["cases"]:
                    if isinstance(pod := case.get("pod"), dict):
                        yield {"apiVersion": "v1", "kind": "Pod", **pod}


def _policies() -> list[JSON]:
    files = [file for folder in LIBRARY for file in sorted(folder.glob("*/policy.yaml"))]
    return [each for file in files for each in _documents(file) if each["kind"] == "GPUPolicy"]
