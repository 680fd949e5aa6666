"""The schedules that the API server takes (robfig/cron v3, parser_test.go)."""

import pytest

from podberth.kube.schedule import is_schedule


@pytest.mark.parametrize(
    "text",
    [
        "0 3 * * 1",
        "*/15 * * * *",
        "5/10 0-6/2 1,15 JAN-mar mon-fri",
        "? ? ? ? ?",
        " 0  0 1 12 6 ",
        "0,,1 * * * *",
        "@daily",
        "@every 1h30m",
        "TZ=Europe/Berlin 0 3 * * 1",
    ],
)
def test_the_api_server_takes_a_schedule(text: str) -> None:
    assert is_schedule(text)


@pytest.mark.parametrize(
    "text",
    [
        "every day",
        "@dayly",
        "0 3 * *",
        "0 0 3 * * 1",
        "60 * * * *",
        "* 24 * * *",
        "* * 0 * *",
        "* * * 13 *",
        "* * * * 7",
        "30-10 * * * *",
        "*/0 * * * *",
        "*/5/2 * * * *",
        "1-2-3 * * * *",
        "-1 * * * *",
        "* * * foo *",
        "",
    ],
)
def test_the_api_server_refuses_a_schedule(text: str) -> None:
    assert not is_schedule(text)
