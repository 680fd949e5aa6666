"""Parses one JSON object strictly and fast: kubectl prints whole clusters as JSON, and the YAML parser is slow.

If this parser refuses the text, podberth parses the text as YAML to find the error.
"""

import json
import math
from typing import Any

# The depth at which protobuf, and so the CEL engine, refuses a value (protobuf's default recursion limit)
MAX_DEPTH = 100


def read_object(text: str) -> dict[str, Any] | None:
    """Return the JSON object in ``text``; None if the text is anything else.

    Duplicate keys, numbers beyond float64, NaN, nesting beyond MAX_DEPTH and half a surrogate pair give None.
    """
    if not text.lstrip().startswith("{"):
        return None
    try:
        value = json.loads(text, object_pairs_hook=_object, parse_float=_finite, parse_constant=_finite)
        if "\\ud" in text.lower():  # json accepts half a pair; encoding does not
            json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) and _depth(value) <= MAX_DEPTH else None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("duplicate key")
    return found


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(text)
    return value


def _depth(value: object) -> int:
    depth, level = 0, [value]
    while level:
        depth += 1
        inner = [item for item in level if isinstance(item, dict | list)]
        level = [part for item in inner for part in (item.values() if isinstance(item, dict) else item)]
    return depth
