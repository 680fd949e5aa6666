"""Write manifests/base/gpupolicyexception-crd.yaml: the CustomResourceDefinition of GPUPolicyException.

    .venv/bin/python tools/exception_crd.py           # writes it if it has changed
    .venv/bin/python tools/exception_crd.py --check   # writes nothing; exits with 1 and says what is stale

Its schema is that of ``policy.exception_model``, made structural as ``policy_crd`` does for GPUPolicy. The webhook
/validate-policy sees to it that an exception lasts a year at most: a rule of a CRD does not see ``creationTimestamp``.
"""

import sys
from typing import Any

from crd import definition, root_of
from generated import main
from policy_crd import structural
from policy_schema import described, models_of

from podberth.kube.yaml_text import as_yaml
from podberth.policy import exception_model, model
from podberth.policy.exception_model import GPUPolicyException
from podberth.wellknown import EXCEPTION_KIND

PAGE = "manifests/base/gpupolicyexception-crd.yaml"
_HEAD = "# Written by tools/exception_crd.py: the models of podberth.policy.exception_model.\n"
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
    return definition(names, _COLUMNS, _root())


def _root() -> dict[str, Any]:
    made = described(GPUPolicyException, models_of(model, exception_model))
    spec = structural({"$ref": "#/$defs/ExceptionSpec"}, made["$defs"], "exception")
    return root_of(made["description"], spec)


if __name__ == "__main__":
    sys.exit(main({PAGE: _HEAD + as_yaml(crd())}))
