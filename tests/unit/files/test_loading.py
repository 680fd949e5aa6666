import contextlib
import json
import os
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest

from newer_schema import newer_schema
from podberth.errors import PolicyError, TopologyError, UsageError
from podberth.files import loading
from podberth.files.loading import FileSource, read_objects, read_pod_schema, read_policy_texts, read_topology
from podberth.topology.shapes import simulate

_POLICY = """
apiVersion: podberth.io/v1alpha1
kind: GPUPolicy
metadata: {name: NAME}
spec: {mutations: [{labels: {a: "'b'"}}]}
"""


def _write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def _node(name: str) -> str:
    return json.dumps(simulate("l4-1", name)[0])


def test_policy_files_are_found_everywhere_in_one_order(tmp_path: Path) -> None:
    wanted = ["a/b/deep.json", "a/policy.yaml", "b.yml"]
    for name in (*wanted, "a/tests.yaml", "README.md", ".hidden.yaml", ".git/policy.yaml"):
        _write(tmp_path / name, name)
    texts, problems = read_policy_texts(tmp_path)
    assert [(Path(file).relative_to(tmp_path).as_posix(), text) for file, text in texts] == [(n, n) for n in wanted]
    assert problems == []


def test_mounted_config_map_is_read_once(tmp_path: Path) -> None:
    _write(tmp_path / "..2026_01_01" / "policy.yaml", "text")
    (tmp_path / "..data").symlink_to("..2026_01_01")
    (tmp_path / "policy.yaml").symlink_to("..data/policy.yaml")
    assert read_policy_texts(tmp_path)[0] == [(str(tmp_path / "policy.yaml"), "text")]


def test_exchanged_config_map_is_another_revision(tmp_path: Path) -> None:
    for version in ("1", "2"):
        _write(tmp_path / f"..{version}" / "policy.yaml", "same size")
    (tmp_path / "..data").symlink_to("..1")
    (tmp_path / "policy.yaml").symlink_to("..data/policy.yaml")
    source = FileSource(tmp_path, None)
    before = source.revision()
    assert source.revision() == before
    (tmp_path / "new").symlink_to("..2")
    os.replace(tmp_path / "new", tmp_path / "..data")  # noqa: PTH105 - as the kubelet does
    assert source.revision() != before


def test_revision_shows_which_part_has_changed(tmp_path: Path) -> None:
    policies, nodes = tmp_path / "policies", _write(tmp_path / "nodes.json", _node("a"))
    _write(policies / "a.yaml", _POLICY)
    source = FileSource(policies, nodes)
    before = source.revision()
    _write(nodes, _node("another"))
    after = source.revision()
    assert (before["policies"] == after["policies"], before["topology"] == after["topology"]) == (True, False)


def test_file_that_cannot_be_read_is_a_problem_beside_the_others(tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_bytes(b"\xff\xfe")
    (tmp_path / "gone.yaml").symlink_to("nowhere")
    _write(tmp_path / "good.yaml", "good")
    texts, problems = read_policy_texts(tmp_path)
    assert [text for _, text in texts] == ["good"]
    assert [Path(problem.file).name for problem in problems] == ["bad.yaml", "gone.yaml"]
    with pytest.raises(PolicyError, match=r"bad\.yaml: cannot be read: byte 0xff in line 1 is no UTF-8"):
        FileSource(tmp_path, None).load()


def test_no_directory_is_a_problem(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="nowhere: got no directory"):
        FileSource(tmp_path / "nowhere", None).load()


def test_snapshot_is_a_file_or_a_directory(tmp_path: Path) -> None:
    one = _write(tmp_path / "one" / "a.json", _node("a"))
    _write(tmp_path / "one" / "b.yaml", _node("b"))
    assert [node.name for node in read_objects(one).nodes] == ["a"]
    assert [node.name for node in read_objects(tmp_path / "one").nodes] == ["a", "b"]


@pytest.mark.parametrize("text", ["a: [", "{", "a: 1\na: 2\n"])
def test_snapshot_that_is_no_yaml_is_refused_with_its_place(tmp_path: Path, text: str) -> None:
    file = _write(tmp_path / "nodes.yaml", text)
    with pytest.raises(TopologyError, match=f"^{file}:"):
        read_objects(file)


def test_a_topology_without_a_node_is_refused(tmp_path: Path) -> None:
    assert [node.name for node in read_topology(_write(tmp_path / "a.json", _node("a"))).nodes] == ["a"]
    with pytest.raises(TopologyError, match=r"pod\.yaml: got no Node, want what kubectl get nodes,configmaps"):
        read_topology(_write(tmp_path / "pod.yaml", "apiVersion: v1\nkind: Pod\n"))


def test_missing_snapshot_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TopologyError, match="nowhere: cannot be read"):
        read_objects(tmp_path / "nowhere")


