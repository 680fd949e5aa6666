"""The report as SARIF 2.1.0, which GitHub code scanning, Azure DevOps and editors read; each policy is a rule.

Specification: https://docs.oasis-open.org/sarif/sarif/v2.1.0/; GitHub's subset:
https://docs.github.com/code-security/code-scanning/integrating-with-code-scanning/sarif-support-for-code-scanning. A
denial and an error have the level ``error``, a warning ``warning``, a policy's change ``note``.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final
from urllib.parse import quote

from ..result import Report, Result
from .results import STDIN, reasons, title
from .styled_lines import visible

_SCHEMA: Final = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_OWN_RULE: Final = "podberth"
"""The id of the SARIF rule for podberth's own findings, such as invalid YAML or a wrong type."""
_OWN_DESCRIPTION: Final = "The manifest can be read, and its pods can be checked"
# A manifest that CI pipes in has no file to link to, and GitHub requires one
_STDIN_URI: Final = "stdin"
_FINGERPRINT: Final = "podberthFinding/v1"


def as_sarif(report: Report, version: str, descriptions: Mapping[str, str]) -> dict[str, Any]:
    """Return the SARIF log as plain JSON.

    ``version`` is podberth's version, ``descriptions`` are the policies' descriptions by name.
    """
    results = [found for result in report.results for found in _results(result)]
    names = sorted({found["ruleId"] for found in results} | descriptions.keys())
    rules = [_rule(name, {_OWN_RULE: _OWN_DESCRIPTION, **descriptions}.get(name, name)) for name in names]
    return log("podberth", version, rules, results)


def log(tool: str, version: str, rules: list[dict[str, Any]], results: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Return the SARIF log of one run of a tool, with the number of its rule in each result."""
    numbers = {rule["id"]: number for number, rule in enumerate(rules)}
    run = {
        "tool": {"driver": {"name": tool, "version": version, "rules": rules}},
        "columnKind": "unicodeCodePoints",
        "results": _distinct([{**found, "ruleIndex": numbers[found["ruleId"]]} for found in results]),
    }
    return {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}


def _rule(name: str, description: str) -> dict[str, Any]:
    text = visible(description) or name
    return {"id": name, "name": name, "shortDescription": {"text": text}, "fullDescription": {"text": text}}


def _results(result: Result) -> Iterator[dict[str, Any]]:
    graded = (("error", (*result.denials, *result.errors)), ("warning", result.warnings), ("note", result.notes))
    for level, findings in graded:
        for each in findings:
            about = f"{each.field}: " if each.field else ""
            yield _result(result, level, each.policy, each.line, f"{about}{each.message}")
    for policy, reason in reasons(result) if result.verdict == "mutated" else ():
        yield _result(result, "note", policy, result.line, f"changed: {reason}" if reason else "changed")


def _result(result: Result, level: str, policy: str, line: int, message: str) -> dict[str, Any]:
    rule, text = policy or _OWN_RULE, visible(f"{title(result)}: {message}", keep="\n")
    location = located(result.file, {"startLine": line})
    return {
        "ruleId": rule,
        "level": level,
        "message": {"text": text},
        "locations": [
            {"physicalLocation": location, "logicalLocations": [{"fullyQualifiedName": visible(title(result))}]}
        ],
        # Without the line: a finding stays the same when lines above it are added or removed
        "partialFingerprints": {_FINGERPRINT: digest(rule, level, result.file, text)},
    }


def _distinct(results: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Append numbers to equal fingerprints in ``results``, so that all fingerprints differ; return ``results``.

    Two templates of equal name can have equal fingerprints.
    """
    seen: dict[str, int] = {}
    for each in results:
        [(name, own)] = each["partialFingerprints"].items()
        seen[own] = seen.get(own, 0) + 1
        each["partialFingerprints"] = {name: f"{own}:{seen[own]}"}
    return results


def located(file: str, region: Mapping[str, int]) -> dict[str, Any]:
    """Return a place in a file as a physical location; if the line in ``region`` is 0, the place is the whole file."""
    whole = {"artifactLocation": {"uri": uri(file)}}
    return {**whole, "region": region} if region["startLine"] else whole


def digest(*parts: str) -> str:
    """Return the fingerprint of a finding: a hash of ``parts``, which identify the finding."""
    return hashlib.sha256("\0".join(parts).encode("utf-8", "backslashreplace")).hexdigest()[:32]


def uri(file: str) -> str:
    """Return the name of a file as a URI: a relative reference (RFC 3986), or for an absolute path a ``file:`` URI."""
    if file == STDIN:
        return _STDIN_URI
    path = quote(file.removeprefix("./").encode("utf-8", "surrogateescape"))
    return f"file://{path}" if path.startswith("/") else path
