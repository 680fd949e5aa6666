"""Decodes a review that is too large or has too many values to be parsed: only the fields before the review's objects.

The API server writes the fields of a review in the order of its type, without spaces (kubernetes/api admission/v1
types.go, AdmissionRequest; encoding/json): uid, kind, resource, names, operation and userInfo, then ``object``,
``oldObject``, ``dryRun`` and ``options``. So the text up to the first object becomes, with closing braces, a review
without objects.
"""

from typing import Any, Final

import orjson

from ..errors import ReviewError
from ..kube.review_limits import excess_of_text
from .review import AdmissionRequest, decode_review

# In a string each quote is escaped, and the values of ``extra``, the only map of the head with free keys, are lists. So
# these bytes can only be the field of the request. ``object`` is null on DELETE alone.
_FIRST_OBJECTS: Final = (b',"object":{', b',"object":null,"oldObject":{')
_CLOSED: Final = b"}}"
# Behind the objects, only ``options`` follows, whose own ``dryRun`` is a list.
_DRY_RUN: Final = b',"dryRun":true'
_NO_DRY_RUN: Final = b',"dryRun":false'
_TAIL_BYTES: Final = 4_096


def decode_unparsed(body: bytes, excess: str) -> AdmissionRequest:
    """Return the request of a review whose text is parsed only up to the objects; ``excess`` is the reason.

    The objects of the request are empty: without a name and without labels.

    Raises:
        ReviewError: the text does not have the API server's form, or even the parsed part has too many values.
    """
    document = _head(body, excess)
    request = document["request"] = dict(document["request"])
    tail = body[-_TAIL_BYTES:]
    request["dryRun"] = tail.rfind(_DRY_RUN) > tail.rfind(_NO_DRY_RUN)
    operation = request.get("operation")
    request["object"] = None if operation == "DELETE" else {}
    if operation in ("UPDATE", "DELETE"):
        request["oldObject"] = {}
    return decode_review(document, len(body), unparsed=excess)


def _head(body: bytes, excess: str) -> dict[str, Any]:
    ends = [at for each in _FIRST_OBJECTS if (at := body.find(each)) >= 0]
    head = body[: min(ends, default=0)] + _CLOSED
    if not ends or excess_of_text(head):
        raise ReviewError(413, f"body: {excess}, and it has no head that can be read alone")
    try:
        document = orjson.loads(head)
        orjson.dumps(document)
    except (orjson.JSONDecodeError, orjson.JSONEncodeError) as error:
        raise ReviewError(413, f"body: {excess}, and its head cannot be read: {error}"[:400]) from error
    if not isinstance(document, dict) or not isinstance(document.get("request"), dict):
        raise ReviewError(413, f"body: {excess}, and its head is not that of an AdmissionReview")
    return document