def test_source_loads_policies_and_nodes(tmp_path: Path) -> None:
    _write(tmp_path / "policies" / "a.yaml", _POLICY.replace("NAME", "a"))
    _write(tmp_path / "nodes.json", _node("a"))
    loaded = FileSource(tmp_path / "policies", tmp_path / "nodes.json").load()
    assert [policy.name for policy in loaded.snapshot.policies] == ["a"]
    assert loaded.snapshot.topology.node_count == 1


def test_without_a_snapshot_nothing_is_known(tmp_path: Path) -> None:
    assert not FileSource(tmp_path, None).load().snapshot.topology.known


def test_objects_that_cannot_be_used_are_warnings(tmp_path: Path) -> None:
    _write(tmp_path / "objects.json", '{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}}')
    (tmp_path / "policies").mkdir()
    [warning] = FileSource(tmp_path / "policies", tmp_path / "objects.json").load().warnings
    assert "Secret" in warning


@pytest.mark.parametrize("text", ["", "\n---\n", "# nothing yet\n"])
def test_a_snapshot_without_any_object_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(TopologyError, match="got no object"):
        read_objects(_write(tmp_path / "nodes.yaml", text))


def test_a_field_of_a_newer_cluster_is_known_from_its_own_schema(tmp_path: Path) -> None:
    policy = _POLICY.replace("NAME", "berth").replace("{a: \"'b'\"}", "{a: object.spec.berth}")
    _write(tmp_path / "policies" / "policy.yaml", policy)
    openapi = newer_schema(tmp_path)

    with pytest.raises(PolicyError, match="berth"):
        FileSource(tmp_path / "policies", None).load()
    newer = FileSource(tmp_path / "policies", None, pod_schema=read_pod_schema(openapi))
    assert len(newer.load().snapshot.policies) == 1


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"components": 1}'])
def test_a_schema_file_that_is_something_else_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(UsageError, match=r"--pod-schema: .*openapi.json: got .*, want what kubectl"):
        read_pod_schema(_write(tmp_path / "openapi.json", text))


# ---- emptied files ---------------------------------------------------------------------------------------------------

_PARAMS = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: b}\n"
_GOOD, _OTHER = (_POLICY.replace("NAME", name) for name in ("good", "other"))


@pytest.mark.parametrize("text", ["", "\n", "# nothing yet\n", "---\n# cut off\n---\n", "\ufeff"])
def test_a_policy_file_without_a_document_is_a_problem(tmp_path: Path, text: str) -> None:
    _write(tmp_path / "a.yaml", _GOOD)
    _write(tmp_path / "b.yaml", text)
    with pytest.raises(PolicyError) as raised:
        FileSource(tmp_path, None).load()
    said = "got no document, want a GPUPolicy, or params; delete the file to remove its policies"
    assert str(raised.value) == f"{tmp_path}/b.yaml: {said}"


def test_a_file_that_has_lost_its_policies_is_a_problem_until_it_is_deleted(tmp_path: Path) -> None:
    file = _write(tmp_path / "a.yaml", _GOOD)
    source = FileSource(tmp_path, None)
    assert len(source.load().snapshot.policies) == 1
    _write(file, _PARAMS)
    for _ in range(2):
        with pytest.raises(PolicyError, match=r"a\.yaml: got no policy, where there was one"):
            source.load()
    file.unlink()
    assert source.load().snapshot.policies == ()


