"""Comments silence what they are about, and nothing else."""

import pytest

from lint_findings import found, spec

TWO = """variables:
- name: a
  expression: gpu.count
- name: b
  expression: gpu.count
mutations:
- labels: {example.com/a: gpu.kind}
"""
COMMENT = "# podberth-lint: disable=unused-variable kept for a test"


def unused(text: str) -> list[str]:
    return [each.problem.message.partition(";")[0] for each in found(text, "unused-variable")]


@pytest.mark.parametrize(
    ("before", "after", "left"),
    [
        ("  - name: a", f"  - name: a  {COMMENT}", ["b"]),
        ("  - name: a", f"  {COMMENT}\n  - name: a", ["b"]),
        ("  variables:", f"  {COMMENT}\n  variables:", []),
        ("  variables:", f"  variables:  {COMMENT}", []),
        ("apiVersion:", f"{COMMENT}\napiVersion:", []),
        ("kind:", f"{COMMENT}\nkind:", ["a", "b"]),
        ("  mutations:", f"  {COMMENT}\n  mutations:", ["a", "b"]),
        ("  - name: b", f"  {COMMENT}\n\n  # and why\n  - name: b", ["a"]),
    ],
)
def test_a_comment_is_about_the_value_behind_or_below_it(before: str, after: str, left: list[str]) -> None:
    text = spec(TWO)
    assert unused(text) == ["nothing reads variables.a", "nothing reads variables.b"]

    assert unused(text.replace(before, after, 1)) == [f"nothing reads variables.{name}" for name in left]


def test_a_comment_at_the_head_of_a_document_ends_with_it() -> None:
    assert len(unused(f"{COMMENT}\n{spec(TWO, 'one')}---\n{spec(TWO, 'two')}")) == 2


@pytest.mark.parametrize(
    ("comment", "said"),
    [
        ("# podberth-lint: disable=unused-variable", "got no reason"),
        ("# podberth-lint: disable=unused because", "got the rule 'unused'"),
        ("# podberth-lint: off", "want disable=RULE and the reason"),
    ],
)
def test_a_comment_that_silences_nothing_is_a_finding(comment: str, said: str) -> None:
    findings = found(spec(TWO).replace("  - name: a", f"  - name: a  {comment}"))

    assert [each.problem.line for each in findings if each.rule == "suppression" and said in each.problem.message] == [
        7
    ]
    assert sum(each.rule == "unused-variable" for each in findings) == 2
