import json
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pytest
from judge_findings import (
    JUDGEMENTS,
    MANIFESTS,
    OPTIONAL,
    ROOT,
    VERDICTS,
    Found,
    Judgement,
    findings,
    lost,
    main,
    of_threads,
    sets,
    table,
    verdicts,
)

ENTRIES = [json.loads(line) for line in JUDGEMENTS.read_text(encoding="utf-8").splitlines()]
LISTED = {
    tuple(line.split("\t")[:3])
    for line in (ROOT / "tests/precision/manifests.tsv").read_text(encoding="utf-8").splitlines()[1:]
}
OF_OPTIONAL = [
    json.loads(line) for line in JUDGEMENTS.with_name("optional.jsonl").read_text(encoding="utf-8").splitlines()
]
GANGS = (ROOT / "tests/precision/gangs.jsonl").read_text(encoding="utf-8").splitlines()


def test_each_judgement_is_of_a_listed_manifest_and_has_its_reason() -> None:
    assert {(each["repository"], each["commit"], each["path"]) for each in ENTRIES} <= LISTED
    assert all(each["verdict"] in VERDICTS[:3] and each["why"] and each["message"] for each in ENTRIES)
    assert len(verdicts(JUDGEMENTS)) == len(ENTRIES), "no finding is judged twice"


def test_each_judgement_has_its_set_and_its_state() -> None:
    sets_of = sets(MANIFESTS)
    assert all(each["set"] == sets_of[each["repository"], each["path"]] for each in ENTRIES)
    assert {each["state"] for each in ENTRIES} <= {"current", "gone", "unchecked"}
    assert all(bool(each.get("gone")) == (each["state"] == "gone") for each in ENTRIES)


def test_each_judgement_of_an_optional_policy_is_of_a_listed_manifest_and_has_its_reason() -> None:
    rows = JUDGEMENTS.with_name("optional.tsv").read_text(encoding="utf-8").splitlines()[1:]
    listed = {tuple(row.split("\t")[:3]) for row in rows}
    assert len(listed) == len(rows)
    assert {(each["repository"], each["commit"], each["path"]) for each in OF_OPTIONAL} <= listed
    assert {each["policy"] for each in OF_OPTIONAL} == {*OPTIONAL}
    assert all(each["verdict"] in VERDICTS[:3] and each["why"] and each["message"] for each in OF_OPTIONAL)
    assert {each["state"] for each in OF_OPTIONAL} <= {"current", "gone"}
    assert all(bool(each.get("gone")) == (each["state"] == "gone") for each in OF_OPTIONAL)
    assert len(verdicts(JUDGEMENTS.with_name("optional.jsonl"))) == len(OF_OPTIONAL), "no finding is judged twice"


@pytest.mark.parametrize("line", GANGS, ids=range(len(GANGS)))
def test_each_gang_is_of_a_listed_manifest_and_counts_its_roles(line: str) -> None:
    gang = json.loads(line)
    assert (gang["repository"], gang["commit"], gang["path"]) in LISTED
    assert gang["why"]
    counts = [gang["accelerated"], gang["size"]]
    assert counts[0] in {*range(1000), "unknown"}
    assert {"unknown", "none"} & set(counts) or counts[0] <= counts[1]


def test_no_repository_is_in_two_sets() -> None:
    files = {place: name for place, name in sets(MANIFESTS).items() if name != "threads"}
    found = Counter(name for _, name in {(repository, name) for (repository, _), name in files.items()})
    more = {"second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth", "eleventh", "twelfth"}
    newest = {"sixteenth", "eighteenth", "nineteenth"}
    assert found.keys() == {"first", "unseen", *more, "thirteenth", "fourteenth", "fifteenth", *newest}
    assert found.total() == len({repository for repository, _ in files})
    assert of_threads(MANIFESTS) == {"threads"}, "a thread may be of a repository whose files are in another set"


