"""Puts the addresses of a release into the package's metadata: those of the repository that it is released from."""

import os
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface


class ProjectUrls(MetadataHookInterface):
    """A metadata hook of hatchling. PODBERTH_REPOSITORY has the repository's URL; without it there are no addresses."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set the field ``urls`` of the project's metadata."""
        repository = os.environ.get("PODBERTH_REPOSITORY", "")
        tag = f"{repository}/blob/v{metadata['version']}"
        pages = {
            "Homepage": repository,
            "Documentation": f"{tag}/docs/README.md",
            "Changelog": f"{tag}/CHANGELOG.md",
            "Issues": f"{repository}/issues",
        }
        metadata["urls"] = pages if repository else {}
