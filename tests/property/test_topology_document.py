"""The document of a node across versions, and its published schema held against the code that reads and writes it."""

import copy
import json
from collections.abc import Iterator
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from observations import observations
from pages import ROOT
from podberth.errors import TopologyError
from podberth.topology.codec import DATA_KEY, SCHEMA_VERSION, decode_topology, encode_topology, is_same_but_for_time
from podberth.topology.derive import derive
from podberth.topology.node import NodeTopology
from podberth.topology.observation import Observation
from podberth.topology.shapes import SHAPES, simulate
from podberth.wellknown import TOPOLOGY_LABEL

SCHEMA = json.loads((ROOT / "docs" / "schema" / "node-topology-v1.json").read_text(encoding="utf-8"))
VALIDATOR = Draft202012Validator(SCHEMA, format_checker=Draft202012Validator.FORMAT_CHECKER)
METADATA = {"name": "n", "labels": {TOPOLOGY_LABEL: SCHEMA_VERSION}}

Path = tuple[str | int, ...]


def document_of(topology: NodeTopology) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(encode_topology("n", topology)["data"][DATA_KEY])
    return found


def decode(document: object) -> NodeTopology:
    return decode_topology({"metadata": METADATA, "data": {DATA_KEY: orjson.dumps(document).decode()}})


def decodes(document: object) -> bool:
    try:
        decode(document)
    except TopologyError:
        return False
    return True


def objects(value: object, path: Path = ()) -> Iterator[Path]:
    """Yield where the objects of a document are."""
    if isinstance(value, dict):
        yield path
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value if isinstance(value, list) else ()):
        yield from objects(inner, (*path, key))


def at(document: Any, path: Path) -> Any:
    for key in path:
        document = document[key]
    return document


SHAPE_DOCUMENTS = [json.loads(simulate(shape, "n")[1]["data"][DATA_KEY]) for shape in SHAPES]
documents = st.one_of(observations.map(derive).map(document_of), st.sampled_from(SHAPE_DOCUMENTS))
values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-5, 5), st.text(max_size=4)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=4), inner, max_size=3)),
    max_leaves=5,
)


@given(documents, st.data())
def test_fields_of_a_newer_agent_are_passed_over_wherever_they_stand(
    document: dict[str, Any], data: st.DataObject
) -> None:
    newer = copy.deepcopy(document)
    for path in data.draw(st.lists(st.sampled_from(list(objects(document))), max_size=4)):
        at(newer, path)[f"new-{data.draw(st.text(max_size=4))}"] = data.draw(values)
    assert decode(newer) == decode(document)
    assert VALIDATOR.is_valid(newer)


def optional(document: dict[str, Any]) -> list[Path]:
    """Return the optional fields that a document has, the inner ones first.

    Left out are those that others of the document lean on: without them it would contradict itself, which no older
    agent's document does.
    """
    leant_on = {("gpus",), ("links", "shape"), ("links", "domains")}
    required = {"index", "gpu", "profile", "name", "clusterUuid", "mig"}  # the last one: of a GPU that has instances
    fields = [(*path, key) for path in objects(document) for key in at(document, path) if key not in required]
    return sorted((path for path in fields if path not in leant_on), key=len, reverse=True)


@given(documents, st.data())
def test_an_older_agent_may_leave_out_any_optional_field(document: dict[str, Any], data: st.DataObject) -> None:
    older = copy.deepcopy(document)
    fields = optional(document)
    for number in sorted(data.draw(st.sets(st.integers(0, len(fields) - 1), max_size=6))):
        *path, key = fields[number]
        del at(older, tuple(path))[key]
    assert decodes(older)
    assert VALIDATOR.is_valid(older)


@given(observations)
def test_whatever_is_written_is_valid(observation: Observation) -> None:
    assert list(VALIDATOR.iter_errors(document_of(derive(observation)))) == []


@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_is_valid(shape: str) -> None:
    assert list(VALIDATOR.iter_errors(json.loads(simulate(shape, "n")[1]["data"][DATA_KEY]))) == []


def test_the_schema_is_one() -> None:
    Draft202012Validator.check_schema(SCHEMA)


