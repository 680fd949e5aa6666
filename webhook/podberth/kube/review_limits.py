"""The limits of an AdmissionReview besides the limits of its pod: for the JSON text, and for the envelope.

The envelope is the request without ``object`` and ``oldObject``. ``excess_of_text`` runs before the text is parsed,
because parsing takes time and memory for each value. ``excess_of_envelope`` runs before any other code iterates over
the envelope. A review above a limit is an error of every policy that would be evaluated, as is a pod above the limits
of ``kube.pod_limits``.
"""

from collections.abc import Mapping
from typing import Any, Final

import orjson

from .paths import ELEMENT
from .pod_limits import ENTRIES, MAX_BYTES, MOST_VALUES, Bound, beyond, values_up_to

_GROUPS: Final = "a user has some tens; the cost of an expression is computed for a list of so many"
_EXTRA: Final = "an authenticator adds a few; the cost of an expression is computed for a map of so many"
_OPTIONS: Final = "the API server's options have five fields"
GROUPS: Final = Bound(("request", "userInfo", "groups"), ENTRIES, _GROUPS)
EXTRA: Final = Bound(("request", "userInfo", "extra"), ENTRIES, _EXTRA)
EXTRA_VALUES: Final = Bound(("request", "userInfo", "extra", ELEMENT), ENTRIES, _EXTRA)
"""The limit for the values of all keys of ``extra`` together."""
OPTIONS: Final = Bound(("request", "options"), ENTRIES, _OPTIONS)
"""The limit for the entries of all lists and maps in ``options`` together."""
ENVELOPE_VALUES: Final = Bound(("request",), 4 * ENTRIES, "each list of the envelope at its bound")
"""The limit for the entries of all lists and maps outside the objects together; unknown fields count, too."""
ENVELOPE: Final[tuple[Bound, ...]] = (GROUPS, EXTRA, EXTRA_VALUES, OPTIONS, ENVELOPE_VALUES)
"""All limits of the lists and maps of a review's envelope."""

MARKS: Final = MOST_VALUES + ENVELOPE_VALUES.most
"""The limit for the commas and opening brackets outside of strings, for each object of a review.

The number is that of the values that a template and an envelope may have. The densest pod of ``bench.hostile`` has
29,000 marks. The two objects of an UPDATE at the bound take 84 ms to be parsed, decided on and freed
(``bench.hostile``).
"""

MAX_TEXT_BYTES: Final = 7 * 1024 * 1024
"""The limit for the bytes of a review's JSON text. The API server accepts objects of 3 MiB, and an UPDATE has two; so
controller-runtime has the same limit (PR 2598). Escaped characters may make the text of such objects longer."""

TOO_LARGE: Final = "the review is too large to be decided on"
_KEPT: Final = frozenset(
    {"uid", "kind", "resource", "subResource", "name", "namespace", "operation", "object", "oldObject", "dryRun"}
)
# A text of so many bytes has 8,192 entries at most, and ordinary reviews have 5 to 10 KB: up to this size, fields that
# the API does not have are not searched for long lists.
_ORDINARY_BYTES: Final = 16_384
_MARKS: Final = (b",", b"{", b"[")
_ALL_BUT_MARKS: Final = bytes(set(range(256)) - set(b',{["'))
# In JSON a quote inside a string is escaped, so these bytes are a key and the start of its value.
_OLD_OBJECT: Final = b'"oldObject":{'


def excess_of_text(body: bytes, size: int | None = None) -> str:
    """Return a message if a review's JSON text has too many bytes or values to be parsed; otherwise empty.

    ``body`` is the whole text, and ``size`` is None. Of a text that is too large by its length alone, ``body`` may be
    only the beginning and the end; ``size`` is then the length of the whole text in bytes.

    The text need not be valid JSON. Values are counted by the commas and opening brackets outside of strings, so the
    time is the time for counting bytes. Finding the strings takes longest, so a text with more bytes than the objects
    and the envelope may have is refused before the search.
    """
    # A text of fewer bytes cannot have more marks; that is every ordinary review.
    if (size := size or len(body)) <= MARKS:
        return ""
    if wrong := _excess_of_size(size, MAX_TEXT_BYTES):
        return wrong
    objects = 1 + (_OLD_OBJECT in body)
    most = MARKS * objects
    if sum([body.count(each) for each in _MARKS]) <= most:
        return ""
    most_bytes = MAX_BYTES * (objects + 1)
    # Go escapes <, > and &, with five bytes more than the pod's size counts (encoding/json, HTMLEscape).
    if wrong := _excess_of_size(len(body) - 5 * body.count(b"\\u"), most_bytes):
        return wrong
    got = marks_outside_strings(body, most)
    if got is None:
        return f"{TOO_LARGE}: got more than {most:,} values, want so many at most"
    return f"{TOO_LARGE}: got {got:,} commas and opening brackets, want {most:,} at most" if got > most else ""


