"""Reads the file of ``--conventions``, which has a cluster's own names for labels, taints and levels.

An example:

    nodeGroupsGrow: false
    groupSystems:
    - {system: slurm-bridge, namespaceSelector: {matchLabels: {example.com/slurm: managed}}}
    labelKeys:
    - {key: example.com/gpu-class, provisioned: true, settles: [memory, links]}
    tolerableTaints:
    - {key: example.com/dedicated, value: gpu}

docs/operating.md explains the fields. The result has the label keys of the file first, in the file's order, then the
preset label keys that the file does not name. The taints and ignored labels of the file are added to the preset taints
and labels. If the file and the presets have a taint with one key, the taint gets the value in the file. The topology
levels of the file, widest first, replace the preset levels.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

from ..conventions import (
    IGNORED_LABELS,
    LABEL_KEYS,
    LEVELS,
    TOLERABLE_TAINTS,
    Conventions,
    GroupSystem,
    LabelKey,
    Trait,
)
from ..errors import Problem, UsageError
from ..kube.documents import load_documents
from ..policy.model import LabelSelector
from ..policy.wording import explain
from ..wellknown import HOSTNAME_LABEL
from ..workload.systems import SYSTEMS
from .reading import MAX_SMALL_BYTES, named_text

if TYPE_CHECKING:
    _SystemName: TypeAlias = str
else:  # a checker of types wants to read the names here, and they stand in the dossiers
    _SystemName = Literal[tuple(each.name for each in SYSTEMS)]


class _Model(BaseModel):
    model_config = ConfigDict(
        extra="forbid", frozen=True, alias_generator=to_camel, populate_by_name=False, strict=True
    )


class _LabelKey(_Model):
    key: str = Field(min_length=1)
    provisioned: bool = False
    settles: list[Trait] = Field(default_factory=list)
    number: bool = False


class _Taint(_Model):
    key: str = Field(min_length=1)
    value: str | None = None


class _GroupSystem(_Model):
    system: _SystemName
    namespace_selector: LabelSelector


class _Conventions(_Model):
    label_keys: list[_LabelKey] = Field(default_factory=list)
    node_groups_grow: bool = True
    levels: list[Annotated[str, Field(min_length=1)]] | None = Field(default=None, min_length=1)
    group_systems: list[_GroupSystem] = Field(default_factory=list)
    tolerable_taints: list[_Taint] = Field(default_factory=list)
    ignored_labels: list[Annotated[str, Field(min_length=1)]] = Field(default_factory=list)


def read_conventions(path: Path | None) -> Conventions:
    """Return the preset conventions; if ``path`` is given, with the changes of the file at ``path``.

    Raises:
        UsageError: the file cannot be read or is invalid; the message has the line of each problem.
    """
    if path is None:
        return Conventions()
    return conventions_of(named_text(path, MAX_SMALL_BYTES, "--conventions: "), str(path))


def conventions_of(text: str, path: str) -> Conventions:
    """Return the preset conventions with the changes of a file's text; ``path`` names the file in messages.

    Raises:
        UsageError: the text is invalid; the message has the line of each problem.
    """
    documents, problems = load_documents(text, path)
    if problems or len(documents) != 1:
        problems = problems or [Problem(path, 0, 0, "", f"got {len(documents)} documents, want one")]
        raise UsageError("\n".join(map(str, problems)))
    document, positions = documents[0].document, documents[0].positions
    try:
        said = _Conventions.model_validate(document)
    except ValidationError as error:
        found = [
            positions.problem(path, at, message, of_key=of_key) for at, of_key, message in explain(error, _Conventions)
        ]
        raise UsageError("\n".join(map(str, sorted(found)))) from error
    own = {
        each.key: LabelKey(each.key, each.provisioned, frozenset(each.settles), each.number) for each in said.label_keys
    }
    others = (each for each in LABEL_KEYS if each.key not in own)
    taken = (GroupSystem(each.system, each.namespace_selector.document) for each in said.group_systems)
    levels = dict.fromkeys(each for each in said.levels or LEVELS if each != HOSTNAME_LABEL)
    return Conventions(
        # One node is the narrowest domain there is.
        levels=(*levels, HOSTNAME_LABEL),
        tolerable_taints={**TOLERABLE_TAINTS, **{each.key: each.value for each in said.tolerable_taints}},
        ignored_labels=IGNORED_LABELS.union(said.ignored_labels),
        label_keys=(*own.values(), *others),
        node_groups_grow=said.node_groups_grow,
        group_systems=tuple(taken),
    )
