"""`podberth lsp` through the protocol: a scripted editor opens, changes and asks, as Neovim and VS Code do."""

import asyncio
import sys
from asyncio.subprocess import DEVNULL
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from integration.editor import SECONDS, Editor, Message, at, position, start, stop
from integration.serving import environment

POLICY = """\
apiVersion: podberth.io/v1alpha1
kind: GPUPolicy
metadata: {name: payer}
spec:
  description: Says who pays.
  paramKind: {apiVersion: v1, kind: ConfigMap}
  paramRef: {name: payer, namespace: podberth-system, parameterNotFoundAction: Allow}
  variables:
  - name: nodes
    expression: topology.nodes(gpu)
  mutations:
  - when: variables.nodes.exist
    labels: {example.com/payer: "params.data['payer']"}
    reason: "'😀 ' + gpu.kind"
"""
PARAMS = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: payer, namespace: podberth-system}
data: {payer: research}
"""
Script: TypeAlias = Callable[[Editor], Coroutine[Any, Any, None]]
NATIVE = """\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: limits}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}
  validations:
  - expression: object.spec.containers.all(c, has(c.resources))
"""
MUTATING = """\
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: spread}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}
  variables:
  - {name: wanted, expression: object.spec.containers.size() > 1}
  reinvocationPolicy: Never
  mutations:
  - patchType: ApplyConfiguration
    applyConfiguration:
      expression: "variables.wanted ? Object{spec: Object.spec{hostNetwork: false}} : Object{}"
"""


@pytest.fixture(scope="module")
def runner() -> Iterator[asyncio.Runner]:
    """The event loop of the module's editor."""
    with asyncio.Runner() as found:
        yield found


@pytest.fixture(scope="module")
def started(runner: asyncio.Runner, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Editor]:
    """An editor, whose server ends in order."""
    found = runner.run(start(tmp_path_factory.mktemp("editor")))
    yield found
    assert runner.run(stop(found)) == 0


def write(folder: Path) -> Path:
    """Write a policy, its params and its tests."""
    (folder / "policy.yaml").write_text(POLICY, encoding="utf-8")
    (folder / "params.yaml").write_text(PARAMS, encoding="utf-8")
    (folder / "tests.yaml").write_text("cases: []\n", encoding="utf-8")
    return folder


@pytest.fixture
def play(runner: asyncio.Runner, started: Editor, tmp_path: Path) -> Iterator[Callable[[Script], None]]:
    """Run a script in an editor whose folder has a policy, its params and its tests; its documents are closed then."""
    started.folder = write(tmp_path)
    yield lambda script: runner.run(script(started))
    for name in tuple(started.versions):
        runner.run(started.close(name))


def names(answer: Message) -> list[str]:
    return [each["label"] for each in answer["items"]]


def test_diagnostics_follow_the_text_with_ranges_in_utf_16_and_fixes(play: Callable[[Script], None]) -> None:
    async def script(editor: Editor) -> None:
        await editor.open("policy.yaml", POLICY)
        assert await editor.found("policy.yaml") == []

        wrong = POLICY.replace("gpu.kind", "gpu.knd")
        await editor.change("policy.yaml", wrong)
        [found] = await editor.found("policy.yaml")
        assert (found["source"], found["code"], found["severity"]) == ("podberth", "invalid", 1)
        assert found["message"] == "undefined field 'knd' in Gpu; did you mean kind?"
        assert at(wrong, found["range"]) == "knd"
        assert found["range"]["start"]["character"] == len('    reason: "') + len("'xx ' + gpu.")

        document = {"uri": editor.uri("policy.yaml")}
        context = {"diagnostics": [found]}
        asked = {"textDocument": document, "range": found["range"], "context": context}
        [action] = await editor.ask("textDocument/codeAction", asked)
        assert (action["title"], action["kind"]) == ("Replace by kind", "quickfix")
        [change] = action["edit"]["changes"][editor.uri("policy.yaml")]
        assert change == {"range": found["range"], "newText": "kind"}

        await editor.change("policy.yaml", POLICY)
        assert await editor.found("policy.yaml") == []

    play(script)


def test_a_document_is_answered_under_the_uri_that_the_editor_uses(play: Callable[[Script], None]) -> None:
    async def script(editor: Editor) -> None:
        uri = editor.uri("policy.yaml").replace("policy", "p%6Flicy")
        item = {"uri": uri, "languageId": "yaml", "version": 1, "text": POLICY.replace("gpu.kind", "gpu.knd")}
        await editor.send("textDocument/didOpen", {"textDocument": item})
        async with asyncio.timeout(SECONDS):
            while (published := (await editor.receive()).get("params", {})).get("uri") != uri:
                pass
        assert len(published["diagnostics"]) == 1
        await editor.send("textDocument/didClose", {"textDocument": {"uri": uri}})

    play(script)


