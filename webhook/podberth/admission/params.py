"""Finds the params objects (ConfigMaps) of policies, once for each snapshot."""

from collections.abc import Mapping, Sequence

from ..cel.cost import MAX_MICROSECONDS
from ..errors import EvaluationError
from ..kube import pod as pods
from ..policy.compile import CompiledPolicy
from ..policy.evaluate import Params
from ..policy.match import SetUpError
from ..policy.model import LabelSelector


class KnownParams:
    """The ConfigMaps of a snapshot, as params objects of policies.

    A selector is compared with the ConfigMaps of a namespace once, and not in each review. A result is cached for each
    policy and each namespace that has a ConfigMap; other namespaces add nothing to the cache.
    """

    def __init__(self, config_maps: Mapping[tuple[str, str], Params]) -> None:
        self._config_maps = config_maps
        self._by_namespace: Mapping[str, Sequence[Params]] | None = None
        self._selected: dict[tuple[str, str], Sequence[Params]] = {}

    def of(self, policy: CompiledPolicy, namespace: str) -> Sequence[Params | None]:
        """Return a policy's params objects for a review in ``namespace``, sorted by name.

        The result is ``[None]`` for a policy without params, and empty if no ConfigMap is found.

        Raises:
            SetUpError: params are missing and parameterNotFoundAction is Deny.
            EvaluationError: the policy would be evaluated with more objects than a review has time for.
        """
        reference = policy.source.spec.param_ref
        if reference is None:
            return [None]
        namespace = reference.namespace or namespace
        found: Sequence[Params]
        if reference.label_selector is None:
            one = self._config_maps.get((namespace, reference.name or ""))
            found = [] if one is None else [one]
        else:
            found = self._selected_by(reference.label_selector, policy, namespace)
        if not found and reference.parameter_not_found_action == "Deny":
            wanted = reference.name or "that the selector selects"
            raise SetUpError(f"params: no ConfigMap {wanted} in namespace {namespace}")
        if len(found) > 1 and len(found) > policy.most_params:
            raise EvaluationError(_too_many(policy, len(found), namespace))
        return found

    def _selected_by(self, selector: LabelSelector, policy: CompiledPolicy, namespace: str) -> Sequence[Params]:
        if self._by_namespace is None:
            by_namespace: dict[str, list[Params]] = {}
            for (where, _), config_map in sorted(self._config_maps.items(), key=lambda item: item[0]):
                by_namespace.setdefault(where, []).append(config_map)
            self._by_namespace = by_namespace
        there = self._by_namespace.get(namespace)
        if there is None:
            return ()
        found = self._selected.get((policy.name, namespace))
        if found is None:
            found = [each for each in there if selector.matches(pods.labels(each))]
            self._selected[policy.name, namespace] = found
        return found


def _too_many(policy: CompiledPolicy, got: int, namespace: str) -> str:
    return (
        f"paramRef.selector: got {got:,} ConfigMaps in namespace {namespace}, want {policy.most_params:,} at most (the "
        f"policy may take {MAX_MICROSECONDS // 1000} ms with all of them); select fewer, or make the policy cheaper"
    )