def _excess_of_size(got: int, most: int) -> str:
    return f"{TOO_LARGE}: got {got:,} bytes, want {most:,} at most" if got > most else ""


def marks_outside_strings(body: bytes, most: int) -> int | None:
    """Return the number of commas and opening brackets outside of strings; None if certainly more than ``most``."""
    if b"\\" in body:
        body = body.replace(b"\\\\", b"").replace(b'\\"', b"")
    # Two quotes that are neighbors now are a string without marks, or stand between two strings: either way they
    # separate nothing.
    marks = body.translate(None, _ALL_BUT_MARKS).replace(b'""', b"")
    # Each mark but the last is followed by two strings at most, a key and its value, of two quotes each.
    if marks.count(b'"') > 4 * (most + 1):
        return None
    return sum(map(len, marks.split(b'"')[::2]))


def excess_of_envelope(request: Mapping[str, Any], size_bytes: int | None) -> str:
    """Return the message for the first limit that a review's envelope exceeds; empty if it exceeds no limit.

    ``request`` may have any shape. ``size_bytes`` is the length of the review's text; None if unknown.
    """
    user = request.get("userInfo")
    if isinstance(user, dict) and (wrong := _excess_of_user(user)):
        return wrong
    if values_up_to(OPTIONS.most, request.get("options")) > OPTIONS.most:
        return _more_than(OPTIONS)
    ordinary = size_bytes is not None and size_bytes <= _ORDINARY_BYTES
    return "" if ordinary else _excess_of_all(request, size_bytes)


def _excess_of_user(user: Mapping[str, Any]) -> str:
    groups, extra = user.get("groups"), user.get("extra")
    if groups and (wrong := beyond(GROUPS, _length(groups), TOO_LARGE)):
        return wrong
    if not isinstance(extra, dict):
        return ""
    if wrong := beyond(EXTRA, len(extra), TOO_LARGE):
        return wrong
    return beyond(EXTRA_VALUES, sum(map(_length, extra.values())), TOO_LARGE)


def _excess_of_all(request: Mapping[str, Any], size_bytes: int | None) -> str:
    envelope = {key: value for key, value in request.items() if key not in OBJECTS}
    if values_up_to(ENVELOPE_VALUES.most, envelope) > ENVELOPE_VALUES.most:
        return _more_than(ENVELOPE_VALUES)
    if size_bytes is not None and size_bytes <= MAX_BYTES:
        return ""
    try:
        size = len(orjson.dumps(envelope))
    except TypeError as error:
        return f"{TOO_LARGE}: request: no API server sends such a review: {error}"
    return f"{TOO_LARGE}: request: got {size:,} bytes, want {MAX_BYTES:,} at most" if size > MAX_BYTES else ""


def outline(request: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a review's request that podberth reads even if a limit of the envelope is exceeded."""
    found = {key: value for key, value in request.items() if key in _KEPT}
    user = request.get("userInfo")
    if isinstance(user, dict):
        found["userInfo"] = {key: user[key] for key in ("username", "uid") if key in user}
    return found


OBJECTS: Final = ("object", "oldObject")
"""The fields of a review's request that are not part of the envelope, because the objects have limits of their own."""


def _length(value: object) -> int:
    return len(value) if isinstance(value, dict | list) else 0


def _more_than(bound: Bound) -> str:
    where = ".".join(bound.path)
    return f"{TOO_LARGE}: {where}: all lists together: got more than {bound.most:,} entries, want so many at most"
