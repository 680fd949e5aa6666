"""Follows the NamespacedGPUPolicies of a cluster, compiles the policies of each namespace, and passes them on.

Tenants write these policies, so a tenant must not be able to delay other tenants or podberth. The number and size of
the policies that are kept are limited. The policies of one namespace are compiled together, in a thread. After the
first pass, compiling takes at most a tenth of a processor's time. A policy that does not compile, or exceeds a limit,
is not evaluated; the status of the policy says why.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import orjson

from ..api.protocol import NAMESPACED_POLICIES, Document
from ..api.reflector import ClusterAccess, run_together
from ..cel.compile_limits import MAX_SET_PARTS
from ..cel.engine import Environment, Room
from ..errors import Problem
from ..facts.object_kinds import Kind
from ..files.deadline import new_environment
from ..files.source import PolicyState, Verdict
from ..kube.schema import PodSchema
from ..policy.namespaced import MOST_BYTES, MOST_OF_NAMESPACE, NamespacedPolicy, by_namespace, compile_namespaced
from ..policy.parse import ParsedNamespaced, parse_policies
from ..telemetry.log import Log
from ..wellknown import API_VERSION, NAMESPACED_KIND
from .layered_policies import OF_NAMESPACED, by_policy, file_of, generation_of, texts_of
from .served import ServedKinds
from .tenant_objects import Kept, TenantObjects
from .whole_objects import rounds, without
from .workloads import Filed

_GROUP, _, _VERSION = API_VERSION.partition("/")
MOST_BYTES_OF_ALL: Final = 64 * 1024 * 1024
"""The maximum size of all kept policies together: an eighth of the memory that the manifests grant."""
_KEPT: Final = 2 * MOST_OF_NAMESPACE
"""The number of policies of a namespace that are kept; a policy beyond that number is noticed when the policy
changes."""
_REST: Final = 9.0
"""How many times as long as a namespace took to compile nothing more is compiled."""

Policies = Mapping[str, tuple[NamespacedPolicy, ...]]
"""The policies that compile, by namespace."""
TakesNamespaced = Callable[[Policies], None]
"""A function that receives the policies of all namespaces."""
Statuses = Callable[[Mapping[str, Document], Sequence[Verdict]], None]
"""A function that receives the policies as documents, by NAMESPACE/NAME, and the verdicts on the policies."""

NAMESPACED: Final = Kind("policy", _GROUP, (_VERSION,), NAMESPACED_KIND, NAMESPACED_POLICIES.name, lambda each: each)
"""The kind of a policy of one namespace."""


class LiveNamespaced(ServedKinds):
    """Keeps the NamespacedGPUPolicies of one cluster compiled."""

    def __init__(self, takes: tuple[TakesNamespaced, Statuses], access: ClusterAccess, pod_schema: PodSchema) -> None:
        """Create the object without policies.

        ``takes`` has (a function that receives the compiled policies by namespace, a function that receives the
        verdicts on all policies). Both are first called when the policies are compiled.
        """
        self._on_change, self._on_verdicts = takes
        self._pod_schema = pod_schema
        self._wake = asyncio.Event()
        self._sink = TenantPolicies(self._wake.set, access.log)
        super().__init__({NAMESPACED: self._sink}, access)
        self._compiled: dict[str, _Compiled] = {}
        self.when_params_wanted: Callable[[], Awaitable[None]] | None = None
        """The function that returns once tenants' params are known. It is called before policies that look for them
        come into force, so that no pod is judged without them."""

    async def run(self) -> None:
        """Follow and compile the policies until the task is cancelled."""
        await run_together([super().run(), self._hand_on()])

    async def _hand_on(self) -> None:
        await self.settled.wait()
        environment = await asyncio.to_thread(new_environment, self._pod_schema)
        first = True
        async for _ in rounds(self._wake):
            changed = self._sink.objects.take_changed()
            for namespace in changed:
                began = time.monotonic()
                await self._compile_safely(namespace, environment)
                if not first:
                    took = time.monotonic() - began
                    await self._pass_on()
                    await asyncio.sleep(_REST * took)
            if first:
                await self._pass_on()
            elif not changed:  # a status has changed, and whoever writes statuses needs its version
                self._pass_verdicts_on()
            first = False

    async def _compile_safely(self, namespace: str, environment: Environment) -> None:
        """Compile a namespace's policies in a thread, and keep the result in ``_compiled``.

        The policies of all namespaces have one limit of syntax-tree nodes.
        """
        self._compiled.pop(namespace, None)
        if not (documents := dict(self._sink.objects.of(namespace))):
            return
        taken = sum(each.parts for each in self._compiled.values())
        room = Room(MAX_SET_PARTS - taken, "the policies of all namespaces", MAX_SET_PARTS)
        try:
            compiled = await asyncio.to_thread(_compiled, namespace, documents, environment, room)
        except Exception as bug:  # noqa: BLE001 - a bug in compiling one namespace's policies must affect that one only
            self._log.fault(f"{NAMESPACED.name} of {namespace}: a bug in podberth; none of them decides", bug)
        else:
            self._compiled[namespace] = compiled

    async def _pass_on(self) -> None:
        policies = {namespace: each.policies for namespace, each in self._compiled.items() if each.policies}
        with_params = any(each.source.spec.param_ref for those in policies.values() for each in those)
        if with_params and self.when_params_wanted is not None:
            await self.when_params_wanted()
        self._on_change(policies)
        self._pass_verdicts_on()

    def _pass_verdicts_on(self) -> None:
        verdicts = tuple(verdict for each in self._compiled.values() for verdict in each.verdicts)
        self._on_verdicts(self._sink.documents(), verdicts)


@dataclass(frozen=True, slots=True)
class _Compiled:
    """The policies of one namespace that compile, the verdicts on all, and the number of their syntax-tree nodes."""

    policies: tuple[NamespacedPolicy, ...]
    verdicts: tuple[Verdict, ...]
    parts: int


def _compiled(namespace: str, documents: Mapping[str, Kept], environment: Environment, room: Room) -> _Compiled:
    problems: list[Problem] = []
    parsed: list[ParsedNamespaced] = []
    for each in documents.values():
        if each.problem:
            problems.append(Problem(file_of(each.document, OF_NAMESPACED), 1, 1, "", each.problem))
            continue
        found = parse_policies(texts_of([each.document], OF_NAMESPACED))
        problems += found.problems
        parsed += found.namespaced
    left = room.left
    policies, wrong = compile_namespaced(parsed, environment, within=room)
    broken = by_policy(sorted([*problems, *wrong]), OF_NAMESPACED)
    disabled = {each.file for each in parsed if each.policy.spec.disabled}
    verdicts = tuple(_verdict(each.document, broken, disabled) for each in documents.values())
    return _Compiled(by_namespace(policies).get(namespace, ()), verdicts, left - room.left)


def _verdict(document: Document, broken: Mapping[str, tuple[Problem, ...]], disabled: set[str]) -> Verdict:
    name, file = file_of(document, ""), file_of(document, OF_NAMESPACED)
    problems = broken.get(name, ())
    state: PolicyState = "broken" if problems else "disabled" if file in disabled else "active"
    return Verdict(name=name, generation=generation_of(document), state=state, problems=problems)


class TenantPolicies(Filed):
    """Receives policies and keeps them as whole documents, within bounds for each namespace and for all namespaces."""

    def __init__(self, notify: Callable[[], None], log: Log) -> None:
        """Create the object without policies; ``notify`` is called when a policy changes."""
        super().__init__(NAMESPACED, notify, log)
        self._changed_by = notify
        self.objects = TenantObjects()

    def documents(self) -> dict[str, Document]:
        """Return a mapping from NAMESPACE/NAME to the policy, for all kept policies."""
        return {
            f"{namespace}/{name}": each.document
            for namespace, those in self.objects.spaces.items()
            for name, each in those.items()
        }

    def put(self, name: str, document: Document) -> None:
        """Keep a policy, and note that the policy has changed if its generation has changed.

        A new status, for example, does not change the generation.
        """
        namespace, _, own = name.partition("/")
        before = self.objects.remove(namespace, own)
        if before is None and len(self.objects.of(namespace)) >= _KEPT:
            self.left_out.add(name)
            return
        self.left_out.discard(name)
        document = without(document, "managedFields")
        size = len(orjson.dumps({**document, "status": None}))
        problem = self._excess(size)
        kept = Kept(_head(document) if problem else document, size, problem)
        self.objects.add(namespace, own, kept)
        if before is None or _version(before) != _version(kept):
            self.objects.changed[namespace] = None
        self._changed_by()

    def drop(self, name: str) -> None:
        """Remove a policy that no longer exists."""
        namespace, _, own = name.partition("/")
        self.left_out.discard(name)
        if self.objects.remove(namespace, own) is not None:
            self.objects.changed[namespace] = None
            self._changed_by()

    def forget(self) -> None:
        """Forget all policies, because NamespacedGPUPolicies are not followed any more."""
        self.objects.forget()
        self.left_out.clear()
        self._changed_by()

    def _excess(self, size: int) -> str:
        if size > MOST_BYTES:
            return f"got {size:,} bytes, want {MOST_BYTES:,} at most; make several policies of it"
        if self.objects.bytes + size > MOST_BYTES_OF_ALL:
            return f"got more than {MOST_BYTES_OF_ALL:,} bytes of policies in all namespaces; write it again later"
        return ""


def _head(document: Document) -> Document:
    """Return the fields of a policy by which podberth writes the policy's status."""
    kept = ("name", "namespace", "uid", "resourceVersion", "generation")
    named = {key: document["metadata"][key] for key in kept if key in document["metadata"]}
    return {**{key: document[key] for key in ("apiVersion", "kind") if key in document}, "metadata": named}


def _version(kept: Kept) -> tuple[object, object, str]:
    metadata = kept.document["metadata"]
    return metadata.get("uid"), metadata.get("generation"), kept.problem
