"""The files of ``python -m differential --files``: strangers' documents, whatever they are."""

import os
from pathlib import Path

import pytest

from differential.files import Files
from podberth.native.resources import Resources

POLICY = "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicy\nmetadata: {name: p}\n"


def test_what_cannot_be_read_is_a_problem_and_what_is_no_policy_is_left_out(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.yaml")
    (tmp_path / "zero.yaml").symlink_to("/dev/zero")
    (tmp_path / "dir.yaml").mkdir()
    (tmp_path / "loop").symlink_to(tmp_path)
    (tmp_path / "binary.yaml").write_bytes(b"\xff\xff")
    (tmp_path / "utf16.yaml").write_bytes((POLICY + "spec: {}\n").encode("utf-16"))
    (tmp_path / "torn.yaml").write_text("a: [", encoding="utf-8")
    (tmp_path / "misshapen.yaml").write_text(
        f"{POLICY}spec: []\n---\n{POLICY.replace('name: p', 'name: []')}spec: {{}}\n", encoding="utf-8"
    )
    found = Files.below(tmp_path)
    assert [each["metadata"]["name"] for each in found.policies] == ["p"]
    assert [Path(each.file).name for each in found.problems] == ["binary.yaml", "torn.yaml"]


@pytest.mark.parametrize("kind", ["3", "[]", "{}", "{apiVersion: [], kind: {}}"])
def test_a_misshapen_kind_of_params_names_no_params(tmp_path: Path, kind: str) -> None:
    (tmp_path / "p.yaml").write_text(f"{POLICY}spec: {{paramKind: {kind}}}\n", encoding="utf-8")
    found = Files.below(tmp_path)
    assert len(found.policies) == 1
    assert list(found.params(Resources(()))) == []
