"""Reads a review from its JSON text: first the bounds of the text, then the document, then the envelope."""

from collections.abc import Callable
from typing import Final

import orjson

from ..errors import ReviewError
from ..kube.review_limits import excess_of_text
from .review import AdmissionRequest, decode_review
from .unparsed import decode_unparsed

MAX_DEPTH: Final = 254
"""The depth of nesting that orjson writes ("nested 254 levels", its README); orjson reads 1,024 levels.

No Kubernetes object comes near.
"""


def read_review(
    text: bytes, size: int | None = None, *, has_room: Callable[[int], bool] = lambda _: True
) -> AdmissionRequest:
    """Return the request of the review in a JSON text.

    If a text has too many bytes or values to be parsed, the objects are not read. The fields before the objects are
    read from the beginning of the text, and ``dryRun`` from the end.

    Args:
        text: the JSON text. If the whole text is too large to be parsed, its beginning and its end are enough.
        size: the length of the whole text in bytes, if ``text`` is not the whole text.
        has_room: called with the length of a text before the text is parsed; returns whether there is memory for the
            parsed document.

    Raises:
        ReviewError: the text is no review, or there is no memory for the parsed document now. If the text is no JSON,
            ``__cause__`` is a JSONDecodeError.
    """
    if excess := excess_of_text(text, size):
        return decode_unparsed(text, excess)
    if not has_room(len(text)):
        raise ReviewError(503, "body: no memory for its document; try again")
    return decode_review(_document(text), len(text))


def _document(text: bytes) -> object:
    if not text:
        raise ReviewError(400, "body: got nothing, want an AdmissionReview")
    try:
        document = orjson.loads(text)
        # Most reviews have fewer brackets than that, and no document is deeper than the number of its brackets.
        if text.count(b"{") + text.count(b"[") > MAX_DEPTH:
            orjson.dumps(document)
    except orjson.JSONDecodeError as error:
        raise ReviewError(400, f"body: not JSON: {error}"[:200]) from error
    except orjson.JSONEncodeError as error:
        raise ReviewError(400, f"body: nested too deeply: want {MAX_DEPTH} levels at most") from error
    return document
