"""What the apiserver itself computes for CEL expressions: ValidatingAdmissionPolicies whose message is the value."""

import json
import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final

from controlplane.cluster import ControlPlane
from controlplane.wait import wait_for

_GROUP: Final = "/apis/admissionregistration.k8s.io/v1"
_NAMESPACE: Final = "cel-libraries"
# A request evaluates all validations of the policies that match it, so one policy has not all of them.
_PER_POLICY: Final = 100
_LEAD, _END = "value:", ":end"
_ERROR: Final = "no value"
_PLACE: Final = re.compile(r"spec\.validations\[(\d+)\]")


def ask(control_plane: ControlPlane, expressions: Sequence[str]) -> list[str | None]:
    """Return the text ('%s'.format) of each expression's value, in order; None for an error.

    What the apiserver finds wrong when it compiles, such as a pattern that is none, is an error too.
    """
    control_plane.add_namespace(_NAMESPACE)
    taken = _taken(control_plane, list(dict.fromkeys(expressions)))
    known = dict(zip(taken, _ask(control_plane, taken), strict=True))
    return [known.get(each) for each in expressions]


def _taken(control_plane: ControlPlane, expressions: Sequence[str]) -> list[str]:
    """Return the expressions that compile: a refusal names the place of each that does not."""
    kept: list[str] = []
    for start in range(0, len(expressions), _PER_POLICY):
        batch = list(expressions[start : start + _PER_POLICY])
        while batch and (refused := {int(each) for each in _PLACE.findall(_refusal(control_plane, batch))}):
            batch = [each for place, each in enumerate(batch) if place not in refused]
        kept += batch
    return kept


def _ask(control_plane: ControlPlane, expressions: Sequence[str]) -> list[str | None]:
    batches = [expressions[start : start + _PER_POLICY] for start in range(0, len(expressions), _PER_POLICY)]
    for number, batch in enumerate(batches):
        _put(control_plane, f"vectors-{number}", batch)
    # Each policy is effective once its first vector is answered.
    for number in range(len(batches)):
        name = f"vectors-{number}-0"
        wait_for(partial(_said, control_plane, name), what=name)
    return [
        _value(_said(control_plane, f"vectors-{number}-{place}"))
        for number, batch in enumerate(batches)
        for place in range(len(batch))
    ]


def refusal(control_plane: ControlPlane, expression: str) -> str:
    """Return why the apiserver does not take an expression; empty if it does."""
    return _refusal(control_plane, [expression])


def _refusal(control_plane: ControlPlane, expressions: Sequence[str]) -> str:
    status, body = control_plane.raw(
        "POST", f"{_GROUP}/validatingadmissionpolicies?dryRun=All", _policy("refused", expressions)
    )
    return "" if status < 300 else str(json.loads(body)["message"])


def _put(control_plane: ControlPlane, name: str, expressions: Sequence[str]) -> None:
    api = control_plane.api
    api.request("POST", f"{_GROUP}/validatingadmissionpolicies", _policy(name, expressions))
    binding = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": name},
        "spec": {"policyName": name, "validationActions": ["Deny"]},
    }
    api.request("POST", f"{_GROUP}/validatingadmissionpolicybindings", binding)


def _policy(name: str, expressions: Sequence[str]) -> Mapping[str, Any]:
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}
    validations = [
        {
            "expression": f"object.metadata.name != '{name}-{place}'",
            "messageExpression": f"'{_LEAD}' + '%s'.format([{each}]) + '{_END}'",
            "message": _ERROR,
        }
        for place, each in enumerate(expressions)
    ]
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": name},
        "spec": {
            "matchConstraints": {"resourceRules": [rule]},
            "matchConditions": [{"name": "ours", "expression": f"object.metadata.name.startsWith('{name}-')"}],
            "validations": validations,
        },
    }


def _said(control_plane: ControlPlane, name: str) -> str:
    """Return the apiserver's refusal of a ConfigMap of that name, which nobody stores; empty if there is none."""
    document = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}
    path = f"/api/v1/namespaces/{_NAMESPACE}/configmaps?dryRun=All"
    status, body = control_plane.api.raw("POST", path, document)
    return "" if status < 300 else str(json.loads(body)["message"])


def _value(said: str) -> str | None:
    _, lead, rest = said.partition(_LEAD)
    if lead:
        return rest.removesuffix(_END)
    assert said.endswith(_ERROR), said
    return None
