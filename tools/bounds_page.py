"""Write the table of docs/expressions.md that says how large a pod may be, from ``kube.pod_limits``.

.venv/bin/python tools/bounds_page.py           # writes what has changed
.venv/bin/python tools/bounds_page.py --check   # writes nothing; exits with 1 and says what is stale
"""

import sys

from generated import main, spliced

from podberth.admission.checked import PARSED
from podberth.kube.paths import ELEMENT, FieldPath
from podberth.kube.pod_limits import ALL, BOUNDS, GPUS, MAX_BYTES, MAX_NAME_BYTES, RECORD_CHANGES, Bound
from podberth.kube.review_limits import ENVELOPE, ENVELOPE_VALUES, MARKS

PAGE = "docs/expressions.md"
_NAMES = {
    ALL.path: "all lists and maps together",
    RECORD_CHANGES.path: "changes in the record",
    ENVELOPE_VALUES.path: "all lists and maps of the review outside its objects together",
}
_MARKS = "commas and opening brackets outside of strings, for each object of the review"
_PARSING = "a text of more is not parsed; the densest pod within the other bounds has 29,000"
_ALIKE = {
    "initContainers": "containers",
    "ephemeralContainers": "containers",
    "podAntiAffinity": "podAffinity",
    "namespaceSelector": "labelSelector",
    "preferredDuringSchedulingIgnoredDuringExecution": "requiredDuringSchedulingIgnoredDuringExecution",
    "nodeSelectorTerms": "",
    "preference": "",
    "podAffinityTerm": "",
}
_SHORT = {"requiredDuringSchedulingIgnoredDuringExecution": "<mode>"}


def _table() -> str:
    lines = ["| at most | of | why |", "|---|---|---|"]
    lines.append(f"| {MAX_BYTES:,} bytes | the pod as JSON | etcd's default for a request (--max-request-bytes) |")
    lines.append(f"| {MAX_NAME_BYTES} characters | a name | DNS1123SubdomainMaxLength |")
    lines.append(f"| {MARKS:,} | {_MARKS} | {_PARSING} |")
    places: dict[tuple[str, str], list[str]] = {}
    for bound in (*BOUNDS, *PARSED, *ENVELOPE):
        named = places.setdefault((f"{bound.most:,} {bound.unit}", bound.why), [])
        place = _place(bound)
        named += [place] if place not in named else []
    lines += [f"| {most} | {', '.join(named)} | {why} |" for (most, why), named in places.items()]
    return "\n".join(lines)


def _place(bound: Bound) -> str:
    if bound.path in _NAMES:
        return _NAMES[bound.path]
    text = f"`{_rendered(bound.path)}`"
    return f"{text}, keys and values" if bound.unit == "characters" and len(bound.path) == len(GPUS.path) else text


def _rendered(path: FieldPath) -> str:
    steps = [alike for step in path if (alike := _ALIKE.get(step, step))]
    return ".".join(_SHORT.get(step, step) for step in steps).replace(f".{ELEMENT}", "[*]")


if __name__ == "__main__":
    sys.exit(main({PAGE: spliced(PAGE, {"bounds": _table()})}))
