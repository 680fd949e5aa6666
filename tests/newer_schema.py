"""The schema of a Pod with a field that Kubernetes does not have yet, as an API server prints it."""

import json
from importlib import resources
from pathlib import Path


def newer_schema(folder: Path) -> Path:
    """Write what ``kubectl get --raw /openapi/v3/api/v1`` prints where pods have a ``spec.berth``; return the file."""
    packaged = resources.files("podberth.kube").joinpath("data", "pod-1.36.json").read_text(encoding="utf-8")
    schemas = json.loads(packaged.replace('"$ref":"', '"$ref":"#/components/schemas/'))
    schemas["io.k8s.api.core.v1.PodSpec"]["properties"]["berth"] = {"type": "string"}
    file = folder / "openapi.json"
    file.write_text(json.dumps({"components": {"schemas": schemas}}), encoding="utf-8")
    return file
