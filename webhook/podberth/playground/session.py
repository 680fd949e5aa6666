"""A session of the playground: the three texts of the page, and the file that carries them."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Final

from ..errors import UsageError
from ..kube.shape import kind_of
from ..words import did_you_mean

VERSION: Final = 1
"""The version of the file; it grows with an incompatible change."""
MOST_CHARACTERS: Final = {"policy": 512 * 1024, "workload": 512 * 1024, "cluster": 2 * 2**20, "namespace": 253}
"""The most characters of each text: ten times the largest policy that podberth ships, or hundreds of nodes."""

POLICY: Final = """\
apiVersion: podberth.io/v1alpha1
kind: GPUPolicy
metadata:
  name: multi-gpu-nvlink
spec:
  description: A pod that wants several GPUs lands where that many share NVLink.
  matchConditions:
  - name: several-whole-gpus
    expression: gpu.perContainer > 1 && gpu.kind == 'whole'
  variables:
  - name: nodes
    expression: topology.nodes(gpu).withLinkDomain(gpu.perContainer)
  mutations:
  - when: variables.nodes.exist
    tolerations: variables.nodes.tolerations
  - when: variables.nodes.exist
    nodeAffinity: {required: variables.nodes.requiredTerms}
    reason: string(gpu.perContainer) + ' GPUs in one NVLink domain'
  validations:
  - expression: has(object.metadata.labels) && 'team' in object.metadata.labels
    message: a pod with several GPUs wants the label team
  validationActions: [Warn]
"""
WORKLOAD: Final = """\
apiVersion: v1
kind: Pod
metadata:
  name: train
spec:
  containers:
  - name: main
    image: train:1
    resources:
      limits:
        nvidia.com/gpu: 4
"""
CLUSTER: Final = """\
# Simulated nodes, as in tests.yaml; or what kubectl get nodes,configmaps -o yaml prints.
topology:
- {shape: hgx-h100-8, count: 3}
- {shape: l4-4, count: 2}
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """The texts of the page; the default is an example. ``namespace`` is that of objects that name none."""

    policy: str = POLICY
    workload: str = WORKLOAD
    cluster: str = CLUSTER
    namespace: str = "default"

    def as_json(self) -> dict[str, Any]:
        """Return the content of the file that carries the session."""
        return {"version": VERSION, **asdict(self)}


def session_of(document: object) -> Session:
    """Return the session in a file's content, or in a request of the page; a text that is left out is the example's.

    Raises:
        UsageError: the document is no session, or a text is too long.
    """
    saved = f"want an object with version {VERSION}, as the playground saves it"
    if not isinstance(document, Mapping):
        raise UsageError(f"session: got {kind_of(document)}, {saved}")
    if (version := document.get("version")) != VERSION:
        got = "no version" if version is None else f"version {version!r:.40}"
        raise UsageError(f"session: got {got}, {saved}")
    known = {"version", *(each.name for each in fields(Session))}
    if unknown := sorted(document.keys() - known):
        near = did_you_mean(unknown[0], known)
        raise UsageError(f"session: got {unknown[0]!r}, want {', '.join(sorted(known))}{near}")
    texts: dict[str, str] = {}
    for name in (each.name for each in fields(Session)):
        text = document.get(name, getattr(Session(), name))
        if not isinstance(text, str):
            raise UsageError(f"session: {name}: got {kind_of(text)}, want a string")
        if len(text) > MOST_CHARACTERS[name]:
            got = f"got {len(text):,} characters, want {MOST_CHARACTERS[name]:,} at most"
            raise UsageError(f"session: {name}: {got}")
        texts[name] = text
    return Session(**texts)
