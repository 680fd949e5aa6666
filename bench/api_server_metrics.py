"""What the API server's own metrics say about admission: the seconds of its plugins, and of each webhook, pod for pod.

They know neither namespace nor configuration, so pods of one kind are created in a row and the difference is taken.
https://kubernetes.io/docs/reference/instrumentation/metrics/
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from prometheus_client.parser import text_string_to_metric_families

from .figures import table

_PLUGIN = "apiserver_admission_controller_admission_duration_seconds"
_WEBHOOK = "apiserver_admission_webhook_admission_duration_seconds"
_MUTATING, _VALIDATING = "admit", "validate"
_TYPES = {"admit": _MUTATING, "validate": _VALIDATING, "validating": _VALIDATING}
"""What both metrics have for ``type``: of a webhook that validates it is another word than of its plugin."""
_PLUGINS = frozenset(
    {"MutatingAdmissionPolicy", "MutatingAdmissionWebhook", "ValidatingAdmissionPolicy", "ValidatingAdmissionWebhook"}
)

_Totals = Mapping[tuple[str, str], float]
"""Seconds by metric and type, and calls of webhooks by ``("calls", type)``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """What admission took of one kind of pods."""

    pods: int
    totals: _Totals

    def row(self, name: str) -> tuple[str, ...]:
        """Return the cells of a table: of plugins a pod, of webhooks a call."""
        cells = [f"{self.totals.get((_PLUGIN, kind), 0.0) * 1e3 / self.pods:.2f}" for kind in (_MUTATING, _VALIDATING)]
        for kind in (_MUTATING, _VALIDATING):
            calls = self.totals.get(("calls", kind), 0.0)
            cells.append(f"{self.totals[_WEBHOOK, kind] * 1e3 / calls:.2f}" if calls else "")
        return (name, str(self.pods), *cells)


def spent(read: Callable[[], str], create: Sequence[Callable[[], object]]) -> Spent:
    """Create pods, one after the other, and return what the API server spent on their admission.

    ``read`` returns its metrics as text.
    """
    before = _totals(read())
    for each in create:
        each()
    after = _totals(read())
    return Spent(pods=len(create), totals={key: after[key] - before.get(key, 0.0) for key in after})


def _totals(text: str) -> _Totals:
    totals: defaultdict[tuple[str, str], float] = defaultdict(float)
    for family in text_string_to_metric_families(text):
        if family.name not in (_PLUGIN, _WEBHOOK):
            continue
        for sample in family.samples:
            labels = sample.labels
            if labels["operation"] != "CREATE" or (family.name == _PLUGIN and labels["name"] not in _PLUGINS):
                continue
            if sample.name == f"{family.name}_sum":
                totals[family.name, _TYPES[labels["type"]]] += sample.value
            elif sample.name == f"{_WEBHOOK}_count":
                totals["calls", _TYPES[labels["type"]]] += sample.value
    return totals


def as_table(rows: Iterable[tuple[str, Spent]]) -> str:
    """Return the table in Markdown."""
    header = (
        *("admission", "pods", "mutating, ms a pod", "validating, ms a pod"),
        *("mutating webhook, ms a call", "validating webhook, ms a call"),
    )
    return table(header, (each.row(name) for name, each in rows))
