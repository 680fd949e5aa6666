"""Reads metrics that another process has exposed."""

from collections.abc import Mapping

from prometheus_client.parser import text_string_to_metric_families


def read_samples(text: str) -> Mapping[tuple[str, frozenset[tuple[str, str]]], float]:
    """Return every sample by its name and labels.

    Raises:
        ValueError: it is no Prometheus text.
    """
    families = text_string_to_metric_families(text)
    return {(each.name, frozenset(each.labels.items())): each.value for family in families for each in family.samples}
