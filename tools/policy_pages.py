"""Write docs/policies/: one page for each policy of the library, and an index.

    .venv/bin/python tools/policy_pages.py           # writes what has changed
    .venv/bin/python tools/policy_pages.py --check   # writes nothing; exits with 1 and says what is stale

What a page says is in the policy's own files: the comment above it, its parameters, the cases of its tests. What comes
of a case is what the engine that decides in the cluster makes of it.
"""

import difflib
import re
import sys
from collections.abc import Iterator
from copy import deepcopy
from itertools import repeat
from pathlib import Path
from typing import Any

from podberth.cel.engine import Environment
from podberth.files.library import PARAMS, POLICY, SUITE, Shipped, shipped
from podberth.kube.quantity import write_quantities
from podberth.kube.schema import PodSchema
from podberth.kube.shape import RESOURCED_LISTS
from podberth.kube.yaml_text import as_yaml
from podberth.policy.model import GPUPolicy
from podberth.policy.parse import parse_policies
from podberth.suite.case_file import Case, Nodes, Suite, parse_suite
from podberth.suite.runner import CaseResult, run_suite

ROOT = Path(__file__).parents[1]
TARGET = ROOT / "docs" / "policies"
_GENERATED = "<!-- Written by tools/policy_pages.py from the policy's own files; change those. -->\n"
# What podberth writes on every pod that it changes: docs/mutations.md has it, and here it would only repeat the page.
_RECORD = "podberth.io/applied"

_SWITCHED_ON = (
    "Turn it on with `podberth policies show {0} | kubectl apply -f -`, or among files with "
    "`podberth policies copy {0} policies`; all ways are in [install.md](../install.md#policies)."
)
_NEXT = "Next: [all policies](README.md); [exceptions](../exceptions.md) for pods that this one should leave alone.\n"


def pages() -> dict[str, str]:
    """Return every page by its name."""
    environment = Environment(PodSchema.packaged())
    library = shipped()
    written = {f"{each.name}.md": _page(each, environment) for each in library}
    return {"README.md": _index(library), **written}


# ---- the index ------------------------------------------------------------------------------------------------------


def _index(library: tuple[Shipped, ...]) -> str:
    cells = (
        (f"[{each.name}]({each.name}.md)", "on" if each.on else "off", _does(each.policies), each.description)
        for each in library
    )
    rows = "\n".join(f"| {' | '.join(row)} |" for row in cells)
    return f"""{_GENERATED}
# The policy library

*For whoever wants to know which policies there are; a reference.*

Each policy is a folder with its tests. Those that are on lie in [policies/](../../policies) and are safe on any
cluster: they prefer where they choose nodes, and deny only what could not run. Those that are off lie in
[optional-policies/](../../optional-policies), until somebody applies them, or copies them beside the files:

    podberth policies list
    podberth policies show protect-gpu-nodes
    podberth policies copy protect-gpu-nodes policies

In a cluster, `podberth policies show NAME | kubectl apply -f -` turns one on, and an object of its name with
`spec: {{disabled: true}}` turns one off ([operating.md](../operating.md#policies-of-the-cluster)).

The same commands work where only the package is installed, and bring the policies that are on, too.

| policy | | | what it is for |
|---|---|---|---|
{rows}

Next: [install.md](../install.md#policies) to turn one on or off; [recipes.md](../recipes.md) for other wishes.
"""


def _does(policies: tuple[GPUPolicy, ...]) -> str:
    """Say in a word or two what a policy may do to a pod."""
    done = []
    for policy in policies:
        done += ["changes"] if policy.spec.mutations else []
        done += [{"Deny": "denies", "Warn": "warns"}[action] for action in policy.spec.validation_actions]
    return ", ".join(dict.fromkeys(done))


# ---- one page -------------------------------------------------------------------------------------------------------


def _page(policy: Shipped, environment: Environment) -> str:
    texts = [
        (name, (policy.folder / name).read_text(encoding="utf-8"))
        for name in (POLICY, PARAMS)
        if (policy.folder / name).exists()
    ]
    suite, problems = parse_suite((policy.folder / SUITE).read_text(encoding="utf-8"), f"{policy.name}/{SUITE}")
    if suite is None or problems:
        raise SystemExit("\n".join(map(str, problems)))
    results = run_suite(suite, parse_policies(texts), environment).cases
    parts = [
        _GENERATED,
        f"# {policy.name}\n",
        "*For users who meet the policy, and for administrators who turn it on or off; a reference.*\n",
        f"{policy.description}\n",
        *(f"Its file also holds {each.metadata.name}: {each.spec.description}\n" for each in policy.policies[1:]),
        f"{_standing(policy)}\n",
        *([] if policy.on else [f"{_SWITCHED_ON.format(policy.name)}\n"]),
        f"{_comment(texts[0][1])}\n",
        *_parameters(texts[1:]),
        *_shown(suite, results),
        _cases(results),
        _NEXT,
    ]
    return "\n".join(parts)


def _standing(policy: Shipped) -> str:
    link = f"[{policy.folder.parent.name}/{policy.name}](../../{policy.folder.parent.name}/{policy.name}/{POLICY})"
    first = policy.policies[0].spec
    scope = "pods with GPUs and members of gangs" if first.scope == "GPU" else "every pod that is sent to podberth"
    return f"{link}: {'on' if policy.on else 'off'} by default, order {first.order}, about {scope}."


