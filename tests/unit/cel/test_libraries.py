"""Kubernetes' libraries: upstream's values, errors and types, and what is refused with what to write instead."""

import json
import re

import pytest

from library_vectors import DIFFERENCES, VECTORS, Vector
from podberth.cel.engine import Activation, CelType, CompileError, Environment, Want
from podberth.cel.libraries import INTERNAL, LIBRARIES
from podberth.cel.libraries.regex import uncaptured
from podberth.cel.types import BOOL
from podberth.errors import EvaluationError

from .conftest import Evaluate

_QUANTITIES = "kubernetes.Quantity, kubernetes.Quantity"
_VERSIONS = "kubernetes.Semver, kubernetes.Semver"
_NO_AUTHORIZER = (
    "1:1: authorizer is not known here, for podberth asks no API server while it decides; read request.userInfo, or "
    "leave the check to a ValidatingAdmissionPolicy"
)


def value_of(evaluate: Evaluate, expression: str) -> str | None:
    try:
        found = evaluate(expression)
    except (CompileError, EvaluationError):  # an error of constants is one of the compiler
        return None
    return found if isinstance(found, str) else json.dumps(found, ensure_ascii=False)


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector.expression[:80])
def test_upstreams_values(evaluate: Evaluate, vector: Vector) -> None:
    assert value_of(evaluate, vector.expression) == vector.value


@pytest.mark.parametrize(("expression", "ours", "_theirs"), DIFFERENCES)
def test_differences_are_as_explained(evaluate: Evaluate, expression: str, ours: str | None, _theirs: str) -> None:
    assert value_of(evaluate, expression) == ours


def test_every_function_has_a_vector() -> None:
    expressions = " ".join(vector.expression for vector in VECTORS)
    silent = {row.name for row in LIBRARIES if not re.search(rf"(?<![\w]){re.escape(row.name)}\(", expressions)}
    assert not silent


def test_overloads_are_unique() -> None:
    ids = [row.id for row in (*LIBRARIES, *INTERNAL)]
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("isQuantity([1, 2, 3])", "1:11: found no matching overload for 'isQuantity' applied to '(list(int))'"),
        ("isIP(cidr('192.168.0.0/24'))", "1:5: found no matching overload for 'isIP' applied to '(net.CIDR)'"),
        (
            "quantity('1') + quantity('2')",
            f"1:15: found no matching overload for '_+_' applied to '({_QUANTITIES})'; write a.add(b)",
        ),
        (
            "semver('1.0.0') >= semver('2.0.0')",
            f"1:17: found no matching overload for '_>=_' applied to '({_VERSIONS})'; write a.compareTo(b) >= 0",
        ),
        ("quantity('1').value", "1:15: undefined field 'value' in Quantity"),
        ("['a'].indexOf(1)", "1:14: found no matching overload for 'indexOf' applied to '(list(string), int)'"),
        ("['a'].sum()", "1:10: found no matching overload for 'sum' applied to '(list(string))'"),
        ("isQuantty('1')", "1:1: undeclared reference to 'isQuantty'; did you mean isQuantity?"),
        ("net.IP{}", "1:1: net.IP{...} makes an object; write a map: {'key': value}"),
        (
            "{'a': 1}.transformMap(k, v, v)",
            "1:22: maps cannot be made in a loop here; write transformList(...), or the map out: {'key': value}",
        ),
        (
            "{'a': 1}.transformMapEntry(k, v, {v: k})",
            "1:27: maps cannot be made in a loop here; write transformList(...), or the map out: {'key': value}",
        ),
        (
            "authorizer",
            _NO_AUTHORIZER,
        ),
        (
            "internal.isFormat('a')",
            "1:1: undeclared reference to 'internal'\n1:10: undeclared reference to 'isFormat'; did you mean format?",
        ),
        (
            "regex.extract('a', 'b')",
            "1:1: undeclared reference to 'regex'; write a.matches(b)\n1:7: undeclared reference to 'extract'",
        ),
    ],
)
def test_refused_at_its_place(environment: Environment, source: str, message: str) -> None:
    with pytest.raises(CompileError) as caught:
        environment.compile(source, want=Want.ANY)
    assert str(caught.value) == message


