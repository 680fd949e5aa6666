"""Write docs/schema/gpupolicy-v1alpha1.json: the JSON Schema (2020-12) of GPUPolicy, for editors.

    .venv/bin/python tools/policy_schema.py           # writes it if it has changed
    .venv/bin/python tools/policy_schema.py --check   # writes nothing; exits with 1 and says what is stale

Made from the models, descriptions from their docstrings. What takes several fields to be wrong is the parser's to say
(``podberth lint``), but for what an editor should know while it completes: the one thing that a mutation writes.
"""

import inspect
import json
import sys
from collections.abc import Mapping
from types import ModuleType
from typing import Any

from generated import main
from pydantic import BaseModel

from podberth.lsp.manual.fields import given_type, meanings
from podberth.policy import claim_template, model
from podberth.policy.model import CONCERNS, GPUPolicy

PAGE = "docs/schema/gpupolicy-v1alpha1.json"
_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_HEAD = {"$schema": _DIALECT, "title": "GPUPolicy (podberth.io/v1alpha1)"}


def schema() -> dict[str, Any]:
    """Return the schema."""
    made = described(GPUPolicy, models_of(claim_template, model))
    made["$defs"]["Mutation"]["oneOf"] = [
        {"required": [concern], "properties": {concern: {"not": {"type": "null"}}}} for concern in CONCERNS
    ]
    return {**_HEAD, **{key: value for key, value in made.items() if key != "title"}}


def models_of(*modules: ModuleType) -> dict[str, type[BaseModel]]:
    """Return the models that modules have, by name."""
    return {
        name: each
        for module in modules
        for name, each in vars(module).items()
        if inspect.isclass(each) and issubclass(each, BaseModel)
    }


def described(root: type[BaseModel], models: Mapping[str, type[BaseModel]]) -> dict[str, Any]:
    """Return the schema of a model with the docstrings of its fields; ``models`` has all that it refers to, by name."""
    made = root.model_json_schema(by_alias=True)
    _close(made)
    for name, definition in (*made["$defs"].items(), (root.__name__, made)):
        _describe(definition, models[name])
    return made


def _describe(definition: dict[str, Any], owner: type[BaseModel]) -> None:
    definition.pop("title", None)
    definition["description"] = _flat(owner.__doc__ or "")
    for name, field in owner.model_fields.items():
        described = definition["properties"][field.alias or name]
        described.pop("title", None)
        if described.get("default", ...) is None:
            del described["default"]
        meaning, result = meanings(owner).get(name, ""), given_type(owner, name)
        text = " ".join(filter(None, (meaning, f"CEL: {result}." if result else "")))
        if text:
            described["description"] = text


def _close(part: object) -> None:
    """Let maps have no keys but those that their pattern allows."""
    if isinstance(part, dict):
        if "patternProperties" in part:
            part["additionalProperties"] = False
        for value in part.values():
            _close(value)
    elif isinstance(part, list):
        for value in part:
            _close(value)


def _flat(text: str) -> str:
    return " ".join(text.replace("``", "`").split())


if __name__ == "__main__":
    sys.exit(main({PAGE: json.dumps(schema(), indent=2, ensure_ascii=False) + "\n"}))
