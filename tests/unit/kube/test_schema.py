import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from podberth.kube.schema import CONFIG_MAP, NAMESPACE, POD, WORKLOADS, PodSchema, Schema, workload_definitions

_SCHEMA = PodSchema.packaged()
_CORE = "io.k8s.api.core.v1."
_TOOL = Path(__file__).parents[3] / "tools" / "pod_schema.py"


def field(definition: str, name: str) -> Schema:
    return _SCHEMA.definitions[definition][name]


def test_the_roots_are_there() -> None:
    for name in (POD, NAMESPACE, CONFIG_MAP):
        assert {"metadata", "kind", "apiVersion"} <= set(_SCHEMA.definitions[name])


def test_scalars_lists_maps_and_references_are_distinguished() -> None:
    assert field(_CORE + "PodSpec", "nodeName").kind == "string"
    assert field(_CORE + "PodSpec", "hostNetwork").kind == "boolean"
    assert field(_CORE + "Toleration", "tolerationSeconds").kind == "integer"
    assert field(POD, "spec") == Schema(kind="message", message=_CORE + "PodSpec")
    containers = field(_CORE + "PodSpec", "containers")
    assert containers.element == Schema(kind="message", message=_CORE + "Container")
    limits = field(_CORE + "ResourceRequirements", "limits")
    assert (limits.kind, limits.element) == ("map", Schema(kind="any"))  # Quantity: a string or a number


def test_definitions_without_fields_are_their_json_type() -> None:
    assert field("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta", "creationTimestamp").kind == "string"
    assert field("io.k8s.apimachinery.pkg.apis.meta.v1.ManagedFieldsEntry", "fieldsV1").kind == "any"
    assert field(_CORE + "HTTPGetAction", "port").kind == "any"  # IntOrString


@pytest.mark.parametrize(
    ("definition", "name", "list_type", "keys"),
    [
        ("PodSpec", "tolerations", "atomic", ()),
        ("NodeSelector", "nodeSelectorTerms", "atomic", ()),
        ("PodSpec", "containers", "map", ("name",)),
        ("Container", "env", "map", ("name",)),
        ("Container", "ports", "map", ("containerPort", "protocol")),
        ("PodSpec", "topologySpreadConstraints", "map", ("topologyKey", "whenUnsatisfiable")),
    ],
)
def test_lists_know_how_they_are_merged(definition: str, name: str, list_type: str, keys: tuple[str, ...]) -> None:
    found = field(_CORE + definition, name)
    assert (found.list_type, found.list_map_keys) == (list_type, keys)


def test_every_reference_has_a_definition() -> None:
    def references(schema: Schema) -> set[str]:
        below = references(schema.element) if schema.element else set()
        return below | ({schema.message} if schema.message else set())

    for definition in _SCHEMA.definitions.values():
        for each in definition.values():
            assert references(each) <= set(_SCHEMA.definitions)


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ({"$ref": "missing.Thing"}, "got a \\$ref to missing.Thing"),
        ({"type": "tuple"}, "got type 'tuple'"),
        ({"type": "object", "properties": {}}, "want a scalar, an array, a map or a \\$ref"),
    ],
)
def test_a_schema_that_is_not_understood_is_refused(schema: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        PodSchema.from_document({"a.Thing": {"properties": {"field": schema}}})


def test_the_tool_keeps_types_and_drops_the_rest(tmp_path: Path) -> None:
    name = {"description": "long", "default": "", "type": "string"}
    names = {"type": "array", "items": name, "x-kubernetes-list-type": "set", "x-kubernetes-patch-strategy": "merge"}
    spec = {"allOf": [{"$ref": "#/components/schemas/a.Spec"}], "default": {}}
    root = {"properties": {"spec": spec}, "required": ["spec"]}
    schemas = {f"{_CORE}{each}": root for each in ("Pod", "Namespace", "ConfigMap")}
    schemas |= {"a.Spec": {"properties": {"names": names}}, "a.Unreachable": {"properties": {"name": name}}}
    document = tmp_path / "openapi.json"
    document.write_text(json.dumps({"components": {"schemas": schemas}}), encoding="utf-8")
    printed = subprocess.run([sys.executable, _TOOL, document], check=True, capture_output=True, text=True).stdout
    kept = json.loads(printed)
    assert set(kept) == {f"{_CORE}Pod", f"{_CORE}Namespace", f"{_CORE}ConfigMap", "a.Spec"}
    assert kept[f"{_CORE}Pod"] == {"properties": {"spec": {"$ref": "a.Spec"}}}
    assert kept["a.Spec"] == {
        "properties": {"names": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"}}
    }
    assert len(printed.splitlines()) == len(kept) + 2
    assert PodSchema.from_document(kept).definitions["a.Spec"]["names"].list_type == "set"


def test_the_definitions_of_workloads_need_none_that_is_not_packaged() -> None:
    def references(schema: Schema) -> set[str]:
        below = references(schema.element) if schema.element else set()
        return below | ({schema.message} if schema.message else set())

    known = {**_SCHEMA.definitions, **workload_definitions()}
    assert set(WORKLOADS.values()) <= known.keys()
    assert not _SCHEMA.definitions.keys() & workload_definitions().keys()
    for definition in workload_definitions().values():
        for each in definition.values():
            assert references(each) <= known.keys()


def test_the_tool_keeps_of_workloads_what_pods_lack_and_no_status(tmp_path: Path) -> None:
    def of(name: str) -> dict[str, Any]:
        return {"$ref": f"#/components/schemas/{name}"}

    pod = {"properties": {"spec": of("a.Spec"), "status": of("a.Status")}}
    job = {"properties": {"spec": of("a.JobSpec"), "status": of("a.JobStatus")}}
    shared = {
        "a.Spec": {"properties": {"at": of("a.Time")}},
        "a.Time": {"type": "string"},
        "a.Status": {"properties": {}},
    }
    core = {**dict.fromkeys(WORKLOADS.values(), job), POD: pod, **shared}
    batch = {
        "a.JobSpec": {"properties": {"template": of("a.Spec"), "at": of("a.Time")}},
        "a.JobStatus": {"properties": {}},
    }
    files = []
    for name, schemas in (("api.json", core), ("batch.json", batch)):
        files.append(tmp_path / name)
        files[-1].write_text(json.dumps({"components": {"schemas": schemas}}), encoding="utf-8")
    command = [sys.executable, str(_TOOL), "--workloads", *map(str, files)]
    kept = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    assert set(kept) == {*WORKLOADS.values(), "a.JobSpec", "a.Time"} - {POD}
    assert kept["io.k8s.api.batch.v1.Job"]["properties"]["status"] == {"type": "object"}
    refused = subprocess.run([sys.executable, _TOOL, *files], check=False, capture_output=True, text=True)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "usage" in refused.stderr