def test_a_policy_may_move_to_another_file_and_be_renamed(tmp_path: Path) -> None:
    file = _write(tmp_path / "a.yaml", _GOOD)
    source = FileSource(tmp_path, None)
    source.load()
    _write(tmp_path / "b.yaml", _GOOD)
    _write(file, _PARAMS)
    assert len(source.load().snapshot.policies) == 1
    _write(tmp_path / "b.yaml", _OTHER)
    assert [each.name for each in source.load().snapshot.policies] == ["other"]


def test_an_emptied_file_of_a_snapshot_is_a_problem_beside_others(tmp_path: Path) -> None:
    _write(tmp_path / "a.json", _node("a"))
    _write(tmp_path / "b.yaml", "")
    with pytest.raises(TopologyError, match=r"b\.yaml: got no object"):
        read_objects(tmp_path)


def test_a_snapshot_that_has_lost_all_nodes_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / "policies").mkdir()
    nodes = _write(tmp_path / "nodes.json", _node("a"))
    source = FileSource(tmp_path / "policies", nodes)
    source.load()
    _write(nodes, '{"apiVersion": "v1", "kind": "List", "items": []}')
    for _ in range(2):
        with pytest.raises(TopologyError, match=r"nodes\.json: got no Node, where there was one or more"):
            source.load()
    _write(nodes, _node("b"))
    assert source.load().snapshot.topology.node_count == 1


@pytest.mark.parametrize("name", ["a.yaml", "nodes.json"])
def test_a_named_pipe_is_a_problem_and_is_not_waited_for(tmp_path: Path, name: str) -> None:
    _write(tmp_path / "policies" / "b.yaml", _GOOD)
    (tmp_path / "topology").mkdir()
    os.mkfifo(tmp_path / ("policies" if name == "a.yaml" else "topology") / name)
    with pytest.raises((PolicyError, TopologyError), match=f"{name}: cannot be read: got a named pipe"):
        FileSource(tmp_path / "policies", tmp_path / "topology").load()


def test_a_right_that_is_given_is_another_revision(tmp_path: Path) -> None:
    """A file that could not be read is read again, although its content is unchanged."""
    file = _write(tmp_path / "a.yaml", _GOOD)
    source = FileSource(tmp_path, None)
    before = source.revision()
    file.chmod(0o600)
    assert source.revision() != before


@pytest.mark.parametrize("part", ["policies", "topology"])
def test_more_files_than_memory_has_room_for_are_a_problem_and_are_not_all_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    monkeypatch.setattr(loading, "MAX_POLICIES_BYTES", 3 * 2**20)
    monkeypatch.setattr(loading, "MAX_FILE_BYTES", 3 * 2**20)
    _write(tmp_path / "policies" / "a.yaml", _GOOD)
    _write(tmp_path / "topology" / "a.json", _node("a"))
    source = FileSource(tmp_path / "policies", tmp_path / "topology")
    source.load()
    for number in range(40):
        with (tmp_path / part / f"b-{number}.yaml").open("wb") as file:
            file.truncate(2**20)
    tracemalloc.start()
    with pytest.raises((PolicyError, TopologyError), match=f"{part}: got more than 3 MiB in all files together"):
        source.load()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 20 * 2**20


def test_a_thousand_unreadable_files_are_a_few_problems(tmp_path: Path) -> None:
    for number in range(1_000):
        (tmp_path / f"{number}.yaml").symlink_to("nowhere")
    with pytest.raises(PolicyError) as raised:
        FileSource(tmp_path, None).load()
    assert len(raised.value.problems) == 20


@contextlib.contextmanager
def _folders_in_folders(levels: int) -> Iterator[None]:
    """Make folders below the working directory, and remove them: they are too deep for whoever removes folders."""
    for _ in range(levels):
        Path("abc").mkdir()
        os.chdir("abc")
    bottom = os.open(".", os.O_RDONLY)
    try:
        yield
    finally:
        os.fchdir(bottom)
        os.close(bottom)
        for _ in range(levels):
            os.chdir("..")
            Path("abc").rmdir()


def test_folders_in_folders_without_end_are_a_problem(tmp_path: Path) -> None:
    source = FileSource(tmp_path, None)
    with contextlib.chdir(tmp_path), _folders_in_folders(2_000):
        assert source.revision() == source.revision()
        with pytest.raises(PolicyError, match="got folders in folders, want 64 levels at most"):
            source.load()
