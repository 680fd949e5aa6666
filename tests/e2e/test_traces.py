"""A real API server that traces: podberth's span of a review is in the API server's trace, below its call."""

import http.client
import json
import ssl
from pathlib import Path

from builders import gpu_pod
from controlplane.cluster import ControlPlane
from controlplane.wait import wait_for
from otlp_receiver import ReceivedSpan, receiver
from snapshots import policy

from .podberth_process import Podberth
from .registration import pointed, shipped

TRACE, CALL = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
# An API server hears of a configuration within milliseconds, and spans are sent after 50; a busy machine has its time.
SECONDS = 60.0
_WARNS = policy("warns", "  validations:\n  - {expression: 'false', message: look here}\n  validationActions: [Warn]")
# Only what its caller keeps is kept; its own spans go nowhere.
_TRACING = {"apiVersion": "apiserver.config.k8s.io/v1", "kind": "TracingConfiguration", "samplingRatePerMillion": 0}


def test_a_review_continues_the_trace_of_the_api_server(tmp_path: Path) -> None:
    (tmp_path / "tracing.json").write_text(json.dumps(_TRACING))
    policies = tmp_path / "policies"
    policies.mkdir()
    (policies / "warns.yaml").write_text(_WARNS)
    snapshot = tmp_path / "snapshot.json"
    snapshot.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": []}))
    argument = f"--tracing-config-file={tmp_path / 'tracing.json'}"
    with (
        receiver() as collector,
        ControlPlane.start(tmp_path / "plane", extra_apiserver_args=[argument]) as plane,
        Podberth(tmp_path / "serve", snapshot, policies, environ=collector.environ) as podberth,
    ):
        plane.apply(*(pointed(each, podberth.endpoint) for each in shipped()))

        def asked() -> bool:
            _create(plane, "00")
            counted = podberth.metrics()
            paths = [f'podberth_admission_duration_seconds_count{{path="/{each}"}}' for each in ("mutate", "validate")]
            return all(counted[path] for path in paths)

        wait_for(asked, timeout_seconds=SECONDS, what="podberth to be asked on both paths")
        assert "podberth warns: look here" in _create(plane, "01")

        def reviews() -> list[ReceivedSpan]:
            return [each for each in collector.spans() if each.server]

        wait_for(lambda: len(reviews()) >= 2, timeout_seconds=SECONDS, what=lambda: f"two spans; got {reviews()}")
        assert sorted(each.name for each in reviews()) == ["review /mutate", "review /validate"]
        assert {each.trace for each in collector.spans()} == {TRACE}
        # Their parents are calls of the API server's, below what the test called.
        parents = {each.parent for each in reviews()}
        assert len(parents) == 2
        assert not parents & {"", CALL}
        [judged] = [each for each in reviews() if each.name == "review /validate"]
        assert judged.attributes["podberth.policies"] == ["warns"]


def _create(plane: ControlPlane, flags: str) -> str:
    """Create a pod without leaving one, as a caller who traces; return the warnings."""
    tls = ssl.create_default_context(cafile=str(plane.ca_file))
    connection = http.client.HTTPSConnection(plane.url.removeprefix("https://"), context=tls, timeout=30)
    headers = {
        "Authorization": f"Bearer {plane.api._token}",
        "Content-Type": "application/json",
        "traceparent": f"00-{TRACE}-{CALL}-{flags}",
    }
    try:
        path = "/api/v1/namespaces/default/pods?dryRun=All"
        connection.request("POST", path, json.dumps(gpu_pod()).encode(), headers)
        answer = connection.getresponse()
        answer.read()
        return " ".join(answer.headers.get_all("Warning", ()))
    finally:
        connection.close()