def test_a_document_that_is_half_typed_has_a_diagnostic_and_completions(play: Callable[[Script], None]) -> None:
    async def script(editor: Editor) -> None:
        await editor.open("policy.yaml", POLICY)
        broken, where = position(POLICY.replace("variables.nodes.exist", "[{ ]").replace("gpu.kind", "gpu.^"))
        await editor.change("policy.yaml", broken)
        offered = await editor.asked("textDocument/completion", "policy.yaml", where)
        assert {"kind", "count"} <= set(names(offered))
        [found] = await editor.found("policy.yaml")
        assert "this is no YAML" in found["message"]

    play(script)


def test_completion_replaces_what_is_typed_and_has_the_manuals_sentence(play: Callable[[Script], None]) -> None:
    async def script(editor: Editor) -> None:
        text, where = position(POLICY.replace("variables.nodes.exist", "variables.nodes.ex^"))
        await editor.open("policy.yaml", text)
        offered = await editor.asked("textDocument/completion", "policy.yaml", where)
        item = next(each for each in offered["items"] if each["label"] == "exist")
        assert (item["detail"], item["textEdit"]["newText"]) == ("bool", "exist")
        assert at(text, item["textEdit"]["range"]) == "ex"
        assert item["documentation"] == {"kind": "markdown", "value": "any node fits, transient nodes included"}

        text, where = position(POLICY + "  fail^\n")
        await editor.change("policy.yaml", text)
        offered = await editor.asked("textDocument/completion", "policy.yaml", where)
        item = next(each for each in offered["items"] if each["label"] == "failurePolicy")
        assert item["textEdit"]["newText"] == "failurePolicy: "

    play(script)


def test_hover_and_definition(play: Callable[[Script], None]) -> None:
    async def script(editor: Editor) -> None:
        text, where = position(POLICY.replace("'😀 ' + gpu.kind", "'😀 ' + gpu.ki^nd"))
        await editor.open("policy.yaml", text)
        hover = await editor.asked("textDocument/hover", "policy.yaml", where)
        assert "`Gpu.kind`: `string`" in hover["contents"]["value"]
        assert at(text, hover["range"]) == "kind"

        text, where = position(POLICY.replace("variables.nodes.exist", "variables.no^des.exist"))
        found = await editor.asked("textDocument/definition", "policy.yaml", where)
        assert (found["uri"], at(text, found["range"])) == (editor.uri("policy.yaml"), "nodes")
        assert found["range"]["start"]["line"] == POLICY[: POLICY.index("name: nodes")].count("\n")

        _, where = position(POLICY.replace("params.data['payer']", "params.data['pay^er']"))
        found = await editor.asked("textDocument/definition", "policy.yaml", where)
        assert (found["uri"], at(PARAMS, found["range"])) == (editor.uri("params.yaml"), "payer")
        assert await editor.asked("textDocument/hover", "policy.yaml", {"line": 99, "character": 9}) is None

    play(script)


def test_fields_of_the_pod_are_completed_and_explained_in_an_expression(play: Callable[[Script], None]) -> None:
    async def script(editor: Editor) -> None:
        text, where = position(POLICY.replace("variables.nodes.exist", "object.spec.host^"))
        await editor.open("policy.yaml", text)
        offered = await editor.asked("textDocument/completion", "policy.yaml", where)
        details = {each["label"]: each["detail"] for each in offered["items"]}
        assert details["hostNetwork"] == "bool"
        explained = {each["label"]: each.get("documentation", {}).get("value") for each in offered["items"]}
        assert explained["hostNetwork"].startswith("true: the pod has the network of the node")
        _, where = position(POLICY.replace("variables.nodes.exist", "object.spec.host^Network"))
        await editor.change("policy.yaml", POLICY.replace("variables.nodes.exist", "object.spec.hostNetwork"))
        hover = await editor.asked("textDocument/hover", "policy.yaml", where)
        assert "`PodSpec.hostNetwork`: `bool`\n\ntrue: the pod has the network" in hover["contents"]["value"]

    play(script)


