"""The beginnings that an empty document is offered: whole policies and an exception, or a whole test suite.

A skeleton is written as a snippet of the Language Server Protocol, whose placeholders ``${1:text}`` an editor goes
through. Without the placeholders' marks it is a valid document.
"""

import re
from dataclasses import dataclass
from typing import Final

from ...suite import TESTS
from .document import OpenDocument

_WORD: Final = re.compile(r"\w+\s*")
_PLACEHOLDER: Final = re.compile(r"\$\{\d:([^}]*)\}")


@dataclass(frozen=True, slots=True)
class Skeleton:
    """A document to begin with: its name in the list, its sentence, and its text as a snippet."""

    label: str
    meaning: str
    snippet: str

    @property
    def text(self) -> str:
        """The text for an editor without snippets."""
        return _PLACEHOLDER.sub(r"\1", self.snippet)


POLICY: Final = Skeleton(
    "GPUPolicy",
    "A policy with one mutation of pods with GPUs.",
    """\
apiVersion: podberth.io/v1alpha1
kind: GPUPolicy
metadata:
  name: ${1:my-policy}
spec:
  description: ${2:A pod with GPUs states their kind.}
  matchConditions:
  - name: ${3:has-gpus}
    expression: ${4:gpu.count > 0}
  mutations:
  - labels:
      ${5:example.com/gpu-kind}: ${6:gpu.kind}
""",
)
VALIDATIONS: Final = Skeleton(
    "GPUPolicy with validations",
    "A policy that denies pods with GPUs, or warns.",
    """\
apiVersion: podberth.io/v1alpha1
kind: GPUPolicy
metadata:
  name: ${1:my-policy}
spec:
  description: ${2:A pod with GPUs has the label team.}
  validations:
  - expression: ${3:object.metadata.?labels[?'team'].hasValue()}
    message: ${4:the label team is missing; set it to the name of your team}
  validationActions: [${5:Deny}]
""",
)
EXCEPTION: Final = Skeleton(
    "GPUPolicyException",
    "An exception from a policy, for the pods of a namespace.",
    """\
apiVersion: podberth.io/v1alpha1
kind: GPUPolicyException
metadata:
  name: ${1:my-exception}
spec:
  policies: [${2:my-policy}]
  namespaces: [${3:my-namespace}]
  reason: ${4:the reason, or a link to the ticket}
  requestedBy: ${5:my-team}
  expiresAt: "${6:2027-03-31T00:00:00Z}"
""",
)
SUITE: Final = Skeleton(
    "cases",
    "A test suite with one case, of the policies beside it.",
    """\
topology:
- {shape: ${1:hgx-h100-8}, count: ${2:1}}
cases:
- name: ${3:a pod with a GPU is changed}
  pod:
    metadata: {name: ${4:train}}
    spec:
      containers:
      - name: main
        resources: {limits: {nvidia.com/gpu: ${5:1}}}
  expect:
    verdict: ${6:mutated}
""",
)


def skeletons_of(document: OpenDocument) -> tuple[Skeleton, ...]:
    """Return the skeletons of a document with one word at most; empty if it has more, or is a cluster's."""
    written = [each for each in document.text.lines if each.strip() and not each.startswith(("#", "---"))]
    if len(written) > 1 or not all(map(_WORD.fullmatch, written)):
        return ()
    if document.file.rpartition("/")[2] in TESTS:
        return (SUITE,)
    return () if document.is_suite else (POLICY, VALIDATIONS, EXCEPTION)
