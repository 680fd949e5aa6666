"""The table of docs/never-lost.md: its rows, as scenarios and their outcomes have them."""

from typing import Any

from ..load import Verdict
from .scenarios import BEHIND_THE_SERVICE, SCENARIOS, Scenario
from .stage import Outcome

# Of any stage.
ROWS: tuple[Scenario[Any], ...] = (*SCENARIOS, *BEHIND_THE_SERVICE)
HEADER = ("what happens", "failurePolicy", "promised", *Verdict, "rounds", "seconds", "command")


def described(scenario: Scenario[Any]) -> tuple[str, ...]:
    """Return the cells that say what a row is about."""
    return scenario.title, scenario.failure_policy, scenario.promise


def command(scenario: Scenario[Any]) -> str:
    """Return what measures a row."""
    return f"`bench.never_lost {scenario.name}`"


def row(scenario: Scenario[Any], outcome: Outcome) -> tuple[str, ...]:
    """Return a row; a count that the promise bounds is shown with the bound."""
    bounded = scenario.may & {Verdict.REFUSED, Verdict.UNMUTATED} if outcome.most is not None else frozenset()
    counts = [
        f"{outcome.counts[verdict]} of {outcome.most}" if verdict in bounded else str(outcome.counts[verdict])
        for verdict in Verdict
    ]
    return (*described(scenario), *counts, str(outcome.rounds), f"{outcome.seconds:.0f}", command(scenario))
