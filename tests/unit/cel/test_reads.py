import pytest

from podberth.cel import ast
from podberth.cel.reads import reads
from podberth.cel.runtime import Checker
from podberth.cel.types import CelType
from podberth.cel.typing import VARIABLES, descriptor_pool, messages
from podberth.kube.paths import FieldPath
from podberth.kube.schema import PodSchema

_CHECKER = Checker(descriptor_pool(messages(PodSchema.packaged())))
_NAMES = {**{name: CelType(kind) for name, kind in VARIABLES.items()}, "variables.x": CelType("dyn")}


def parse(source: str) -> ast.Node:
    return ast.decode(_CHECKER.check(source, _NAMES))


CONTAINERS, INIT = "object.spec.containers", "object.spec.initContainers"


def each(*fields: str) -> set[str]:
    """Return paths of each container's fields, with the one that says how many there are."""
    return {f"{CONTAINERS}.*.{field}" for field in ("", *fields)}


def dotted(paths: frozenset[FieldPath]) -> set[str]:
    return {".".join(path) for path in paths}


@pytest.mark.parametrize(
    ("source", "paths"),
    [
        ("1 + 2 == 3", set()),
        ("object.spec.nodeName == ''", {"object.spec.nodeName"}),
        ("object == oldObject", {"object", "oldObject"}),
        ("has(object.spec.nodeName)", {"object.spec.nodeName."}),
        (
            "has(object.spec.affinity) && has(object.spec.affinity.nodeAffinity)",
            {"object.spec.affinity.", "object.spec.affinity.nodeAffinity."},
        ),
        ("has(gpu.count)", {"gpu.count"}),
        ("object.metadata.labels.team == 'a'", {"object.metadata.labels.team"}),
        ("'a' in object.metadata.labels", {"object.metadata.labels"}),
        ("object.?spec.?nodeName.orValue('')", {"object.spec.nodeName"}),
        ("object.metadata.labels[?'a'].hasValue()", {"object.metadata.labels.a"}),
        ("object.spec.containers[0].name", each("name")),
        ("object.spec.containers[gpu.count].name", {*each("name"), "gpu.count"}),
        ("object.spec.containers[?0].?name.orValue('')", each("name")),
        ("object.spec.containers[0] == object.spec.containers[1]", {*each(), f"{CONTAINERS}.*"}),
        ("dyn(object.spec.containers)[0].name", {CONTAINERS}),
        ("object.spec.containers.size() + size(object.spec.initContainers)", {*each(), f"{INIT}.*."}),
        ("object.spec.hostname.size()", {"object.spec.hostname"}),
        ("object.metadata.labels.size()", {"object.metadata.labels"}),
        ("gpu.requests[0].kind", {"gpu.requests.*.", "gpu.requests.*.kind"}),
        (
            "object.metadata.?ownerReferences.orValue([]).exists(o, o.kind == '')",
            {"object.metadata.ownerReferences.*.", "object.metadata.ownerReferences.*.kind"},
        ),
        ("object.metadata.?labels.orValue({}).size()", {"object.metadata.labels"}),
        ("object.spec.?hostname.orValue(object.spec.nodeName)", {"object.spec.hostname", "object.spec.nodeName"}),
        ("object.metadata.labels[gang.name]", {"object.metadata.labels", "gang.name"}),
        ("object.spec.containers.all(c, c.name == gpu.kind)", {*each("name"), "gpu.kind"}),
        ("object.spec.containers.exists(c, c.env.all(e, has(e.value)))", each("env.*.", "env.*.value.")),
        ("object.spec.containers.exists(c, c in object.spec.initContainers)", {f"{CONTAINERS}.*", *each(), INIT}),
        ("object.spec.containers.exists(c, true)", each()),
        ("object.spec.containers.exists(c, c.resources.limits.all(n, n != ''))", each("resources.limits")),
        ("object.metadata.labels.all(key, key != '')", {"object.metadata.labels"}),
        ("dyn(object.spec.containers).all(c, c.name != '')", {"object.spec.containers"}),
        ("object.spec.containers.map(c, c.name)", each("name")),
        ("object.spec.containers.filter(c, has(c.image))[0].image", each("image.", "image")),
        ("object.spec.containers.filter(c, c.image == '').map(c, c.name)", each("image", "name")),
        ("object.spec.containers.filter(c, c.image == '').size()", each("image")),
        ("object.spec.containers.filter(c, c.image == '')", {*each("image"), CONTAINERS}),
        ("object.spec.containers.filter(c, c.image == '') == []", {*each("image"), CONTAINERS}),
        ("object.spec.containers.map(c, c.image == '', c.name)", each("image", "name")),
        ("[1].all(object, object > 0)", set()),  # a loop's own variable, whatever its name
        ("object.spec.containers.all(gpu, gpu.name != '')", each("name")),
        ("[object.spec.hostname].exists(c, c == '')", {"object.spec.hostname"}),
        ("{'a': object.spec.hostname, gang.name: 1}", {"object.spec.hostname", "gang.name"}),
        ("(gpu.count > 1 ? object.spec : oldObject.spec).nodeName", {"gpu.count", "object.spec", "oldObject.spec"}),
        ("dyn(object).spec.futureField", {"object.spec.futureField"}),
        ("topology.nodes(gpu).withLinkDomain(gpu.perContainer).exist", {"topology", "gpu.perContainer"}),
        ("[1].map(gpu, string(.gpu.count))[0]", {"gpu.count"}),
        ("variables.x", {"variables.x"}),
        ("variables.x.a.b + object.metadata.name", {"variables.x.a.b", "object.metadata.name"}),
        ("optional.of(object.spec).optMap(s, s.hostname).orValue('')", {"object.spec"}),
        ("object.spec.hostname.startsWith(object.metadata.name)", {"object.spec.hostname", "object.metadata.name"}),
    ],
)
def test_reads_are_the_static_access_paths(source: str, paths: set[str]) -> None:
    found = {path for path in reads(parse(source)) if path[0] != "optional"}
    assert dotted(frozenset(found)) == paths


def test_a_key_with_dots_is_one_step_of_a_path() -> None:
    source = "object.metadata.annotations['podberth.io/gpu-memory'] != ''"
    assert reads(parse(source)) == {("object", "metadata", "annotations", "podberth.io/gpu-memory")}
