"""Files that tests of several commands read."""

import json
from pathlib import Path

import pytest

from topology_scenes import as_list, cluster, hostile


@pytest.fixture
def snapshot(tmp_path: Path) -> Path:
    file = tmp_path / "snapshot.json"
    file.write_text(json.dumps(as_list([*cluster(), *hostile()])))
    return file
