"""An exception is in force for the webhook, check, the audit, explain, test and status at the same instants."""

from datetime import datetime, timedelta
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
import yaml

from builders import gpu_pod, review
from exceptions import END, exception
from podberth.admission import decide
from podberth.admission.explain import explain
from podberth.admission.review import decode_review
from podberth.check.run import CheckSettings
from podberth.check.sources import read
from podberth.checking.against import Gathered, LiveRequest, run_live
from podberth.checking.run import CheckRequest, policies_in, run_check
from podberth.files.manifests import find_manifests
from podberth.installation.exceptions import exceptions
from podberth.kube.yaml_text import as_yaml
from podberth.policy.parse import parse_policies
from podberth.suite.case_file import parse_suite
from podberth.suite.runner import run_suite
from snapshots import environment, policy, snapshot
from status_scenes import observed

DENIES = policy(
    "denies", "  validations:\n  - {expression: gpu.count < 2, message: too many}\n  validationActions: [Deny]"
)
EXCEPTION = exception("pinned", "denies")
YEAR = timedelta(days=366)
TICK = timedelta(microseconds=1)
POD = gpu_pod(4)
INSTANTS = {
    "a moment before the year": (END - YEAR - TICK, False),
    "the first of the year": (END - YEAR, True),
    "within": (END - timedelta(days=30), True),
    "the last": (END - TICK, True),
    "the end": (END, False),
    "later": (END + timedelta(days=400), False),
}


def of_suite(now: datetime) -> bool:
    case = {"name": "one", "pod": POD, "now": now.isoformat(), "expect": {"verdict": "unchanged"}}
    suite, problems = parse_suite(yaml.safe_dump({"cases": [case]}), "tests.yaml")
    assert suite is not None, problems
    return not run_suite(suite, parse_policies([("p.yaml", DENIES), ("e.yaml", EXCEPTION)]), environment()).violations


def of_status(now: datetime) -> bool:
    """Return whether status counts an object as in force; it was made in the first moment of its year."""
    stored: dict[str, Any] = yaml.safe_load(EXCEPTION)
    stored["metadata"]["creationTimestamp"] = (END - YEAR).strftime("%Y-%m-%dT%H:%M:%SZ")
    [row] = exceptions(observed(exceptions=(stored,), now=now))
    return row.text.startswith("1 in force")


@pytest.mark.parametrize("instant", INSTANTS)
def test_all_answer_alike_at_every_instant(instant: str, tmp_path: Path) -> None:
    now, in_force = INSTANTS[instant]
    (tmp_path / "policies").mkdir()
    (tmp_path / "policies" / "p.yaml").write_text(f"{DENIES}---\n{EXCEPTION}", encoding="utf-8")
    (tmp_path / "pod.yaml").write_text(as_yaml(POD), encoding="utf-8")
    request = decode_review(review(POD))
    known = snapshot(DENIES, EXCEPTION).at(now)
    listing = find_manifests([str(tmp_path / "pod.yaml")])
    shared: dict[str, Any] = {"settings": CheckSettings(), "objects": None, "now": now}
    checked = run_check(
        CheckRequest(listing=listing, policies=policies_in(tmp_path / "policies"), jobs=1, sources=False, **shared),
        BytesIO(),
    )
    live = Gathered(files=[read("live.json", as_yaml(POD))])
    audited = run_live(LiveRequest(**shared), policies_in(tmp_path / "policies"), live)
    excepted = {
        "the webhook": decide.validate(request, known).verdict == "allowed",
        "explain": not explain(request, known).policies[0].askings[-1].matched,
        "check": checked.report.count("denied") == 0,
        "the audit": audited.report.count("denied") == 0,
        "test": of_suite(now),
    }
    if now >= END - YEAR:  # before, the object was not there
        excepted["status"] = of_status(now)
    assert excepted == dict.fromkeys(excepted, in_force)
