"""Reviews whose text is dense: many values in few bytes, as ``bench.hostile`` measures them.

Those ``at the bound`` are the densest texts that are parsed, of each kind of values; those of 3 MiB are what an API
server sends of the largest object that it accepts, and of two of them.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Final, TypeAlias

from podberth.admission import decide
from podberth.admission.outcome import Outcome
from podberth.admission.review import AdmissionRequest
from podberth.admission.snapshot import Snapshot
from podberth.admission.workload import validate_workload
from podberth.kube.pod_limits import MAX_BYTES
from podberth.kube.review_limits import MARKS, MAX_TEXT_BYTES

Decider: TypeAlias = Callable[[AdmissionRequest, Snapshot], Outcome]

# The API server's limit for the body of a request (apiserver pkg/server/config.go, MaxRequestBodyBytes).
_LARGEST: Final = 3 * 1024 * 1024
_ROOM: Final = 500
"""Commas and brackets of the rest of a review, and some more."""
_NESTED: Final = 200
_HEAD: Final = (
    '{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"u","kind":{"group":"%s",'
    '"version":"v1","kind":"%s"},"resource":{"group":"%s","version":"v1","resource":"%s"},"name":"n",'
    '"namespace":"default","operation":"%s","userInfo":{"username":"somebody"},"object":%s,"oldObject":%s,'
    '"dryRun":false,"options":null}}'
)


def _repeated(entry: str, marks: int) -> Callable[[int], str]:
    """Return a function that makes a list of one entry, which has so many marks, repeated for so many marks."""
    return lambda most: f"[{','.join([entry] * (most // marks))}]"


def _of_keys(most: int) -> str:
    return "{" + ",".join(f'"k{at}":"v{at}"' for at in range(most)) + "}"


# How many marks an entry has, with the comma behind it.
_KINDS: Final[Mapping[str, Callable[[int], str]]] = {
    "{}": _repeated("{}", 2),
    '{"a":{}}': _repeated('{"a":{}}', 3),
    '{"a":""}': _repeated('{"a":""}', 2),
    "nested": _repeated('{"a":' * _NESTED + "1" + "}" * _NESTED, _NESTED + 1),
    "keys": _of_keys,
    "texts": _repeated('"ab"', 1),
}


def reviews() -> Iterator[tuple[str, Decider, bytes]]:
    """Yield each review with a name and the decider that it is for."""
    for name, make in _KINDS.items():
        pod = _pod(make(MARKS - _ROOM))
        yield f"CREATE at the bound: {name}", decide.mutate, _review("Pod", pod)
        yield f"UPDATE at the bound: {name}", decide.mutate, _review("Pod", pod, pod)
        yield f"workload at the bound: {name}", validate_workload, _review("Deployment", _workload(make(MARKS - _ROOM)))
    large = _pod(f"[{','.join(['{}'] * ((_LARGEST - _ROOM) // 3))}]")
    yield "CREATE of 3 MiB of {}", decide.mutate, _review("Pod", large)
    yield "UPDATE of twice 3 MiB of {}", decide.mutate, _review("Pod", large, large)
    workload = _workload(f"[{','.join(['{}'] * ((_LARGEST - _ROOM) // 3))}]")
    yield "workload of 3 MiB of {}", validate_workload, _review("Deployment", workload)
    yield "update of a workload of twice 3 MiB", validate_workload, _review("Deployment", workload, workload)
    text = _pod('["' + '\\",' * ((MAX_BYTES - _ROOM) // 3) + '"]')
    yield "CREATE with 1.5 MiB of text", decide.mutate, _review("Pod", text)
    yield "UPDATE with twice 1.5 MiB of text", decide.mutate, _review("Pod", text, text)
    escaped = _pod('["' + "\\u003c" * (MAX_TEXT_BYTES // 6 - _ROOM) + '"]')
    yield "CREATE of 7 MiB of escaped text", decide.mutate, _review("Pod", escaped)
    quotes = _pod('["' + '\\",' * (2 * MAX_BYTES // 3) + '"]')
    yield "CREATE with 3 MiB of text", decide.mutate, _review("Pod", quotes)


def _pod(odd: str) -> str:
    labels = '{"name":"n","labels":{"nvidia.com/gpu.present":"true"}}'
    return (
        f'{{"kind":"Pod","apiVersion":"v1","metadata":{labels},"spec":{{"containers":[{{"name":"c"}}],"odd":{odd}}}}}'
    )


def _workload(odd: str) -> str:
    template = f'{{"metadata":{{}},"spec":{{"containers":[{{"name":"c","image":"i"}}],"odd":{odd}}}}}'
    return f'{{"kind":"Deployment","apiVersion":"apps/v1","metadata":{{"name":"n"}},"spec":{{"template":{template}}}}}'


def _review(kind: str, document: str, old: str = "null") -> bytes:
    group, resource = ("", "pods") if kind == "Pod" else ("apps", "deployments")
    operation = "CREATE" if old == "null" else "UPDATE"
    return (_HEAD % (group, kind, group, resource, operation, document, old)).encode()
