"""The flags of ``podberth controller``: read as ``podberth serve`` reads its own."""

import argparse
from pathlib import Path

import pytest

from podberth.cli import controller


def parsed(*arguments: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    controller.configure(parser)
    return parser.parse_args(arguments)


def test_policies_are_a_directory_or_none_beside_those_of_the_cluster() -> None:
    assert parsed("--policies", "p").policies == Path("p")
    assert parsed().policies is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--policies", ""), "--policies: got '', want a path"),
        (("--metrics-listen", "here"), "--metrics-listen: got 'here', want HOST:PORT, as in 127.0.0.1:9443 or :9443"),
        (("--missing-after", "nan"), "--missing-after: got 'nan', want seconds from 1 to 3600"),
    ],
)
def test_what_cannot_be_meant_is_refused(
    arguments: tuple[str, str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        parsed(*arguments)
    assert ended.value.code == 2
    assert f"argument {message}\n" in capsys.readouterr().err
