"""Finds the params objects of a native policy's binding among the given objects.

Source: CollectParams, apiserver pkg/admission/plugin/policy/generic/policy_dispatcher.go.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..kube.namespaces import with_name_label
from ..kube.unchecked import mapping_at, text_at
from ..policy.match import SetUpError
from .model import AnyParamKind, BindingParamRef
from .resources import ResourceKind, Resources

Document = Mapping[str, Any]


class Objects:
    """The given objects that may be params, by resource, namespace and name."""

    def __init__(self, documents: Iterable[Document], resources: Resources, namespace: str) -> None:
        """Index the objects; if two objects have an equal name, the last object is used.

        ``namespace`` is used for namespaced objects that name no namespace.
        """
        self.resources = resources
        """The resources that the cluster is assumed to serve."""
        self._known: dict[tuple[str, str], dict[tuple[str, str], Document]] = {}
        for each in documents:
            kind = resources.of(text_at(each, "apiVersion"), text_at(each, "kind"))
            name = text_at(each, "metadata", "name")
            if kind is None or not name:
                continue
            where = (text_at(each, "metadata", "namespace") or namespace) if kind.namespaced else ""
            metadata = {**mapping_at(each, "metadata"), **({"namespace": where} if where else {})}
            made = {**each, "metadata": metadata}
            if (kind.group, kind.kind) == ("", "Namespace"):
                made = with_name_label(made)
            self._known.setdefault((kind.group, kind.kind), {})[where, name] = made

    def kind_of(self, param_kind: AnyParamKind) -> ResourceKind | None:
        """Return the resource that a policy's paramKind names; None if the resource is unknown."""
        return self.resources.of(param_kind.api_version, param_kind.kind)

    def collect(self, kind: ResourceKind, reference: BindingParamRef, namespace: str) -> Sequence[Document]:
        """Return the params of a binding for a request in a namespace, sorted by name; empty if there are no params.

        Raises:
            SetUpError: the reference does not fit the kind, or there are no params and parameterNotFoundAction is Deny.
        """
        where = ""
        if kind.namespaced:
            where = reference.namespace or namespace
            if not where:
                raise SetUpError(
                    "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources"
                )
        elif reference.namespace:
            raise SetUpError("paramRef.namespace must not be provided for a cluster-scoped `paramKind`")
        known = self._known.get((kind.group, kind.kind), {})
        found = [
            {**each, "apiVersion": kind.api_version}
            for (within, name), each in sorted(known.items(), key=lambda item: item[0])
            if within == where and _is_meant(reference, name, each)
        ]
        if not found and reference.parameter_not_found_action == "Deny":
            raise SetUpError("no params found for policy binding with `Deny` parameterNotFoundAction")
        return found


def _is_meant(reference: BindingParamRef, name: str, document: Document) -> bool:
    if reference.label_selector is None:
        return name == reference.name
    labels = {key: str(value) for key, value in mapping_at(document, "metadata", "labels").items()}
    return reference.label_selector.matches(labels)
