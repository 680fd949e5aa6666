"""``podberth docs`` prints the pages that messages name."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from podberth.cli.main import main
from podberth.files.documentation import absolute

ROOT = Path(__file__).parents[3]


def printed(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(["docs", *words]) == 0
    return capsys.readouterr().out


def places(capsys: pytest.CaptureFixture[str], *words: str) -> list[str]:
    return [line.split()[0] for line in printed(capsys, "--search", *words).splitlines()]


def test_without_a_name_it_prints_the_map(capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(capsys) == (ROOT / "docs" / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["status", "status.md", "docs/status.md"])
def test_a_page_has_the_name_that_messages_give_it(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(capsys, name) == (ROOT / "docs" / "status.md").read_text(encoding="utf-8")


def test_every_page_is_listed_and_printed(capsys: pytest.CaptureFixture[str]) -> None:
    names = printed(capsys, "--list").split()
    assert {f"docs/{name}.md" for name in names} == {
        str(path.relative_to(ROOT)) for path in (ROOT / "docs").rglob("*.md")
    }
    for name in names:
        assert printed(capsys, name)


@pytest.mark.parametrize("section", ["#Let through", "#let-through", ", Let through"])
def test_a_section_ends_before_the_next(section: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(capsys, f"docs/status.md{section}")
    assert text.startswith("## Let through\n")
    assert len(re.findall(r"^## ", text, re.MULTILINE)) == 1
    assert text in (ROOT / "docs" / "status.md").read_text(encoding="utf-8")


def test_a_comment_of_a_sample_ends_no_section(capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(capsys, "policies/gang-topology#parameters")
    assert "\n# mode: preferred | required\n" in text
    assert "\n  mode: preferred\n" in text, "what is behind the comment"


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("statu", "did you mean status?"),
        ("status#let-trough", "did you mean status#let-through?"),
        ("policy#resourceClaims", "did you mean mutations#resourceclaims?"),
        ("policy#gang", "did you mean expressions#gang or mutations#gang?"),
        ("policy#cel-variables", "did you mean expressions#variables or policy#variables?"),
        ("policy#cel-functions", "did you mean expressions#functions?"),
    ],
)
def test_a_wrong_name_has_the_nearest(name: str, nearest: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["docs", name]) == 2
    assert nearest in capsys.readouterr().err


def test_a_section_that_is_like_none_has_no_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["docs", "status#qqqq"]) == 2
    assert "did you mean" not in capsys.readouterr().err


def test_a_search_lists_the_sections_with_all_words_titles_first(
    capsys: pytest.CaptureFixture[str],
) -> None:
    found = places(capsys, "Let through")
    assert found[0] == "status#let-through"
    for each in found[5:]:  # the best few need not have all
        text = each + printed(capsys, each).lower()
        assert re.search(r"\blet(.|\n)*through|through(.|\n)*\blet", text), each
    decisions = [each.startswith("adr/") for each in found]
    assert decisions == sorted(decisions)


@pytest.mark.parametrize(
    ("words", "best"),
    [
        ("install audit", "install#audit"),
        ("exceptions", "exceptions"),
        ("policy params", "policy#params"),
        ("live workloads check", "check#live-workloads"),
    ],
)
def test_a_search_puts_the_shortest_title_with_most_of_the_words_first(
    words: str, best: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert places(capsys, words)[0] == best


def test_a_search_takes_other_forms_of_a_word(capsys: pytest.CaptureFixture[str]) -> None:
    assert "operating#tls" in places(capsys, "rotate certificates by hand")
    assert places(capsys, "exempted", "namespaces")[0] == "install#exempt-a-namespace"


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("cel cost budget", "expressions#the-language-and-its-limits"),
        ("remove podberth", "upgrade#uninstall"),
        ("volcano job waits why", "why"),
        ("How do I exclude a namespace?", "install#exempt-a-namespace"),
        ("turn off podberth in an emergency", "upgrade#break-glass"),
        ("who changed my pod", "mutations#the-record-and-applying-a-manifest-twice"),
        ("rbac permissions of the agent", "security#rights"),
        ("how much memory does the webhook need", "operating#memory"),
        ("audit existing workloads", "install#audit"),
        ("limit gpus per namespace", "recipes#gpu-limit-by-namespace"),
        ("see what podberth changed on a running pod", "upgrade#what-podberth-wrote-on-one-pod"),
        ("why did my pod get nodeAffinity", "upgrade#what-podberth-wrote-on-one-pod"),
        ("kueue topology-aware scheduling", "systems#kueues-topology-aware-scheduling"),
        ("free gpus in cluster", "topology#what-is-free"),
        ("vscode autocomplete for policies", "editor#vs-code"),
        ("exempt one deployment", "exceptions#one-pod"),
        ("tolerate our own taint", "operating#own-taints-and-labels"),
    ],
)
def test_a_question_is_answered_in_the_first_three_sections(
    question: str, answer: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert answer in places(capsys, *question.split())[:3]


@pytest.mark.parametrize(
    ("place", "hit"),
    [
        ("status#let-through", "Let through: While podberth is away"),
        ("recipes#default-queue", "default-queue: A bare pod of a namespace with a Kueue queue gets a warning"),
        ("policies/kai#before-and-after", "Before and after: In a namespace that names a queue"),
        ("policies/kai#every-case-of-its-tests", "Every case of its tests"),
        ("cel#sets", "Sets"),
    ],
)
def test_a_hit_has_its_title_and_the_words_behind_it(
    place: str, hit: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "140")
    lines = printed(capsys, "--search", re.sub(r"[-/#]", " ", place)).splitlines()
    [found] = [line for line in lines if line.split()[0] == place]
    assert found.split(None, 1)[1].startswith(hit)
    assert {line[:2].isspace() for line in lines} == {False}
    assert max(map(len, lines)) <= 140


def test_without_a_section_that_has_all_words_a_search_lists_a_few_with_the_rarest(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["docs", "--search", "qqqq of a helm chart"]) == 0
    printed_, said = capsys.readouterr()
    found = [line.split()[0] for line in printed_.splitlines()]
    assert 1 < len(found) <= 5
    assert all(re.search(r"\bhelm(.|\n)*\bchart", printed(capsys, each).lower()) for each in found[:1]), found
    assert "no section has all of the words; these have the rarest of them" in said


def test_a_name_of_no_page_is_answered_with_sections_that_have_the_word(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["docs", "kueue"]) == 2
    said = capsys.readouterr().err
    assert "systems#kueues-topology-aware-scheduling" in said
    assert "more (podberth docs --search 'kueue')" in said
    assert main(["docs", "topology#exporting"]) == 2
    assert "; did you mean topology#export?" in capsys.readouterr().err
    assert main(["docs", "status#grafana"]) == 2
    assert "status: got no section 'grafana'; read " in capsys.readouterr().err


@pytest.mark.parametrize("words", ["nowhere-at-all", ""])
def test_words_that_no_section_has_are_an_error(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["docs", "--search", words]) == 2
    assert f"got {words!r}, which no section has" in capsys.readouterr().err


def test_a_link_out_of_the_documentation_becomes_an_address() -> None:
    text = "[a](../bench/README.md#goals) [b](status.md#let-through) [c](#here) [d](https://x.y/z) [e](adr/1.md)"
    assert absolute(text, "check", "") == text
    assert absolute(text, "check", "https://r/") == text.replace("../bench", "https://r/bench")
    below = "[a](../../policies/a/policy.yaml) [b](../check.md)"
    assert absolute(below, "policies/a", "https://r/") == below.replace("../../policies", "https://r/policies")


def messages() -> Iterator[str]:
    """Yield the constant texts of the code that are no docstrings; dossiers cite other repositories' documentation."""
    for path in (ROOT / "webhook" / "podberth").rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        unsaid = {id(each.value) for each in ast.walk(tree) if isinstance(each, ast.Expr)}
        unsaid |= {id(each.value) for each in ast.walk(tree) if isinstance(each, ast.keyword) and each.arg == "source"}
        if path.parent.name != "dossiers":
            for each in ast.walk(tree):
                if isinstance(each, ast.Constant) and isinstance(each.value, str) and id(each) not in unsaid:
                    yield each.value


def test_every_page_that_a_message_names_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    named = {
        match[1] or match[2]
        for text in messages()
        for match in re.finditer(
            r"(?:^|\(|: )(docs/[\w/-]+\.md(?:, [A-Z][\w, ]*)?)|`?podberth docs ([a-z][\w/#-]*)", text
        )
    }
    assert {"docs/install.md", "docs/status.md, Let through", "policy"} < named
    for each in sorted(named):
        assert printed(capsys, each), each
