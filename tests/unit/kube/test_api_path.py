"""Paths of the API: whatever text they are made of, they lead to one object of one kind in one namespace."""

import ast
import typing
from collections.abc import Iterator
from typing import Any

import pytest

from pages import ROOT
from podberth.agent.api_requests import ApiRequest
from podberth.api.client import ClusterClient
from podberth.api.protocol import Resource
from podberth.errors import ClusterError
from podberth.kube.api_path import ApiPath, collection_path, version_path

SOURCES = sorted((ROOT / "webhook" / "podberth").rglob("*.py"))
# The URIs of SARIF's artifacts are no paths of the API.
QUOTING = ROOT / "webhook" / "podberth" / "check" / "report" / "sarif.py"
BUILDER = ROOT / "webhook" / "podberth" / "kube" / "api_path.py"
HOSTILE = ["", ".", "..", "a/b", "/", "%2e%2e", "a%2Fb", "x\n", "\x00", "\ud800", "a" * 260]


def test_a_path_is_one_of_a_version_a_namespace_and_a_kind() -> None:
    assert collection_path("v1", "nodes") == "/api/v1/nodes"
    assert collection_path("batch/v1", "jobs", "team").below("train") == "/apis/batch/v1/namespaces/team/jobs/train"
    assert version_path("podberth.io/v1alpha1") == "/apis/podberth.io/v1alpha1"
    proxied = collection_path("v1", "pods", "podberth-system").below("podberth-0:8080", "proxy", "metrics")
    assert proxied == "/api/v1/namespaces/podberth-system/pods/podberth-0:8080/proxy/metrics"
    writer = collection_path("v1", "nodes").below("n").asking({"fieldManager": "a&b", "force": "true"})
    assert writer == "/api/v1/nodes/n?fieldManager=a%26b&force=true"
    assert collection_path("v1", "nodes").asking({}) == "/api/v1/nodes"


def test_a_path_says_what_it_leads_to() -> None:
    job = collection_path("batch/v1", "jobs", "team").below("train")
    assert (job.api_version, job.namespace) == ("batch/v1", "team")
    namespace = collection_path("v1", "namespaces").below("team")
    assert (namespace.api_version, namespace.namespace) == ("v1", "")
    assert (ApiPath("version").api_version, ApiPath("version").namespace) == ("", "")


@pytest.mark.parametrize("text", HOSTILE)
def test_a_segment_that_could_lead_elsewhere_is_refused(text: str) -> None:
    for make in (ApiPath, collection_path("v1", "pods", "team").below):
        with pytest.raises(ClusterError, match="want the name of an object; nothing was asked") as caught:
            make(text)
        assert caught.value.reason == "refused"


@pytest.mark.parametrize("text", [*HOSTILE[1:], "team?x", "team#x", "Team", "a.b", "kube-system/secrets"])
def test_a_namespace_is_a_label(text: str) -> None:
    with pytest.raises(ClusterError, match="want the name of a namespace"):
        collection_path("v1", "events", text)


@pytest.mark.parametrize("text", ["", "v1/", "/v1", "../v1", "a/b/v1", "batch/..", "batch/v1?x", "Batch/v1", "batch/1"])
def test_a_version_is_one_of_the_api(text: str) -> None:
    with pytest.raises(ClusterError, match="want a version"):
        version_path(text)


def test_nothing_follows_a_query() -> None:
    with pytest.raises(ClusterError):
        collection_path("v1", "nodes").asking({"limit": "1"}).below("n")


def test_a_path_has_one_query() -> None:
    path = collection_path("v1", "nodes").asking({"limit": "1"})
    assert path.asking({}) == path
    with pytest.raises(ClusterError, match="want a path without a query"):
        path.asking({"continue": "a"})


# ---- no path is made elsewhere -------------------------------------------------------------------------------------


def test_clients_take_paths_of_the_builder_alone() -> None:
    """Mypy does the rest: what was joined or formatted is a str, and no ApiPath."""
    for method in (ClusterClient.get, ClusterClient.send, ClusterClient.stream):
        assert _hints(method)["path"] is ApiPath
    assert _hints(ClusterClient._answer)["target"] is ApiPath
    assert _hints(ApiRequest)["path"] is ApiPath
    assert _hints(Resource)["path"] is ApiPath


def _hints(thing: Any) -> dict[str, Any]:
    return typing.get_type_hints(getattr(thing, "__wrapped__", thing))


def test_no_other_module_makes_a_path_of_text() -> None:
    found = {
        f"{file.relative_to(ROOT)}:{line}: {what}"
        for file in SOURCES
        if file != BUILDER
        for line, what in _made_by_hand(ast.parse(file.read_text()))
        if (file, what) != (QUOTING, "quote")
    }
    assert not found


@pytest.mark.parametrize(
    "code",
    [
        'path = f"/api/v1/nodes/{node}"',
        'path = "/apis/" + group',
        'path = "{}/namespaces/{}".format(head, namespace)',
        'path = cast("ApiPath", text)',
        "path = cast(ApiPath, text)",
        "path = str.__new__(ApiPath, text)",
        "path = ApiPath(*text.split('/'))",
        "from urllib.parse import quote",
    ],
)
def test_what_makes_a_path_by_hand_is_found(code: str) -> None:
    assert [*_made_by_hand(ast.parse(code))]


def _made_by_hand(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield the places where a module makes a path of the API without the builder."""
    skipped = _not_code(tree)
    for node in ast.walk(tree):
        match node:
            case ast.Constant(value=str(text)) if id(node) not in skipped and _looks_like_a_path(text):
                yield node.lineno, repr(text)
            case ast.Call(func=ast.Name(id="cast"), args=[ast.Name(id="ApiPath") | ast.Constant(value="ApiPath"), _]):
                yield node.lineno, "cast"
            case ast.Call(func=ast.Attribute(attr="__new__"), args=[ast.Name(id="ApiPath"), *_]):
                yield node.lineno, "__new__"
            case ast.Call(func=ast.Name(id="ApiPath"), args=arguments) if not all(
                isinstance(each, ast.Constant) for each in arguments
            ):
                yield node.lineno, "segments without a version"
            case ast.ImportFrom(module="urllib.parse", names=names) if any(each.name == "quote" for each in names):
                yield node.lineno, "quote"


def _looks_like_a_path(text: str) -> bool:
    return text.startswith(("/api/", "/apis")) or text == "/api" or "/namespaces/" in text


def _not_code(tree: ast.Module) -> set[int]:
    """Return the texts that nobody asks for: docstrings and other sentences on their own."""
    return {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
