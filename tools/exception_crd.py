"""Write manifests/base/gpupolicyexception-crd.yaml: the CustomResourceDefinition of GPUPolicyException.

    .venv/bin/python tools/exception_crd.py           # writes it if it has changed
    .venv/bin/python tools/exception_crd.py --check   # writes nothing; exits with 1 and says what is stale

Its schema is that of ``policy.exception_model``, made structural as ``policy_crd`` does for GPUPolicy. The webhook
/validate-policy sees to it that an exception lasts a year at most: a rule of a CRD does not see ``creationTimestamp``.
"""

import inspect
import sys
from typing import Any

from generated import main
from policy_crd import structural
from policy_schema import described
from pydantic import BaseModel

from podberth.kube.yaml_text import as_yaml
from podberth.policy import exception_model, model
from podberth.policy.exception_model import GPUPolicyException
from podberth.wellknown import API_VERSION, EXCEPTION_KIND

PAGE = "manifests/base/gpupolicyexception-crd.yaml"
_HEAD = "# Written by tools/exception_crd.py: the models of podberth.policy.exception_model.\n"
_GROUP, _, _VERSION = API_VERSION.partition("/")
_COLUMNS = (
    ("Policies", "string", ".spec.policies"),
    ("Namespaces", "string", ".spec.namespaces"),
    ("Requested-By", "string", ".spec.requestedBy"),
    ("Expires", "string", ".spec.expiresAt"),
    ("Age", "date", ".metadata.creationTimestamp"),
)


def crd() -> dict[str, Any]:
    """Return the object."""
    names = {
        "kind": EXCEPTION_KIND,
        "listKind": f"{EXCEPTION_KIND}List",
        "plural": "gpupolicyexceptions",
        "singular": "gpupolicyexception",
        "shortNames": ["gpolex"],
    }
    version = {
        "name": _VERSION,
        "served": True,
        "storage": True,
        "additionalPrinterColumns": [{"name": name, "type": of, "jsonPath": path} for name, of, path in _COLUMNS],
        "schema": {"openAPIV3Schema": _root()},
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        # Exceptions outlive the chart that brought their definition, as policies do.
        "metadata": {"name": f"{names['plural']}.{_GROUP}", "annotations": {"helm.sh/resource-policy": "keep"}},
        "spec": {"group": _GROUP, "names": names, "scope": "Cluster", "versions": [version]},
    }


def _root() -> dict[str, Any]:
    models = {
        name: each
        for module in (model, exception_model)
        for name, each in vars(module).items()
        if inspect.isclass(each) and issubclass(each, BaseModel)
    }
    made = described(GPUPolicyException, models)
    spec = structural({"$ref": "#/$defs/ExceptionSpec"}, made["$defs"], "exception")
    return {
        "type": "object",
        "description": made["description"],
        "required": ["spec"],
        "properties": {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {"type": "object"},
            "spec": spec,
        },
    }


if __name__ == "__main__":
    sys.exit(main({PAGE: _HEAD + as_yaml(crd())}))
