from pathlib import Path

import pytest
from bench.fleet.churn import Machine, show

from podberth.agent.publish import FeatureFile, free_labels, link_labels
from podberth.conventions import STATE_LABELS
from podberth.topology.codec import decode_topology
from podberth.topology.node import NodeTopology
from podberth.topology.shapes import simulate
from podberth.topology.usage import Allocation
from podberth.wellknown import FREE_LINKED_LABEL, LINK_DOMAIN_LABEL, LINK_SHAPE_LABEL


@pytest.mark.parametrize(
    ("shape", "said", "size"),
    [("hgx-h100-8", "full-mesh", "8"), ("a100-pcie-4", "islands", "2"), ("l40s-8", "none", "1")],
)
def test_the_labels_say_shape_and_widest_domain(shape: str, said: str, size: str) -> None:
    topology = decode_topology(simulate(shape, "n")[1])
    assert link_labels(topology) == {LINK_SHAPE_LABEL: said, LINK_DOMAIN_LABEL: size}


def test_live_labels_are_known_as_states_that_say_nothing_of_a_nodes_kind() -> None:
    live = free_labels(decode_topology(simulate("hgx-h100-8", "n")[1]), Allocation(holders={}, unmatched=0))
    assert live == {FREE_LINKED_LABEL: "8"}
    assert live.keys() <= STATE_LABELS


def test_while_links_are_unknown_no_label_is_written() -> None:
    assert link_labels(NodeTopology()) is None


def test_a_gpu_that_is_ill_says_nothing_of_the_links() -> None:
    lost = show(Machine("n", "hgx-h100-8", lost=frozenset({3})))
    assert link_labels(lost.topology) is None


def test_a_feature_file_is_written_whole_and_only_when_it_says_something_else(tmp_path: Path) -> None:
    file, written = FeatureFile(tmp_path), tmp_path / "podberth"
    file.write({"b": "2", "a": "1"})
    first = written.stat().st_ino
    file.write({"a": "1", "b": "2"})
    assert (written.read_text(), written.stat().st_ino) == ("a=1\nb=2\n", first)
    file.write({"a": "2"})
    assert (written.read_text(), written.stat().st_ino != first) == ("a=2\n", True)
    written.write_bytes(b"\xff")
    file.write({"a": "2"})
    assert (written.read_text(), file.trouble) == ("a=2\n", "")
    assert list(tmp_path.iterdir()) == [written]


def test_a_folder_that_is_not_there_is_said_until_it_is(tmp_path: Path) -> None:
    file = FeatureFile(tmp_path / "features.d")
    file.write({"a": "1"})
    assert file.trouble.endswith("cannot be written: No such file or directory; want the folder mounted and writable")
    (tmp_path / "features.d").mkdir()
    file.write({"a": "1"})
    assert file.trouble == ""