def test_each_block_of_a_thread_has_the_trouble_of_the_thread() -> None:
    rows = MANIFESTS.with_name("threads.tsv").read_text(encoding="utf-8").splitlines()[1:]
    said = {(repository, path): says for repository, path, _, says in (row.split("\t") for row in rows)}
    assert len(rows) == len(said)
    assert said.keys() == {place for place, name in sets(MANIFESTS).items() if name == "threads"}
    known = {"said", "said with nodes", "said since", "not said", "not visible", "no trouble"}
    assert {*said.values()} == known


def test_findings_are_counted_by_policy_and_verdict() -> None:
    counts = Counter({("a", "useful"): 2, ("a", "new"): 1, ("", "wrong"): 1})
    assert list(table(counts)) == [
        "\n| policy | useful | noise | wrong | new | lost |\n|---|---|---|---|---|---|",
        "| of no policy | 0 | 0 | 1 | 0 | 0 |",
        "| a | 2 | 0 | 0 | 1 | 0 |",
        "| all | 2 | 0 | 1 | 1 | 0 |",
    ]


def test_a_finding_is_known_by_its_place_and_its_words() -> None:
    first = ENTRIES[0]
    known = verdicts(JUDGEMENTS)
    found = Found(*(first[field] for field in Found._fields))
    assert known[found].verdict == first["verdict"]
    assert found._replace(message="other words") not in known


POD = """
apiVersion: v1
kind: Pod
metadata: {name: a}
spec:
  containers:
  - {name: c, image: i, resources: {limits: {cpu: 1}}, imagee: x}
"""


class Small(NamedTuple):
    """A folder of one manifest, its list, and a file for its judgements."""

    folder: Path
    manifest: Path
    judgements: Path
    listed: Path

    def judge(self, **entry: str) -> None:
        """Record one judgement about the one finding."""
        found = next(findings(self.folder, None))
        line = {**found._asdict(), "commit": "c", "set": "first", "state": "current", "why": "y", **entry}
        self.judgements.write_text(json.dumps(line) + "\n", encoding="utf-8")

    def run(self, *arguments: str) -> int:
        return main([str(self.folder), *arguments], self.judgements, self.listed)


@pytest.fixture
def small(tmp_path: Path) -> Small:
    manifest = tmp_path / "manifests/owner+name/k8s/pod.yaml"
    manifest.parent.mkdir(parents=True)
    manifest.write_text(POD, encoding="utf-8")
    made = Small(tmp_path / "manifests", manifest, tmp_path / "judgements.jsonl", tmp_path / "manifests.tsv")
    made.judgements.touch()
    rows = ["repository\tcommit\tpath\tkinds\tset", "owner/name\tc\tk8s/pod.yaml\tPod\tfirst"]
    made.listed.write_text("\n".join(rows), encoding="utf-8")
    return made


def test_a_finding_that_nobody_has_judged_is_new(small: Small, capsys: pytest.CaptureFixture[str]) -> None:
    assert small.run("--topology", "none") == 1
    assert capsys.readouterr().out.startswith("new    -: got imagee")


@pytest.mark.parametrize(("verdict", "code"), [("useful", 0), ("noise", 0), ("wrong", 1)])
def test_a_judged_finding_fails_the_command_only_if_it_is_wrong(small: Small, verdict: str, code: int) -> None:
    small.judge(verdict=verdict)
    assert small.run() == code


def test_a_useful_finding_that_does_not_come_is_lost(small: Small, capsys: pytest.CaptureFixture[str]) -> None:
    small.judge(verdict="useful")
    small.manifest.write_text(POD.replace(", imagee: x", ""), encoding="utf-8")
    assert small.run() == 1
    assert capsys.readouterr().out.startswith("lost   -: got imagee")


@pytest.mark.parametrize(
    "entry", [{"verdict": "noise"}, {"verdict": "useful", "state": "gone", "gone": "the field is known now"}]
)
def test_noise_and_what_is_recorded_as_gone_are_not_lost(small: Small, entry: dict[str, str]) -> None:
    small.judge(**entry)
    small.manifest.write_text(POD.replace(", imagee: x", ""), encoding="utf-8")
    assert small.run() == 0


