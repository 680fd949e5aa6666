"""Write the tables of docs/labels.md: every label, annotation and taint that podberth reads or writes, from its tables.

.venv/bin/python tools/label_page.py           # writes what has changed
.venv/bin/python tools/label_page.py --check   # writes nothing; exits with 1 and says what is stale
"""

import ast
import inspect
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from types import ModuleType

from generated import main, spliced

from podberth import wellknown
from podberth.conventions import IGNORED_LABELS, LABEL_KEYS, LEVELS, TOLERABLE_TAINTS
from podberth.files.library import shipped
from podberth.kinds import dossiers, members
from podberth.topology.node import PASSING_TAINTS
from podberth.workload.dialects import DIALECTS
from podberth.workload.memberships import MEMBERSHIPS
from podberth.workload.systems import SYSTEMS

PAGE = "docs/labels.md"
_KEY = re.compile(r"podberth\.io/(?!v\d)[a-z-]+")
_READ = re.compile(r"\b(object|namespaceObject)\.metadata\.\??(label|annotation)s\[\??'(podberth\.io/[a-z-]+)'")
_OWNERS = {"object": "pod", "namespaceObject": "Namespace"}
# What has the key, and who writes it there.
_PLACES = {
    wellknown.GPU_MEMORY_ANNOTATION: ("annotation of a pod", "user"),
    wellknown.GANG_LABEL: (
        "label of a pod, and of the gang's PodGroup",
        "user, podberth, controller",
    ),
    wellknown.GANG_SIZE_ANNOTATION: ("annotation of a pod", "user, podberth"),
    wellknown.GANG_ACCELERATED_ANNOTATION: ("annotation of a pod", "user, podberth"),
    wellknown.EXEMPT_LABEL: ("label of a Namespace", "user with the verb `exempt`"),
    wellknown.PARAMS_LABEL: ("label of a ConfigMap", "user"),
    wellknown.COLOCATED_LABEL: ("label of a pod", "podberth"),
    wellknown.GANG_SLICE_LABEL: ("label of a pod", "podberth"),
    wellknown.GANG_LEVEL_ANNOTATION: ("annotation of a pod", "podberth"),
    wellknown.GANG_LEVEL_MODE_ANNOTATION: ("annotation of a pod", "podberth"),
    wellknown.APPLIED_ANNOTATION: ("annotation of a pod", "podberth"),
    wellknown.FLOOR_KEY: ("label and annotation of a pod", "the floor"),
    wellknown.NEEDS_EVERY_POD_ANNOTATION: ("annotation of a GPUPolicy", "user"),
    wellknown.TOPOLOGY_LABEL: ("label of a ConfigMap and of a Lease", "agent"),
    wellknown.LINK_SHAPE_LABEL: ("label of a Node", "agent"),
    wellknown.LINK_DOMAIN_LABEL: ("label of a Node", "agent"),
    wellknown.FREE_LINKED_LABEL: ("label of a Node", "agent"),
}


def _parts() -> dict[str, str]:
    return {
        "own": _table(("key", "is", "written by", "meaning"), _own()),
        "library": _table(("key", "is", "read by"), _of_library()),
        "gangs": _table(
            ("label", "annotation", "source"),
            [
                (_keys(row.label), _keys(row.annotation), row.source)
                for row in MEMBERSHIPS
                if row.label or row.annotation
            ],
        ),
        "members": _table(("key", "of the pod's"), _members()),
        "systems": _table(
            ("system", "labels", "annotations", "labels of owners", "schedulers"),
            [
                (f"`{row.name}`", *map(_list, (row.labels, row.annotations, row.owner_labels, row.schedulers)))
                for row in SYSTEMS
            ],
        ),
        "dialects": _table(
            ("dialect", "resources", "annotations", "schedulers", "source"),
            [
                (
                    row.name,
                    _list(row.resources),
                    _under(_list(row.annotations), row.only_under),
                    _list(row.schedulers),
                    row.source,
                )
                for row in DIALECTS
            ],
        ),
        "nodes": _table(
            ("label", "an autoscaler's template has it", "settles"),
            [(_keys(row.key), "yes" if row.provisioned else "", ", ".join(sorted(row.settles))) for row in LABEL_KEYS],
        ),
        "levels": _table(("label, widest first",), [(_keys(key),) for key in LEVELS]),
        "ignored": _table(("label",), [(_keys(key),) for key in sorted(IGNORED_LABELS)]),
        "tolerable": _table(
            ("taint", "value"), [(_keys(key), _keys(value) or "any") for key, value in TOLERABLE_TAINTS.items()]
        ),
        "passing": _table(("taint", "the node is"), [(_keys(key), state) for key, state in PASSING_TAINTS.items()]),
    }


def _own() -> list[tuple[str, str, str, str]]:
    """Return podberth's own keys with the docstrings that stand below their constants."""
    body = ast.parse(inspect.getsource(wellknown)).body
    found = []
    for before, after in pairwise(body):
        if isinstance(before, ast.Assign) and isinstance(before.targets[0], ast.Name) and isinstance(after, ast.Expr):
            value = getattr(wellknown, before.targets[0].id)
            if isinstance(value, str) and value.startswith("podberth.io/"):
                text = " ".join(str(ast.literal_eval(after.value)).split()).replace("``", "`")
                found.append((f"`{value}`", *_PLACES[value], text.removesuffix(".")))
    return found


def _of_library() -> list[tuple[str, str, str]]:
    """Return the further keys of podberth's prefix that shipped policies read, where, and their pages."""
    own = {value for value in vars(wellknown).values() if isinstance(value, str)}
    readers: dict[str, list[str]] = {}
    places: dict[str, set[str]] = {}
    for each in shipped():
        text = "".join(each.texts)
        for key in set(_KEY.findall(text)) - own:
            readers.setdefault(key, []).append(f"[{each.name}](policies/{each.name}.md)")
        for owner, kind, key in _READ.findall(text):
            places.setdefault(key, set()).add(f"{kind} of a {_OWNERS[owner]}")
    return [(f"`{key}`", ", ".join(sorted(places[key])), ", ".join(pages)) for key, pages in sorted(readers.items())]


def _dossiers() -> Iterator[ModuleType]:
    return (each for each in vars(dossiers).values() if isinstance(each, ModuleType) and hasattr(each, "DOSSIER"))


def _members() -> list[tuple[str, str]]:
    """Return every key that the rows' readers ask a pod for, by the text of their modules."""
    found: set[tuple[str, str]] = set()
    for module in (*_dossiers(), members):
        for node in ast.walk(ast.parse(inspect.getsource(module))):
            match node:
                case (
                    ast.Call(
                        func=ast.Attribute(ast.Attribute(attr=("labels" | "annotations") as holder), "get"),
                        args=[key, *_],
                    )
                    | ast.Subscript(value=ast.Attribute(attr=("labels" | "annotations") as holder), slice=key)
                ):
                    text = key.value if isinstance(key, ast.Constant) else vars(module).get(getattr(key, "id", ""))
                    if isinstance(text, str):
                        found.add((f"`{text}`", holder))
    return sorted(found)


def _keys(key: str | None) -> str:
    return f"`{key}`" if key else ""


def _list(keys: Iterable[str]) -> str:
    return ", ".join(f"`{key}`" for key in sorted(keys))


def _under(text: str, scheduler: str) -> str:
    return f"{text} (under `{scheduler}` only)" if scheduler else text


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


if __name__ == "__main__":
    sys.exit(main({PAGE: spliced(PAGE, _parts())}))
