"""The table of kinds against the real CRDs: each place is one of theirs."""

from pathlib import Path
from typing import Any

import pytest

from crds import SERVED, crds
from podberth.check.unknown_fields import unknown_fields_in
from podberth.kinds import forms
from podberth.kube.documents import load_documents
from podberth.kube.schema import PodSchema
from podberth.workload.kinds import KINDS, row_for
from podberth.workload.templates import templates

pytestmark = pytest.mark.shared("crds")

JSON = dict[str, Any]

MANIFESTS = sorted((Path(__file__).parents[2] / "manifests").glob("*.yaml"))
KNOWN = [each.document for file in MANIFESTS for each in load_documents(file.read_text(), file.name)[0]]


@pytest.fixture(scope="module")
def schemas() -> dict[tuple[str, str], JSON]:
    """Return the schema of each version of our kinds in ../shared/crds, by apiVersion and kind."""
    found: dict[tuple[str, str], JSON] = {}
    for _, document in crds(shallow=True):
        spec = document["spec"]
        for version in spec["versions"]:
            name = f"{spec['group']}/{version['name']}"
            found[name, spec["names"]["kind"]] = version["schema"]["openAPIV3Schema"]
    return found


def below(schema: Any, *steps: str | int) -> JSON | None:
    for step in steps:
        if not isinstance(schema, dict):
            return None
        fields = schema.get("properties") or {}
        schema = fields[step] if step in fields else schema.get("items") or schema.get("additionalProperties")
    return schema if isinstance(schema, dict) else None


def test_every_place_is_one_of_the_real_schema(schemas: dict[tuple[str, str], JSON]) -> None:
    checked = set()
    for kind in KINDS:
        for version in kind.api_versions:
            schema = schemas.get((version, kind.kind))
            if schema is None:
                continue
            there = [place for place in kind.places if below(schema, *place.path) is not None]
            if kind.places:
                assert there, (version, kind.kind)
            for path in kind.nested[:1]:
                assert below(schema, *path) is not None, (version, kind.kind)
            for place in there:
                checked.add(f"{version.rpartition('/')[0]}/{kind.kind}")
                for target, source in place.form.seats:
                    assert below(schema, *place.path, *source) is not None, (kind.kind, place.path, target)
                if place.form.fields == frozenset():
                    continue
                spec = dict(place.form.seats).get(("spec",))
                assert spec is not None
                containers = below(schema, *place.path, *spec, "containers")
                assert containers is not None, (kind.kind, place.path)
                assert below(containers, "*", "resources") is not None
    """Of a kind without a CRD at hand the places are those of the source that its row names."""
    assert checked == SERVED


POLICIES_WRITE = (
    "affinity",
    "priorityClassName",
    "resourceClaims",
    "runtimeClassName",
    "schedulerName",
    "schedulingGroup",
    "tolerations",
)


def test_what_a_schema_prunes_has_no_place(schemas: dict[tuple[str, str], JSON]) -> None:
    """tests/real-manifests.md 16: the pod schemas that operators embed lag behind."""
    for document in KNOWN:
        schema = schemas.get((document["apiVersion"], document["kind"]))
        for template in templates(document, namespace="default", known=tuple(KNOWN)) if schema else ():
            spec = dict(template.form.seats).get(("spec",))
            place = below(schema, *template.path, *(spec or ()))
            fields = template.form.fields or forms.POD_SPEC_FIELDS
            if place is None or template.form.fields == frozenset() or row_for(document) is None:
                continue
            real = {name for name in POLICIES_WRITE if below(place, name) is not None}
            assert real == (fields & set(POLICIES_WRITE)) - template.lacks, (document["kind"], template.path)


def sample(schema: Any) -> Any:
    """Return a value with every field of a schema; the scalars mean nothing."""
    if not isinstance(schema, dict):
        return {}
    if fields := schema.get("properties"):
        return {name: sample(each) for name, each in fields.items()}
    if schema.get("type") == "array":
        return [sample(schema.get("items"))]
    if values := schema.get("additionalProperties"):
        return {"name": sample(values)}
    return {} if schema.get("type", "object") == "object" else "text"


def test_no_field_that_a_schema_has_is_unknown_to_check(schemas: dict[tuple[str, str], JSON]) -> None:
    schema, found = PodSchema.packaged(), set()
    for (version, kind), each in schemas.items():
        document = {**sample(each), "apiVersion": version, "kind": kind}
        places = templates(document, namespace="default")
        said = [
            field
            for field in unknown_fields_in(document, places, schema)
            if "does not have" in field.message and "which the CRD of" not in field.message
        ]
        assert said == [], (version, kind)
        found |= {f"{version.rpartition('/')[0]}/{kind}"} if places else set()
    assert found >= SERVED