def test_a_finding_on_a_manifest_that_the_folder_lacks_is_not_lost(small: Small) -> None:
    small.judge(verdict="useful")
    small.manifest.unlink()
    small.manifest.with_name("other.yaml").write_text(POD.replace(", imagee: x", ""), encoding="utf-8")
    assert small.run() == 0


def test_blocks_of_threads_cannot_be_got_and_the_command_says_so(
    small: Small, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = small.listed.read_text(encoding="utf-8").splitlines()
    block = "owner/name\tthread\tissues/7#description-1.yaml\tPod\tthreads"
    small.listed.write_text("\n".join([*rows, block]), encoding="utf-8")
    assert small.run("--set", "threads") == 2
    assert capsys.readouterr().err == "threads: got none of its blocks of threads, which no command gets\n"
    at_hand = small.folder / "owner+name/issues/7#description-1.yaml"
    at_hand.parent.mkdir()
    at_hand.write_text(POD, encoding="utf-8")
    assert small.run("--set", "threads") == 1, "the finding is new"


def test_a_finding_of_another_topology_is_not_lost(tmp_path: Path) -> None:
    (tmp_path / "o+r").mkdir()
    (tmp_path / "o+r/p.yaml").touch()
    found = Found("o/r", "p.yaml", "Pod/a", "x", "m")
    judged = {found: Judgement("useful", "current", frozenset({"mig"}))}
    assert lost(judged, {}, tmp_path, {"none", "mixed"}) == set()
    assert lost(judged, {}, tmp_path, {"none", "mig"}) == {found}


JOB = """
apiVersion: batch/v1
kind: Job
metadata: {name: train}
spec:
  template:
    spec:
      restartPolicy: Never
      containers:
      - {name: c, image: "i:cuda12.4", command: [vllm, serve, m], resources: {limits: {nvidia.com/gpu: 1}}}
"""


def test_what_optional_policies_write_or_warn_is_a_finding(small: Small, capsys: pytest.CaptureFixture[str]) -> None:
    small.manifest.write_text(JOB, encoding="utf-8")
    topology = str(ROOT / "tests/precision/topology-efa.yaml")
    assert small.run("--optional", "--topology", "none", "--topology", topology) == 1
    found = capsys.readouterr().out.split("\n\n")[0].splitlines()
    assert found[:3:2] == [
        "new    cuda-fits-driver: writes: it needs a driver for CUDA 12.4",
        "new    protect-running: writes: autoscalers leave it where it runs until it ends",
    ]
    assert [each.partition(",")[0] for each in found[4::2]] == ["new    workload-shape: got vllm serve in a Job"]
    assert found[1].endswith("Job/train (efa, none)"), "the words are the same with and without nodes"


@pytest.mark.parametrize("name", ["mixed", "gke", "mig", "gb200", "cpu", "efa"])
def test_each_topology_of_the_judgements_is_one(name: str, tmp_path: Path) -> None:
    (tmp_path / "o+r").mkdir()
    (tmp_path / "o+r/p.yaml").write_text(POD, encoding="utf-8")
    assert len(list(findings(tmp_path, ROOT / f"tests/precision/topology-{name}.yaml"))) == 1


def test_what_is_about_the_nodes_alone_is_no_finding_on_a_manifest(small: Small) -> None:
    small.manifest.write_text(JOB, encoding="utf-8")
    assert small.run("--topology", str(ROOT / "tests/precision/topology-cpu.yaml")) == 0


FLOW = "apiVersion: x.io/v1\nkind: Flow\nmetadata: {name: a}\nspec: {limits: {nvidia.com/gpu: 1}}\n"


def test_a_useful_finding_that_is_a_note_now_is_not_lost(small: Small, capsys: pytest.CaptureFixture[str]) -> None:
    small.manifest.write_text(FLOW, encoding="utf-8")
    small.judge(verdict="useful")
    small.manifest.with_name("before.yaml").write_text(FLOW, encoding="utf-8")  # has the one warning about the kind
    small.run()
    out = capsys.readouterr().out
    assert ("before.yaml" in out, "pod.yaml" in out, "\nlost" in out) == (True, False, False)