@pytest.mark.parametrize("want", [Want.STRING, Want.INT, Want.MAP, Want.LIST_OF_MAPS])
def test_an_opaque_value_is_nothing_to_write(environment: Environment, want: Want) -> None:
    with pytest.raises(CompileError, match=r"got kubernetes\.Quantity, want"):
        environment.compile("quantity('1')", want=want)


def test_an_opaque_value_is_no_json(environment: Environment, activation: Activation) -> None:
    expression = environment.compile("{'a': quantity('1')}", want=Want.MAP)
    with pytest.raises(EvaluationError, match="got Quantity inside, want JSON values"):
        expression.evaluate(activation)


def test_a_variable_keeps_its_type(evaluate: Evaluate, environment: Environment) -> None:
    assert evaluate("variables.cpu.isGreaterThan(quantity('1'))", cpu="quantity('1500m')") is True
    declared = {"cpu": CelType("kubernetes.Quantity")}
    assert environment.compile("variables.cpu.isInteger()", want=Want.BOOL, variables=declared).type == BOOL


def test_an_error_is_absorbed_as_any_other(evaluate: Evaluate) -> None:
    assert evaluate("quantity('x').isInteger() || true") is True
    with pytest.raises(EvaluationError, match="quantities must match"):
        evaluate("quantity('x').isInteger() || false")


@pytest.mark.parametrize(
    ("source", "reported"),
    [
        ("[].min()", "min called on empty list"),
        ("quantity(dyn(5))", r"no such overload: quantity\(int\)"),
        ("dyn(ip('::1')).masked()", r"no such overload: masked\(net\.IP\)"),
        ("semver('1')", "No Major.Minor.Patch elements found"),
        ("'a\\u0000'.findAll('a')", "findAll: got a text with the character NUL in it"),
        (
            "isURL('/' + '" + "x" * 256 + "'.replace('x', '" + "a" * 256 + "'))",
            "isURL: got a text of 65537 characters, want at most 65536",
        ),
        ("quantity('1' + 'x'.replace('x', '" + "0" * 128 + "'))", "got a quantity of 129 characters, want at most 128"),
    ],
)
def test_errors_say_what_is_wrong(evaluate: Evaluate, source: str, reported: str) -> None:
    with pytest.raises(EvaluationError, match=reported):
        evaluate(source)


def test_a_body_does_not_capture_names(evaluate: Evaluate) -> None:
    assert evaluate("[3, 1].map(a, [a, 2].map(r, [r, a].map(v, [v, a, r].min())))") == [
        [[3, 3], [2, 2]],
        [[1, 1], [1, 1]],
    ]
    assert evaluate("[[2, 1].indexOf([1, 5].min()), [1].indexOf(1)].max()") == 1


def test_operands_of_a_body_are_evaluated_once(evaluate: Evaluate) -> None:
    # 4,000 iterations make the list and 4,000 fold it; made once more, it would be over budget.
    assert evaluate("lists.range(4000).map(x, x).max()") == 3999


@pytest.mark.parametrize(
    ("pattern", "same"),
    [
        ("(a)(b)", "(?:a)(?:b)"),
        ("(?P<x>a)(?<y>b)", "(?:a)(?:b)"),
        ("(?:a)(?i)(?i:b)", "(?:a)(?i)(?i:b)"),
        (r"\(a[(]", r"\(a[(]"),
        ("[](](a)[^](]", "[](](?:a)[^](]"),
        (r"\Q(a\E(b)", r"\Q(a\E(?:b)"),
        (r"\Q(a", r"\Q(a\E"),
        ("[[:alpha:](](a)", "[[:alpha:](](?:a)"),
        ("[[:alpha](a)", "[[:alpha](?:a)"),
        ("a\\", "a\\"),
        ("((a))", "(?:(?:a))"),
        ("(?P<x", "(?P<x"),
    ],
)
def test_groups_stop_capturing(pattern: str, same: str) -> None:
    assert uncaptured(pattern) == same
