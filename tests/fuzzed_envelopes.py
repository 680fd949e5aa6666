"""Reviews that an API server sent, and one of each shipped policy, with random damage; the same for the same seed."""

import json
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from podberth.kube.documents import load_documents

JSON = dict[str, Any]
_ROOT = Path(__file__).parents[1]
_DEPTHS = (3, 200, 240, 600)
"""Levels of what is put somewhere: far below, just below and above what is let in."""
_WORDS = ("", "Pod", "v1", "pods", "CREATE", "UPDATE", "..", "a?b#c", "KUBE\n", "é", "\x00", "1Gi", "true", "x" * 300)
_NUMBERS = (0, 1, -1, 17, 2**31, 2**63, 2**64 - 1, 10**40, 1.5, -0.0, 1e308)
_ENVELOPE_SHARE = 0.5


@cache
def sources() -> tuple[tuple[str, JSON], ...]:
    """Return reviews of all four paths, with their paths."""
    captured = [
        (each["path"], each["review"])
        for file in sorted((_ROOT / "tests" / "captured").glob("*.json"))
        for each in json.loads(file.read_text())
    ]
    return (
        *captured,
        *(("/validate-policy", _of_policy(file)) for file in sorted(_ROOT.glob("policies/*/policy.yaml"))),
    )


def fuzzed(seed: int, count: int) -> Iterator[tuple[str, bytes]]:
    """Yield paths and bodies; some of the bodies are still reviews, or JSON."""
    random = Random(seed)  # noqa: S311 - nothing is secret
    for _ in range(count):
        path, review = random.choice(sources())
        document = json.loads(json.dumps(review))
        for _ in range(random.choice((1, 1, 2, 3))):
            _damage(document, random)
        body = json.dumps(document, ensure_ascii=random.random() < 0.5).encode()
        yield path, _torn(body, random)


def _of_policy(file: Path) -> JSON:
    (policy, *_), _ = load_documents(file.read_text(), str(file))
    kind = {"group": "podberth.io", "version": "v1alpha1", "kind": "GPUPolicy"}
    request = {
        "uid": "705ab4f5-6393-11e8-b7cc-42010a800002",
        "kind": kind,
        "resource": {"group": "podberth.io", "version": "v1alpha1", "resource": "gpupolicies"},
        "name": policy.document["metadata"]["name"],
        "operation": "CREATE",
        "userInfo": {"username": "ann"},
        "object": policy.document,
        "oldObject": None,
        "dryRun": False,
    }
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}


def _damage(document: JSON, random: Random) -> None:
    """Change one place of a review."""
    request = document.get("request")
    inside = isinstance(request, dict) and bool(request) and random.random() < _ENVELOPE_SHARE
    places = [(request, key) for key in request] if inside and request else list(_places(document))
    if places:
        holder, key = random.choice(places)
        random.choice(_DAMAGES)(holder, key, random)


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield every holder of a value, with the value's key."""
    for key, each in list(value.items()) if isinstance(value, dict) else enumerate(value):
        yield value, key
        if isinstance(each, dict | list):
            yield from _places(each)


def _replace(holder: Any, key: Any, random: Random) -> None:
    holder[key] = _junk(random)


def _remove(holder: Any, key: Any, _: Random) -> None:
    del holder[key]


def _wrap(holder: Any, key: Any, random: Random) -> None:
    holder[key] = random.choice(({"name": holder[key]}, [holder[key]], [holder[key], holder[key]]))


def _exchange(holder: Any, key: Any, random: Random) -> None:
    other, at = random.choice(list(_places(holder)))
    holder[key] = json.loads(json.dumps(other[at]))


def _add(holder: Any, _: Any, random: Random) -> None:
    if isinstance(holder, dict):
        holder[random.choice(("oldObject", "object", "spec", "metadata", "labels", *_WORDS))] = _junk(random)
    else:
        holder.append(_junk(random))


_DAMAGES: tuple[Callable[[Any, Any, Random], None], ...] = (_replace, _replace, _remove, _wrap, _exchange, _add)


def _junk(random: Random) -> Any:
    return random.choice(
        (
            None,
            True,
            random.choice(_NUMBERS),
            random.choice(_WORDS),
            random.choice(_WORDS) * random.randrange(1, 200),
            [],
            {},
            [_junk_item(random)],
            {random.choice(_WORDS): _junk_item(random)},
            _nested(random.choice(_DEPTHS), random),
        )
    )


def _junk_item(random: Random) -> Any:
    return random.choice((None, False, *_NUMBERS, *_WORDS, [], {}, [[]], {"name": {}}))


def _nested(levels: int, random: Random) -> Any:
    value: Any = random.choice(_WORDS)
    as_list = random.choice((True, False))
    for _ in range(levels):
        value = [value] if as_list else {random.choice(("a", "spec", "items")): value}
    return value


def _torn(body: bytes, random: Random) -> bytes:
    """Return the body, in one of ten cases no longer what it was as text."""
    at = random.randrange(len(body))
    torn = (
        body[:at],
        body[at:],
        body[:at] + random.choice((b"NaN", b"\\ud800", b"\xff", b"\x00", b",", b"}", b"1e999")) + body[at:],
        b'{"request": 1, ' + body[1:],  # a key twice
        b"[" * 2_000 + body + b"]" * 2_000,
        b"\xef\xbb\xbf" + body,
    )
    return random.choice(torn) if random.random() < 0.1 else body
