"""The mutation ``applyConfiguration``: merges fields into the pod as the API server does (``kube.merge``)."""

from ...errors import EvaluationError
from ...kube import merge
from ...kube.patch import Draft
from ...kube.schema import PodSchema
from ...kube.typed import POD_TYPE
from .. import forbidden_fields, leaf, operations
from ..change import Change


def apply(draft: Draft, value: object, schema: PodSchema) -> Change | None:
    """Merge ``value``, a map with fields of a Pod, into the pod; return the change, None if nothing changes.

    Keys with a null value are ignored.

    Raises:
        EvaluationError: ``value`` does not fit the schema, sets an atomic field, or changes a forbidden field.
    """
    if not isinstance(value, dict):
        raise EvaluationError(f"applyConfiguration: got {leaf.kind(value)}, want a map")
    try:
        document = merge.merge(schema, POD_TYPE, draft.document, merge.stripped(value))
    except merge.ConfigurationError as error:
        raise EvaluationError(str(error)) from error
    return forbidden_fields.take(draft, document, "applyConfiguration")


CONCERN = operations.concern("applyConfiguration", apply)
