"""What `podberth why` prints, on a terminal and as JSON; and that its page shows just that."""

import io
import json
import re
from pathlib import Path

import jsonschema
import pytest

from builders import gpu_pod
from pages import ROOT, page, rows
from podberth.cli.terminal import Terminal
from podberth.cli.why import lines as answer_lines
from podberth.cluster.why import parse_name
from podberth.errors import UsageError
from podberth.why.diagnosis import Answer, Diagnosis, Said
from why_pictures import Document, forbidden, node, placed, waiting, why

PAGE = page("docs/why.md")
SCHEMA = json.loads((ROOT / "docs" / "schema" / "why-v1.json").read_text(encoding="utf-8"))
GPU = "nvidia.com/gpu"
TEAM_B = {"key": "team", "value": "b", "effect": "NoSchedule"}


def in_team_a(document: Document) -> Document:
    return {**document, "metadata": {**document["metadata"], "namespace": "team-a"}}


def example() -> Answer:
    """Return what the page shows: room for a pod of four GPUs is there, and not on one node that it may use."""
    message = (
        f"0/4 nodes are available: 1 node(s) had untolerated taint(s), 3 Insufficient {GPU}. no new claims to "
        "deallocate, preemption: 0/4 nodes are available: 4 Preemption is not helpful for scheduling."
    )
    held = [placed(in_team_a(gpu_pod(6, name=f"sweep-{number}")), f"gpu-{number}") for number in range(2)]
    nodes = (
        *(node(f"gpu-{number}") for number in range(2)),
        node("gpu-2", spec={"taints": [TEAM_B]}),
        node("cpu-0", gpus=0),
    )
    asked = waiting(gpu_pod(4, name="train-0", priority=0), message)
    return why(asked, *nodes, pods=held)


def shown(found: Answer, *, width: int = 80) -> str:
    stream = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    Terminal(stream, colour=False, width=width).put(answer_lines(found))
    stream.seek(0)
    return stream.read()


def test_the_page_shows_what_is_printed() -> None:
    [session] = re.findall(r"^```console\n\$ kubectl podberth why train-0\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    assert session == shown(example())


@pytest.mark.parametrize("width", [80, 120])
def test_the_first_line_is_the_cause_and_no_line_is_too_long(width: int) -> None:
    lines = shown(example(), width=width).splitlines()
    assert lines[0].startswith("Pod default/train-0 waits 12 min: 4 nvidia.com/gpu are free, but at most 2")
    assert max(map(len, lines)) <= width
    assert len(lines) <= 24


def test_json_is_as_its_schema_says() -> None:
    said = example().as_json()
    jsonschema.validate(said, SCHEMA)
    assert "Preemption is not helpful" in said["scheduler"]["message"]
    jsonschema.validate(why(waiting(gpu_pod(1)), node("a")).as_json(), SCHEMA)


def test_what_could_not_be_read_is_the_last_part() -> None:
    found = Answer(
        subject="Pod default/x",
        among="job train has 2 pods: 1 waiting for a node, 1 placed",
        waits_seconds=0,
        diagnosis=Diagnosis(cause="x", title="nothing", waits=False),
        then=(),
        said=example().said,
        autoscaler=Said(scheduler="karpenter", reason="Nominated", message="Pod should schedule on: nodeclaim/gpu"),
        unread=(forbidden("list nodes"),),
    )
    lines = shown(found).splitlines()
    assert lines[:2] == ["Pod default/x: nothing", "job train has 2 pods: 1 waiting for a node, 1 placed"]
    assert lines[-2:] == [
        "autoscaler karpenter: Pod should schedule on: nodeclaim/gpu",
        "not read   list nodes: forbidden",
    ]


def test_the_page_has_a_row_for_each_cause_and_no_other() -> None:
    sources = (ROOT / "webhook" / "podberth" / "why").glob("*.py")
    named = {name for each in sources for name in re.findall(r'cause="([^"]+)"', each.read_text(encoding="utf-8"))}
    named |= set(re.findall(r'^ +"(image|crash|configuration|init|starting|not ready)",$', _placed(), re.MULTILINE))
    [table] = re.findall(r"^## The causes of why\n(.*?)^## ", page("docs/commands.md"), re.MULTILINE | re.DOTALL)
    assert set(rows(table)) - {"cause"} == named


def _placed() -> str:
    return (ROOT / "webhook" / "podberth" / "why" / "placed.py").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("text", "parsed"),
    [
        ("train-0", ("", "train-0")),
        ("pod/train-0", ("pod", "train-0")),
        ("po/x", ("pod", "x")),
        ("Jobs.batch/train", ("job", "train")),
        ("sts/shard", ("statefulset", "shard")),
        ("deploy/x", ("deployment", "x")),
        ("pytorchjobs/x", ("pytorchjob", "x")),
    ],
)
def test_a_name_is_what_kubectl_takes(text: str, parsed: tuple[str, str]) -> None:
    assert parse_name(text) == parsed


@pytest.mark.parametrize("text", ["", "/x", "job/", "a/b/c"])
def test_another_text_is_no_name(text: str) -> None:
    with pytest.raises(UsageError, match=r"NAME: got '.*', want a pod's name"):
        parse_name(text)


def test_the_schema_is_where_programs_look() -> None:
    assert SCHEMA["$schema"].startswith("https://json-schema.org/")
    assert Path("docs/schema/why-v1.json").name in PAGE
