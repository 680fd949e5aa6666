"""The parts of an expression: each text is the author's own, and compiles to the very part."""

from pathlib import Path

import pytest

from podberth.cel.engine import CompileError, Environment, Want
from podberth.cel.parts import SubExpression, parts_of, tokens_of
from podberth.cel.types import CelType
from podberth.policy.compile import compile_policies
from podberth.policy.expressions import expressions_of
from podberth.policy.parse import parse_policies
from properties import thinned
from snapshots import environment

ROOT = Path(__file__).parents[3]


def texts(part: SubExpression | None) -> list[str]:
    """Return the texts of a tree, parents first; what stands for a literal is left out."""
    return [] if part is None else [part.text, *(text for child in part.children for text in texts(child))]


def parts(source: str) -> list[str]:
    return texts(parts_of(source, environment(), {"x": CelType("int")}))


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("'a'", []),
        ("['a', {'b': 1}]", []),
        ("object", []),
        ("gpu.count > -1", ["gpu.count > -1", "gpu.count"]),
        ("(gpu.count + 1) * 2 == 4", ["(gpu.count + 1) * 2 == 4", "(gpu.count + 1) * 2", "gpu.count + 1", "gpu.count"]),
        ("!(gang.known)", ["!(gang.known)", "gang.known"]),
        ("variables.x + 1", ["variables.x + 1", "variables.x"]),
        ("topology.nodes(gpu).count", ["topology.nodes(gpu).count", "topology.nodes(gpu)"]),
        ("ip.isCanonical('1.2.3.4')", ["ip.isCanonical('1.2.3.4')"]),
        (
            "object.metadata.labels[?'a'].hasValue()",
            [
                "object.metadata.labels[?'a'].hasValue()",
                "object.metadata.labels[?'a']",
                "object.metadata.labels",
                "object.metadata",
            ],
        ),
        ("has(object.spec) // why\n", ["has(object.spec)"]),
        ('gang.name == r\'\\d\' + """("""', ['gang.name == r\'\\d\' + """("""', "gang.name", 'r\'\\d\' + """("""']),
        ("[1, gpu.count].filter(n, n > 0)", ["[1, gpu.count].filter(n, n > 0)", "[1, gpu.count]", "gpu.count"]),
    ],
)
def test_parts_are_the_texts_of_what_is_within(source: str, expected: list[str]) -> None:
    assert parts(source) == expected


def test_operands_of_a_chain_stand_side_by_side() -> None:
    part = parts_of("gang.known && true && (gpu.count > 1 && gpu.count > 2)", environment(), {})
    assert part is not None
    assert (part.kind, [child and child.text for child in part.children]) == (
        "and",
        ["gang.known", None, "gpu.count > 1", "gpu.count > 2"],
    )


def test_of_a_macro_the_operand_and_what_no_loop_changes_are_parts() -> None:
    source = "object.spec.containers.all(c, c.env.exists(e, e.name == gang.name) && has(c.image))"
    part = parts_of(source, environment(), {})
    assert part is not None
    assert part.loop is not None
    assert (part.loop.range, part.loop.variable) == ("object.spec.containers", "c")
    assert part.loop.body == "c.env.exists(e, e.name == gang.name) && has(c.image)"
    assert [child and child.text for child in part.children] == ["object.spec.containers", "gang.name"]


@pytest.mark.parametrize(
    "source",
    [
        "object.metadata.?name.optMap(n, n + gang.name).orValue('')",
        "[3, gpu.count].sortBy(e, -e)",
        "[3, gpu.count].map(n, n > 1, n * gpu.count)",
        "{'a': gpu.count}.transformList(k, v, v + gpu.count)",
        "object.spec.containers.filter(c, has(c.resources) && c.?resources.?limits.hasValue())",
    ],
)
def test_what_a_macro_is_expanded_to_is_no_part(source: str) -> None:
    for text in parts(source):
        assert "@" not in text
        environment().compile(text, want=Want.ANY)


def test_the_parts_of_every_shipped_expression_compile_to_what_they_are_a_part_of() -> None:
    files = [*ROOT.glob("policies/*/policy.yaml"), *ROOT.glob("optional-policies/*/policy.yaml")]
    parsed = parse_policies((str(file), file.read_text(encoding="utf-8")) for file in files)
    policies, problems = compile_policies(parsed.policies, environment())
    assert problems == ()
    found = [
        (policy, placed.source, text)
        for policy in policies
        for placed in expressions_of(policy)
        for text in texts(parts_of(placed.source, environment(), policy.variables))
    ]
    assert len(found) > 500
    for policy, source, text in thinned(found):
        assert text in source
        assert compiles(environment(), text, policy.variables), f"{policy.name}: {source}: {text}"


def compiles(known: Environment, text: str, variables: object) -> bool:
    try:
        known.compile(text, want=Want.ANY, variables=variables)  # type: ignore[arg-type]
    except CompileError:
        return False
    return True


def test_a_string_is_one_token_whatever_is_in_it() -> None:
    source = "'a\\'(' + r\"\\\" + b'''x'y''' + `k/l` // 'c\n+ 1.5e3"
    assert [token.text for token in tokens_of(source)] == [
        "'a\\'('", "+", 'r"\\"', "+", "b'''x'y'''", "+", "`k/l`", "+", "1.5e3",
    ]  # fmt: skip
