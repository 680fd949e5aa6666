"""A namespace with as many policies of its own as it may have, which judge each pod there after the cluster's policies.

All policies repeat one validation, as often as the limit on the cost of a namespace's policies allows: a loop over one
of the pod's largest lists, or a cheap expression that fails, so that its message is written.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from podberth.admission.snapshot import Snapshot
from podberth.policy.namespaced import MOST_OF_NAMESPACE, NamespacedPolicy, compile_namespaced
from podberth.policy.parse import parse_policies

_ENVIRONMENT: Final = "object.spec.containers.all(c, !has(c.env) || c.env.all(e, !has(e.value) || e.value != 'x'))"
_TOLERATIONS: Final = "object.spec.?tolerations.orValue([]).all(t, t.?key.orValue('') != 'x')"
_SEARCH: Final = "!object.metadata.?annotations[?'podberth.io/gpu-product'].orValue('').contains(',x')"
_VALIDATIONS: Final[Mapping[str, str]] = {
    "loops over the environment": f'{{expression: "{_ENVIRONMENT}"}}',
    "loops over tolerations": f'{{expression: "{_TOLERATIONS}"}}',
    "searches in an annotation": f'{{expression: "{_SEARCH}"}}',
    "validations that fail": '{expression: "gpu.count < 0"}',
    "validations with messages": '{expression: "gpu.count < 0", messageExpression: "\'got \' + string(gpu.count)"}',
    "loops over labels": "{expression: \"object.metadata.?labels.orValue({}).all(k, v, v != 'x')\"}",
}
_MOST_VALIDATIONS: Final = 128


def snapshots(cluster: Snapshot) -> Iterator[tuple[str, Snapshot]]:
    """Yield (what the policies of namespace "default" do, the cluster's policies with them)."""
    for name, validation in _VALIDATIONS.items():
        policies = _most(cluster, validation)
        count = sum(len(each.source.spec.validations) for each in policies)
        yield f"{count:,} {name}", cluster.with_namespaced({"default": policies})


def _most(cluster: Snapshot, validation: str) -> tuple[NamespacedPolicy, ...]:
    """Return the policies of the most validations that compile within the bounds of a namespace."""
    found: tuple[NamespacedPolicy, ...] = ()
    few, many = 0, MOST_OF_NAMESPACE * _MOST_VALIDATIONS
    while few < many:
        tried = (few + many + 1) // 2
        if compiled := _compiled(cluster, validation, tried):
            found, few = compiled, tried
        else:
            many = tried - 1
    if not found:
        raise SystemExit(f"no room for one: {validation}")
    return found


def _compiled(cluster: Snapshot, validation: str, count: int) -> tuple[NamespacedPolicy, ...]:
    """Return policies that have so many validations together, or none if one has no room."""
    files = []
    for at in range(MOST_OF_NAMESPACE):
        of_it = count // MOST_OF_NAMESPACE + (at < count % MOST_OF_NAMESPACE)
        if of_it:
            files.append((f"p{at}.yaml", _text(f"p{at}", validation, of_it)))
    parsed = parse_policies(files)
    compiled, problems = compile_namespaced(parsed.namespaced, cluster.environment)
    return () if problems or parsed.problems else compiled


def _text(name: str, validation: str, count: int) -> str:
    return (
        f"apiVersion: podberth.io/v1alpha1\nkind: NamespacedGPUPolicy\nmetadata: {{name: {name}, namespace: default}}\n"
        "spec:\n  description: One of many.\n  validationActions: [Warn]\n  validations:\n"
    ) + f"  - {validation}\n" * count
