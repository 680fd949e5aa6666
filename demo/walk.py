"""What ``make demo`` says: the cluster, one section for each example, and the end. All words are here."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field

from podberth.admission.reach import PodReach, ReachableCluster
from podberth.check.report.difference import difference
from podberth.check.report.styled_lines import Line, Span
from podberth.cli.terminal import Terminal
from podberth.kube.patch import apply
from podberth.workload.kinds import row_for

from . import cluster_of_shapes as simulated
from .examples import Example, PodTemplate, pods
from .reviews import Answer, Webhook

NAMESPACE = "demo"
_INDENT = "  "
# Of the labels at the left ("before", "denied").
_LABEL_WIDTH = 8
_STYLES = {"+": "green", "-": "red"}
_TONES = {"why": "", "warns": "yellow", "denied": "red"}


@dataclass(slots=True)
class Tally:
    """What has been counted on the way."""

    pods: int = 0
    changed: int = 0
    denied: int = 0
    round_trips: list[float] = field(default_factory=list)

    @property
    def untouched(self) -> int:
        """How many came out as they went in."""
        return self.pods - self.changed - self.denied

    def add(self, *answers: Answer) -> None:
        """Count the reviews."""
        self.round_trips += [answer.seconds for answer in answers]


def show_cluster(terminal: Terminal) -> None:
    """List the pools of the simulated cluster."""
    terminal.heading(f"a simulated cluster: {simulated.node_count()} nodes")
    rows = [("pool", "nodes", "each with", "taint", "where")]
    for pool in simulated.POOLS:
        taint = simulated.taint_of(pool) or "-"
        rows.append((pool.name, str(pool.count), pool.hardware, taint, _together(list(pool.places))))
    terminal.table(rows, indent=_INDENT)


def show_method(terminal: Terminal) -> None:
    """Say how to read what follows."""
    terminal.line()
    terminal.paragraph(
        "Every pod is sent to podberth as its controller and the API server would send it: to /mutate, and what"
        ' comes out to /validate. In a cluster, kubectl prints each line of "why" as a warning.'
    )


def show_example(
    terminal: Terminal, example: Example, webhook: Webhook, cluster: ReachableCluster, tally: Tally
) -> None:
    """Send one example's objects and say what came of them."""
    terminal.paragraph(example.what, "bold")
    terminal.paragraph(f"podberth: {example.does}", "dim")
    for template in pods(example, NAMESPACE):
        if row_for(template.owner):
            # kubectl prints this answer's warnings; the pods themselves are made later, by a controller.
            tally.add(webhook.ask("/validate-workload", template.owner, NAMESPACE))
        terminal.line()
        _show_pod(terminal, template, webhook, cluster, tally)


def show_end(terminal: Terminal, tally: Tally, seconds: float) -> None:
    """Sum up."""
    median = statistics.median(tally.round_trips) * 1000
    terminal.heading("in all")
    terminal.paragraph(
        f"{tally.pods} kinds of pods: {tally.changed} changed, {tally.denied} denied, {tally.untouched} left as they"
        f" were. {len(tally.round_trips)} reviews over HTTPS, half of them within {median:.1f} ms;"
        f" {seconds:.1f} s in all."
    )
    terminal.paragraph("Next: `make demo-cluster` shows the same on a real control plane, with kubectl.")


def _together(places: Sequence[str]) -> str:
    """Write "rack a" and "rack b" as "racks a, b"."""
    if len(places) == 1:
        return places[0]
    return f"{places[0].split()[0]}s {', '.join(place.split()[-1] for place in places)}"


def _show_pod(
    terminal: Terminal, template: PodTemplate, webhook: Webhook, cluster: ReachableCluster, tally: Tally
) -> None:
    mutated = webhook.ask("/mutate", template.pod, NAMESPACE)
    final = template.pod if mutated.denial else apply(template.pod, mutated.patch)
    judged = mutated if mutated.denial else webhook.ask("/validate", final, NAMESPACE)
    denial = judged.denial
    tally.add(*([mutated] if judged is mutated else [mutated, judged]))
    tally.pods += 1
    tally.changed += bool(mutated.patch and not denial)
    tally.denied += bool(denial)
    verdict = "denied" if denial else "changed" if mutated.patch else "left as it is"
    terminal.line(f"{template.title}: {verdict}", "bold")
    if not denial:
        show_diff(terminal, difference(template.pod, final))
    _show_reasons(terminal, "why", mutated.warnings)
    _show_reasons(terminal, "warns", judged.warnings if judged is not mutated else ())
    _show_reasons(terminal, "denied", tuple(denial.splitlines()))
    _show_reach(terminal, cluster.reach(template.pod), None if denial else cluster.reach(final))


def show_diff(terminal: Terminal, lines: Sequence[str]) -> None:
    """Write the lines of a difference."""
    for line in lines:
        depth = len(line) - len(line[1:].lstrip())
        terminal.put([Line((Span(f"{_INDENT}{line}", _STYLES.get(line[0], "dim")),), len(_INDENT) + depth + 4)])


def _show_reasons(terminal: Terminal, label: str, lines: Sequence[str]) -> None:
    """Write podberth's lines: "podberth POLICY: TEXT" behind its policy, "podberth: TEXT" without one."""
    for number, line in enumerate(lines):
        policy, _, text = line.removeprefix("podberth").partition(": ")
        shown = label if number == 0 else ""
        author = (Span(policy.strip(), "bold"), Span(": ")) if policy else ()
        first = (Span(f"{_INDENT}{shown:<{_LABEL_WIDTH}}", _TONES[label] or "dim"), *author)
        terminal.paragraph(text, first=first, hanging=len(_INDENT) + _LABEL_WIDTH + 2)


def _show_reach(terminal: Terminal, before: PodReach, now: PodReach | None) -> None:
    _field(terminal, "before", _where(before))
    if now is None:
        _field(terminal, "now", "refused at once, with the reason, instead of waiting for ever", "green")
    elif now == before:
        _field(terminal, "now", "the same")
    else:
        _field(terminal, "now", _where(now), "green")


def _field(terminal: Terminal, label: str, text: str, style: str = "") -> None:
    terminal.paragraph(text, style, first=(Span(f"{_INDENT}{label:<{_LABEL_WIDTH}}", "dim"),))


def _where(reach: PodReach) -> str:
    total = simulated.node_count()
    if not reach.nodes:
        return f"runs on none of {total} nodes: it would wait for ever"
    text = f"runs on {len(reach.nodes)} of {total} nodes: {simulated.summary(reach.nodes)}"
    return f"{text}; prefers {simulated.summary(reach.preferred)}" if reach.preferred else text
