"""docs/policy.md has every function of Kubernetes' CEL libraries, and no other."""

import re

import pytest

from library_vectors import VECTORS
from pages import POLICY
from podberth.cel.libraries import LIBRARIES

_SECTION = POLICY.partition("\n## CEL: Kubernetes' libraries\n")[2].partition("\n## ")[0]
# Functions as the page writes them: behind a type in small or capital letters, or by their whole name.
_CALLED = set(re.findall(r"(?:\b[A-Za-z]+\.)?\b(\w+)\(", _SECTION))


@pytest.mark.parametrize("name", sorted({row.name for row in LIBRARIES}))
def test_every_function_is_on_the_page(name: str) -> None:
    assert name.rpartition(".")[2] in _CALLED
    if "." in name:
        assert f"`{name}(" in _SECTION


def test_no_other_function_is() -> None:
    known = {row.name.rpartition(".")[2] for row in LIBRARIES}
    engine = {function for vector in VECTORS for function in re.findall(r"(\w+)\(", vector.expression)}
    assert not _CALLED - known - engine
