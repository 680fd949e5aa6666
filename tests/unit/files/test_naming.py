import re
from pathlib import Path

import pytest

from pages import OPERATING
from podberth.conventions import IGNORED_LABELS, LABEL_KEYS, LEVELS, TOLERABLE_TAINTS, Conventions, LabelKey
from podberth.errors import UsageError
from podberth.files.naming import read_conventions
from podberth.workload.systems import SYSTEMS


def read(tmp_path: Path, text: str) -> Conventions:
    file = tmp_path / "conventions.yaml"
    file.write_text(text, encoding="utf-8")
    return read_conventions(file)


def test_without_a_file_there_are_the_presets() -> None:
    assert read_conventions(None) == Conventions()


def test_the_files_keys_come_first_and_redefine_presets(tmp_path: Path) -> None:
    text = (
        "labelKeys:\n- {key: a, provisioned: true, settles: [memory], number: true}\n- {key: nvidia.com/gpu.product}\n"
    )
    found = read(tmp_path, text).label_keys
    own = LabelKey("a", provisioned=True, settles=frozenset({"memory"}), number=True)
    assert found[:2] == (own, LabelKey("nvidia.com/gpu.product"))
    assert found[2:] == tuple(each for each in LABEL_KEYS if each.key != "nvidia.com/gpu.product")


def test_node_groups_grow_unless_the_file_says_otherwise(tmp_path: Path) -> None:
    assert read(tmp_path, "labelKeys: []\n").node_groups_grow
    assert not read(tmp_path, "nodeGroupsGrow: false\n").node_groups_grow


def test_the_files_levels_stand_in_the_place_of_the_presets(tmp_path: Path) -> None:
    assert read(tmp_path, "levels: [example.com/row, example.com/rack]\n").levels == (
        "example.com/row",
        "example.com/rack",
        "kubernetes.io/hostname",
    )
    assert read(tmp_path, "levels: [kubernetes.io/hostname, a]\n").levels == ("a", "kubernetes.io/hostname")
    assert read(tmp_path, "{}\n").levels == LEVELS


def test_the_files_taints_and_ignored_labels_are_added_to_the_presets(tmp_path: Path) -> None:
    taints = "tolerableTaints:\n- {key: example.com/dedicated, value: gpu}\n- {key: sku}\n"
    text = f"{taints}ignoredLabels: [example.com/rack-serial]\n"
    found = read(tmp_path, text)
    assert found.tolerable_taints == {**TOLERABLE_TAINTS, "example.com/dedicated": "gpu", "sku": None}
    assert found.marks_accelerators("example.com/dedicated", "gpu", "NoSchedule")
    assert not found.marks_accelerators("example.com/dedicated", "cpu", "NoSchedule")
    assert found.ignored_labels == IGNORED_LABELS | {"example.com/rack-serial"}


def test_a_namespace_is_given_to_the_system_that_takes_its_pods_over(tmp_path: Path) -> None:
    text = "groupSystems:\n- {system: yunikorn, namespaceSelector: {matchLabels: {team: a}}}\n"
    [found] = read(tmp_path, text).group_systems
    assert (found.system, dict(found.namespace_selector)["matchLabels"]) == ("yunikorn", {"team": "a"})


def test_every_system_may_be_named_and_no_other(tmp_path: Path) -> None:
    for name in (each.name for each in SYSTEMS):
        [found] = read(tmp_path, f"groupSystems: [{{system: {name}, namespaceSelector: {{}}}}]\n").group_systems
        assert found.system == name
    with pytest.raises(UsageError, match="native"):
        read(tmp_path, "groupSystems: [{system: slurm, namespaceSelector: {}}]\n")


def test_the_documented_example_is_read(tmp_path: Path) -> None:
    [example] = re.findall(r"^```yaml\n(nodeGroupsGrow.*?)^```", OPERATING, re.MULTILINE | re.DOTALL)
    assert read(tmp_path, example).label_keys[0].key == "example.com/gpu-class"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("groupSystems:\n- {system: slurm, namespaceSelector: {}}\n", r"conventions.yaml:2:12 .*got 'slurm'"),
        ("groupSystems:\n- {system: kai}\n", r"the field 'namespaceSelector' is required"),
        ("levels: []\n", r"conventions.yaml:1:9 levels"),
        ("labelKey: []\n", r"conventions.yaml:1:1 .*labelKeys"),
        ("labelKeys:\n- {key: a, settles: [size]}\n", r"conventions.yaml:2:22 .*settles"),
        ("labelKeys:\n- {provisioned: true}\n", r"the field 'key' is required"),
        ("nodeGroupsGrow: 1\n", r"conventions.yaml:1:17 nodeGroupsGrow: got 1, want true or false"),
        ("{}\n---\n{}\n", "got 2 documents, want one"),
        (": {", "conventions.yaml"),
    ],
)
def test_unknown_fields_are_refused_at_their_place(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        read(tmp_path, text)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"--conventions: .*nowhere: cannot be read"):
        read_conventions(tmp_path / "nowhere")
