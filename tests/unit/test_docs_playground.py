"""docs/playground.md names the flags and the bounds that there are."""

import argparse
import re

from pages import page, rows, spans
from podberth.cli import playground
from podberth.playground.answer import MOST_PODS
from podberth.playground.cluster import MAX_NODES, read_cluster
from podberth.playground.worker import PATIENCE_SECONDS

PAGE = page("docs/playground.md")


def test_each_flag_is_in_the_table() -> None:
    parser = argparse.ArgumentParser(add_help=False)
    playground.configure(parser)
    flags = {flag for action in parser._actions for flag in action.option_strings}
    cells = " ".join(cells[0] for cells in rows(PAGE).values())
    assert {each.split()[0] for each in spans(cells) if each.startswith("--")} == flags


def test_the_bounds_are_those_of_the_code() -> None:
    assert f"The first {MOST_PODS} pods" in PAGE
    assert f"of {MAX_NODES:,} nodes at most" in PAGE
    assert f"{PATIENCE_SECONDS:g} s and 4 GiB at most" in PAGE


def test_the_cluster_on_the_page_is_one() -> None:
    [block, _] = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    cluster = read_cluster(block, "default")
    assert (cluster.problems, len(cluster.facts.nodes)) == ((), 5)


def test_the_page_is_short() -> None:
    assert len(PAGE.split()) <= 750
