"""Whatever a segment is made of, the request that is sent for it leads to one object of that name, or none is sent."""

from urllib.parse import unquote

from hypothesis import example, given
from hypothesis import strategies as st
from yarl import URL

from podberth.errors import ClusterError
from podberth.kube.api_path import collection_path


@given(st.text(min_size=1, max_size=40))
@example("a?b#c")
@example("a b:c@d")
@example("%2e%2e")
def test_a_segment_stays_one_segment_for_the_client_that_sends_it(text: str) -> None:
    """As yarl, with which aiohttp reads a URL, understands it."""
    try:
        path = collection_path("v1", "pods", "team").below(text)
    except ClusterError:
        return
    sent = URL(f"https://127.0.0.1{path}")
    assert (sent.query_string, sent.fragment) == ("", "")
    segments = sent.raw_path.split("/")
    assert segments[:-1] == ["", "api", "v1", "namespaces", "team", "pods"]
    assert unquote(segments[-1]) == text
