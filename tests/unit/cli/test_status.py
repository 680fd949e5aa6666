"""What `podberth status` prints, on a terminal and in a pipe; and that its page says what there is."""

import argparse
import io
import json
import re
from datetime import timedelta
from pathlib import Path

import jsonschema
import pytest

from pages import ROOT, page, rows
from podberth.cli.main import main
from podberth.cli.status import configure, show_status
from podberth.cli.terminal import Terminal
from podberth.installation.observation import ObservedList, Replica, StatusReport, Unread
from status_scenes import event, gpu_policy, lease, observed, replica, report, workload

PAGE, COMMANDS = page("docs/status.md"), page("docs/commands.md")
SCHEMA = json.loads((ROOT / "docs" / "schema" / "status-v1.json").read_text(encoding="utf-8"))
DENIED = 'Error creating: admission webhook "pods.validate.podberth.io" denied the request: podberth x: \x1b[31mno'


def troubled() -> StatusReport:
    """Return what is said about an installation with a bit of everything."""
    return report(
        agents=Unread("forbidden", "get daemonsets.apps podberth-agent in podberth-agent"),
        heartbeats=(lease("gpu-0", timedelta(minutes=9)),),
        policies=(gpu_policy("a", message="gpupolicy/a:3:5 spec.mutations[0].labels[x]: no such field"),),
        events=ObservedList((event(DENIED),)),
    )


def decided(one: Replica) -> Replica:
    """Return the replica with denials."""
    assert not isinstance(one.metrics, Unread)
    labels = frozenset({("policy", "vendor-names"), ("verdict", "deny")})
    return Replica(one.name, {**one.metrics, ("podberth_policy_decisions_total", labels): 5.0})


def example() -> StatusReport:
    """Return what the page shows."""
    deployment = workload(readyReplicas=2, updatedReplicas=2)
    [container] = deployment["spec"]["template"]["spec"]["containers"]
    container["env"] = [
        {"name": "PODBERTH_POLICIES", "value": "/etc/podberth/policies"},
        {"name": "PODBERTH_TOPOLOGY", "value": "cluster"},
        {"name": "PODBERTH_CA_SECRET", "value": "podberth-ca"},
    ]
    guards = {
        f"{kind}/podberth-shared-ca": {"metadata": {"name": "podberth-shared-ca"}}
        for kind in ("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding")
    }
    return report(
        deployment=deployment,
        guards={**observed().guards, **guards},
        policies=(),
        replicas=(replica(policies_loaded=21.0), decided(replica("podberth-2", policies_loaded=21.0))),
        heartbeats=(lease("gpu-0", timedelta(minutes=9)),),
        events=ObservedList(
            (
                event(
                    DENIED.replace("x: \x1b[31mno", "vendor-names: spec.containers[0]: no such device"),
                    count=4,
                    firstTimestamp="2026-01-31T09:00:00Z",
                ),
            )
        ),
    )


def shown(found: StatusReport, *, width: int, colour: bool = False, encoding: str = "utf-8") -> str:
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    show_status(found, Terminal(stream, colour=colour, width=width))
    stream.seek(0)
    return stream.read()


@pytest.mark.parametrize("width", [80, 100, 160])
def test_a_healthy_cluster_is_one_screen_of_any_width(width: int) -> None:
    lines = shown(report(), width=width).splitlines()
    assert 24 <= len(lines) <= 42
    assert max(map(len, lines)) <= width
    assert lines[0] == "podberth on Kubernetes v1.36.3: healthy"
    assert "\x1b" not in "".join(lines)


def test_each_line_that_wants_something_is_marked_and_they_are_counted() -> None:
    lines = shown(troubled(), width=80).splitlines()
    assert lines[0].endswith(": 4 lines need attention")
    assert [line.split()[1] for line in lines if line.startswith("!")] == ["objects", "broken", "heartbeats"]
    assert [line.split()[1] for line in lines if line.startswith("?")] == ["agents"]
    continued = [line for line in lines if line.startswith("   ")]
    assert continued
    assert all(line.startswith(" " * 15) for line in continued)


def test_colours_are_for_a_terminal_and_controls_of_others_for_none() -> None:
    coloured = shown(troubled(), width=80, colour=True)
    assert "\x1b[1;31m! " in coloured
    assert "\x1b[1;33m? " in coloured
    assert "\x1b[32m✓ " in coloured
    assert r"\x1b[31mno" in coloured
    assert "\x1b[31mno" not in coloured


def test_a_stream_of_ascii_gets_ascii() -> None:
    text = shown(report(), width=80, encoding="ascii")
    assert "\n+ webhook " in text
    assert text.isascii()


def test_the_json_is_valid_by_the_schema() -> None:
    for found in (report(), troubled()):
        document = json.loads(json.dumps(found.as_json()))
        assert list(jsonschema.Draft202012Validator(SCHEMA).iter_errors(document)) == []
    assert (report().as_json()["healthy"], troubled().as_json()["healthy"]) == (True, False)


def test_the_page_has_a_row_for_each_line_of_the_schema() -> None:
    table = COMMANDS.partition("\n| line |")[2].partition("\n\n")[0]
    documented = {name for row in table.splitlines()[2:] for name in re.findall(r"`([\w ]+)`", row.split(" | ")[0])}
    assert documented == set(SCHEMA["$defs"]["row"]["properties"]["name"]["enum"])


def test_the_page_shows_what_is_printed() -> None:
    assert shown(example(), width=100) in PAGE


def test_the_page_has_a_row_for_each_flag() -> None:
    parser = argparse.ArgumentParser()
    configure(parser)
    flags = {action.option_strings[0] for action in parser._actions} - {"-h"}
    section = COMMANDS.partition("\n## podberth status\n")[2].partition("\n## ")[0]
    assert flags == {key.split()[0] for key in rows(section) if not key.startswith(("---", "flag"))}


def test_without_a_kubeconfig_it_says_what_it_wants(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert main(["status"]) == 2
    assert "got neither $KUBECONFIG nor ~/.kube/config" in capsys.readouterr().err
