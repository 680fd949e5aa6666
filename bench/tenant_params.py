"""What tenants cost who fill their namespaces with params: a review there, and a review elsewhere after a write.

A namespace has as many ConfigMaps as the policy may be evaluated with, each as large as fits, and all namespaces
together have 64 MiB. Processor time, the most of several tries for the review in the full namespace, the mean for the
rest.

    python -m bench.tenant_params [--namespaces 250] [--tries 20]
"""

import argparse
import time
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from builders import gpu_pod, review
from podberth.admission import decide
from podberth.admission.namespace_params import MOST_BYTES_OF_NAMESPACE, NamespaceParams
from podberth.admission.review import AdmissionRequest, decode_review
from podberth.cluster.live_params import TenantParams
from snapshots import policy, snapshot
from tenants import limits

from .figures import table

_READS: Final = {
    "gpu": "gpu.count <= int(params.data.most)",
    "object": "object.spec.hostNetwork != (params.data.most == '')",
}
_REFERENCE: Final = "{selector: {matchLabels: {podberth.io/params: 'true'}}, parameterNotFoundAction: Deny}"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--namespaces", type=int, default=250)
    parser.add_argument("--tries", type=int, default=20)
    options = parser.parse_args()
    rows = [_row(read, expression, options.namespaces, options.tries) for read, expression in _READS.items()]
    head = (
        "the policy reads",
        "ConfigMaps",
        "ms of a review there",
        "ms to take a write in",
        "ms of a review elsewhere after it",
    )
    print(table(head, rows))


def _row(read: str, expression: str, namespaces: int, tries: int) -> tuple[str, ...]:
    text = policy(
        "p",
        f"  paramKind: {{apiVersion: v1, kind: ConfigMap}}\n  paramRef: {_REFERENCE}\n"
        f'  validations: [{{expression: "{expression}"}}]\n  validationActions: [Deny]\n',
    )
    state = snapshot(text)
    most = min(state.policies[0].most_params, 199)
    sink = TenantParams(lambda: None)
    for at in range(namespaces):
        for each in _full(f"n{at}", most, "1"):
            sink.put("{namespace}/{name}".format(**each["metadata"]), each)
    state = state.with_followed_params(sink.take())
    there, elsewhere = _request("n0"), _request("n1")
    first = [_milliseconds(lambda: decide.validate(there, state.with_sealer(state.sealer))) for _ in range(tries)]
    decide.validate(elsewhere, state)
    writes, after = [], []
    for number in range(tries):
        changed = _full("n0", most, str(number + 2))[0]

        def taken(changed: dict[str, Any] = changed) -> dict[str, NamespaceParams]:
            sink.put("n0/{name}".format(**changed["metadata"]), changed)
            return dict(sink.take())

        writes.append(_milliseconds(taken))
        later = state.with_followed_params(sink.take())
        after.append(_milliseconds(partial(decide.validate, elsewhere, later)))
    figures = max(first), sum(writes) / tries, sum(after) / tries
    return read, str(most), *(f"{each:.2f}" for each in figures)


def _full(namespace: str, number: int, version: str) -> list[dict[str, Any]]:
    room = MOST_BYTES_OF_NAMESPACE // number - 400
    return [
        limits(namespace, f"limits-{at}", version=version, most="100", filler="x" * min(room, 30_000))
        for at in range(number)
    ]


def _request(namespace: str) -> AdmissionRequest:
    return decode_review(review(gpu_pod(8), namespace=namespace))


def _milliseconds(act: Callable[[], object]) -> float:
    begun = time.process_time()
    act()
    return (time.process_time() - begun) * 1000


if __name__ == "__main__":
    main()
