"""Policies with params of every fate, and what kube-apiserver makes of them.

tests/e2e/test_params.py puts each to a real apiserver as a ValidatingAdmissionPolicy, and
tests/unit/admission/test_params.py to podberth.
"""

from dataclasses import dataclass
from typing import Any, Final

from podberth.wellknown import PARAMS_LABEL

FALSE: Final = "object.metadata.name == 'nobody'"
ERROR: Final = "object.metadata.labels['none'] == 'x'"
OF_K: Final = "params.data['k'] == 'x'"
"""An error with a ConfigMap that has no key k."""
WITHOUT_K: Final = {"other": "x"}
WITH_K: Final = {"k": "x"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """A policy with one validation and one condition, the data of the ConfigMaps, and what becomes of a request."""

    name: str
    params: tuple[dict[str, str], ...] = ()
    condition: str = "true"
    validation: str = "false"
    not_found: str = "Deny"
    failure_policy: str = "Fail"
    actions: tuple[str, ...] = ("Deny",)
    denied: bool
    warnings: int = 0

    def spec(self) -> dict[str, Any]:
        """Return what a GPUPolicy and a ValidatingAdmissionPolicy have in common."""
        return {
            "paramKind": {"apiVersion": "v1", "kind": "ConfigMap"},
            "failurePolicy": self.failure_policy,
            "matchConditions": [{"name": "one", "expression": self.condition}],
            "validations": [{"expression": self.validation, "message": "no"}],
        }

    def param_ref(self, namespace: str) -> dict[str, Any]:
        """Return how the ConfigMaps are found, which are in a namespace."""
        return {
            "selector": {"matchLabels": {"scene": self.name}},
            "namespace": namespace,
            "parameterNotFoundAction": self.not_found,
        }

    def config_maps(self, namespace: str) -> list[dict[str, Any]]:
        """Return the ConfigMaps."""
        return [
            {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {
                    "name": f"{self.name}-{place}",
                    "namespace": namespace,
                    "labels": {"scene": self.name, PARAMS_LABEL: "true"},
                },
                "data": data,
            }
            for place, data in enumerate(self.params)
        ]


_BOTH: Final = (WITHOUT_K, WITH_K)

SCENES: Final = (
    Scene(name="missing-warn", actions=("Warn",), denied=True),
    Scene(name="missing-audit", actions=("Audit",), denied=True),
    Scene(name="missing-ignore", failure_policy="Ignore", denied=False),
    Scene(name="missing-allow", not_found="Allow", denied=False),
    Scene(name="false-and-missing", condition=FALSE, denied=True),
    Scene(name="false-and-missing-allow", condition=FALSE, not_found="Allow", denied=False),
    Scene(name="error-and-missing-allow", condition=ERROR, not_found="Allow", denied=False),
    Scene(name="error-and-missing", condition=ERROR, actions=("Warn",), denied=True),
    Scene(name="one-errs-ignore", params=_BOTH, condition=OF_K, failure_policy="Ignore", denied=True),
    Scene(name="other-errs-ignore", params=_BOTH[::-1], condition=OF_K, failure_policy="Ignore", denied=True),
    Scene(name="one-errs-warn", params=_BOTH, condition=OF_K, actions=("Warn",), denied=False, warnings=2),
    Scene(
        name="one-errs-ignore-warn",
        params=_BOTH,
        condition=OF_K,
        failure_policy="Ignore",
        actions=("Warn",),
        denied=False,
        warnings=1,
    ),
    Scene(name="one-errs-holds", params=_BOTH, condition=OF_K, validation="true", denied=True),
    Scene(
        name="one-errs-holds-ignore",
        params=_BOTH,
        condition=OF_K,
        validation="true",
        failure_policy="Ignore",
        denied=False,
    ),
    Scene(name="one-is-false", params=_BOTH, condition="has(params.data.k)", denied=True),
    Scene(name="one-is-false-holds", params=_BOTH, condition="has(params.data.k)", validation=OF_K, denied=False),
    Scene(name="validation-errs-ignore", params=_BOTH, validation=f"!({OF_K})", failure_policy="Ignore", denied=True),
    Scene(name="condition-errs-warn", params=(WITH_K,), condition=ERROR, actions=("Warn",), denied=False, warnings=1),
)
