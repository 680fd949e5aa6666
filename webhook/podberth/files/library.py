"""Finds, describes and copies the policies that podberth ships.

A policy is a folder with the policy's name. It has ``policy.yaml``, ``tests.yaml`` and, if the policy has params,
``params.yaml``. Policies that suit any cluster are in one directory, which can be served unchanged. An optional policy
has no effect until a user copies the policy into a served directory (docs/adr/0011-policy-library.md).
"""

import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Final

from ..errors import PolicyError, UsageError
from ..policy.model import GPUPolicy
from ..policy.parse import parse_policies
from ..words import did_you_mean
from . import documentation
from .loading import SUFFIXES
from .reading import MAX_POLICY_BYTES, read_in_time, read_text_in_time, reason_of

# A wheel has the policies inside the package; a checkout, from which an editable install runs, has them at its root.
# The names are those in force-include of pyproject.toml.
_PACKAGE, _CHECKOUT = Path(__file__).parents[1] / "library", Path(__file__).parents[3]
_DIRECTORIES = (("policies", True), ("optional-policies", False))
SCHEMA = "gpupolicy-v1alpha1.json"
"""The name of the file with the JSON Schema of a policy, for editors."""
POLICY, PARAMS, SUITE = "policy.yaml", "params.yaml", "tests.yaml"
"""The names of the files in a policy's folder. A policy without params has no ``params.yaml``."""


@dataclass(frozen=True, slots=True)
class Shipped:
    """A policy that podberth ships, with the policy's folder."""

    folder: Path
    on: bool
    """Whether the policy is served by default."""
    policies: tuple[GPUPolicy, ...]
    """The policies in the folder's file: the policy with the folder's name first, then any other policies."""

    @property
    def name(self) -> str:
        """The name of the policy and of its folder."""
        return self.folder.name

    @property
    def description(self) -> str:
        """The policy's description as one line of text."""
        return self.policies[0].spec.description

    @property
    def texts(self) -> tuple[str, ...]:
        """The texts of the files ``policy.yaml`` and ``params.yaml`` in the policy's folder.

        Raises:
            UsageError: a file cannot be read.
        """
        files = (self.folder / name for name in (POLICY, PARAMS))
        return tuple(_text(file) for file in files if file.exists())


def shipped() -> tuple[Shipped, ...]:
    """Return the shipped policies: first the policies served by default, then the optional policies, sorted by name.

    Raises:
        UsageError: the library is not installed, or a file of the library cannot be read.
        PolicyError: a policy of the library was edited and is not valid.
    """
    root = _root()
    found = tuple(_found(root))
    if not found:
        raise UsageError(f"policies: got none in {root}, want the library that podberth is packaged with; reinstall it")
    return found


APIS: Final = ("podberth.io/", "admissionregistration.k8s.io/")
"""The API groups of policies, as a file with a policy has them."""
_MOST_LOOKED_AT: Final = 1000
OWN: Final = Path("policies")
"""The folder of the user's own policies, in the working directory."""
SHIPPED: Final = "shipped"
"""The value of --policies that means the policies that podberth ships; ``./shipped`` is the directory of that name."""
ALONE: Final = f"none that podberth ships; for both: --policies {SHIPPED} --policies {OWN}"
"""The words for the user if OWN takes the place of the shipped policies because the user names none."""


def own() -> Path | None:
    """Return the folder of the policies if the user names none: OWN if it has a policy; None: the shipped policies."""
    is_own = OWN.is_dir() and OWN.resolve() != (_root() / OWN.name).resolve() and _has_policy(OWN)
    return OWN if is_own else None


def folders(named: Iterable[str]) -> tuple[Path | None, ...]:
    """Return the folders in the values of --policies; None stands for the policies that podberth ships."""
    return tuple(None if each == SHIPPED else Path(each) for each in named)


def own_or_served() -> Path:
    """Return the folder of the policies if the user names none: OWN if it has a policy, else that of the shipped ones.

    Raises:
        UsageError: the library is not installed.
    """
    return own() or served()


