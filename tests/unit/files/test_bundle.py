"""The ConfigMap of a folder of policies: what the webhook reads of it is what it would read of the folder."""

from pathlib import Path

import pytest

from podberth.cli.main import main
from podberth.errors import PolicyError
from podberth.files.bundle import MOST_BYTES, bundle
from podberth.files.loading import read_policy_texts
from podberth.kube.documents import load_documents
from podberth.policy.parse import parse_policies
from snapshots import policy

SPEC = "  mutations: [{labels: {a: gang.name}}]"
PARAMS = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: p, namespace: podberth-system}\ndata: {a: 'b'}\n"


def folder(directory: Path, **texts: str) -> Path:
    for name, text in texts.items():
        file = directory / name / "policy.yaml"
        file.parent.mkdir(parents=True)
        file.write_text(text)
    return directory


def test_it_is_the_configmap_whose_files_hold_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = folder(tmp_path / "in", b=policy("b", SPEC), a=policy("a", SPEC))
    (source / "a" / "params.yaml").write_text(PARAMS)
    (source / "a" / "tests.yaml").write_text("cases: []")
    assert main(["policies", "bundle", str(source)]) == 0
    said = capsys.readouterr()
    [document] = [each.document for each in load_documents(said.out, "")[0]]
    assert said.err == ""
    assert document["metadata"] == {"name": "podberth-policies", "namespace": "podberth-system"}
    assert list(document["data"]) == ["a.params.yaml", "a.policy.yaml", "b.policy.yaml"]
    mounted = tmp_path / "mounted"
    mounted.mkdir()
    for name, text in document["data"].items():
        (mounted / name).write_text(text)
    there, back = (parse_policies(read_policy_texts(each)[0]) for each in (source, mounted))
    assert [each.policy for each in there.policies] == [each.policy for each in back.policies]
    assert there.params == back.params
    assert main(["policies", "bundle", str(source)]) == 0
    assert capsys.readouterr().out == said.out


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        ({}, "got no policy file"),
        ({"a": policy("a", SPEC.replace("gang.name", "gang.nmae"))}, "undefined field 'nmae'"),
        ({"a": policy("a", SPEC), "b": policy("a", SPEC)}, "is already in"),
        ({"a": "kind: Deployment"}, "want podberth.io/v1alpha1 GPUPolicy"),
        ({"a b": policy("a", SPEC)}, "got the key 'a b.policy.yaml' in the ConfigMap"),
    ],
)
def test_what_the_webhook_would_not_load_is_refused(tmp_path: Path, texts: dict[str, str], said: str) -> None:
    folder(tmp_path, **texts)
    with pytest.raises(PolicyError, match=said):
        bundle(tmp_path)


def test_two_files_of_one_key_are_refused(tmp_path: Path) -> None:
    folder(tmp_path, a=policy("a", SPEC))
    (tmp_path / "a.policy.yaml").write_text(policy("b", SPEC))
    with pytest.raises(PolicyError, match=r"another file has the key 'a\.policy\.yaml'"):
        bundle(tmp_path)


def test_more_than_a_configmap_holds_is_refused(tmp_path: Path) -> None:
    comment = "#" + "-" * 400_000 + "\n"
    folder(tmp_path, **{each: policy(each, SPEC) + comment for each in "abc"})
    with pytest.raises(PolicyError, match=rf"want {MOST_BYTES:,} at most"):
        bundle(tmp_path)


def test_a_name_that_is_shipped_too_is_refused_but_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A replica that started with both would end."""
    folder(tmp_path, own=policy("gang-topology", SPEC))
    assert main(["policies", "bundle", str(tmp_path)]) != 0
    said = capsys.readouterr()
    assert "own/policy.yaml" in said.err
    assert "GPUPolicy 'gang-topology' is already in" in said.err
    assert said.out == ""
    assert main(["policies", "bundle", "--alone", str(tmp_path)]) == 0
    assert "own.policy.yaml" in capsys.readouterr().out
