"""The steps of docs/install-reference.md ("What was tried"), in its order, as `python -m bench.install` times them."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from pages import page

from .built import Image
from .walk import Times, walk

pytestmark = [pytest.mark.usefixtures("control_plane"), pytest.mark.hosts]


def test_an_admin_gets_from_the_archives_to_nothing_left(
    images: Mapping[str, Image], containerd: Path, tmp_path: Path
) -> None:
    _, _, rest = page("docs/install-reference.md").partition("\n| step | took |\n")
    built, *steps = [line.split(" | ")[0].removeprefix("| ") for line in rest.partition("\n\n")[0].splitlines()[1:]]
    times = Times()
    walk(images, containerd, tmp_path, times)
    assert built.startswith("`make images`")
    assert list(times.steps) == steps
