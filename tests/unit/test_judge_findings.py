import json
from collections import Counter

import pytest
from judge_findings import JUDGEMENTS, MANIFESTS, ROOT, VERDICTS, Found, sets, table, verdicts

ENTRIES = [json.loads(line) for line in JUDGEMENTS.read_text(encoding="utf-8").splitlines()]
LISTED = {
    tuple(line.split("\t")[:3])
    for line in (ROOT / "tests/precision/manifests.tsv").read_text(encoding="utf-8").splitlines()[1:]
}
GANGS = (ROOT / "tests/precision/gangs.jsonl").read_text(encoding="utf-8").splitlines()


def test_each_judgement_is_of_a_listed_manifest_and_has_its_reason() -> None:
    assert {(each["repository"], each["commit"], each["path"]) for each in ENTRIES} <= LISTED
    assert all(each["verdict"] in VERDICTS[:3] and each["why"] and each["message"] for each in ENTRIES)
    assert len(verdicts(JUDGEMENTS)) == len(ENTRIES), "no finding is judged twice"


@pytest.mark.parametrize("line", GANGS, ids=range(len(GANGS)))
def test_each_gang_is_of_a_listed_manifest_and_counts_its_roles(line: str) -> None:
    gang = json.loads(line)
    assert (gang["repository"], gang["commit"], gang["path"]) in LISTED
    assert gang["why"]
    counts = [gang["accelerated"], gang["size"]]
    assert counts[0] in {*range(1000), "unknown"}
    assert {"unknown", "none"} & set(counts) or counts[0] <= counts[1]


def test_no_repository_is_in_two_sets() -> None:
    found = Counter(name for _, name in {(repository, name) for (repository, _), name in sets(MANIFESTS).items()})
    assert found.keys() == {"first", "unseen", "second", "third", "fourth"}
    assert found.total() == len({repository for repository, _ in sets(MANIFESTS)})


def test_findings_are_counted_by_policy_and_verdict() -> None:
    counts = Counter({("a", "useful"): 2, ("a", "new"): 1, ("", "wrong"): 1})
    assert list(table(counts)) == [
        "\n| policy | useful | noise | wrong | new |\n|---|---|---|---|---|",
        "| of no policy | 0 | 0 | 1 | 0 |",
        "| a | 2 | 0 | 0 | 1 |",
        "| all | 2 | 0 | 1 | 1 |",
    ]


def test_a_finding_is_known_by_its_place_and_its_words() -> None:
    first = ENTRIES[0]
    known = verdicts(JUDGEMENTS)
    found = Found(*(first[field] for field in Found._fields))
    assert known[found] == first["verdict"]
    assert found._replace(message="other words") not in known
