"""``bench.fleet``: what is wrong on its command line is said before anything is sent."""

import argparse
import re
import shlex

import pytest
from bench.fleet import command
from bench.fleet.command import main

from pages import page, rows

README = page("bench/README.md")


def ended(arguments: list[str]) -> object:
    """Return the exit code."""
    try:
        return main(arguments)
    except SystemExit as end:  # argparse
        return end.code


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "SHAPE=COUNT"),
        (["cray=2"], "SHAPE=COUNT: got 'cray=2', want a shape of hgx-h100-8,"),
        (["l4-1"], "SHAPE=COUNT: got 'l4-1'"),
        (["l4-1=0"], "SHAPE=COUNT: got 'l4-1=0'"),
        (["l4-1=200000"], "SHAPE=COUNT: got 'l4-1=200000'"),
        (["l4-1=1", "--workers", "0"], "--workers: got 0, want 1 to 1000"),
        (["l4-1=1", "--changes", "nan"], "--changes"),
        (["l4-1=1", "--heartbeat", "0"], "--heartbeat"),
    ],
)
def test_mistakes_end_with_2(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert ended(arguments) == 2
    assert said in capsys.readouterr().err


def test_without_any_configuration_it_ends_with_3(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    assert ended(["l4-1=1"]) == 2
    assert "no --api-server" in capsys.readouterr().err


def test_every_flag_of_a_fleet_has_a_row_and_no_row_is_about_another() -> None:
    parser = argparse.ArgumentParser()
    command.configure(parser)
    flags = {action.option_strings[-1] for action in parser._actions if action.option_strings} - {"--help"}
    table = rows(README.partition("\n| flag of `fleet` |")[2].partition("\n\n")[0])
    assert {key for key in table if key.startswith("--") and set(key) != {"-"}} == flags
    assert f"by default {command._WORKERS}" in " ".join(table["--workers"])


def test_the_example_of_a_fleet_is_one_that_it_takes() -> None:
    [example] = re.findall(r"^    python -m bench.fleet (.*)$", README, re.MULTILINE)
    parser = argparse.ArgumentParser()
    command.configure(parser)
    arguments = parser.parse_args(shlex.split(example))
    assert len([machine for text in arguments.machines for machine in command._machines(text, "")]) == 200
