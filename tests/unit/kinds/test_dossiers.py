"""The list of dossiers is whole, each says where and in which version it was read, and no two contradict each other."""

import ast
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path

import pytest

import podberth
from podberth.kinds import dossiers
from podberth.kinds.dossier import Dossier
from podberth.kinds.dossiers import DOSSIERS

MODULES = sorted(each.stem for each in Path(dossiers.__file__).parent.glob("*.py") if each.stem != "__init__")


@pytest.mark.parametrize("name", MODULES)
def test_every_module_has_one_dossier_in_the_list(name: str) -> None:
    found = [each for each in vars(vars(dossiers)[name]).values() if isinstance(each, Dossier)]
    assert len(found) == 1
    assert found[0] in DOSSIERS


def test_every_dossier_of_the_list_has_a_module_and_a_name_of_its_own() -> None:
    assert len(DOSSIERS) == len(MODULES) == len({each.name for each in DOSSIERS})


VERSION = re.compile(r"([0-9a-f]{8}|v\d+\.\d+[\w.-]*)(, .+)?")
REPOSITORY = re.compile(r"(?<![\w./{},-])[A-Za-z][\w-]*/[A-Za-z][\w.-]*(?= )")


def _sources(value: object) -> Iterator[str]:
    """Yield the source of each fact in a dossier."""
    if is_dataclass(value) and not isinstance(value, type):
        for field in fields(value):
            found = getattr(value, field.name)
            yield from [found] if field.name == "source" else _sources(found)
    elif isinstance(value, tuple | frozenset):
        for each in value:
            yield from _sources(each)
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from _sources(each)


@pytest.mark.parametrize("dossier", DOSSIERS, ids=lambda each: each.name)
def test_every_fact_has_a_source_at_a_version(dossier: Dossier) -> None:
    assert dossier.versions
    assert [each for each in dossier.versions.values() if not VERSION.fullmatch(each)] == []
    for source in _sources(dossier):
        cited = set(REPOSITORY.findall(source))
        assert cited, source
        assert cited <= dossier.versions.keys(), source


@pytest.mark.parametrize("name", MODULES)
def test_every_repository_that_a_module_names_has_a_version_there(name: str) -> None:
    module = vars(dossiers)[name]
    text = " ".join(Path(module.__file__).read_text(encoding="utf-8").split())
    known = {repository for row in DOSSIERS for repository in row.versions}
    cited = {each for each in known if re.search(rf"(?<![\w./-]){re.escape(each)}(?![\w/-])", text)}
    assert cited == module.DOSSIER.versions.keys()


def test_no_kind_is_of_two_dossiers() -> None:
    kinds = Counter((version, kind.kind) for row in DOSSIERS for kind in row.kinds for version in kind.api_versions)
    owners = Counter((version, each.kind) for row in DOSSIERS for each in row.owners for version in each.api_versions)
    finished = Counter((each.group, each.kind) for row in DOSSIERS for each in row.finished)
    assert max((*kinds.values(), *owners.values(), *finished.values())) == 1


def test_every_note_is_of_a_membership_that_some_dossier_has() -> None:
    keys = {
        key
        for row in DOSSIERS
        for each in (*row.memberships, *row.last_memberships)
        for key in (each.label, each.annotation)
    }
    assert {note.key for row in DOSSIERS for note in row.notes} <= keys


def test_of_two_systems_one_comes_first() -> None:
    systems = [row.system for row in DOSSIERS if row.system is not None]
    assert sorted(each.precedence for each in systems) == list(range(1, len(systems) + 1))
    assert len({each.name for each in systems}) == len(systems)
    assert {row.pod_groups.name for row in DOSSIERS if row.pod_groups is not None} <= {each.name for each in systems}


def test_no_key_speaks_for_two_systems() -> None:
    systems = [row.system for row in DOSSIERS if row.system is not None]
    for keys in (
        *zip(*((each.schedulers, each.labels, each.annotations, each.fields) for each in systems), strict=True),
    ):
        assert max(Counter(key for each in keys for key in each).values()) == 1


# The places outside of kinds where a name of a dossier stands, each with the reason.
ELSEWHERE = {
    ("kube/removed_versions.py", "scheduling.k8s.io"): "a version of Kubernetes' own API, for PriorityClass",
    ("wellknown.py", "batch.kubernetes.io/job-completion-index"): "wellknown is below kinds; several rooms read it",
}


def _names() -> set[str]:
    """Return the API groups and keys that dossiers have, apart from words that say too little alone."""
    found: set[str] = set()
    for row in DOSSIERS:
        found |= {version.rpartition("/")[0] for kind in row.kinds for version in kind.api_versions}
        found |= {each.group for each in row.owners} | {each.kind[0] for each in row.queues} | row.affinity_keys
        found |= {each.kind[0] for each in row.group_rules} | {each.key for each in row.stated_minimums}
        found |= {each.label for each in row.queues} | {each.annotation for each in row.queues} | row.elastic_keys
        found |= set(row.pod_groups.api_groups) if row.pod_groups is not None else set()
        found |= row.gates | {bound.path[-1] for bound in row.parsed}
        if row.pod_sets is not None:
            found |= {row.pod_sets.required, row.pod_sets.slice_required, row.pod_sets.slice_size, row.pod_sets.group}
        if row.queued is not None:
            found |= {row.queued.named_by, row.queued.gate, row.queued.resource}
        if row.system is not None:
            found |= row.system.labels | row.system.annotations | row.system.schedulers
        for each in (*row.memberships, *row.groups, *row.last_memberships):
            found |= {each.label, each.annotation}
    return {each for each in found if ("." in each or "-" in each) and "podberth.io" not in each}


def test_a_name_of_a_dossier_stands_nowhere_else_in_the_product() -> None:
    names, root = _names(), Path(podberth.__file__).parent
    found = {
        (str(file.relative_to(root)), node.value)
        for file in root.rglob("*.py")
        if "kinds" not in file.relative_to(root).parts[:1]
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in names
    }
    assert found == ELSEWHERE.keys()


def test_whoever_may_be_chosen_says_where_its_group_is_named() -> None:
    for system in (row.system for row in DOSSIERS if row.system is not None):
        assert bool(system.reference) == bool(system.pod_groups)
