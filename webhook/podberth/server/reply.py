"""The bodies of answers that refuse a request."""

import orjson

# A problem repeats the key at which it is, and a key may be as long as the body.
_LONGEST_MESSAGE = 1024


def error_body(status: int, message: str) -> bytes:
    """Return a metav1.Status, whose message the apiserver repeats to the user behind "failed calling webhook".

    It decodes the body of an answer other than 2xx as a Status, and says "unknown" where it is none:
    client-go rest/request.go, Result.Error and newUnstructuredResponseError.
    """
    return orjson.dumps(
        {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": f"podberth: {message[:_LONGEST_MESSAGE]}".encode("utf-8", "replace").decode(),
            "reason": _REASONS.get(status, "BadRequest"),
            "code": status,
        }
    )


# metav1.StatusReason: apimachinery pkg/apis/meta/v1/types.go
_REASONS = {
    403: "Forbidden",
    404: "NotFound",
    405: "MethodNotAllowed",
    408: "Timeout",
    413: "RequestEntityTooLarge",
    415: "UnsupportedMediaType",
    500: "InternalError",
    503: "ServiceUnavailable",
    504: "Timeout",
}
STATUSES = (200, 400, 431, *_REASONS)
"""What may be answered on the review port."""
