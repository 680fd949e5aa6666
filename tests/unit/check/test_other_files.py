"""What a folder holds beside manifests is passed by, and nothing that could make pods goes unseen without a word."""

import json

import pytest

from calls import calls_of
from podberth.check.other_files import is_foreign, patches_of
from podberth.check.result import Result
from podberth.check.run import Checked, CheckSettings, check, report
from podberth.check.sources import read
from snapshots import snapshot

CLOUD_FORMATION = "Resources:\n  Bucket:\n    Type: AWS::S3::Bucket\n    Properties: {Name: !Ref Name}\n"
JSON_PATCH = "# of a kustomization\n---\n- op: add\n  path: /spec/replicas\n  value: 2\n"
TEMPLATE = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: {{ .Values.name }}\n  {{- with .Values.labels }}\n"


def results(*files: tuple[str, str], found: bool = True, patch_of: str = "") -> tuple[Result, ...]:
    read_files = [read(name, text, found=found, patch_of=patch_of) for name, text in files]
    return report([check(each, snapshot(), CheckSettings()) for each in read_files]).results


def test_what_chainsaw_asserts_is_no_object() -> None:
    pod = "kind: Pod\napiVersion: v1\nspec:\n  initContainers: [{name: i}]\n  (tolerations[?key == 'a']): [{}]\n"
    script = "    args:\n    - |\n      case $1 in\n      (a): ;;\n      esac\n"
    real = f"apiVersion: v1\nkind: Pod\nmetadata: {{name: p}}\nspec:\n  containers:\n  - name: c\n{script}"
    found = results(("assert.yaml", f"{pod}---\nkind: Pod\napiVersion: v1\n"), ("pod.yaml", real))
    assert [(each.file, each.verdict) for each in found] == [("assert.yaml", "skipped"), ("pod.yaml", "unchanged")]
    assert results(("assert.yaml", pod), found=False)[0].verdict == "error"


def test_a_pod_beside_a_policy_of_kyvernos_is_judged() -> None:
    policy = (
        "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: latest}\nspec:\n  rules:\n"
        "  - validate:\n      pattern:\n        spec:\n          containers:\n"
        "          - (image): '*:latest'\n            imagePullPolicy: Always\n"
    )
    pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  containers: [{name: c, image: i}]\n"
    found = results(("policy.yaml", f"{policy}---\n{pod}"))
    assert [(each.kind, each.verdict) for each in found] == [("ClusterPolicy", "skipped"), ("Pod", "unchanged")]


@pytest.mark.parametrize(
    "text",
    [
        CLOUD_FORMATION,
        JSON_PATCH,
        "site_name: x\nextensions:\n- emoji: !!python/name:material.extensions.emoji.twemoji\n",
        '["a", {"b": 1}]',
        "image: {tag: v1}\n",
        "kind: vllm-bench\nrate: 16\n",
        "kind: CronJob\nschedule: 0 * * * *\npriorityClassName: x\n",
        '{"kind": "discovery#restDescription"}',
    ],
)
def test_yaml_of_other_programs_is_counted_and_no_error(text: str) -> None:
    [result] = results(("a.yaml", text))
    assert (result.verdict, result.kind, result.namespace, result.warnings) == ("skipped", "", "", ())


def test_data_as_json_costs_no_more_than_reading_it() -> None:
    known = snapshot()

    def calls(rows: int) -> int:
        text = json.dumps({"rows": [{"x": number, "y": [number, "s"]} for number in range(rows)]})
        file = read("data.json", text, found=True)
        reports: list[Checked] = []
        counted = calls_of(lambda: reports.append(check(file, known, CheckSettings())))
        [result] = reports[0].results
        assert (result.verdict, result.line) == ("skipped", 1)
        return counted

    calls(10)
    assert calls(5_000) == calls(10)  # nothing asks for the place of anything in it


@pytest.mark.parametrize(
    "text",
    [
        "a: [b\n",
        "a: 1\n[b]: 2\n",
        "kind: Pod\nspec: {}\n",
        "apiVersion: v1\nkind: Pod\nspec: !Ref x\n",
        "- apiVersion: v1\n  kind: Pod\n",
        "---\napiVersion: v1\nkind: Pod\nspec: [\n---\n- a\n",
        "<<<<<<< ours\na: 1\n=======\na: 2\n>>>>>>> theirs\n",
    ],
)
def test_a_broken_file_is_an_error_wherever_it_is(text: str) -> None:
    assert "error" in {each.verdict for each in results(("a.yaml", text))}


@pytest.mark.parametrize("text", [JSON_PATCH, TEMPLATE])
def test_a_file_that_somebody_named_is_to_be_judged(text: str) -> None:
    assert not is_foreign(read("a.yaml", text))
    [result, *_] = results(("a.yaml", text), found=False)
    assert result.verdict == "error"


def test_named_yaml_without_a_kind_is_warned_of() -> None:
    [result] = results(("values.yaml", "a: 1\n"), found=False)
    assert "no object of Kubernetes" in result.warnings[0].message


