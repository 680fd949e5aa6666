"""The list of dossiers is whole, and no two of them say different things of one kind."""

from collections import Counter
from pathlib import Path

import pytest

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
