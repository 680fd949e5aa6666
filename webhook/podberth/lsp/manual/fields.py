"""The docstrings of the fields of models, for the schema, the reference and editors."""

import ast
import inspect
import sys
from functools import cache
from itertools import pairwise

from pydantic import BaseModel

from ...policy.text_fields import gives


@cache
def meanings(owner: type[BaseModel]) -> dict[str, str]:
    """Return the docstring of each field of a model on one line, by the field's name in Python."""
    tree = ast.parse(inspect.getsource(sys.modules[owner.__module__]))
    bodies = {each.name: each.body for each in tree.body if isinstance(each, ast.ClassDef)}
    parent = next((base for base in owner.__bases__ if base.__name__ in bodies and issubclass(base, BaseModel)), None)
    found: dict[str, str] = {} if parent is None else dict(meanings(parent))
    body = bodies[owner.__name__]
    for before, after in pairwise(body):
        if isinstance(before, ast.AnnAssign) and isinstance(before.target, ast.Name) and isinstance(after, ast.Expr):
            found[before.target.id] = " ".join(str(ast.literal_eval(after.value)).split())
    return found


def given_type(owner: type[BaseModel], name: str) -> str:
    """Return the type that a field's CEL expressions must have; empty if the field holds no expression."""
    found = gives(owner.model_fields[name])
    return found.want.value if found else ""
