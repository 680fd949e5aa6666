"""Exceptions as documents: what is refused, at which line, and when one has an effect."""

from datetime import UTC, datetime, timedelta

import pytest

from exceptions import BEFORE, END, exception
from podberth.cel.cost import MAX_MICROSECONDS
from podberth.policy.exceptions import (
    MOST,
    MOST_COMPARED,
    NEVER,
    by_namespace,
    compile_exceptions,
    of_unknown,
    without_effect,
)
from podberth.policy.parse import ParsedException, parse_policies
from snapshots import environment


def parsed(text: str) -> ParsedException:
    found = parse_policies([("e.yaml", text)])
    assert found.problems == ()
    [one] = found.exceptions
    return one


def problems(text: str) -> list[str]:
    return [str(each) for each in parse_policies([("e.yaml", text)]).problems]


@pytest.mark.parametrize(
    ("line", "other", "said"),
    [
        ("  expiresAt: '2027-03-31T00:00:00+00:00'\n", "", "the field 'expiresAt' is required"),
        ("2027-03-31T00:00:00+00:00", "tomorrow", "got 'tomorrow', want a time as in RFC 3339: '2027-03-31T00:00:00Z'"),
        ("2027-03-31T00:00:00+00:00", "2027-03-31", "got '2027-03-31', want a time as in RFC 3339"),
        ("2027-03-31T00:00:00+00:00", "2027-02-31T00:00:00Z", "got '2027-02-31T00:00:00Z', want a time as in RFC 3339"),
        ("2027-03-31T00:00:00+00:00", "0001-01-01T00:00:00+10:00", "want a time as in RFC 3339"),
        ("2027-03-31T00:00:00+00:00", "2027-03-31T00:00:00", "want a time as in RFC 3339"),
        ("the driver is pinned", "' '", "got an empty message; remove it, or say what is wrong"),
        ("  requestedBy: team-vision\n", "", "the field 'requestedBy' is required"),
        ("team-vision", "x" * 1025, "got 1025 characters, want at most 1024"),
        ("[shm]", "[]", "got 0 entries, want at least 1"),
        ("[shm]", "[Shm]", "got 'Shm', want a DNS-1123 subdomain"),
        ("[default]", "['*']", "got '*', want the name of a namespace"),
        ("[default]", "[]", "got 0 entries, want at least 1"),
        ("namespaces:", "namespace:", "unknown field 'namespace'; did you mean namespaces?"),
        ("  reason", "  podSelector: {matchExpressions: [{key: a, operator: In}]}\n  reason", "In with 0 values, want"),
    ],
)
def test_what_is_malformed_is_refused_and_named(line: str, other: str, said: str) -> None:
    text = exception("e", "shm")
    assert line in text
    assert any(said in each for each in problems(text.replace(line, other))), problems(text.replace(line, other))


def test_a_second_exception_of_one_name_is_refused() -> None:
    [said] = problems(exception("e", "shm") + "---\n" + exception("e", "kai"))
    assert "GPUPolicyException 'e' is already in e.yaml:3" in said


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("gpu.count +", "Syntax error"),
        ("gpu.count", "want bool"),
        ("topology.known", "topology"),
        ("params.data == {}", "params"),
    ],
)
def test_an_expression_that_does_not_compile_is_a_problem_at_its_line(expression: str, said: str) -> None:
    one = parsed(exception("e", "shm", more=f"  expression: {expression!r}\n"))
    compiled, found = compile_exceptions([one], environment())
    assert compiled == ()
    assert [(each.line, each.where) for each in found] == [(10, "spec.expression")]
    assert said in found[0].message


def test_an_exception_ends_at_its_end_and_not_before() -> None:
    [compiled], _ = compile_exceptions([parsed(exception("e", "shm"))], environment())
    assert (compiled.state(BEFORE), compiled.changes_after(BEFORE)) == ("active", END)
    assert (compiled.state(END), compiled.changes_after(END)) == ("expired", NEVER)


def test_an_exception_of_a_file_has_its_effect_from_a_year_before_its_end() -> None:
    [compiled], _ = compile_exceptions([parsed(exception("e", "shm"))], environment())
    early = END - MOST - timedelta(seconds=1)
    assert (compiled.state(early), compiled.changes_after(early)) == ("tooLong", END - MOST)
    assert compiled.state(END - MOST) == "active"


def test_the_year_of_an_object_begins_with_its_creation() -> None:
    text = exception("e", "shm").replace("{name: e}", "{name: e, creationTimestamp: '2026-03-29T00:00:00Z'}")
    [compiled], _ = compile_exceptions([parsed(text)], environment())
    assert (compiled.state(BEFORE), compiled.changes_after(BEFORE)) == ("tooLong", NEVER)
    [within], _ = compile_exceptions([parsed(text.replace("03-29", "03-30"))], environment())
    assert within.state(BEFORE) == "active"


