"""docs/install.md ("With a registry"): its commands bring both images into one that asks who pushes."""

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from deployment.operated import blocks
from pages import page

from .built import NAMES, VERSION, Image
from .registry import PASSWORD, USER, registry


def test_the_commands_of_the_page_push_both(
    registry_program: Path, skopeo: Path, images: Mapping[str, Image], tmp_path: Path
) -> None:
    (tmp_path / "dist").symlink_to(images["podberth"].archive.parent)
    # Debian's and Ubuntu's skopeo come with one in /etc.
    policy = tmp_path / ".config" / "containers" / "policy.json"
    policy.parent.mkdir(parents=True)
    policy.write_text('{"default": [{"type": "insecureAcceptAnything"}]}')
    block = blocks(page("docs/install.md"), "### With a registry", "bash")[0]
    with registry(registry_program, tmp_path) as there:
        environ = {
            "HOME": str(tmp_path),
            "PATH": f"{skopeo.parent}:{os.environ['PATH']}",
            "REGISTRY_AUTH_FILE": str(tmp_path / "auth.json"),
            "SSL_CERT_FILE": str(there.authority),
        }

        def run(script: str) -> str:
            command = ["bash", "-euo", "pipefail", "-c", script]
            done = subprocess.run(command, cwd=tmp_path, env=environ, capture_output=True, text=True, check=False)
            assert done.returncode == 0, f"{script}\n{done.stderr}"
            return done.stdout

        # Whoever types it is asked for both.
        login = f"skopeo login --username {USER} --password {PASSWORD} {there.address}"
        run(block.replace("skopeo login example.com", login).replace("example.com", there.address))
        for name in NAMES:
            found = json.loads(run(f"skopeo inspect docker://{there.address}/{name}:{VERSION}"))
            assert found["Digest"] == images[name].entry["digest"]
