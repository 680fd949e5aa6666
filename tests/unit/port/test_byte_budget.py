"""One budget of memory: the order of refusals, and that everything is given back."""

from pathlib import Path

import yaml

from podberth.kube.review_limits import MAX_TEXT_BYTES
from podberth.port.byte_budget import LEVELS, LIMIT_BYTES, MIB, PARSED_PER_BYTE, Hold, MemoryBudget

_DEPLOYMENT = Path(__file__).parents[3] / "manifests" / "base" / "deployment.yaml"
_SMALL = {"unproven bodies": 10, "bodies": 20, "connections": 30, "documents": 40}


def test_what_a_body_has_already_is_not_asked_for_again() -> None:
    budget = MemoryBudget(_SMALL)
    hold = Hold(budget, proven=True)
    assert hold.take_body(5)
    assert budget.take("documents", 30)
    assert hold.take_body(5)
    assert not hold.take_body(6)


def test_those_who_have_proven_nothing_are_refused_first_and_the_document_at_hand_last() -> None:
    budget = MemoryBudget(_SMALL)
    assert budget.take("bodies", 10, proven=False)
    assert not budget.take("bodies", 1, proven=False)
    assert budget.take("bodies", 10)
    assert not budget.take("bodies", 1)
    assert budget.take("connections", 10)
    assert not budget.take("connections", 1)
    assert budget.take("documents", 10)
    assert not budget.take("documents", 1)
    assert budget.used == {"bodies": 20, "connections": 10, "documents": 10}
    assert budget.refused == {"bodies": 2, "connections": 1, "documents": 1}


def test_a_refused_amount_is_not_taken() -> None:
    budget = MemoryBudget(_SMALL)
    assert not budget.take("bodies", 21)
    assert budget.take("bodies", 20)


def test_a_hold_gives_everything_back_once() -> None:
    budget = MemoryBudget(_SMALL)
    hold = Hold(budget, proven=True)
    assert hold.take_body(4)
    assert hold.take_body(8)
    assert hold.take_document(1)
    assert not hold.take_document(1)
    hold.drop_document()
    assert budget.used == {"bodies": 8, "connections": 0, "documents": 0}
    hold.release()
    hold.release()
    assert set(budget.used.values()) == {0}


def test_the_largest_body_has_room_for_its_document_whatever_else_is_held() -> None:
    held = max(level for kind, level in LEVELS.items() if kind != "documents")
    assert held + PARSED_PER_BYTE * MAX_TEXT_BYTES <= LIMIT_BYTES


def test_the_budget_is_half_of_the_containers_memory() -> None:
    containers = yaml.safe_load(_DEPLOYMENT.read_text())["spec"]["template"]["spec"]["containers"]
    assert containers[0]["resources"]["limits"]["memory"] == f"{2 * LIMIT_BYTES // (1024 * MIB)}Gi"
