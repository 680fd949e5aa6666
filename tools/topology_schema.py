"""Write docs/schema/node-topology-v1.json: the JSON Schema (2020-12) of the document that the node agent publishes.

    .venv/bin/python tools/topology_schema.py           # writes it if it has changed
    .venv/bin/python tools/topology_schema.py --check   # writes nothing; exits with 1 and says what is stale

Fields and what they mean are the table of docs/agent.md, which a test holds to the code; bounds are the decoder's own.
What takes several fields to be wrong (a domain of GPUs that are not there) is the decoder's to say.
"""

# ruff: noqa: SLF001 - the bounds are the decoder's, and written once

import json
import re
import sys
from typing import Any

from generated import ROOT, main

from podberth.devices import mig
from podberth.topology import codec

PAGE = "docs/schema/node-topology-v1.json"
_PRINTABLE = r"^[^\u0000-\u001f\u007f-\u009f]*$"


def _text(longest: int, **more: Any) -> dict[str, Any]:
    return {"type": "string", "maxLength": longest, "pattern": _PRINTABLE, **more}


def _number(most: int, **more: Any) -> dict[str, Any]:
    return {"type": "integer", "minimum": 0, "maximum": most, **more}


def _some(most: int, items: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "array", "maxItems": most, "items": items, **more}


_INDEX = _number(codec._MOST_INDEX)
_TEXT = _text(codec.LONGEST_TEXT)
_ROOT_COMPLEX = _text(codec._LONGEST_ROOT)
_NUMA = _number(codec._MOST_NUMA)
_PCI_ID = {"type": "string", "pattern": "^([0-9A-Fa-f]{4})?$"}
_PROFILE = _text(mig.LONGEST, minLength=1, pattern=rf"^{re.sub(r'[?]P<[a-z]+>', '', mig._PROFILE.pattern)}$")

# By path as docs/agent.md spells it, whose words become the descriptions.
FIELDS: dict[str, dict[str, Any]] = {
    "schemaVersion": {"const": codec.SCHEMA_VERSION},
    "observed": {"type": "string", "format": "date-time", "maxLength": 40},
    "gpus[].index": _INDEX,
    "gpus[].vendor": {"enum": list(codec._VENDORS)},
    "gpus[].uuid": _TEXT,
    "gpus[].product": _TEXT,
    "gpus[].pciId": _PCI_ID,
    "gpus[].memoryMiB": _number(codec._MOST_MIB),
    "gpus[].numaNode": _NUMA,
    "gpus[].pcieRoot": _ROOT_COMPLEX,
    "gpus[].mig": {"type": "boolean"},
    "gpus[].migPending": {"type": "boolean"},
    "gpus[].problem": _TEXT,
    "links.shape": {"enum": list(codec._SHAPES)},
    "links.domains": _some(codec._MOST_GPUS, _some(codec._MOST_GPUS, _INDEX, minItems=2, uniqueItems=True)),
    "links.levels": _some(
        codec._MOST_GPUS, _some(codec._MOST_GPUS, {"type": "string", "maxLength": codec._LONGEST_LEVEL})
    ),
    "fabric.clusterUuid": _text(36, minLength=1),
    "fabric.clique": _number(codec._MOST_CLIQUE),
    "platform.chassis": _TEXT,
    "platform.slot": _number(codec._MOST_PLACE),
    "platform.tray": _number(codec._MOST_PLACE),
    "platform.host": _number(codec._MOST_PLACE),
    "migProfiles[].profile": _PROFILE,
    "migProfiles[].pciId": _PCI_ID,
    "migProfiles[].max": _number(codec._MOST_SLICES),
    "migProfiles[].memoryMiB": _number(codec._MOST_MIB),
    "migInstances[].gpu": _INDEX,
    "migInstances[].profile": _PROFILE,
    "migInstances[].start": _number(codec._MOST_SLICES),
    "migInstances[].size": _number(codec._MOST_SLICES),
    "nics[].name": _text(codec.LONGEST_TEXT, minLength=1),
    "nics[].kind": {"enum": list(codec._NIC_KINDS)},
    "nics[].numaNode": _NUMA,
    "nics[].pcieRoot": _ROOT_COMPLEX,
    "unseen[].what": _TEXT,
    "unseen[].why": _TEXT,
    "unseen[].gpus": _some(codec._MOST_GPUS, _INDEX),
}
_MOST = {
    "gpus": codec._MOST_GPUS,
    "migProfiles": codec._MOST_OFFERS,
    "migInstances": codec._MOST_INSTANCES,
    "nics": codec._MOST_NICS,
    "unseen": codec.MOST_UNSEEN,
}
# Of an element; of the document itself nothing is required.
_REQUIRED = {
    "gpus": ["index"],
    "migProfiles": ["profile"],
    "migInstances": ["gpu", "profile"],
    "nics": ["name"],
    "fabric": ["clusterUuid"],
}


def schema() -> dict[str, Any]:
    """Return the schema."""
    meanings = _meanings()
    properties: dict[str, Any] = {}
    for path, kind in FIELDS.items():
        described = {"description": meanings[path], **kind}
        parent, _, name = path.rpartition(".")
        if not parent:
            properties[name] = described
            continue
        part = parent.removesuffix("[]")
        inner = {"type": "object", "properties": {}}
        if part in _REQUIRED:
            inner["required"] = _REQUIRED[part]
        if part == parent:
            properties.setdefault(part, inner)["properties"][name] = described
        else:
            properties.setdefault(part, _some(_MOST[part], inner))["items"]["properties"][name] = described
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "https://podberth.io/schema/node-topology-v1.json",
        "title": "A node's topology document, version 1",
        "description": "Under topology.json of a node's ConfigMap. Fields that are not here are passed over.",
        "type": "object",
        "properties": properties,
    }


def _meanings() -> dict[str, str]:
    """Read the table of docs/agent.md."""
    table = (ROOT / "docs/agent.md").read_text(encoding="utf-8").partition("\n| field | meaning |\n")[2]
    rows = re.findall(r"^\| `([^`]+)` \| (.*) \|$", table.partition("\n\n")[0], re.MULTILINE)
    return {path: meaning.replace("`", "") for path, meaning in rows}


if __name__ == "__main__":
    sys.exit(main({PAGE: json.dumps(schema(), indent=2, ensure_ascii=False) + "\n"}))
