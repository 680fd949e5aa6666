"""Which pods are as the policies have them: decided without a server, by the objects of the cluster."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import jsonpatch

from builders import container, pod
from podberth.wellknown import APPLIED_ANNOTATION

from ..following import Following
from ..load import Verdict

Document = dict[str, Any]

MARK = "podberth.example/mark"
"""The label that the policy `mark` writes: the policy that changes."""
_CASE = "podberth.example/case"
# What the API server itself adds to every pod (DefaultTolerationSeconds).
_NOT_OURS = "node.kubernetes.io/"


def _pod(case: str, gpus: int, **fields: Any) -> Document:
    amounts = {"nvidia.com/gpu": str(gpus)}
    labels = {_CASE: case, **fields.pop("labels", {})}
    return pod(container(limits=amounts, requests=amounts), name=case, labels=labels, **fields)


PODS: Sequence[Document] = (
    _pod("one", 1),
    _pod("linked", 4),
    _pod("slice", 1, annotations={"podberth.io/gpu-memory": "4Gi"}),
    _pod("gang", 8, labels={"podberth.io/gang": "g"}, annotations={"podberth.io/gang-size": "2"}),
)
"""What is created in turn: of each of the four policies that write on ordinary pods, one that it writes on."""


class Judge:
    """Knows what may become of PODS: whatever the policies have said about them since the beginning."""

    def __init__(self, following: Following) -> None:
        self._following = following
        self._specs: dict[str, list[Document]] = {each["metadata"]["name"]: [] for each in PODS}
        self.marks: list[str] = []
        """The values that the policy `mark` has had, the last one in force or on its way."""

    def learn(self) -> list[Document]:
        """Count as right what the policies say by the cluster as it is now; return the specs, in the order of PODS."""
        now = []
        for each, answer in zip(PODS, self._following.built(), strict=True):
            spec = _ours(jsonpatch.apply_patch(each, answer["patch"]))
            known = self._specs[each["metadata"]["name"]]
            if spec not in known:
                known.append(spec)
            now.append(spec)
        return now

    def __call__(self, stored: Mapping[str, Any]) -> Verdict:
        """Judge a pod of a load."""
        metadata = stored["metadata"]
        if APPLIED_ANNOTATION not in metadata.get("annotations", {}):
            return Verdict.UNMUTATED
        right = _ours(stored) in self._specs[metadata["labels"][_CASE]]
        return Verdict.RIGHT if right and metadata["labels"].get(MARK) in self.marks else Verdict.WRONG


def is_current(stored: Mapping[str, Any], spec: Document, mark: str) -> bool:
    """Return whether a pod has this spec and mark and no other."""
    return _ours(stored) == spec and stored["metadata"]["labels"].get(MARK) == mark


def shown(stored: Mapping[str, Any]) -> str:
    """Return what a pod is judged by."""
    metadata = stored["metadata"]
    return f"{metadata['name']}: {json.dumps(_ours(stored))}, labels {metadata['labels']}"


def _ours(stored: Mapping[str, Any]) -> Document:
    """Return of a pod all that a shipped policy may write into its spec."""
    spec = stored["spec"]
    tolerations = [each for each in spec.get("tolerations", ()) if not each.get("key", "").startswith(_NOT_OURS)]
    found = {
        "tolerations": tolerations,
        "affinity": spec.get("affinity", {}),
        "resources": [each["resources"] for each in spec["containers"]],
    }
    decoded: Document = json.loads(json.dumps(found))
    return decoded
