"""Turn an API server's OpenAPI documents into the packaged schemas of a Pod, and of the kinds that make pods.

    for each in api apis/apps apis/batch; do kubectl get --raw /openapi/v3/$each/v1 > $(basename $each)-v1.json; done
    python tools/pod_schema.py api-v1.json > webhook/podberth/kube/data/pod-1.36.json
    python tools/pod_schema.py --workloads {api,apps,batch}-v1.json > webhook/podberth/kube/data/workloads-1.36.json

One definition a line, sorted, so that two versions of Kubernetes can be compared with diff. What is kept of a
definition: ``podberth.kube.openapi``.
"""

import json
import sys
from pathlib import Path
from typing import Any, Final

from podberth.kube.openapi import prune, prune_workloads

_WORKLOADS: Final = "--workloads"


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
