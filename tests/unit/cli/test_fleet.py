"""``podberth fleet``: what is wrong on its command line is said before anything is sent."""

import pytest

from podberth.cli.main import main


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
    assert main(["fleet", *arguments]) == 2
    assert said in capsys.readouterr().err


def test_without_any_configuration_it_ends_with_3(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    assert main(["fleet", "l4-1=1"]) == 3
    assert "no --api-server" in capsys.readouterr().err
