"""Writes a first policy for a user to change: a folder with a policy, params, and tests that pass."""

from pathlib import Path
from typing import Literal, TypeAlias, get_args

from ..errors import UsageError
from ..kube.yaml_text import scalar
from ..policy.parse import parse_policies
from .library import PARAMS, POLICY, SCHEMA, SUITE, schema

Kind: TypeAlias = Literal["mutate", "validate", "both"]
KINDS: tuple[Kind, ...] = get_args(Kind)

_SCHEMAS = ".schema"
"""The folder for schemas beside the policies' folders. podberth reads no policies in a folder with a leading dot."""

_HEAD = f"""\
# yaml-language-server: $schema=../{_SCHEMAS}/{SCHEMA}
#
# Say here what the policy is for, and why: a reader in a year has only this.
# Fields: podberth docs policy. Mutations: podberth docs mutations. Expressions: podberth docs expressions.
# Check it: podberth lint, podberth test.
apiVersion: podberth.io/v1alpha1
kind: GPUPolicy
metadata:
  name: NAME
spec:
  description: DESCRIPTION
  order: 1000  # policies run in this order; the shipped ones take 50 to 720
"""
_REF = """\
  # The limit is a parameter: the ConfigMap in params.yaml is its default, one of the same name in the cluster wins.
  paramKind: {apiVersion: v1, kind: ConfigMap}
  paramRef: {name: NAME, namespace: podberth-system, parameterNotFoundAction: Allow}
"""
_CONDITIONS = """\
  # If one of these is false, the policy does not apply.
  matchConditions:
  - name: asks-for-gpus
    expression: gpu.devices > 0  # those of ResourceClaims, too; gpu.count is without them
"""
_VARIABLES = """\
  variables:
  - name: limit
    expression: int(params.?data[?'maxGpus'].orValue('8'))
"""
_MUTATIONS = """\
  # Written when the pod is created; fields that the user has set stay.
  mutations:
  - name: size
    labels:
      example.com/gpus: string(gpu.devices)
    reason: "'labelled with its number of GPUs'"
"""
_VALIDATIONS = """\
  # Must hold of the final pod. Deny refuses it; Warn would only print a warning.
  validations:
  - expression: gpu.devices <= variables.limit
    message: the pod asks for more GPUs than the limit
    messageExpression: "'got ' + string(gpu.devices) + ' GPUs, want at most ' + string(variables.limit)"
  - expression: gpu.claims.all(c, c.kind == 'none' || c.count > 0)
    message: the number of GPUs of a ResourceClaim is unknown; give its request a count
  validationActions: [Deny]
"""
_PARAMS = """\
# maxGpus: the most GPUs that one pod may ask for
apiVersion: v1
kind: ConfigMap
metadata:
  name: NAME
  namespace: podberth-system
data:
  maxGpus: "8"
"""
_DESCRIPTIONS: dict[Kind, str] = {
    "mutate": "A pod with GPUs is labelled with their number.",
    "validate": "A pod asks for no more GPUs than the limit.",
    "both": "A pod with GPUs is labelled with their number, and asks for no more than the limit.",
}
_CLAIM = """
- name: the GPUs of a ResourceClaim count
  objects:
  - apiVersion: resource.k8s.io/v1
    kind: ResourceClaimTemplate
    metadata: {name: nine}
    spec: {spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu.nvidia.com, count: 9}}]}}}
  pod:
    metadata: {name: train}
    spec:
      resourceClaims: [{name: gpus, resourceClaimTemplateName: nine}]
      containers:
      - name: main
        resources: {claims: [{name: gpus}]}
  expect: {denials: ["got 9 GPUs, want at most 8"]}
"""
_POD = """\
  pod:
    metadata: {name: train}
    spec:
      containers:
      - name: main
        resources: {limits: {LIMITS}}
"""


def texts(name: str, kind: Kind) -> dict[str, str]:
    """Return a mapping from file name to text for the files of a new policy's folder.

    ``kind`` says whether the policy has mutations ("mutate"), validations ("validate") or both ("both").

    Raises:
        UsageError: the name is not valid for a policy.
    """
    parts = (_HEAD, _REF, _CONDITIONS, _VARIABLES, _MUTATIONS, _VALIDATIONS)
    left_out = {"mutate": {_REF, _VARIABLES, _VALIDATIONS}, "validate": {_MUTATIONS}, "both": set[str]()}[kind]
    policy = (
        "".join(part for part in parts if part not in left_out)
        .replace("DESCRIPTION", _DESCRIPTIONS[kind])
        .replace("NAME", scalar(name))
    )
    problems = parse_policies([("", policy)]).problems
    if problems:
        raise UsageError(f"policies init: {problems[0].message}")
    params = {PARAMS: _PARAMS.replace("NAME", scalar(name))} if kind != "mutate" else {}
    return {POLICY: policy, **params, SUITE: _tests(kind)}


def start(name: str, kind: Kind, directory: Path) -> list[Path]:
    """Write a new policy's folder below ``directory``, which is created if needed; return the files, sorted.

    The JSON schema of policies, for editors, is written beside the folder. ``kind`` says whether the policy has
    mutations ("mutate"), validations ("validate") or both ("both").

    Raises:
        UsageError: the name is not valid, is in use already, or the folder cannot be written.
    """
    target = directory / name
    files = {directory / _SCHEMAS / SCHEMA: schema()}
    files |= {target / file: text for file, text in texts(name, kind).items()}
    if target.exists():
        raise UsageError(f"{target}: exists already; move it away first")
    try:
        for file, text in files.items():
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{target}: cannot be written: {error.strerror or error}") from error
    return sorted(files)


def _tests(kind: Kind) -> str:
    head = "# The expected results for pods; podberth test checks them. More fields: podberth docs commands.\ncases:\n"
    written = '    patched:\n      metadata:\n        labels: {example.com/gpus: "8"}\n' if kind != "validate" else ""
    verdict = "unchanged" if kind == "validate" else "mutated"
    few = "- name: eight GPUs are within the limit\n" if kind != "mutate" else "- name: GPUs are counted\n"
    cases = [few + _pod("nvidia.com/gpu: 8") + f"  expect:\n    verdict: {verdict}\n{written}"]
    if kind != "mutate":
        said = '    denials: ["got 9 GPUs, want at most 8"]\n'
        cases.append("\n- name: nine are not\n" + _pod("nvidia.com/gpu: 9") + f"  expect:\n    verdict: denied\n{said}")
        cases.append(_CLAIM)
    cases.append("\n- name: a pod without GPUs is left alone\n" + _pod("cpu: 1") + "  expect: {verdict: unchanged}\n")
    return head + "".join(cases)


def _pod(limits: str) -> str:
    return _POD.replace("LIMITS", limits)
