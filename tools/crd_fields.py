"""Write the names of the fields of foreign kinds into the package, from the CRDs in the folders that are given.

    python tools/crd_fields.py ../shared/crds

It reads ``*.yaml`` below each folder, and keeps the kinds of GPU systems that podberth knows, without their status. One
object a line, so that two releases of an operator can be compared with diff.
"""

import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

from podberth.kinds.crd_fields import encoded
from podberth.kinds.dossiers import no_pods
from podberth.kube.documents import load_documents
from podberth.workload.kinds import is_known

_WRITTEN: Final = Path(__file__).parents[1] / "webhook" / "podberth" / "kinds" / "data" / "crd-fields.json"


def render(folders: Iterable[Path]) -> str:
    """Return the packaged file of the CRDs in some folders."""
    found = encoded(schemas_in(folders))
    kinds = ",\n".join(f"{json.dumps(name)}:{number}" for name, number in found["kinds"].items())
    objects = ",\n".join(json.dumps(each, separators=(",", ":")) for each in found["objects"])
    return f'{{"kinds":{{\n{kinds}\n}},\n"objects":[\n{objects}\n]}}\n'


def schemas_in(folders: Iterable[Path]) -> dict[tuple[str, str], dict[str, Any]]:
    """Return the schema of each known kind by apiVersion and kind."""
    return {key: schema for folder in folders for key, schema in _schemas(folder)}


def _schemas(folder: Path) -> Iterator[tuple[tuple[str, str], dict[str, Any]]]:
    for file in sorted(folder.rglob("*.yaml")):
        for each in load_documents(file.read_text(encoding="utf-8"), file.name)[0]:
            if each.document.get("kind") == "CustomResourceDefinition":
                yield from _of_crd(each.document["spec"])


def _of_crd(spec: dict[str, Any]) -> Iterator[tuple[tuple[str, str], dict[str, Any]]]:
    for version in spec["versions"]:
        name, kind = f"{spec['group']}/{version['name']}", spec["names"]["kind"]
        schema = version.get("schema", {}).get("openAPIV3Schema")
        is_ours = is_known({"apiVersion": name, "kind": kind}) and spec["group"] not in no_pods.DOSSIER.podless_groups
        if schema and is_ours:
            properties = {**schema["properties"], "status": {}}
            yield (name, kind), {**schema, "properties": properties}


def main(arguments: list[str]) -> int:
    """Write the packaged file, and say so."""
    if not arguments:
        print("usage: crd_fields.py FOLDER...", file=sys.stderr)
        return 2
    _WRITTEN.write_text(render(map(Path, arguments)), encoding="utf-8")
    print(_WRITTEN)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
