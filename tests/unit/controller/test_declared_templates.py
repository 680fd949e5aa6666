"""The claim templates that policies declare: loaded when they change, and a broken policy replaces no working one."""

import asyncio
from pathlib import Path

from integration.serving import CapturedLines
from podberth.cluster.layered_policies import LayeredPolicies
from podberth.controller.declared_templates import Declared, Templates
from podberth.conventions import Conventions
from podberth.files.loading import PolicyFiles
from podberth.files.source import Loaded
from podberth.kube.documents import load_documents
from podberth.kube.schema import PodSchema
from podberth.telemetry.log import Log
from snapshots import policy

SPEC = """
  claimTemplates:
  - {name: pair, spec: {spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: CLASS}}]}}}}
  mutations:
  - resourceClaims: "[{'name': 'p', 'template': 'pair'}]"
"""


def text(device_class: str) -> str:
    return policy("a", SPEC.replace("CLASS", device_class))


def known(directory: Path) -> LayeredPolicies:
    """Return the policies of files in a cluster that has no GPUPolicy."""
    source = LayeredPolicies(PolicyFiles(directory), Conventions(), PodSchema.packaged())
    source.take({})
    return source


class Seen:
    """The declared templates, and the log."""

    def __init__(self) -> None:
        self.templates: list[Templates] = []
        self.lines = CapturedLines()
        self.log = Log(self.lines)

    def classes(self) -> list[set[str]]:
        requests = [[each["spec"]["devices"]["requests"][0] for each in one.values()] for one in self.templates]
        return [{each["exactly"]["deviceClassName"] for each in one} for one in requests]


def test_files_are_loaded_when_they_change_and_earlier_templates_are_still_made(tmp_path: Path) -> None:
    seen, file = Seen(), tmp_path / "a.yaml"
    declared = Declared(known(tmp_path), seen.templates.append, seen.log)

    async def change() -> None:
        file.write_text(text("one"))
        await declared.look()
        await declared.look()
        file.write_text(text("another"))
        await declared.look()
        file.write_text(text("the-third"))
        await declared.look()

    asyncio.run(change())
    assert declared.loaded
    assert seen.classes() == [{"one"}, {"one", "another"}, {"another", "the-third"}]
    assert all(name.startswith("pair-") for one in seen.templates for name in one)


def test_a_broken_file_replaces_nothing_and_is_reported(tmp_path: Path) -> None:
    seen, file = Seen(), tmp_path / "a.yaml"
    declared = Declared(known(tmp_path), seen.templates.append, seen.log)

    async def change() -> None:
        file.write_text(text("one").replace("'pair'", "gpu.cuont"))
        await declared.look()
        assert not declared.loaded
        file.write_text(text("one"))
        await declared.look()
        file.write_text(text("one") + "  odrer: 1\n")
        await declared.look()

    asyncio.run(change())
    assert seen.classes() == [{"one"}]
    problems = [str(line["problem"]) for line in seen.lines.lines if line["level"] == "error"]
    assert ["cuont" in each or "odrer" in each for each in problems] == [True, True]


class Faulty(LayeredPolicies):
    """Files whose first load meets a bug."""

    def __init__(self, policies: Path) -> None:
        super().__init__(PolicyFiles(policies), Conventions(), PodSchema.packaged())
        self.take({})
        self.loads = 0

    def load(self) -> Loaded:
        self.loads += 1
        if self.loads == 1:
            raise RuntimeError("a bug")
        return super().load()


def test_a_bug_that_policies_meet_ends_nothing(tmp_path: Path) -> None:
    seen, file = Seen(), tmp_path / "a.yaml"
    declared = Declared(Faulty(tmp_path), seen.templates.append, seen.log)

    async def change() -> None:
        file.write_text(text("one"))
        await declared.look()
        assert not declared.loaded
        file.write_text(text("another"))
        await declared.look()

    asyncio.run(change())
    assert seen.classes() == [{"another"}]
    assert "RuntimeError: a bug" in [line.get("error") for line in seen.lines.lines]


def test_policies_of_the_cluster_are_taken_as_they_come() -> None:
    seen = Seen()
    source = LayeredPolicies(None, Conventions(), PodSchema.packaged())
    declared = Declared(source, seen.templates.append, seen.log)

    async def change() -> None:
        await declared.look()
        assert not declared.loaded
        for generation, name in enumerate(("one", "another"), start=1):
            [document] = [each.document for each in load_documents(text(name), "a")[0]]
            document["metadata"] |= {"uid": "u", "generation": generation}
            await declared.take({"a": document})

    asyncio.run(change())
    assert seen.classes() == [{"one"}, {"one", "another"}]
