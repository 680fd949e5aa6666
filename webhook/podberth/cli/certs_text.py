"""The output of ``podberth certs status``, for people and for scripts."""

import json
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from ..pki.inspection import Known, Report

_DAY_SECONDS = 86_400
_HOUR_SECONDS = 3_600
_MINUTE_SECONDS = 60

_STAGES = {
    None: "none: certificates come from elsewhere (cert-manager, files)",
    "none": "no rotation under way",
    "spreading": "rotation: the next authority is spreading to all API servers, and signs nothing yet",
    "draining": "rotation: the next authority signs; the one before is trusted until its last leaf has expired",
}


def as_json(report: Report) -> str:
    """Return the report as one JSON document."""
    document = {
        "stage": report.stage,
        "authorities": [_document(each) for each in report.authorities],
        "caBundles": [
            {
                "configuration": each.where,
                "entries": each.entries,
                "complete": each.complete,
                "certificates": [_document(one) for one in each.trusted],
            }
            for each in report.bundles
        ],
        "presented": [_document(each) for each in report.presented],
        "problems": list(report.problems),
    }
    return json.dumps(document, indent=2) + "\n"


def as_text(report: Report, where: str, now: datetime) -> str:
    """Return the report as lines for people."""
    return "\n".join(_lines(report, where, now)) + "\n"


def _lines(report: Report, where: str, now: datetime) -> Iterator[str]:
    yield f"{where}: {_STAGES[report.stage]}"
    yield from (_row(each, now) for each in report.authorities)
    for bundle in report.bundles:
        state = "as expected" if bundle.complete else "NOT as expected"
        yield f"{bundle.where}: caBundle of {bundle.entries} entries {state}"
        yield from (_row(each, now) for each in bundle.trusted)
    if report.presented:
        yield "presented:"
        yield from (_row(each, now) for each in report.presented)
    yield from (f"problem: {problem}" for problem in report.problems)


def _row(known: Known, now: datetime) -> str:
    left = f"expires {known.not_after:%Y-%m-%d %H:%M:%SZ} ({_in(known.not_after, now)})"
    until = f", dropped {_in(known.until, now)}" if known.until else ""
    return f"  {known.role:9} {known.name}  sha256 {known.fingerprint}  {left}{until}"


def _in(moment: datetime, now: datetime) -> str:
    seconds = (moment - now).total_seconds()
    if seconds <= 0:
        return "over"
    for unit, size in (("d", _DAY_SECONDS), ("h", _HOUR_SECONDS), ("min", _MINUTE_SECONDS)):
        if seconds >= 2 * size:
            return f"in {seconds / size:.0f} {unit}"
    return f"in {seconds:.0f} s"


def _document(known: Known) -> dict[str, Any]:
    return {
        "role": known.role,
        "name": known.name,
        "sha256": known.fingerprint,
        "notAfter": known.not_after.isoformat(),
        "until": known.until and known.until.isoformat(),
    }
