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


def dotted(paths: frozenset[ast.Path]) -> set[str]:
    return {".".join(path) for path in paths}


@pytest.mark.parametrize(
    ("source", "paths"),
    [
        ("1 + 2 == 3", set()),
        ("object.spec.nodeName == ''", {"object.spec.nodeName"}),
        ("object == oldObject", {"object", "oldObject"}),
        ("has(object.spec.nodeName)", {"object.spec.nodeName"}),
        ("object.metadata.labels.team == 'a'", {"object.metadata.labels.team"}),
        ("'a' in object.metadata.labels", {"object.metadata.labels"}),
        ("object.?spec.?nodeName.orValue('')", {"object.spec.nodeName"}),
        ("object.metadata.labels[?'a'].hasValue()", {"object.metadata.labels.a"}),
        ("object.spec.containers[0].name", {"object.spec.containers"}),
        ("object.spec.containers[gpu.count].name", {"object.spec.containers", "gpu.count"}),
        ("object.metadata.labels[gang.name]", {"object.metadata.labels", "gang.name"}),
        ("object.spec.containers.all(c, c.name == gpu.kind)", {"object.spec.containers", "gpu.kind"}),
        ("object.spec.containers.exists(c, c.env.all(e, has(e.value)))", {"object.spec.containers"}),
        ("object.spec.containers.map(c, c.name)", {"object.spec.containers"}),
        ("object.spec.containers.filter(c, has(c.image))[0].image", {"object.spec.containers"}),
        ("[1].all(object, object > 0)", set()),  # a loop's own variable, whatever its name
        ("object.spec.containers.all(gpu, gpu.name != '')", {"object.spec.containers"}),
        ("[object.spec.hostname].exists(c, c == '')", {"object.spec.hostname"}),
        ("{'a': object.spec.hostname, gang.name: 1}", {"object.spec.hostname", "gang.name"}),
        ("(gpu.count > 1 ? object.spec : oldObject.spec).nodeName", {"gpu.count", "object.spec", "oldObject.spec"}),
        ("dyn(object).spec.futureField", {"object.spec.futureField"}),
        ("topology.nodes(gpu).withLinkDomain(gpu.perContainer).exist", {"topology", "gpu", "gpu.perContainer"}),
        ("variables.x", {"variables.x"}),
        ("variables.x.a.b + object.metadata.name", {"variables.x.a.b", "object.metadata.name"}),
        ("optional.of(object.spec).optMap(s, s.hostname).orValue('')", {"object.spec"}),
        ("object.spec.hostname.startsWith(object.metadata.name)", {"object.spec.hostname", "object.metadata.name"}),
    ],
)
def test_reads_are_the_static_access_paths(source: str, paths: set[str]) -> None:
    found = {path for path in ast.reads(parse(source)) if path[0] != "optional"}
    assert dotted(frozenset(found)) == paths


def test_a_key_with_dots_is_one_step_of_a_path() -> None:
    source = "object.metadata.annotations['podberth.io/gpu-memory'] != ''"
    assert ast.reads(parse(source)) == {("object", "metadata", "annotations", "podberth.io/gpu-memory")}


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
