"""The fields of documents by path: names, values, types of expressions and descriptions, from the models.

The documents are podberth's policies and exceptions, native policies and bindings, and test suites.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import UnionType
from typing import Annotated, Any, Final, Literal, TypeGuard, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from ...cel.types import Want
from ...kube.paths import Path
from ...kube.unchecked import text_at
from ...native.documents import GROUP, MODELS
from ...native.model import MutationExpression
from ...policy.exception_model import GPUPolicyException
from ...policy.model import GPUPolicy, Variable
from ...policy.namespaced_model import NamespacedGPUPolicy
from ...policy.text_fields import gives
from ...suite.case_file import Nodes
from ...topology.shapes import SHAPES
from ...wellknown import API_VERSION, EXCEPTION_KIND, NAMESPACED_KIND, POLICY_KIND
from ..manual.fields import meanings

OWN: Final[Mapping[str, type[BaseModel]]] = {
    POLICY_KIND: GPUPolicy,
    NAMESPACED_KIND: NamespacedGPUPolicy,
    EXCEPTION_KIND: GPUPolicyException,
}
"""The models of podberth's own documents, by kind."""
_OF_ANY_TYPE: Final = frozenset({(Variable, "expression"), (MutationExpression, "expression")})
_NAMES: Final[Mapping[tuple[type[BaseModel], str], tuple[str, ...]]] = {(Nodes, "shape"): tuple(SHAPES)}
"""The values of fields whose models are only strings."""


@dataclass(frozen=True, slots=True)
class Spot:
    """The type of the value at a path: a type annotation, and the field that has the value or a part of it."""

    annotation: Any
    owner: type[BaseModel] | None = None
    """The model with the field; None for a whole document."""
    name: str = ""
    """The name of the field in Python."""

    @property
    def field(self) -> FieldInfo | None:
        """The field; None for a whole document."""
        return None if self.owner is None else self.owner.model_fields[self.name]

    @property
    def alternatives(self) -> list[Any]:
        """The types that the value may have, without ``Annotated`` and ``None``."""
        return [each for each in _alternatives(self.annotation) if each is not type(None)]

    @property
    def model(self) -> type[BaseModel] | None:
        """The model of the value; None if the value is not an object with named fields."""
        return next((each for each in self.alternatives if _is_model(each)), None)

    @property
    def want(self) -> Want | None:
        """The type that the value must have as a CEL expression; None if the value is no expression."""
        if self.field is None or not any(each is str for each in self.alternatives):
            return None
        found = gives(self.field)
        return found.want if found else Want.ANY if (self.owner, self.name) in _OF_ANY_TYPE else None

    @property
    def values(self) -> tuple[str, ...]:
        """The possible values; empty if the type does not list them."""
        found: list[str] = []
        for each in self.alternatives:
            if get_origin(each) is Literal:
                found += map(str, get_args(each))
            elif each is bool:
                found += ("true", "false")
        return tuple(found) or (_NAMES.get((self.owner, self.name), ()) if self.owner else ())

    @property
    def meaning(self) -> str:
        """The description of the field; empty if it has none."""
        if self.owner is None:
            return ""
        bases = [each for each in self.owner.__mro__ if _is_model(each) and self.name in each.model_fields]
        found = next((text for each in bases if (text := meanings(each).get(self.name))), "")
        return found.replace("``", "`")

    def fields(self) -> Iterator[tuple[str, "Spot"]]:
        """Yield (name in documents, spot) for each field of an object."""
        if self.model is not None:
            for name, field in self.model.model_fields.items():
                yield field.alias or name, Spot(field.annotation, self.model, name)

    def at(self, step: str | int) -> "Spot | None":
        """Return the spot of a part of the value; None if the value cannot have that part."""
        if self.model is not None:
            return dict(self.fields()).get(step) if isinstance(step, str) else None
        for each in self.alternatives:
            origin, parameters = get_origin(each), get_args(each)
            if isinstance(step, int) and origin in (tuple, list):
                return Spot(parameters[0], self.owner, self.name)
            if isinstance(step, str) and isinstance(origin, type) and issubclass(origin, Mapping):
                return Spot(parameters[1], self.owner, self.name)
        return None


def root_of(document: Mapping[str, Any]) -> Spot | None:
    """Return the spot of a whole document that is no suite; None if the document is none that podberth reads.

    A document of podberth's apiVersion without a known kind, or with nothing but an apiVersion, is taken for a
    GPUPolicy.
    """
    kind, version = text_at(document, "kind"), text_at(document, "apiVersion")
    if kind in MODELS and (version.startswith(f"{GROUP}/") or GROUP.startswith(version)):
        return Spot(MODELS[kind])
    if kind in OWN or version == API_VERSION or document.keys() == {"apiVersion"}:
        return Spot(OWN.get(kind, GPUPolicy))
    return None


def spot_at(root: Spot, path: Path) -> Spot | None:
    """Return the spot at a path below ``root``; None if there can be no value."""
    found: Spot | None = root
    for step in path:
        found = None if found is None else found.at(step)
    return found


def _alternatives(annotation: Any) -> Iterator[Any]:
    origin, parameters = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        yield from _alternatives(parameters[0])
    elif origin in (Union, UnionType):
        for each in parameters:
            yield from _alternatives(each)
    else:
        yield annotation


def _is_model(each: Any) -> TypeGuard[type[BaseModel]]:
    return isinstance(each, type) and issubclass(each, BaseModel)