def _has_policy(folder: Path) -> bool:
    """Return whether a YAML or JSON file below a folder names the API of a policy; a file that cannot be read does."""
    for file in islice((each for each in folder.rglob("*") if each.suffix in SUFFIXES), _MOST_LOOKED_AT):
        try:
            text = read_in_time(file, MAX_POLICY_BYTES)
        except OSError:
            return True
        if any(api.encode() in text for api in APIS):
            return True
    return False


def served() -> Path:
    """Return the directory of the shipped policies that are served by default.

    Raises:
        UsageError: the library is not installed.
    """
    found = _root() / _DIRECTORIES[0][0]
    if not found.is_dir():
        raise UsageError(f"policies: got no {found}, want the library that podberth is packaged with; reinstall it")
    return found


def _root() -> Path:
    return _PACKAGE if _PACKAGE.is_dir() else _CHECKOUT


def schema() -> str:
    """Return the text of the published JSON Schema of a policy.

    Raises:
        UsageError: the schema is not installed, or cannot be read.
    """
    return _text(documentation.FOLDER / "schema" / SCHEMA)


def named(name: str) -> Shipped:
    """Return the shipped policy with a name, or the one whose file also holds the policy with that name.

    Raises:
        UsageError: no policy has that name; the message contains the nearest name, or the pages that have the name.
    """
    library = _by_name()
    if name not in library:
        wanted = "want a name that `podberth policies list` prints"
        raise UsageError(f"policies: got {name!r}, {wanted}{_near(name, library)}")
    return library[name]


def to_copy(name: str) -> Path:
    """Return the folder of the shipped policy, or of the recipe (docs/recipes.md), with a name.

    Raises:
        UsageError: neither has that name; the message contains the nearest name, or the pages that have the name.
    """
    recipes = {file.parent.name: file.parent for file in (documentation.FOLDER / "recipes").glob(f"*/{POLICY}")}
    folders = recipes | {each: found.folder for each, found in _by_name().items()}
    if name not in folders:
        wanted = "want a name that `podberth policies list` prints, or that of a recipe"
        raise UsageError(f"policies: got {name!r}, {wanted}{_near(name, folders)}")
    return folders[name]


def _by_name() -> dict[str, Shipped]:
    """Return what is shipped by the names of all policies; a file may hold several."""
    library = shipped()
    of_files = {policy.metadata.name: each for each in library for policy in each.policies}
    return of_files | {each.name: each for each in library}


def _near(name: str, known: Iterable[str]) -> str:
    """Return the end of a message about a name that no policy has; lint rules and other names have their pages."""
    return did_you_mean(name, known) or documentation.found_in(name)


def copy(folder: Path, directory: Path) -> Path:
    """Copy the folder of a policy to ``directory``, which is created if needed; return the new folder.

    Raises:
        UsageError: the folder exists already, or cannot be written.
    """
    target = directory / folder.name
    if target.exists():
        raise UsageError(f"{target}: exists already; move it away first")
    try:
        shutil.copytree(folder, target)  # makes the directories above it, too
    except OSError as error:
        raise UsageError(f"{target}: cannot be written: {error.strerror or error}") from error
    return target


def _text(file: Path) -> str:
    try:
        return read_text_in_time(file, MAX_POLICY_BYTES)
    except (OSError, UnicodeDecodeError) as error:
        wanted = "want a file that podberth is packaged with; reinstall podberth"
        raise UsageError(f"policies: {file}: got no text ({reason_of(error)}), {wanted}") from error


def _found(root: Path) -> Iterator[Shipped]:
    for directory, on in _DIRECTORIES:
        for file in sorted((root / directory).glob(f"*/{POLICY}")):
            parsed = parse_policies([(str(file), _text(file))])
            if parsed.problems:
                raise PolicyError(parsed.problems)
            policies = sorted((each.policy for each in parsed.policies), key=lambda each: each.sort_key)
            yield Shipped(file.parent, on, tuple(policies))