def test_an_exception_without_effect_says_so_at_its_end() -> None:
    one = parsed(exception("e", "shm"))
    assert without_effect([one], BEFORE) == ()
    [late] = without_effect([one], END)
    assert (late.line, late.where) == (9, "spec.expiresAt")
    assert "has expired" in late.message
    [early] = without_effect([one], datetime(2025, 1, 1, tzinfo=UTC))
    assert "got more than 366 days" in early.message
    assert early.message.endswith("; in a file it has an effect from 2026-03-30T00:00:00Z on")


def test_a_stored_exception_that_is_too_long_has_no_effect_later_either() -> None:
    text = exception("e", "shm").replace("{name: e}", "{name: e, creationTimestamp: '2026-03-29T00:00:00Z'}")
    [found] = without_effect([parsed(text)], BEFORE)
    assert found.message.endswith("want that at most")


def test_a_name_of_no_policy_is_a_problem_at_its_place() -> None:
    [found] = of_unknown([parsed(exception("e", "shm", "shn"))], ["shm"])
    said = "got 'shn', and there is no policy of this name; did you mean shm?"
    assert (found.where, found.message) == ("spec.policies[1]", said)


LOOPS = "  expression: object.spec.containers.all(c, c.env.all(e, e.name.startsWith('a') || e.value.size() > 3))\n"


def test_the_expressions_of_a_namespace_have_room_for_those_given_first() -> None:
    many = [parsed(exception(f"e{at:03}", "shm", more=LOOPS)) for at in range(300)]
    elsewhere = parsed(exception("z", "shm", namespace="vision", more=LOOPS))
    compiled, found = compile_exceptions([*reversed(many), elsewhere], environment())
    assert len(compiled) + len(found) == len(many) + 1
    in_default, in_vision = by_namespace(compiled)["default"], by_namespace(compiled)["vision"]
    cost = in_default[0].expression.costs[""].with_result.microseconds if in_default[0].expression else 0
    assert len(in_default) == int(MAX_MICROSECONDS // cost)
    assert [each.name for each in in_default] == [each.source.name for each in many[-len(in_default) :]]
    assert [each.name for each in in_vision] == ["z"]
    assert "other exceptions of namespace default; want 100 ms for all of a namespace" in found[0].message
    assert found[0].where == "spec.expression"


def selecting(requirements: int) -> str:
    """Return a podSelector of so many requirements."""
    return f"  podSelector: {{matchExpressions: [{', '.join(['{key: a, operator: DoesNotExist}'] * requirements)}]}}\n"


def test_the_names_and_labels_of_a_namespace_have_room_for_those_given_first() -> None:
    # One of a policy and 199 labels, and one of 49, are 250 compared.
    large, small = selecting(199), selecting(49)
    many = [parsed(exception(f"e{at}", "shm", more=large if at % 2 else small)) for at in range(5)]
    elsewhere = parsed(exception("z", "shm", namespace="vision", more=large))
    compiled, found = compile_exceptions([*many, elsewhere], environment())
    assert sum(1 + 199 * (at % 2) + 49 * (1 - at % 2) for at in range(4)) == MOST_COMPARED
    assert [each.name for each in compiled] == ["e0", "e1", "e2", "e3", "z"]
    assert [each.where for each in found] == ["spec.policies"]
    assert found[0].message == (
        "got 50 names of policies and requirements of podSelector, after 500 of other exceptions of namespace "
        "default; want 500 for all of a namespace; delete those that have ended"
    )


def test_an_exception_whose_expression_is_refused_takes_no_room() -> None:
    broken = parsed(exception("a", "shm", more=selecting(400) + "  expression: gpu.count\n"))
    compiled, _ = compile_exceptions([broken, parsed(exception("b", "shm", more=selecting(400)))], environment())
    assert [each.name for each in compiled] == ["b"]


class Text(str):
    """A label's value that counts how often it is compared."""

    __slots__ = ()
    compared = 0

    def __eq__(self, other: object) -> bool:
        """Compare the text."""
        Text.compared += 1
        return str(self) == other

    __hash__ = str.__hash__


@pytest.mark.parametrize("operator", ["In", "NotIn"])
def test_a_label_is_not_compared_with_each_value_of_a_selector(operator: str) -> None:
    values = ", ".join(f"v{at}" for at in range(20_000))
    more = f"  podSelector: {{matchExpressions: [{{key: a, operator: {operator}, values: [{values}]}}]}}\n"
    [compiled], _ = compile_exceptions([parsed(exception("e", "shm", more=more))], environment())
    Text.compared = 0
    assert compiled.selects({"a": Text("none")}) is (operator == "NotIn")
    assert Text.compared < 100


def test_an_exception_that_names_a_namespace_twice_is_there_once() -> None:
    compiled, _ = compile_exceptions([parsed(exception("e", "shm", namespace="a, b, a"))], environment())
    assert {namespace: len(those) for namespace, those in by_namespace(compiled).items()} == {"a": 1, "b": 1}
