"""The client of the API server is loaded with what it needs of its library."""

import os
import subprocess
import sys
from pathlib import Path

from client_certificates import ClientAuthority
from pages import ROOT


def test_the_client_loads_no_synchronous_half_of_its_library_whose_packages_can_still_be_imported() -> None:
    script = (
        "import sys; from podberth.api.opening import client_class; client_class('x');"
        "print([name for name in ('requests', 'urllib3', 'kubernetes.client', 'websocket') if name in sys.modules]);"
        "from kubernetes import client, aio; from kubernetes.aio import watch; print(client.CoreV1Api, watch.Watch)"
    )
    environ = {"PYTHONPATH": str(ROOT / "webhook"), "PATH": os.environ["PATH"]}
    done = subprocess.run([sys.executable, "-c", script], env=environ, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("[]\n<class ")


def test_the_client_is_loaded_without_the_certificates_of_the_machine_which_later_connections_find(
    tmp_path: Path,
) -> None:
    script = (
        "import os, ssl; from podberth.api.opening import client_class; client_class('x'); "
        "from aiohttp.connector import _SSL_CONTEXT_VERIFIED as loaded; "
        "print(len(loaded.get_ca_certs()), len(ssl.create_default_context().get_ca_certs()), "
        "os.environ.get('SSL_CERT_FILE'), os.environ.get('SSL_CERT_DIR'))"
    )
    trusted = ClientAuthority(tmp_path / "ca").file
    environ = {"PYTHONPATH": str(ROOT / "webhook"), "PATH": os.environ["PATH"], "SSL_CERT_FILE": str(trusted)}
    done = subprocess.run([sys.executable, "-c", script], env=environ, capture_output=True, text=True, check=True)
    assert done.stdout == f"0 1 {trusted} None\n"
