"""Lint a text as users do, on a small cluster."""

from podberth.facts.cluster import collect
from podberth.lint.findings import LintFinding
from podberth.lint.runner import lint
from snapshots import cluster, environment


def found(text: str, rule: str = "", *, tested: bool = True, nodes: bool = True) -> tuple[LintFinding, ...]:
    """Return what is found in ``d/policy.yaml``, of one rule if it is named."""
    known = collect(cluster(hgx_h100_8=2, gb200_tray=1), now=None).nodes if nodes else None
    tests = ["d/tests.yaml"] if tested else []
    findings = lint([("d/policy.yaml", text)], environment(), tests=tests, nodes=known).findings
    return tuple(each for each in findings if rule in ("", each.rule))


def spec(text: str, name: str = "example") -> str:
    """Return fields of a spec as the policy that they are a part of; with a description, if they have none."""
    described = text if "description:" in text else f"description: An example.\n{text}"
    indented = "".join(f"  {line}" for line in described.splitlines(keepends=True))
    return f"apiVersion: podberth.io/v1alpha1\nkind: GPUPolicy\nmetadata: {{name: {name}}}\nspec:\n{indented}"
