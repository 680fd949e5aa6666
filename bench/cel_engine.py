"""What one evaluation costs, as ratios taken in one run: ``python -m bench.cel_engine``.

Every line names what is compared and prints how many times as expensive the second is, beside the time of the first.
Ratios hold across machines, times do not. The reasons are in docs/adr/0002-cel-engine.md.
"""

import sys
from collections.abc import Callable, Mapping
from timeit import repeat
from typing import Any

from builders import gpu_container, pod
from node_builders import index_of, machines, need_of
from podberth.cel.engine import Activation, Environment, Expression, Want
from podberth.cel.functions import ReviewContext
from podberth.kube.schema import PodSchema
from podberth.workload.gpus import gpu_facts

_NUMBER = 2000
_REPEAT = 5

_CONDITIONS = (
    "gpu.perContainer > 1 && gpu.kind == 'whole'",
    "gpu.count > 0 && gang.known",
    "has(object.metadata.annotations) && 'podberth.io/gpu-memory' in object.metadata.annotations",
    "object.spec.containers.exists(c, c.name == 'main')",
    "object.spec.containers.all(c, !has(c.env) || c.env.all(e, e.name != 'FORBIDDEN'))",
    "!has(object.spec.runtimeClassName) || object.spec.runtimeClassName == 'nvidia'",
    "topology.known && gpu.vendor == 'nvidia'",
    "gpu.requests.exists(r, r.resource.startsWith('nvidia.com/'))",
    "has(object.spec.tolerations) && object.spec.tolerations.size() > 3",
    "object.metadata.namespace != 'kube-system'",
)


def main() -> int:
    """Print the table."""
    bench = _Bench()
    ask = bench.compiled("topology.nodes(gpu).exist", Want.BOOL)
    terms = bench.compiled("topology.nodes(gpu).terms", Want.LIST_OF_MAPS)
    compare = bench.compiled("gpu.count > 1", Want.BOOL)
    touch = bench.compiled("object.metadata.name != ''", Want.BOOL)
    conditions = [bench.compiled(each, Want.BOOL) for each in _CONDITIONS]
    batch = bench.environment.batch(conditions)
    shared = bench.activation()
    base = bench.time("a comparison, shared activation", lambda: compare.evaluate(shared))
    bench.ratio("making an activation", bench.activation, base)
    bench.ratio("topology.nodes(gpu).exist, shared activation", lambda: ask.evaluate(shared), base)
    bench.ratio("topology.nodes(gpu).exist, fresh activation", lambda: ask.evaluate(bench.activation()), base)
    bench.ratio("topology.nodes(gpu).terms, shared activation", lambda: terms.evaluate(shared), base)
    bench.ratio("topology.nodes(gpu).terms, fresh activation", lambda: terms.evaluate(bench.activation()), base)
    bench.ratio("first touch of the pod", lambda: touch.evaluate(bench.activation()), base)
    bench.ratio("compiling a comparison", lambda: bench.compiled("gpu.count > 1", Want.BOOL), base)
    together = bench.time("10 conditions as a batch, shared activation", lambda: batch.evaluate(shared))
    bench.ratio("the same one by one", lambda: [each.evaluate(shared) for each in conditions], together)
    fresh = bench.time("10 conditions as a batch, fresh activation", lambda: batch.evaluate(bench.activation()))
    bench.ratio("the same one by one", lambda: _one_by_one(conditions, bench.activation()), fresh)
    return 0


class _Bench:
    def __init__(self) -> None:
        self.environment = Environment(PodSchema.packaged())
        variables = [{"name": f"VARIABLE_{number}", "value": "x" * 20} for number in range(60)]
        self.pod = pod(gpu_container("main", 4, env=variables), name="train")
        facts = gpu_facts(self.pod)
        index = index_of(machines("hgx-h100-8", 20), machines("h100-nvl-4", 20), machines("l4-1", 20))
        self.review = ReviewContext(index, need_of(4))
        self.bindings: Mapping[str, Any] = {"object": self.pod, "gpu": facts.as_cel(), "gang": {"known": False}}

    def compiled(self, source: str, want: Want) -> Expression:
        return self.environment.compile(source, want=want)

    def activation(self) -> Activation:
        return self.environment.activation(self.bindings, self.review)

    def time(self, what: str, call: Callable[[], object]) -> float:
        microseconds = _best(call)
        print(f"{what:55} {microseconds:8.2f} us")
        return microseconds

    def ratio(self, what: str, call: Callable[[], object], base: float) -> None:
        print(f"{what:55} {_best(call) / base:8.2f} x")


def _one_by_one(conditions: list[Expression], activation: Activation) -> None:
    for each in conditions:
        each.evaluate(activation)


def _best(call: Callable[[], object]) -> float:
    """Return the microseconds of the fastest round: the others measure what else the machine does."""
    return min(repeat(call, number=_NUMBER, repeat=_REPEAT)) / _NUMBER * 1e6


if __name__ == "__main__":
    sys.exit(main())
