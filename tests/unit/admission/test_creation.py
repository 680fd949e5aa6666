"""A review that nobody has sent has every word of one that the API server sends."""

from typing import Any

import pytest

from builders import gpu_pod, review
from podberth.admission.creation import request_of


@pytest.mark.parametrize("given", [{}, {"operation": "UPDATE"}])
def test_it_says_what_the_api_servers_says_but_for_who_asks(given: dict[str, Any]) -> None:
    said, sent = request_of({"object": gpu_pod(), **given}).envelope, review(gpu_pod(), **given)["request"]

    assert {"uid", "object", "oldObject"} == sent.keys() - said.keys()
    assert {key for key, value in said.items() if value != sent[key]} == {"userInfo"}
