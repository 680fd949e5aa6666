"""Resolves plain YAML scalars as kubectl does.

kubectl reads YAML through sigs.k8s.io/yaml, whose core is go-yaml v2: go-yaml resolves the words and numbers of YAML
1.1 (goyaml.v2/resolve.go), and the result is converted to JSON. podberth resolves scalars as kubectl does, because
podberth must check the object that the API server will see. So an unquoted ``on`` is a boolean, though not in YAML 1.2.
Quoted scalars without a tag are always strings and are not passed to this module. The functions get a scalar's text
only.
"""

import base64
import math
import re
from collections.abc import Mapping
from typing import Final, TypeAlias

Scalar: TypeAlias = bool | int | float | str | None

# resolve.go, resolveMapList, which has the single letters, too
_WORDS: dict[str, Scalar] = {
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), False),
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), math.inf),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), -math.inf),
}
# resolve.go, longTag and resolvable: the tags with which a text is interpreted; with others it stays a string
_TYPES: Final[Mapping[str, type | tuple[type, ...]]] = {
    "tag:yaml.org,2002:bool": bool,
    "tag:yaml.org,2002:float": (int, float),
    "tag:yaml.org,2002:int": int,
    "tag:yaml.org,2002:null": type(None),
}
_BINARY: Final = "tag:yaml.org,2002:binary"
# strconv.ParseInt with base 0; the caller has removed underscores
_INTEGER = re.compile(
    r"(?P<sign>[-+]?)(?:0[xX](?P<hex>[0-9a-fA-F]+)|0[bB](?P<bin>[01]+)|0[oO]?(?P<oct>[0-7]+)|(?P<dec>0|[1-9][0-9]*))"
)
_BASES = {"hex": 16, "bin": 2, "oct": 8, "dec": 10}
# resolve.go, yamlStyleFloat
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_NUMBER_STARTS = "0123456789+-."
# encoding/json writes a float64 below this without an exponent, and the API machinery reads that back as an integer
_INTEGRAL_FLOATS_BELOW = 1e21
# Far above any number of Kubernetes, far below the limit of Python's conversion (4,300 digits)
_MAX_DIGITS = 400


def resolve(text: str) -> Scalar:
    """Return the value of a plain YAML scalar.

    A text that is neither a YAML word, such as ``on``, nor a number is a string.

    Timestamps and sexagesimal numbers are strings, as in go-yaml. NaN and the infinities are returned as floats; the
    caller refuses these values, because JSON does not have them.
    """
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in _NUMBER_STARTS or len(text) > _MAX_DIGITS:
        return text
    plain = text if text[0] == "." else text.replace("_", "")
    integer = _INTEGER.fullmatch(plain)
    if integer:
        return _integer(integer)
    return _float(text, plain) if _FLOAT.fullmatch(plain) else text


def tagged(tag: str, text: str) -> Scalar:
    """Return the value of a YAML scalar that has a tag, quoted or not.

    Raises:
        ValueError: the text cannot be read as the tag's type.
    """
    if tag == _BINARY:  # decode.go: bytes that are no UTF-8 become U+FFFD in JSON
        return base64.b64decode(re.sub("[\r\n]", "", text), validate=True).decode(errors="replace")
    if tag not in _TYPES:
        return text
    value = resolve(text)
    if not isinstance(value, _TYPES[tag]) or (isinstance(value, bool) and "bool" not in tag):
        raise ValueError(text)
    return value


def _integer(match: re.Match[str]) -> int:
    name = match.lastgroup or "dec"
    value = int(match[name], _BASES[name])
    return -value if match["sign"] == "-" else value


def _float(text: str, plain: str) -> Scalar:
    value = float(plain)
    if math.isinf(value):
        return text  # out of float64's range: strconv.ParseFloat fails, and the text stays
    return int(value) if value.is_integer() and abs(value) < _INTEGRAL_FLOATS_BELOW else value
