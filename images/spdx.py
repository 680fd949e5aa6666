"""The list of what is in an image, as SPDX 2.3 in JSON: https://spdx.github.io/spdx-spec/v2.3/."""

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from urllib.parse import quote

from .archive import Origin
from .debian import Package
from .recipe import SUITE, Recipe
from .wheels import Wheel

_IMAGE = "SPDXRef-image"


def write(
    file: Path, recipe: Recipe, origin: Origin, digest: str, contents: tuple[Iterable[Package], Iterable[Wheel]]
) -> None:
    """Write the list of an image, whose manifest has the digest ``sha256:...``."""
    packages, wheels = contents
    image = _entry(_IMAGE, recipe.name, origin.version, f"pkg:oci/{recipe.name}@{quote(digest)}")
    held = [*map(_debian, packages), *map(_python, wheels)]
    document = {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"{recipe.name}-{origin.version}",
        # Unique to these contents, and no address that anything is fetched from.
        "documentNamespace": f"https://example.com/spdx/{recipe.name}-{origin.version}-{digest.removeprefix('sha256:')}",
        "creationInfo": {"created": origin.created, "creators": [f"Tool: podberth-images-{origin.version}"]},
        "packages": [image, *held],
        "relationships": [
            _related("SPDXRef-DOCUMENT", "DESCRIBES", _IMAGE),
            *(_related(_IMAGE, "CONTAINS", each["SPDXID"]) for each in held),
        ],
    }
    file.write_text(json.dumps(document, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def _debian(package: Package) -> dict[str, Any]:
    version, architecture = quote(package.version, safe=""), package.architecture
    name = f"pkg:deb/debian/{quote(package.name)}@{version}?arch={architecture}&distro={SUITE}"
    return _entry(
        f"SPDXRef-deb-{package.name}",
        package.name,
        package.version,
        name,
        sha256=package.sha256,
        file=package.file.name,
    )


def _python(wheel: Wheel) -> dict[str, Any]:
    name = f"pkg:pypi/{wheel.name}@{quote(wheel.version, safe='')}"
    return _entry(
        f"SPDXRef-pypi-{wheel.name}", wheel.name, wheel.version, name, sha256=wheel.sha256, file=wheel.file.name
    )


def _entry(key: str, name: str, version: str, purl: str, *, sha256: str = "", file: str = "") -> dict[str, Any]:
    known = {"checksums": [{"algorithm": "SHA256", "checksumValue": sha256}], "packageFileName": file} if sha256 else {}
    reference = {"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": purl}
    return {
        "SPDXID": re.sub(r"[^A-Za-z0-9.-]", "-", key),
        "name": name,
        "versionInfo": version,
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        "externalRefs": [reference],
        **known,
    }


def _related(subject: str, kind: str, related: str) -> dict[str, str]:
    return {"spdxElementId": subject, "relationshipType": kind, "relatedSpdxElement": related}