# The largest and the first that is too large, of each bound; and of each type another one.
GPU = {"index": 0}
CUT = {"index": 0, "mig": True}
BROKEN: list[tuple[dict[str, Any], bool]] = [
    ({}, True),
    ({"schemaVersion": "v1"}, True),
    ({"schemaVersion": "v2"}, False),
    ({"gpus": {}}, False),
    ({"gpus": [1]}, False),
    ({"gpus": [{}]}, False),
    ({"gpus": [{"index": index} for index in range(64)]}, True),
    ({"gpus": [{"index": index} for index in range(65)]}, False),
    ({"gpus": [{"index": 255}]}, True),
    ({"gpus": [{"index": 256}]}, False),
    ({"gpus": [{"index": -1}]}, False),
    ({"gpus": [{"index": "0"}]}, False),
    ({"gpus": [{"index": True}]}, False),
    *(
        ({"gpus": [{**GPU, key: value}]}, good)
        for key, value, good in (
            ("vendor", "amd", True),
            ("vendor", "acme", False),
            ("uuid", "x" * 128, True),
            ("uuid", "x" * 129, False),
            ("uuid", 1, False),
            ("product", "two\nlines", False),
            ("problem", "\x7f", False),
            ("pciId", "2330", True),
            ("pciId", "233", False),
            ("pciId", "23g0", False),
            ("memoryMiB", 2**24, True),
            ("memoryMiB", 2**24 + 1, False),
            ("memoryMiB", 1.5, False),
            ("numaNode", 1023, True),
            ("numaNode", 1024, False),
            ("pcieRoot", "x" * 33, False),
            ("mig", "yes", False),
            ("migPending", 1, False),
        )
    ),
    ({"links": []}, False),
    ({"links": {"shape": "ring"}}, False),
    ({"gpus": [GPU, {"index": 1}], "links": {"shape": "full-mesh", "domains": [[0, 1]]}}, True),
    ({"gpus": [GPU, {"index": 1}], "links": {"shape": "islands", "domains": [[0]]}}, False),
    ({"gpus": [GPU, {"index": 1}], "links": {"shape": "islands", "domains": [[0, 0]]}}, False),
    ({"gpus": [GPU, {"index": 1}], "links": {"shape": "islands", "domains": [["0", "1"]]}}, False),
    ({"gpus": [GPU], "links": {"levels": [["X"]]}}, True),
    ({"gpus": [GPU], "links": {"levels": [[1]]}}, False),
    ({"gpus": [GPU], "links": {"levels": [["x" * 9]]}}, False),
    ({"fabric": {"clusterUuid": "c"}}, True),
    ({"fabric": {"clique": 1}}, False),
    ({"fabric": {"clusterUuid": "x" * 37}}, False),
    ({"fabric": {"clusterUuid": "c", "clique": 2**32}}, False),
    ({"platform": {"slot": 255}}, True),
    ({"platform": {"slot": 256}}, False),
    ({"platform": {"chassis": 1}}, False),
    ({"migProfiles": [{"profile": "1g.5gb", "max": 8}]}, True),
    ({"migProfiles": [{"profile": "1g.5gb", "max": 9}]}, False),
    ({"migProfiles": [{"profile": "1g5gb"}]}, False),
    ({"migProfiles": [{"max": 1}]}, False),
    ({"migProfiles": [{"profile": "1g.5gb"}] * 256}, True),
    ({"migProfiles": [{"profile": "1g.5gb"}] * 257}, False),
    ({"gpus": [CUT], "migInstances": [{"gpu": 0, "profile": "1g.5gb+me", "start": 8}]}, True),
    ({"gpus": [CUT], "migInstances": [{"gpu": 0, "profile": "1g.5gb", "start": 9}]}, False),
    ({"gpus": [CUT], "migInstances": [{"profile": "1g.5gb"}]}, False),
    ({"gpus": [CUT], "migInstances": [{"gpu": 0}]}, False),
    ({"nics": [{"name": "mlx5_0", "kind": "roce"}]}, True),
    ({"nics": [{"name": "mlx5_0", "kind": "token-ring"}]}, False),
    ({"nics": [{"name": ""}]}, False),
    ({"nics": [{"name": f"n{number}"} for number in range(257)]}, False),
    ({"unseen": [{"what": "w", "why": "y", "gpus": [255]}]}, True),
    ({"unseen": [{"gpus": [256]}]}, False),
    ({"unseen": [{"gpus": ["0"]}]}, False),
    ({"unseen": [{}] * 65}, False),
    ({"observed": "2026-01-31T12:00:00Z"}, True),
    ({"observed": 1}, False),
    ({"observed": "x" * 41}, False),
]


@pytest.mark.parametrize(("document", "good"), BROKEN, ids=lambda value: str(value)[:60])
def test_the_schema_and_the_decoder_agree(document: dict[str, Any], *, good: bool) -> None:
    assert (VALIDATOR.is_valid(document), decodes(document)) == (good, good)


@pytest.mark.parametrize(
    "document",
    [
        {"gpus": [GPU, GPU]},
        {"gpus": [GPU], "migInstances": [{"gpu": 0, "profile": "1g.5gb"}]},
        {"gpus": [GPU, {"index": 1}], "links": {"shape": "none", "domains": [[0, 1]]}},
        {"gpus": [GPU], "links": {"shape": "islands", "domains": [[0, 1]]}},
        {"gpus": [GPU], "links": {"levels": [["X", "X"]]}},
        {"nics": [{"name": "n"}, {"name": "n"}]},
    ],
)
def test_what_takes_several_fields_to_be_wrong_is_the_decoders_to_say(document: dict[str, Any]) -> None:
    assert (VALIDATOR.is_valid(document), decodes(document)) == (True, False)


@given(documents, documents, st.text(max_size=4), st.text(max_size=4))
def test_the_same_but_for_the_time_is_the_same_and_nothing_else_is(
    one: dict[str, Any], other: dict[str, Any], now: str, then: str
) -> None:
    def text(document: dict[str, Any], **more: Any) -> str:
        return orjson.dumps({**document, **more}, option=orjson.OPT_SORT_KEYS).decode()

    assert is_same_but_for_time(text(one, observed=now), text(one, observed=then))
    assert is_same_but_for_time(text(one, observed=now), text(other, observed=then)) == (
        {**one, "observed": ""} == {**other, "observed": ""}
    )
    assert not is_same_but_for_time(json.dumps({**one, "observed": now}, indent=1), text(one, observed=then))
    assert not is_same_but_for_time(text(one, more=1), text(one))
