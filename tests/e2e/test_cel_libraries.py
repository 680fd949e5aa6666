"""Kubernetes' CEL libraries as the apiserver has them: what tests/unit/cel/test_libraries.py holds us to is true."""

from constant_vectors import REFUSED, TAKEN
from controlplane.cluster import ControlPlane
from library_vectors import DIFFERENCES, VECTORS

from . import cel_answers

# What the apiserver refuses to compile, as we do. What it has and we do not is in tests/unit/cel/test_libraries.py.
_REFUSED = (
    "isQuantity([1, 2, 3])",
    "isSemver([1, 2, 3])",
    "isIP(cidr('192.168.0.0/24'))",
    "quantity('1') + quantity('2')",
    "quantity('1') < quantity('2')",
    "quantity('1').sign()",
    "quantity('1').value",
    "quantity('1') == '1'",
    "ip('1.2.3.4').masked()",
    "[[1], [2]].sum()",
    "[{'a': 1}].isSorted()",
    "['a'].sum()",
    "['a'].indexOf(1)",
    "format.dns1123label()",
    "sets.contains([1], ['a'])",
)


def test_every_vector_has_its_value_on_the_apiserver(control_plane: ControlPlane) -> None:
    expressions = [each.expression for each in VECTORS] + [expression for expression, _, _ in DIFFERENCES]
    wanted = [each.value for each in VECTORS] + [theirs for _, _, theirs in DIFFERENCES]
    answered = cel_answers.ask(control_plane, expressions)
    differing = {
        expression: (got, want)
        for expression, got, want in zip(expressions, answered, wanted, strict=True)
        if got != want
    }
    assert not differing


def test_what_does_not_type_check_here_does_not_there(control_plane: ControlPlane) -> None:
    taken = [each for each in _REFUSED if not cel_answers.refusal(control_plane, each)]
    assert not taken


def test_a_constant_that_fails_here_is_refused_there(control_plane: ControlPlane) -> None:
    taken = [each for each in REFUSED if not cel_answers.refusal(control_plane, each)]
    refused = [each for each in TAKEN if cel_answers.refusal(control_plane, each)]
    assert (taken, refused) == ([], [])