def _comment(text: str) -> str:
    """Return the comment above the policy; what it indents by four is code to Markdown as well."""
    lines = [line.removeprefix("#").removeprefix(" ") for line in text.partition("\napiVersion:")[0].splitlines()]
    return "\n".join(re.sub(r"<(\w+)>", r"`<\1>`", line) for line in lines)


def _parameters(texts: list[tuple[str, str]]) -> Iterator[str]:
    for name, text in texts:
        [(_, params)] = parse_policies([(name, text)]).params.items()
        metadata = params["metadata"]
        yield f"## Parameters\n\nIn the ConfigMap `{metadata['name']}` of `{metadata['namespace']}`:\n"
        yield f"```yaml\n{text.rstrip()}\n```\n"


def _shown(suite: Suite, results: tuple[CaseResult, ...]) -> Iterator[str]:
    """Yield the first case of each sort: changed, denied, warned of and not changed."""
    sorts = [
        ("## Before and after\n", [one for one in results if one.verdict == "mutated"]),
        ("## Denied\n", [one for one in results if one.verdict == "denied"]),
        ("## Warned of\n", [one for one in results if one.verdict == "unchanged" and one.warnings]),
    ]
    by_name = {case.name: case for case in suite.cases}
    for heading, found in sorts:
        if found:
            yield heading
            yield from _example(suite, by_name[found[0].name], found[0])


def _example(suite: Suite, case: Case, result: CaseResult) -> Iterator[str]:
    given = case.pod or {}
    yield f"{case.name[0].upper()}{case.name[1:]}.\n"
    nodes = case.topology if case.topology is not None else suite.cluster.topology
    yield f"{_cluster(nodes or ())}{_values(case)}\n"
    before = as_yaml(given)
    yield f"```yaml\n{before}```\n"
    written = deepcopy(given)
    write_quantities(written)
    after = as_yaml(_spelled(_of_policies(result.pod, given), written, given)) if result.pod else before
    if after != before:
        changed = difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=2)
        kept = "\n".join(line for line in changed if not line.startswith(("---", "+++", "@@")))
        yield f"comes out as\n\n```diff\n{kept}\n```\n"
    said = [f"Warning: {text}" for text in result.warnings] + ([f"Error: {result.denial}"] if result.denial else [])
    if said:
        yield "and the user reads\n\n```console\n" + "\n".join(said) + "\n```\n"


def _cluster(topology: tuple[Nodes, ...]) -> str:
    if not topology:
        return "No node is known."
    named = [f"{each.count} x {each.shape}" if each.shape else "a node given in full" for each in topology]
    return f"Nodes: {', '.join(named)}."


def _values(case: Case) -> str:
    values = [f"`{key}: {value}`" for data in (case.params or {}).values() for key, value in data.items()]
    return f" Parameters: {', '.join(values)}." if values else ""


def _cases(results: tuple[CaseResult, ...]) -> str:
    rows = "\n".join(f"| {each.name.replace('|', chr(92) + '|')} | {_outcome(each)} |" for each in results)
    return f"## Every case of its tests\n\n| case | outcome |\n|---|---|\n{rows}\n"


def _outcome(result: CaseResult) -> str:
    verdict = {"mutated": "changed", "unchanged": "left alone"}.get(result.verdict, result.verdict)
    return f"{verdict}, with a warning" if result.warnings and result.verdict == "unchanged" else verdict


def _of_policies(pod: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    """Return the pod as policies made it, in the keys' given order, without record and the API server's requests."""
    copy = {key: deepcopy(pod[key]) for key in given if key in pod}
    for name in RESOURCED_LISTS:
        for made, one in zip(copy.get("spec", {}).get(name, ()), given["spec"].get(name, ()), strict=False):
            asked = one.get("resources", {}).get("requests", {})
            requests = made.get("resources", {}).pop("requests", {})
            if kept := {key: value for key, value in requests.items() if key in asked}:
                made["resources"]["requests"] = kept
    annotations = {key: value for key, value in pod["metadata"].get("annotations", {}).items() if key != _RECORD}
    metadata = {key: value for key, value in pod["metadata"].items() if key != "annotations"}
    return {**copy, "metadata": {**metadata, **({"annotations": annotations} if annotations else {})}}


def _spelled(made: Any, written: Any, given: Any) -> Any:
    """Return what was made of `written`, and what is still as it was there in its author's spelling, `given`."""
    if made == written:
        return given
    if isinstance(made, dict) and isinstance(written, dict):
        return {key: _spelled(made[key], written.get(key), given.get(key)) for key in made}
    if isinstance(made, list) and isinstance(written, list):
        pairs = [*zip(written, given, strict=True), *repeat((None, None), len(made))]
        return [_spelled(item, *pair) for item, pair in zip(made, pairs, strict=False)]
    return made


def main(arguments: list[str]) -> int:
    """Write the pages, or say which are stale."""
    if arguments not in ([], ["--check"]):
        print("usage: policy_pages.py [--check]", file=sys.stderr)
        return 2
    wanted = pages()
    there = {path.name: path.read_text(encoding="utf-8") for path in TARGET.glob("*.md")}
    stale = sorted(name for name in wanted.keys() | there.keys() if wanted.get(name) != there.get(name))
    if arguments:
        for name in stale:
            print(f"docs/policies/{name}: got what is stale, want what tools/policy_pages.py writes; run it")
        return 1 if stale else 0
    TARGET.mkdir(parents=True, exist_ok=True)
    for name in stale:
        path = TARGET / name
        if name in wanted:
            path.write_text(wanted[name], encoding="utf-8")
        else:
            path.unlink()
        print(path.relative_to(ROOT))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
