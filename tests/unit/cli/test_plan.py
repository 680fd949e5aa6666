"""`podberth plan mig`: its formats, and its demand from Pods and files."""

import json
import re
from pathlib import Path

import pytest
import yaml

from builders import gpu_pod
from pages import page
from podberth.cli.main import main
from podberth.topology.shapes import simulate

NEEDS = "needs:\n- {memory: 4Gi, count: 14}\n- {gpus: 1, count: 14}\n"
FLEET = ["plan", "mig", "--simulate", "dgx-a100-8:2"]


@pytest.fixture
def needs(tmp_path: Path) -> str:
    """The path of a file with needs."""
    file = tmp_path / "needs.yaml"
    file.write_text(NEEDS, encoding="utf-8")
    return str(file)


def test_the_text_says_what_is_gained_how_sure_it_is_and_how_to_do_it(
    needs: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*FLEET, "--demand", needs]) == 0
    said, _, config = capsys.readouterr().out.partition("\n\n")
    assert said == (
        "demand: 28 pods, 616 GiB\n"
        "today: 57 % of it, 352 GiB, has a place; wait: 6 pods of 1 GPU, 6 pods of 4096 MiB\n"
        "planned: 100 % of it, 616 GiB, has a place; nothing waits\n"
        "A100-40GB: 2 nodes, 16 GPUs; in use 352 GiB today, 616 GiB planned; 1 to change\n"
        "exact: no layouts serve more"
    )
    assert config.startswith("version: v1\nmig-configs:\n  # dgx-a100-8-")


def test_yaml_is_what_mig_parted_reads(needs: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The fields are those of NVIDIA/mig-parted api/spec/v1/spec.go."""
    assert main([*FLEET, "--demand", needs, "-o", "yaml"]) == 0
    document = yaml.safe_load(capsys.readouterr().out)
    assert document["version"] == "v1"
    devices = [each for config in document["mig-configs"].values() for each in config]
    assert sorted(json.dumps(each) for each in devices) == sorted(
        json.dumps(each)
        for each in (
            {"devices": [6, 7], "mig-enabled": True, "mig-devices": {"1g.5gb": 7}},
            {"devices": [0, 1, 2, 3, 4, 5], "mig-enabled": False},
        )
    )


def test_json_has_the_same(needs: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*FLEET, "--demand", needs, "-o", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    [pool] = document["pools"]
    assert (document["keepsToday"], document["exact"]) == (False, True)
    assert document["planned"]["servedMiB"] == document["boundMiB"] == document["demandMiB"]
    assert document["today"]["waiting"] == [{"need": "1 GPU", "pods": 6}, {"need": "4096 MiB", "pods": 6}]
    assert (pool["todayMiB"], pool["plannedMiB"]) == (352 * 1024, 616 * 1024)
    assert [each["nodes"] for each in pool["configs"]] == [["dgx-a100-8-1"]]
    assert pool["kept"] == ["dgx-a100-8-0"]


def test_without_a_file_the_pods_of_the_snapshot_are_the_demand(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pods = [gpu_pod(1, name=f"p{at}", annotations={"podberth.io/gpu-memory": "4Gi"}) for at in range(9)]
    snapshot = tmp_path / "snapshot.json"
    documents = [*simulate("dgx-a100-8", "a"), *pods]
    snapshot.write_text("\n".join(map(json.dumps, [{"kind": "List", "apiVersion": "v1", "items": documents}])))
    assert main(["plan", "mig", "--topology", str(snapshot)]) == 0
    assert capsys.readouterr().out.startswith(
        "demand: 9 pods, 36 GiB\ntoday: 89 % of it, 32 GiB, has a place; wait: 1 pod of 4096 MiB\nplanned: 100 % of it"
    )


def test_layouts_that_are_good_enough_are_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "needs.yaml"
    file.write_text("needs: [{gpus: 1, count: 3}]\n", encoding="utf-8")
    assert main([*FLEET, "--demand", str(file)]) == 0
    assert capsys.readouterr().out.endswith(
        "planned: nothing better than today's layouts was found; keep them\nexact: no layouts serve more\n"
    )


def test_a_plan_that_is_not_exact_says_how_much_more_others_may_serve(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """400 machines are too many for a search of a hundredth of a second."""
    file = tmp_path / "needs.yaml"
    file.write_text(
        "needs:\n- {memory: 4Gi, count: 9000}\n- {memory: 9000Mi, count: 4000}\n- {memory: 19000Mi, count: 3000}\n"
        "- {profile: 2g.10gb, count: 500}\n- {gpus: 8, count: 100}\n",
        encoding="utf-8",
    )
    assert main(["plan", "mig", "--simulate", "dgx-a100-8:400", "--demand", str(file), "--seconds", "0.01"]) == 0
    assert re.search(
        r"^not exact: other layouts may serve more, at most \d+\.\d % more$", capsys.readouterr().out, re.MULTILINE
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--simulate", "dgx-a100-8"],
            "got no Pod with NVIDIA GPUs in the snapshot that waits or is on a node whose GPUs can be partitioned",
        ),
        (["--simulate", "dgx-a100-8", "--demand", "missing.yaml"], "missing.yaml: cannot be read: "),
        (
            ["--simulate", "l4-4:2", "--demand", "needs"],
            "no node whose GPUs can be partitioned; 2 nodes: GPUs without MIG",
        ),
    ],
)
def test_what_cannot_be_planned_is_said(
    arguments: list[str], message: str, needs: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["plan", "mig", *(needs if each == "needs" else each for each in arguments)]) == 2
    assert message in capsys.readouterr().err


def test_the_page_shows_what_the_command_prints(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = page("docs/plan.md")
    [stated] = re.findall(r"^<!-- needs -->\n```yaml\n(.*?)^```$", found, re.MULTILINE | re.DOTALL)
    [(command, shown)] = re.findall(
        r"^<!-- plan -->\n```text\n\$ podberth (.*?)\n(.*?)^```$", found, re.MULTILINE | re.DOTALL
    )
    file = tmp_path / "needs.yaml"
    file.write_text(stated, encoding="utf-8")
    assert main([str(file) if each == "needs.yaml" else each for each in command.split()]) == 0
    assert capsys.readouterr().out == shown
