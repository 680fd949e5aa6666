"""The packaged names of fields are those of the CRDs, and each slip of one of them is found."""

import importlib
from collections.abc import Iterator
from typing import Any

import pytest

from crds import FOLDER
from podberth.check.crd_slips import checked_as_pods
from podberth.check.misspelt_fields import misspelt_fields
from podberth.kinds.crd_fields import KEEPS, Fields, crd_fields, decoded, encoded
from podberth.kube.paths import ELEMENT

JSON = dict[str, Any]
SMALL = ("appwrapper", "mpi-operator", "scheduler-plugins", "volcano")
"""Folders of CRDs that are parsed in a second; all of them take half a minute."""


@pytest.mark.shared("crds")
def test_the_packaged_names_are_those_of_the_crds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(FOLDER.parents[1] / "tools")
    schemas = importlib.import_module("crd_fields").schemas_in(FOLDER / each for each in SMALL)
    assert len(schemas) > len(SMALL)
    packaged = crd_fields()
    assert decoded(encoded(schemas)) == {key: packaged[key] for key in schemas}


def test_what_is_preserved_or_not_described_has_no_names() -> None:
    kept = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    some = {"properties": {"a": {"type": "string"}}}
    fields = {
        "any": kept,
        "kept": {**kept, **some},
        "list": {"type": "array", "items": some},
        "map": {"additionalProperties": some},
        "words": {"type": "array", "items": {"type": "string"}},
    }
    made = decoded(encoded({("v1", "X"): {"properties": fields}}))
    assert made["v1", "X"] == {
        "any": {},
        "kept": {"a": {}, KEEPS: {}},
        "list": {ELEMENT: {"a": {}}},
        "map": {ELEMENT: {"a": {}}},
        "words": {},
    }


def slips(fields: Fields, pods: frozenset[tuple[str, ...]], path: tuple[str, ...] = ()) -> Iterator[tuple[str, JSON]]:
    """Yield each name outside of pods that has a slip which is no other name, with an object that has the slip."""
    for name, below in fields.items():
        if (*path, name) in pods or name in (KEEPS, ELEMENT, "apiVersion", "kind", "metadata", "status"):
            continue
        slip = f"{name}x"
        if len(name) >= 4 and slip not in fields:
            yield name, {slip: {}}
        is_list = ELEMENT in below
        for inner, value in slips(below[ELEMENT] if is_list else below, pods, (*path, name, *([ELEMENT] * is_list))):
            yield inner, {name: [value] if is_list else value}


@pytest.mark.parametrize(("version", "kind"), sorted(crd_fields()), ids=str)
def test_each_slip_of_a_name_is_found(version: str, kind: str) -> None:
    fields = crd_fields()[version, kind]
    for name, document in slips(fields, checked_as_pods(version, kind)):
        said = [message for _, message in misspelt_fields({"apiVersion": version, "kind": kind, **document})]
        assert [each.partition(" mean ")[0] for each in said] == [f"got {name}x; did you"]
