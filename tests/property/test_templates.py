"""Whatever a document holds, its templates are found, presented, decided on and carried back without a fault."""

from copy import deepcopy
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from podberth.kinds.forms import find
from podberth.kube.documents import load_documents
from podberth.kube.patch import apply
from podberth.kube.shape import shape_problems
from podberth.workload.gangs import gang_of
from podberth.workload.gpus import gpu_facts
from podberth.workload.kinds import is_known
from podberth.workload.projection import place_of, project
from podberth.workload.templates import Template, templates

JSON = dict[str, Any]

MANIFESTS = Path(__file__).parents[1] / "manifests"
DOCUMENTS: list[JSON] = [
    each.document
    for file in sorted(MANIFESTS.glob("*.yaml"))
    for each in load_documents(file.read_text(), file.name)[0]
]

scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=3)
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["name", "spec", "template", "containers", "x"]), inner, max_size=3)
    ),
    max_leaves=6,
)


def places(document: Any, at: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    found = [at]
    if isinstance(document, dict):
        found += [place for key, value in document.items() for place in places(value, (*at, key))]
    elif isinstance(document, list):
        found += [place for index, value in enumerate(document) for place in places(value, (*at, index))]
    return found


PLACES = [(number, place) for number, document in enumerate(DOCUMENTS) for place in places(document) if place]


@st.composite
def broken(draw: st.DrawFn) -> JSON:
    """Return a manifest with other values in up to three of its places, one of which may be new."""
    number = draw(st.integers(0, len(DOCUMENTS) - 1))
    document = deepcopy(DOCUMENTS[number])
    for place in draw(st.lists(st.sampled_from([place for each, place in PLACES if each == number]), max_size=3)):
        holder = find(document, place[:-1])
        if isinstance(holder, dict):
            holder[str(place[-1])] = draw(values)
        elif isinstance(holder, list) and isinstance(place[-1], int) and place[-1] < len(holder):
            holder[place[-1]] = draw(values)
    return document


PATCHES: list[list[JSON]] = [
    [{"op": "replace", "path": "/spec/tolerations", "value": [{"key": "a"}]}],
    [{"op": "add", "path": "/spec/tolerations/-", "value": {"key": "a"}}],
    [{"op": "add", "path": "/metadata/annotations", "value": {"podberth.io/applied": "{}"}}],
    [{"op": "add", "path": "/spec/containers", "value": []}],
    [{"op": "add", "path": "/spec/nodeSelector", "value": {"a": "b"}}],
]


@given(broken(), broken(), st.sampled_from(PATCHES))
def test_nothing_raises_whatever_a_document_holds(document: JSON, other: JSON, patch: list[JSON]) -> None:
    before = deepcopy(document)
    is_known(document)
    for template in templates(document, namespace="ml", known=[other], extra={"Pod": [("spec", "containers", "*")]}):
        if template.problems:
            assert all(isinstance(each, str) for each in template.problems)
            continue
        assert shape_problems(template.pod) == []
        gang_of(template.pod, "ml", template.owners)
        gpu_facts(template.pod)
        assert place_of(template, ("spec", "containers", 0, "resources"))[: len(template.path)] == template.path
        if template.pod.get("spec"):
            carry_back(template, patch)
    assert document == before


def carry_back(template: Template, patch: list[JSON]) -> None:
    document: Any = template.document
    for step in project(template, [patch], patch):
        assert not (step.left and step.operations)
        document = apply(document, step.operations)
    if document is not template.document:
        found = [each for each in templates(document, namespace="ml") if each.path == template.path]
        assert found, patch


@given(values)
def test_any_object_is_looked_at(value: Any) -> None:
    for version, kind in [
        ("v1", "Pod"),
        ("v1", "List"),
        ("ray.io/v1", "RayJob"),
        ("serving.kserve.io/v1beta1", "InferenceService"),
    ]:
        found = templates(
            {"apiVersion": version, "kind": kind, "metadata": value, "spec": value, "items": value}, namespace=""
        )
        for template in found:
            assert template.problems or shape_problems(template.pod) == []
