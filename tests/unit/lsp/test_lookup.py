"""The manual has a sentence for every field and function of podberth."""

from podberth.cel.libraries import AUTHORIZATION
from podberth.cel.typing import DECLARED, VARIABLES
from podberth.kube.schema import PodSchema
from podberth.lsp.manual import lookup, variables
from podberth.lsp.manual.pod_fields import MEANINGS


def test_every_variable_has_a_sentence() -> None:
    assert VARIABLES.keys() - variables.VARIABLES.keys() == set()


def test_fields_are_found_by_the_type_that_has_them() -> None:
    fields = lookup.fields()
    assert fields["podberth.GpuRequest", "resource"].startswith("the resource: `nvidia.com/gpu`")
    of_gpu = {(kind, name) for kind in ("podberth.Gpu", "podberth.Gang", "podberth.Nodes") for name in DECLARED[kind]}
    assert of_gpu - fields.keys() == set()


def test_every_sentence_about_a_pod_is_about_a_field_of_the_schema() -> None:
    known = {kind.rpartition(".")[2]: fields for kind, fields in PodSchema.packaged().definitions.items()}
    assert [(kind, name) for kind, rows in MEANINGS.items() for name in rows if name not in known[kind]] == []


def test_every_function_but_those_of_authorizer_has_a_sentence() -> None:
    without = {row.id for row, sentence in lookup.functions() if sentence is None}
    assert without == {row.id for row in AUTHORIZATION}
    assert all(sentence.meaning for _, sentence in lookup.macros())
