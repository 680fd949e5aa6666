import pytest

from podberth.cel import ast
from podberth.cel.runtime import Checker
from podberth.cel.types import CelType
from podberth.cel.typing import VARIABLES, descriptor_pool, messages
from podberth.kube.schema import PodSchema

_CHECKER = Checker(descriptor_pool(messages(PodSchema.packaged())))
_NAMES = {**{name: CelType(kind) for name, kind in VARIABLES.items()}, "variables.x": CelType("dyn")}


def parse(source: str) -> ast.Node:
    return ast.decode(_CHECKER.check(source, _NAMES))


def test_functions_are_named_operators_included() -> None:
    assert ast.functions(parse("topology.nodes(gpu).exist && !gang.known")) == {"nodes", "_&&_", "!_"}


@pytest.mark.parametrize(
    ("source", "spelled"),
    [
        ("1", "int"),
        ("1u", "uint"),
        ("null", "null_type"),
        ("[]", "list(dyn)"),
        ("{}", "map(dyn, dyn)"),
        ("object.spec.tolerations", "list(k8s.Toleration)"),
        ("object.metadata.labels", "map(string, string)"),
        ("optional.of(gpu)", "optional_type(podberth.Gpu)"),
        ("topology.nodes(gpu).terms", "list(map(string, dyn))"),
        ("timestamp('2026-01-01T00:00:00Z')", "google.protobuf.Timestamp"),
        ("type(1)", "type"),
        ("object.spec.containers[0].resources.limits['a']", "dyn"),
    ],
)
def test_types_come_from_the_checker(source: str, spelled: str) -> None:
    checked = parse(source)
    assert str(ast.type_of(checked, checked.expr)) == spelled


def test_what_is_decoded_encodes_to_the_same() -> None:
    once = ast.encode(parse("object.spec.containers.map(c, {'n': c.name, ?'i': c.?image})"))
    assert ast.encode(ast.decode(once)) == once


def test_positions_count_lines_and_code_points_from_one() -> None:
    checked = parse("'é' == 'é' &&\n  'ü'.startsWith(object.metadata.name)")
    call = next(
        node
        for node in ast.walk(checked.expr)
        if ast.kind(node) == "call_expr" and node.call_expr.function == "startsWith"
    )
    assert ast.position(checked, call.id) == (2, len("  'ü'.startsWith("))
