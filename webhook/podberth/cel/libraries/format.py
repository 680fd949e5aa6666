"""Kubernetes' format library (apiserver pkg/cel/library/format.go): named formats such as dns1123Label.

A format is represented by the format's name. The messages about invalid texts are upstream's: apimachinery
pkg/util/validation and pkg/api/validate/content, kube-openapi pkg/validation/strfmt.
"""

import re
from collections.abc import Callable, Mapping
from datetime import date
from types import MappingProxyType
from typing import Final

from ...kube.object_names import LABEL, MAX_LABEL, MAX_SUBDOMAIN, SUBDOMAIN
from . import url
from .overload import FORMAT, Overload, overload

_LABEL_1035: Final = "[a-z]([-a-z0-9]*[a-z0-9])?"
_KEY: Final = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_VALUE: Final = f"({_KEY})?"
_UUID: Final = re.compile(r"(?i:[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12})", re.ASCII)
_BASE64: Final = re.compile(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})", re.ASCII)
_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TIME: Final = re.compile(r"([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|[+-][0-9]{2}:[0-9]{2})")

# These patterns may take a backtracking matcher quadratic time. Longer texts fail by their length already.
_LONGEST_TEXT: Final = 4096

_LABEL_WORDS: Final = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with "
    "an alphanumeric character"
)
_SUBDOMAIN_WORDS: Final = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    "end with an alphanumeric character"
)
_LABEL_1035_WORDS: Final = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, "
    "and end with an alphanumeric character"
)
_KEY_WORDS: Final = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"
)
_VALUE_WORDS: Final = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character"
)


def _regex_error(words: str, pattern: str, *examples: str) -> str:
    """Return the error message that RegexError of apimachinery's package validation makes of the arguments."""
    shown = " or ".join(f"'{each}', " for each in examples)
    return f"{words} (e.g. {shown}regex used for validation is '{pattern}')"


def _matches(pattern: str, text: str) -> bool:
    return len(text) <= _LONGEST_TEXT and re.fullmatch(pattern, text, re.ASCII) is not None


def _too_long(text: str, most: int, unit: str = "characters") -> list[str]:
    return [f"must be no more than {most} {unit}"] if len(text.encode()) > most else []


def _dns_label(text: str) -> list[str]:
    found = _too_long(text, MAX_LABEL)
    if not _matches(LABEL, text):
        dotted = _matches(SUBDOMAIN, text)
        found.append("must not contain dots" if dotted else _regex_error(_LABEL_WORDS, LABEL, "my-name", "123-abc"))
    return found


def _dns_subdomain(text: str, unit: str = "characters") -> list[str]:
    found = _too_long(text, MAX_SUBDOMAIN, unit)
    return found if _matches(SUBDOMAIN, text) else [*found, _regex_error(_SUBDOMAIN_WORDS, SUBDOMAIN, "example.com")]


def _dns_1035_label(text: str) -> list[str]:
    found = _too_long(text, MAX_LABEL)
    if _matches(_LABEL_1035, text):
        return found
    return [*found, _regex_error(_LABEL_1035_WORDS, _LABEL_1035, "my-name", "abc-123")]


def _qualified_name(text: str) -> list[str]:
    prefix, slash, name = text.rpartition("/")
    problem = _regex_error(_KEY_WORDS, _KEY, "MyName", "my.name", "123-abc")
    if "/" in prefix:
        return [
            f"a valid label key {problem} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        ]
    found: list[str] = []
    if slash:
        wrong = _dns_subdomain(prefix, "bytes") if prefix else ["must be non-empty"]
        found += [f"prefix part {each}" for each in wrong]
    if not name:
        found.append("name part must be non-empty")
    found += [f"name part {each}" for each in _too_long(name, MAX_LABEL, "bytes")]
    return found if _matches(_KEY, name) else [*found, f"name part {problem}"]


def _label_value(text: str) -> list[str]:
    found = _too_long(text, MAX_LABEL, "bytes")
    return (
        found
        if _matches(_VALUE, text)
        else [*found, _regex_error(_VALUE_WORDS, _VALUE, "MyValue", "my_value", "12345")]
    )


def _uri(text: str) -> list[str]:
    problem = url.request_problem(text)
    return [problem] if problem else []


def _is_date(text: str) -> bool:
    if not _DATE.fullmatch(text):
        return False
    try:
        # Go's year 0 is a leap year, as 4 is.
        date.fromisoformat(f"0004{text[4:]}" if text.startswith("0000") else text)
    except ValueError:
        return False
    return True


def _is_datetime(text: str) -> bool:
    parts = text.lower().split("t")
    if len(parts) < 2 or not _is_date(parts[0]):  # noqa: PLR2004 - date and time
        return False
    time = _TIME.fullmatch(parts[1])
    return time is not None and time[1] <= "23" and time[2] <= "59" and time[3] <= "59"


def _said(words: str, holds: Callable[[str], object]) -> Callable[[str], list[str]]:
    return lambda text: [] if holds(text) else [words]


def _prefixed(problems: Callable[[str], list[str]]) -> Callable[[str], list[str]]:
    """Return a function that checks a prefix of a name as ``problems`` checks a name, but allows a dash at the end.

    Source: maskTrailingDash in apimachinery.
    """
    return lambda text: problems(f"{text[:-2]}a" if len(text) > 1 and text.endswith("-") else text)


FORMATS: Mapping[str, Callable[[str], list[str]]] = MappingProxyType(
    {
        "dns1123Label": _dns_label,
        "dns1123Subdomain": _dns_subdomain,
        "dns1035Label": _dns_1035_label,
        "qualifiedName": _qualified_name,
        "dns1123LabelPrefix": _prefixed(_dns_label),
        "dns1123SubdomainPrefix": _prefixed(_dns_subdomain),
        "dns1035LabelPrefix": _prefixed(_dns_1035_label),
        "labelValue": _label_value,
        "uri": _uri,
        "uuid": _said("does not match the UUID format", _UUID.fullmatch),
        "byte": _said("invalid base64", _BASE64.fullmatch),
        "date": _said("invalid date", _is_date),
        "datetime": _said("invalid datetime", _is_datetime),
    }
)
"""For each named format, the function that returns the problems of a text."""


def _constant(name: str) -> Callable[[], str]:
    return lambda: name


OVERLOADS: tuple[Overload, ...] = (
    overload(
        "format-named",
        "format.named(string): optional_type(kubernetes.NamedFormat)",
        "internal.isFormat(a) ? optional.of(internal.format(a)) : optional.none()",
    ),
    *(overload(f"format.{name}", f"format.{name}(): {FORMAT}", _constant(name)) for name in FORMATS),
    overload(
        "format-validate",
        ".validate(kubernetes.NamedFormat, string): optional_type(list(string))",
        "optional.ofNonZeroValue(internal.formatProblems(a, b))",
    ),
)
INTERNAL: tuple[Overload, ...] = (
    overload("internal_is_format", "internal.isFormat(string): bool", lambda name: name in FORMATS),
    overload("internal_format", "internal.format(string): kubernetes.NamedFormat", lambda name: name),
    overload(
        "internal_format_problems",
        "internal.formatProblems(kubernetes.NamedFormat, string): list(string)",
        lambda name, text: FORMATS[name](text),
    ),
)
