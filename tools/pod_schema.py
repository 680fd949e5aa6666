"""Turn an API server's OpenAPI documents into the packaged schemas of a Pod, and of the kinds that make pods.

    for each in api apis/apps apis/batch; do kubectl get --raw /openapi/v3/$each/v1 > $(basename $each)-v1.json; done
    python tools/pod_schema.py api-v1.json > webhook/podberth/kube/data/pod-1.36.json
    python tools/pod_schema.py --workloads {api,apps,batch}-v1.json > webhook/podberth/kube/data/workloads-1.36.json

One definition a line, sorted, so that two versions of Kubernetes can be compared with diff. What is kept of a
definition: ``podberth.kube.openapi``.
"""

import json
import sys
from collections.abc import Collection
from pathlib import Path
from typing import Any, Final

from podberth.kube.openapi import prune
from podberth.kube.schema import POD, WORKLOADS

_WORKLOADS: Final = "--workloads"


def prune_workloads(documents: Collection[dict[str, Any]]) -> dict[str, Any]:
    """Return the definitions of the kinds that make pods (Job, Deployment ...), for ``schema.workload_definitions``.

    Definitions that a Pod itself needs are left out, except those without fields. The status of a kind has no described
    content.

    Args:
        documents: what ``kubectl get --raw`` prints of /openapi/v3/api/v1, /openapi/v3/apis/{apps,batch}/v1.

    Raises:
        ValueError: a document is something else.
    """
    schemas: dict[str, Any] = {}
    for document in documents:
        schemas |= (document.get("components") or {}).get("schemas") or {}
    of_pods = prune({"components": {"schemas": schemas}}, (POD,))
    described = {name: _without_status(schema) for name, schema in schemas.items()}
    found = prune({"components": {"schemas": described}}, sorted({*WORKLOADS.values()} - {POD}))
    return {name: body for name, body in found.items() if name not in of_pods or "properties" not in body}


def _without_status(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a kind with the content of its status removed."""
    properties = schema.get("properties", {})
    if not {"spec", "status"} <= properties.keys():
        return schema
    return {**schema, "properties": {**properties, "status": {"type": "object"}}}


def render(definitions: dict[str, Any]) -> str:
    """Return JSON with one definition a line."""
    lines = (
        f"{json.dumps(name)}:{json.dumps(body, sort_keys=True, separators=(',', ':'))}"
        for name, body in sorted(definitions.items())
    )
    return "{\n" + ",\n".join(lines) + "\n}\n"


def main(arguments: list[str]) -> int:
    """Read the documents that are named, or standard input, and print the packaged schema."""
    files = [each for each in arguments if each != _WORKLOADS]
    if len(files) > 1 and _WORKLOADS not in arguments:
        print("usage: pod_schema.py [OPENAPI_JSON]\n       pod_schema.py --workloads OPENAPI_JSON...", file=sys.stderr)
        return 2
    texts = [Path(each).read_text(encoding="utf-8") for each in files] or [sys.stdin.read()]
    documents = [json.loads(text) for text in texts]
    sys.stdout.write(render(prune_workloads(documents) if _WORKLOADS in arguments else prune(documents[0])))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
