"""Write manifests/base/namespacedgpupolicy-crd.yaml: the CustomResourceDefinition of NamespacedGPUPolicy.

    .venv/bin/python tools/namespaced_crd.py           # writes it if it has changed
    .venv/bin/python tools/namespaced_crd.py --check   # writes nothing; exits with 1 and says what is stale

Its schema is that of ``policy.namespaced_model``, made structural as ``policy_crd`` does for GPUPolicy, with the same
status. The bounds of a namespace are podberth's own: a rule of a CRD sees one object.
"""

import sys
from typing import Any

from crd import definition, root_of
from generated import main
from policy_crd import STATUS, structural
from policy_schema import described, models_of

from podberth.kube.yaml_text import as_yaml
from podberth.policy import model, namespaced_model
from podberth.policy.namespaced_model import NamespacedGPUPolicy
from podberth.wellknown import NAMESPACED_KIND

PAGE = "manifests/base/namespacedgpupolicy-crd.yaml"
_HEAD = "# Written by tools/namespaced_crd.py: the models of podberth.policy.namespaced_model.\n"
_COLUMNS = (
    ("Scope", "string", ".spec.scope"),
    ("Actions", "string", ".spec.validationActions"),
    ("Compiled", "string", '.status.conditions[?(@.type=="Compiled")].status'),
    ("Active", "string", '.status.conditions[?(@.type=="Active")].status'),
    ("Age", "date", ".metadata.creationTimestamp"),
)


def crd() -> dict[str, Any]:
    """Return the object."""
    names = {
        "kind": NAMESPACED_KIND,
        "listKind": f"{NAMESPACED_KIND}List",
        "plural": "namespacedgpupolicies",
        "singular": "namespacedgpupolicy",
        "shortNames": ["ngpol"],
    }
    return definition(names, _COLUMNS, _root(), scope="Namespaced", subresources={"status": {}})


def _root() -> dict[str, Any]:
    made = described(NamespacedGPUPolicy, models_of(model, namespaced_model))
    spec = structural({"$ref": "#/$defs/NamespacedSpec"}, made["$defs"], "spec")
    return root_of(made["description"], spec, status=STATUS)


if __name__ == "__main__":
    sys.exit(main({PAGE: _HEAD + as_yaml(crd())}))
