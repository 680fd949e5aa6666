"""Finds the params objects (ConfigMaps) of policies, once for each snapshot."""

from collections.abc import Hashable, Mapping, Sequence

from ..cel.cost import MAX_MICROSECONDS
from ..errors import EvaluationError
from ..kube import pod as pods
from ..kube.unchecked import text_at
from ..policy.compile import CompiledPolicy
from ..policy.evaluate import Params
from ..policy.match import SetUpError
from ..policy.model import LabelSelector
from ..wellknown import NAMESPACE, PARAMS_LABEL
from .namespace_params import NONE, NamespaceParams, bounded, is_read


class KnownParams:
    """The ConfigMaps of a snapshot, as params objects of policies.

    The selector of a policy's paramRef is compared with the ConfigMaps of a namespace once, and not in each review. A
    result is cached for each policy and each namespace that has a ConfigMap; other namespaces add nothing to the cache.
    """

    def __init__(
        self, config_maps: Mapping[tuple[str, str], Params], followed: Mapping[str, NamespaceParams] | str | None = None
    ) -> None:
        """Keep the ConfigMaps of the snapshot's facts by namespace and name, and the watched ConfigMaps by namespace.

        A watched ConfigMap in ``followed`` replaces a ConfigMap of ``config_maps`` with an equal namespace and name.
        ``followed`` is None if podberth watches no cluster, and a text with the reason if the ConfigMaps cannot be
        listed.
        """
        self._config_maps = config_maps
        self._followed = followed
        self._known: Mapping[str, Sequence[Params]] | None = None
        self._there: dict[str, NamespaceParams] = {}
        self._selected: dict[tuple[str, str], Sequence[Params]] = {}

    def of(self, policy: CompiledPolicy, namespace: str) -> Sequence[Params | None]:
        """Return a policy's params objects for a review in ``namespace``, sorted by name.

        The result is ``[None]`` for a policy without params, and empty if no ConfigMap is found.

        Raises:
            SetUpError: params are missing and parameterNotFoundAction is Deny.
            EvaluationError: the ConfigMaps of the namespace exceed a bound, or the policy would be evaluated with more
                objects than a review has time for.
        """
        reference = policy.source.spec.param_ref
        if reference is None:
            return [None]
        namespace = reference.namespace or namespace
        there = self._in(namespace)
        if there.excess:
            raise EvaluationError(f"params: {there.excess}")
        found: Sequence[Params]
        if reference.label_selector is None:
            one = there.config_maps.get(reference.name or "")
            found = [] if one is None else [one]
        else:
            found = self._selected_by(reference.label_selector, policy, namespace, there)
        if not found and reference.parameter_not_found_action == "Deny":
            raise SetUpError(f"params: {missing(policy, namespace)}")
        if len(found) > 1 and len(found) > policy.most_params:
            got, limit = f"got {len(found):,} ConfigMaps", f"{MAX_MICROSECONDS // 1000} ms"
            raise EvaluationError(
                f"paramRef.selector: {got} in namespace {namespace}, want {policy.most_params:,} at most (the policy "
                f"may take {limit} with all of them); select fewer, or make the policy cheaper"
            )
        return found

    def key(self, policy: CompiledPolicy, namespace: str) -> Hashable:
        """Return a value for cache keys: equal if ``of`` returns the same params objects, or has the same error."""
        try:
            return tuple(identity(each) for each in self.of(policy, namespace))
        except (SetUpError, EvaluationError) as error:
            return str(error)

    def _in(self, namespace: str) -> NamespaceParams:
        """Return the ConfigMaps of a namespace; the result is cached unless the namespace has no ConfigMap."""
        found = self._there.get(namespace)
        if found is not None:
            return found
        if isinstance(self._followed, str) and namespace != NAMESPACE:
            return NamespaceParams({}, f"namespace {namespace}: {self._followed}")
        if self._known is None:
            by_namespace: dict[str, list[Params]] = {}
            for (where, _), config_map in self._config_maps.items():
                by_namespace.setdefault(where, []).append(config_map)
            self._known = by_namespace
        known = [each for each in self._known.get(namespace, ()) if is_read(each)]
        by_name = {text_at(each, "metadata", "name"): each for each in known}
        if namespace == NAMESPACE:
            found = NamespaceParams(by_name)
        elif isinstance(self._followed, Mapping):
            followed = self._followed.get(namespace, NONE)
            found = NamespaceParams({**by_name, **followed.config_maps}, followed.excess) if by_name else followed
        else:
            found = bounded(namespace, known) if known else NONE
        if found is not NONE:
            self._there[namespace] = found
        return found

    def _selected_by(
        self, selector: LabelSelector, policy: CompiledPolicy, namespace: str, there: NamespaceParams
    ) -> Sequence[Params]:
        if there is NONE:
            return ()
        found = self._selected.get((policy.name, namespace))
        if found is None:
            found = [each for _, each in sorted(there.config_maps.items()) if selector.matches(pods.labels(each))]
            self._selected[policy.name, namespace] = found
        return found


def missing(policy: CompiledPolicy, namespace: str) -> str:
    """Return the message that a policy's paramRef finds no ConfigMap, for a review in ``namespace``."""
    reference = policy.source.spec.param_ref
    namespace = (reference.namespace if reference is not None else "") or namespace
    wanted = (reference.name if reference is not None else "") or "that the selector selects"
    label = "" if namespace == NAMESPACE else f"; want one with the label {PARAMS_LABEL}=true"
    return f"no ConfigMap {wanted} in namespace {namespace}{label}"


def identity(params: Params | None) -> Hashable:
    """Return a value for cache keys that identifies a params object and its version; None for None.

    For an object of the API server: (namespace, name, uid, resourceVersion). For an object of a file, which has no uid:
    Python's ``id``, because the snapshot keeps the object as long as the cached results.
    """
    if params is None:
        return None
    uid, version = (text_at(params, "metadata", field) for field in ("uid", "resourceVersion"))
    if not (uid and version):
        return id(params)
    return (*(text_at(params, "metadata", field) for field in ("namespace", "name")), uid, version)


def called(params: Params) -> str:
    """Return the name of a params object for messages, as "ConfigMap NAMESPACE/NAME"."""
    namespace, name = (text_at(params, "metadata", field) for field in ("namespace", "name"))
    return f"ConfigMap {namespace}/{name}"
