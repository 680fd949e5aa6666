"""The CustomResourceDefinitions of podberth's kinds, as far as they are alike."""

from collections.abc import Iterable
from typing import Any

from podberth.wellknown import API_VERSION

_GROUP, _, _VERSION = API_VERSION.partition("/")
Column = tuple[str, str, str]
"""A column of ``kubectl get``: its title, its type, and the path of its value."""


def definition(
    names: dict[str, Any],
    columns: Iterable[Column],
    root: dict[str, Any],
    *,
    scope: str = "Cluster",
    **more: dict[str, Any],
) -> dict[str, Any]:
    """Return the definition of a kind; ``more`` has further fields of its one version."""
    version = {
        "name": _VERSION,
        "served": True,
        "storage": True,
        **more,
        "additionalPrinterColumns": [{"name": name, "type": of, "jsonPath": path} for name, of, path in columns],
        "schema": {"openAPIV3Schema": root},
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        # The objects outlive the chart that brought their definition.
        "metadata": {"name": f"{names['plural']}.{_GROUP}", "annotations": {"helm.sh/resource-policy": "keep"}},
        "spec": {"group": _GROUP, "names": names, "scope": scope, "versions": [version]},
    }


def root_of(description: str, spec: dict[str, Any], **more: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of an object with a spec; ``more`` has the schemas of its further fields."""
    return {
        "type": "object",
        "description": description,
        "required": ["spec"],
        "properties": {
            # The API server checks these three itself, and lets a schema say no more of them.
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {"type": "object"},
            "spec": spec,
            **more,
        },
    }
