"""Turn an API server's OpenAPI document into the packaged schema of a Pod.

    kubectl get --raw /openapi/v3/api/v1 > openapi.json
    python tools/pod_schema.py openapi.json > webhook/podberth/kube/data/pod-1.36.json

One definition a line, sorted, so that two versions of Kubernetes can be compared with diff. What is kept of a
definition: ``podberth.kube.openapi``.
"""

import json
import sys
from pathlib import Path
from typing import Any

from podberth.kube.openapi import prune


def render(definitions: dict[str, Any]) -> str:
    """Return JSON with one definition a line."""
    lines = (
        f"{json.dumps(name)}:{json.dumps(body, sort_keys=True, separators=(',', ':'))}"
        for name, body in sorted(definitions.items())
    )
    return "{\n" + ",\n".join(lines) + "\n}\n"


def main(arguments: list[str]) -> int:
    """Read the document that is named, or standard input, and print the packaged schema."""
    if len(arguments) > 1:
        print("usage: pod_schema.py [OPENAPI_JSON]", file=sys.stderr)
        return 2
    text = Path(arguments[0]).read_text(encoding="utf-8") if arguments else sys.stdin.read()
    sys.stdout.write(render(prune(json.loads(text))))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