def test_templates_of_a_folder_are_reported_once_and_what_stands_beside_them_is_judged() -> None:
    broken = "apiVersion: v1\nkind: Pod\nspec: [\n"
    pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: c, image: i}]}\n"
    found = results(
        ("t/a.yaml", f"{pod}---\n{TEMPLATE}"), ("t/b.yaml", TEMPLATE), ("u/c.yaml", TEMPLATE), ("t/d.yaml", broken)
    )
    assert [(each.file, each.line, each.kind, each.verdict) for each in found] == [
        ("t/a.yaml", 1, "Pod", "unchanged"),
        ("t/a.yaml", 9, "template", "skipped"),
        ("u/c.yaml", 4, "template", "skipped"),
        ("t/d.yaml", 4, "", "error"),
    ]
    assert found[1].warnings[0].message.startswith("2 files of t are templates and no YAML yet; expand")


def test_a_template_that_is_not_helms_is_a_note() -> None:
    [result] = results(("a.yaml", TEMPLATE.replace(".Values.", "")[: TEMPLATE.index("  {{-")] + "  - x: {{ X }}\n"))
    assert result.notes[0].message == "this is a template and no YAML yet; nothing of it is checked"
    assert result.warnings == ()


def test_a_workload_of_a_folder_without_containers_may_be_a_patch_and_has_a_note() -> None:
    text = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec: {template: {spec: {priority: 1}}}\n"
    [result] = results(("a.yaml", text))
    assert (result.verdict, result.errors, len(result.notes)) == ("skipped", (), 1)
    assert "it is a patch" in result.notes[0].message
    assert results(("a.yaml", text), found=False)[0].verdict == "error"


@pytest.mark.parametrize("mark", ["...", "    ...", "  …"])
def test_an_excerpt_of_a_folder_is_a_note(mark: str) -> None:
    excerpt = f"apiVersion: v1\nkind: Pod\nmetadata: {{name: a}}\nspec:\n{mark}\n  containers: [{{name: c}}]\n"
    pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: b}\nspec: {containers: [{name: c, image: i}]}\n"
    *before, last = results(("a.yaml", f"{excerpt}---\n{pod}"))
    assert {each.verdict for each in before} == {"skipped"}
    [said] = [note.message for each in before if each.kind == "excerpt" for note in each.notes]
    assert said == 'lines are left out by "...": nothing of it is checked'
    assert (last.name, last.verdict) == ("b", "unchanged")
    assert "error" in {each.verdict for each in results(("a.yaml", excerpt), found=False)}


def test_a_broken_document_that_ends_with_three_dots_is_an_error() -> None:
    [result] = results(("a.yaml", "apiVersion: v1\nkind: Pod\nspec: [\n...\n"))
    assert result.verdict == "error"


def test_a_broken_document_beside_a_template_of_another_program_is_an_error() -> None:
    rule = "a: 1\nsummary: rate of {{ $labels.pod }}\n"
    assert [each.verdict for each in results(("a.yaml", f"{rule}---\nb: [\n"))] == ["skipped", "error"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("Chart.yaml", "apiVersion: v2\nname: c\nversion: 1.0.0\n"),
        ("index.yaml", "apiVersion: v1\nentries: {}\ngenerated: '2026-01-01T00:00:00Z'\n"),
        ("kustomization.yaml", "resources: [a.yaml]\n"),
        ("kustomization.yml", "kind: Kustomization\nresources: [a.yaml]\n"),
    ],
)
@pytest.mark.parametrize("found", [True, False])
def test_what_helm_and_kustomize_read_is_no_manifest(name: str, text: str, *, found: bool) -> None:
    [result] = results((f"x/{name}", text), found=found)
    assert (result.verdict, result.warnings) == ("skipped", ())


@pytest.mark.parametrize("text", [JSON_PATCH, "apiVersion: apps/v1\nkind: Deployment\nspec: {replicas: 2}\n"])
def test_a_patch_is_not_taken_for_a_whole_object(text: str) -> None:
    [result] = results(("o/patch.yaml", text), patch_of="o/kustomization.yaml")
    assert (result.verdict, result.kind) == ("skipped", "kustomize patch")
    assert "kustomize build o | podberth check -" in result.notes[0].message


def test_every_way_to_name_a_patch_is_known() -> None:
    kustomization = {
        "patches": [{"path": "a.yaml"}, {"patch": "- op: add"}, 1],
        "patchesStrategicMerge": ["b.yaml", "spec:\n  replicas: 1\n"],
        "patchesJson6902": [{"path": "c.yaml", "target": {}}],
        "replacements": [{"path": "d.yaml"}],
        "configurations": ["e.yaml"],
        "resources": ["f.yaml"],
    }
    assert list(patches_of(kustomization)) == ["a.yaml", "c.yaml", "b.yaml", "d.yaml", "e.yaml"]
    assert list(patches_of({"patches": "a.yaml"})) == []