def test_a_native_mutating_policy_is_completed_explained_and_fixed(play: Callable[[Script], None]) -> None:
    async def script(editor: Editor) -> None:
        wrong = MUTATING.replace("? Object{spec", "&& variables.wantd ? Object{spec")
        await editor.open("mutating.yaml", wrong)
        found = await editor.found("mutating.yaml")
        diagnostic = next(each for each in found if each["code"] == "invalid")
        assert "wantd" in at(wrong, diagnostic["range"])
        fixes = await editor.ask(
            "textDocument/codeAction",
            {
                "textDocument": {"uri": editor.uri("mutating.yaml")},
                "range": diagnostic["range"],
                "context": {"diagnostics": [diagnostic]},
            },
        )
        [edits] = fixes[0]["edit"]["changes"].values()
        assert [each["newText"] for each in edits] == ["wanted"]

        text, where = position(MUTATING.replace("object.spec.containers.size()", "object.spec.host^"))
        await editor.change("mutating.yaml", text)
        assert "hostNetwork" in names(await editor.asked("textDocument/completion", "mutating.yaml", where))
        _, where = position(MUTATING.replace('"variables.wanted', '"variables.wan^ted'))
        await editor.change("mutating.yaml", MUTATING)
        hover = await editor.asked("textDocument/hover", "mutating.yaml", where)
        assert "wanted" in hover["contents"]["value"]
        place = await editor.asked("textDocument/definition", "mutating.yaml", where)
        assert at(MUTATING, place["range"]) == "wanted"

    play(script)


def test_an_open_file_counts_in_place_of_the_saved_one(play: Callable[[Script], None]) -> None:
    async def script(editor: Editor) -> None:
        await editor.open("policy.yaml", POLICY)
        assert await editor.found("policy.yaml") == []
        editor.diagnostics.clear()
        await editor.open("params.yaml", PARAMS.replace("payer: research", "other: research"))
        [found] = await editor.found("policy.yaml")
        assert found["code"] == "params-default"
        editor.diagnostics.clear()
        await editor.send("textDocument/didClose", {"textDocument": {"uri": editor.uri("params.yaml")}})
        assert await editor.found("policy.yaml") == []

    play(script)


def test_suites_native_policies_and_documents_that_are_on_no_disk(play: Callable[[Script], None]) -> None:
    async def script(editor: Editor) -> None:
        suite, where = position("cases:\n- name: a\n  pod: {}\n  expect: {verdikt: denied}\n  ^\n")
        await editor.open("tests.yaml", suite)
        [found] = await editor.found("tests.yaml")
        assert at(suite, found["range"]) == "verdikt"
        assert "namespace" in names(await editor.asked("textDocument/completion", "tests.yaml", where))

        text, where = position(NATIVE.replace("c.resources", "c.^"))
        await editor.open("native.yaml", text)
        assert "resources" in names(await editor.asked("textDocument/completion", "native.yaml", where))
        await editor.change("native.yaml", NATIVE.replace("containers.all(c, has(c.resources))", "hostNetwork"))
        both = await editor.found("native.yaml")
        assert {each["code"] for each in both} == {"invalid", "unbound"}

        await editor.open("other.yaml", "apiVersion: apps/v1\nkind: Deployment\nspec: [\n")
        assert await editor.found("other.yaml") == []

    play(script)


@pytest.mark.parametrize(("supported", "name", "form"), [(True, "${1:my-policy}", 2), (False, "my-policy", None)])
def test_a_new_document_is_begun_by_a_snippet_if_the_editor_has_them(
    runner: asyncio.Runner, tmp_path: Path, *, supported: bool, name: str, form: int | None
) -> None:
    async def script() -> None:
        completion = {"completionItem": {"snippetSupport": supported}}
        editor = await start(write(tmp_path), textDocument={"completion": completion})
        await editor.open("new.yaml", "api")
        where = {"line": 0, "character": 3}
        item = (await editor.asked("textDocument/completion", "new.yaml", where))["items"][0]
        assert (item["label"], item.get("insertTextFormat")) == ("GPUPolicy", form)
        assert f"name: {name}\n" in item["textEdit"]["newText"]
        assert at("api", item["textEdit"]["range"]) == "api"
        assert "apiVersion" in item["filterText"]
        assert await stop(editor) == 0

    runner.run(script())


def test_an_editor_that_counts_bytes_gets_bytes(runner: asyncio.Runner, tmp_path: Path) -> None:
    async def script() -> None:
        editor = await start(write(tmp_path), general={"positionEncodings": ["utf-8", "utf-16"]})
        assert editor.answer["capabilities"]["positionEncoding"] == "utf-8"
        await editor.open("policy.yaml", POLICY.replace("gpu.kind", "gpu.knd"))
        [found] = await editor.found("policy.yaml")
        assert found["range"]["start"]["character"] == len('    reason: "') + len("'xxxx ' + gpu.")
        assert await stop(editor) == 0

    runner.run(script())


def test_a_conversation_that_breaks_off_ends_with_1(runner: asyncio.Runner, tmp_path: Path) -> None:
    async def run() -> int | None:
        command = [sys.executable, "-m", "podberth", "lsp"]
        process = await asyncio.create_subprocess_exec(*command, stdin=DEVNULL, cwd=tmp_path, env=environment())
        return await process.wait()

    assert runner.run(run()) == 1
